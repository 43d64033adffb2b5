//! The web app: pages in plain HTML over the use cases of the domain, with htmx for the parts that change.
//!
//! A page reads its request, calls one use case, and fills a template. It has no SQL and no rule. Every page works without
//! scripts; every change is a form.
//!
//! The texts are in this crate: those of a page in its template, those that several pages share in `words`, and a sentence
//! that a page chooses, such as why it refuses a form, where it chooses it.
//!
//! | item | content |
//! |---|---|
//! | [`Console`] | the use cases behind the pages |
//! | [`application`] | the routes |
//! | [`Previews`] | how many previews of filters run at once |
//! | [`Streams`] | what tells open pages that something changed |
//! | `pages` | the pages, a file each; their markup is in `templates/` |
//! | `shell`, `sheet` | the frame of the pages; short forms and questions, in the dialog or as pages |
//! | `visit`, `form`, `csrf`, `cookie` | who asks, and with which form: sessions and the token of changes |
//! | `upload` | forms with files |
//! | `guard` | what holds for every request: host, origin, headers |
//! | `parts`, `words`, `job` | icons, statuses, times, amounts; a job post in short |
//! | `chart` | lines and bars in SVG |
//! | `bidding_fields` | the fields of a bidding configuration in forms |
//! | `wanted_part` | what a script asks for, and what it gets where that cannot be had |
//! | `tries` | how deliveries that a person sent at once ended |
//! | `assets` | the style sheet, the scripts and the icons |

mod assets;
mod bidding_fields;
mod campaign_head;
mod change;
mod chart;
mod console;
mod cookie;
mod csrf;
mod display;
mod form;
mod guard;
mod job;
mod page;
mod pages;
mod parts;
mod previews;
mod routes;
mod sheet;
mod shell;
mod streams;
mod tries;
mod upload;
mod visit;
mod wanted_part;
mod words;

pub use console::Console;
pub use guard::ConsoleAddress;
pub use previews::Previews;
pub use routes::application;
pub use streams::Streams;
