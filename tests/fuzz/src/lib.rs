//! Fuzz targets: one function for each parser of what strangers write. Each feeds its input to the public interface of a
//! crate, checks what must hold for every input, and checks the cost of it ([`cost`]).
//!
//! `tests/fuzz/run` builds and runs them. The binaries are in `src/bin`, first inputs in `seeds`.

mod bodies;
mod case;
mod cost;
mod files;
mod keywords;
mod multipart;
mod posts;
mod provisioning;
mod templates;
mod urls;
mod world;

pub use bodies::bodies;
pub use files::files;
pub use keywords::keywords;
pub use multipart::multipart;
pub use posts::posts;
pub use provisioning::provisioning;
pub use templates::templates;
pub use urls::urls;
