//! Saved filters against job posts: the keyword language, one-to-one evaluation, explanation.
