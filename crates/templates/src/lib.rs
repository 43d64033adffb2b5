//! Cover letters and answers of automatic campaigns, written from Jinja templates (decision D3).
//!
//! [`JinjaProposalWriter`] implements the domain's [`ProposalWriter`](bidloop_domain::port::ProposalWriter) with
//! minijinja. Templates are not trusted, so they are limited: `grammar` accepts the part of Jinja that a letter needs
//! and refuses the rest, `language` has the filters and operators, and `limits` bounds the time and memory of a rendering.
//! `docs/templates.md` is the guide for authors of templates.

mod grammar;
mod language;
mod limits;
mod writer;

pub use limits::{MAX_LETTER_BYTES, MAX_TEMPLATE_BYTES};
pub use writer::JinjaProposalWriter;
