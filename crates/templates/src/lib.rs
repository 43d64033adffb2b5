//! Cover letters and answers of automatic campaigns, written from Jinja templates (decision D3).
//!
//! [`JinjaProposalWriter`] implements the domain's [`ProposalWriter`](bidloop_domain::port::ProposalWriter) with
//! minijinja. Templates come from outside, so what they may do is bounded: `grammar` reads the part of Jinja that a
//! letter needs and refuses the rest, `language` has the filters and operators, and `limits` the counters that end
//! every rendering, in time and in memory. `docs/templates.md` is the page for those who write templates.

mod grammar;
mod language;
mod limits;
mod writer;

pub use limits::{MAX_LETTER_BYTES, MAX_TEMPLATE_BYTES};
pub use writer::JinjaProposalWriter;
