//! The errors that park a lead, and their messages.

use bidloop_domain::port::ProposalWriter as _;
use bidloop_templates::JinjaProposalWriter;

use crate::fault;

#[test]
fn a_name_that_the_lead_does_not_have_is_reported_with_its_line() {
    assert_eq!(
        fault("Hello\n\n{{ titel }}"),
        "line 3: the lead has no field `titel`"
    );
    assert_eq!(
        fault("{% if titel %}x{% endif %}"),
        "line 1: the lead has no field `titel`"
    );
    assert_eq!(
        fault("{% if false %}\n{{ titel }}{% endif %}"),
        "line 2: the lead has no field `titel`"
    );
    assert_eq!(
        fault("{{ clientinfo.country }}"),
        "line 1: the lead has no field `clientinfo`"
    );
}

#[test]
fn a_missing_member_cannot_be_printed() {
    for template in [
        "\n{{ clientInfo.country }}",
        "\n{{ clientInfo.country|upper }}",
        "\n{{ 'x' ~ clientInfo.country }}",
        "\n{{ clientInfo.address.city }}",
        "\n{{ region.name }}",
        "\n{{ skills[7].name }}",
        "\n{% for x in clientInfo.countries %}{% endfor %}",
        "\n{% set country = clientInfo.country %}",
        "\n{{ skills|map(attribute='nam')|join(', ') }}",
        "\n{{ clientInfo.budget + 1 }}",
        "\n{{ clientInfo.budget - 1 }}",
        "\n{{ clientInfo.budget / 2 }}",
        "\n{{ -clientInfo.budget }}",
        "\n{{ clientInfo.country[:2] }}",
        "\n{{ clientInfo.country|length }}",
        "\n{{ [clientInfo.country]|join }}",
        "\n{{ 'x'|replace('x', clientInfo.country) }}",
    ] {
        let fault = fault(template);
        assert!(fault.starts_with("line 2: "), "{template}: {fault}");
    }
    assert!(
        fault("{{ clientInfo.country }}").contains("clientInfo.country"),
        "{}",
        fault("{{ clientInfo.country }}")
    );
}

#[test]
fn a_value_that_would_print_as_code_is_refused() {
    assert_eq!(
        fault("{{ skills }}"),
        "line 1: a list cannot be printed; use `join` or a `for` loop"
    );
    assert_eq!(
        fault("{{ clientInfo }}"),
        "line 1: an object cannot be printed; print one of its fields"
    );
    assert_eq!(
        fault("{{ 'x' ~ skills }}"),
        "line 1: a sequence cannot be part of a text"
    );
    assert_eq!(
        fault("{{ skills|join(', ') }}"),
        "line 1: a map cannot be part of a text"
    );
}

#[test]
fn syntax_errors_are_reported_with_their_line_before_any_lead() {
    let writer = JinjaProposalWriter::new();
    for (template, problem) in [
        ("a\n{{ title", "line 2: syntax error: "),
        ("a\n\n{% if title %}", "line 3: syntax error: "),
        ("{% endif %}", "line 1: syntax error: "),
        ("{{ title | }}", "line 1: syntax error: "),
        ("a\n{{ title|shout }}", "line 2: there is no filter `shout`"),
        ("a\n{{ title is loud }}", "line 2: there is no test `loud`"),
        (
            "a\n{{ title.upper() }}",
            "line 2: there is no method `upper`; use a filter",
        ),
        ("a\n{{ now() }}", "line 2: there is no function `now`"),
        ("a\n{{ title\n  |shout\n}}", "line 3: there is no filter `shout`"),
        (
            "{{ title\n}}\n{% raw %}\n{% endraw %}{# \n #}{% endif %}",
            "line 5: syntax error: ",
        ),
        ("{{ a b }}", "line 1: syntax error: "),
        ("{{ [a b] }}", "line 1: syntax error: "),
        ("{{ 'a }}", "line 1: syntax error: "),
        ("{# a", "line 1: syntax error: "),
        ("{% raw %}", "line 1: "),
    ] {
        let fault = writer.check(template).unwrap_err().to_string();
        assert!(fault.starts_with(problem), "{template}: {fault}");
    }
    writer.check("Hello {{ anything.at.all }}").unwrap();
}

#[test]
fn neither_files_nor_captures_nor_macros_are_available() {
    let writer = JinjaProposalWriter::new();
    for template in [
        "{% include '/etc/passwd' %}",
        "{% import 'x' as y %}",
        "{% from 'x' import y %}",
        "{% extends 'x' %}",
        "{% block x %}{% endblock %}",
        "{% macro f() %}{% endmacro %}",
        "{% call f() %}{% endcall %}",
        "{% do f() %}",
        "{% with x = 1 %}{% endwith %}",
        "{% set x %}{% endset %}",
        "{% filter upper %}{% endfilter %}",
        "{% autoescape true %}{% endautoescape %}",
        "{% for x in skills recursive %}{{ loop(skills) }}{% endfor %}",
        "{{ namespace() }}",
        "{{ dict(a=1) }}",
        "{{ debug() }}",
        "{{ {'a': title} }}",
        "{{ title|attr('x') }}",
    ] {
        let fault = writer.check(template).expect_err(template).to_string();
        assert!(fault.starts_with("line 1: "), "{template}: {fault}");
    }
}
