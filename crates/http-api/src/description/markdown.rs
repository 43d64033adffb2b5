//! The description's texts, which are `CommonMark`.

use pulldown_cmark::{Parser, html};

/// A text as HTML. The texts are our own.
pub(super) fn to_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    html::push_html(&mut out, Parser::new(text));
    out
}
