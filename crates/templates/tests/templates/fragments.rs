//! Random templates made of fragments: every rendering ends, and none panics.

use proptest::prelude::*;

use crate::bounds::ends;

/// Pieces of which templates are made, sensible and not.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-%}",
    "{{ title }}",
    "{% if region %}",
    "{% endif %}",
    "{% else %}",
    "{% elif",
    "{% for x in skills %}",
    "{% for a, b in",
    "{% endfor %}",
    "{% set x = title %}",
    "{% set x =",
    "for",
    "if",
    "in",
    "not",
    "and",
    "or",
    "is",
    "else",
    "true",
    "none",
    "title",
    "skills",
    "metadata",
    "x",
    "loop",
    ".name",
    ".index",
    "[0]",
    "[:2]",
    "[::-1]",
    "[::0]",
    "[",
    "]",
    "(",
    ")",
    ",",
    "|",
    "|join(',')",
    "|map(attribute='name')",
    "|map('split')",
    "|default(1)",
    "|replace('', 'x')",
    "|round(99999)",
    "|int",
    "|sort",
    "|select('in', 'x')",
    "|reverse",
    "range(9)",
    "range(1, -9223372036854775808, -9223372036854775807)",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "~",
    "==",
    "<",
    "1",
    "0",
    "-1",
    "9223372036854775807",
    "1.5",
    "1e308",
    "'text'",
    "\"ü\"",
    "defined",
    "divisibleby 0",
    "\n",
    "é",
    "\u{0}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_template_panics(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        let _ = ends(&pieces.join(" "));
    }

    #[test]
    fn no_expression_panics(pieces in prop::collection::vec(prop::sample::select(PIECES), 1..8)) {
        let _ = ends(&format!("{{{{ title {} }}}}", pieces.concat()));
        let _ = ends(&format!("{{% for x in skills %}}{{{{ {} }}}}{{% endfor %}}", pieces.join(" ")));
    }
}
