//! What hostile templates come to: each ends soon, within its bounds of size, depth and work.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bidloop_domain::port::ProposalWriter as _;
use bidloop_templates::{JinjaProposalWriter, MAX_LETTER_BYTES, MAX_TEMPLATE_BYTES};
use serde_json::json;

use crate::{lead, render};

/// Far more than any rendering takes, on a slow machine without optimization too; without our limits each of these
/// would take hours, or all memory.
const SOON: Duration = Duration::from_secs(20);

/// Renders, and fails the test if that takes long.
pub(crate) fn ends(template: &str) -> Result<String, String> {
    let begun = Instant::now();
    let result = render(template);
    assert!(
        begun.elapsed() < SOON,
        "{:?} for {:.200}",
        begun.elapsed(),
        template
    );
    result
}

fn refused(template: &str) -> String {
    ends(template).expect_err(template)
}

#[test]
fn nested_loops_run_out_of_fuel() {
    let mut template = String::new();
    for depth in 0..8 {
        write!(template, "{{% for a{depth} in range(1000) %}}").unwrap();
    }
    template.push_str(&"{% endfor %}".repeat(8));
    assert!(refused(&template).ends_with("rendering takes too long"));
}

#[test]
fn a_result_larger_than_the_bound_is_refused() {
    let template = format!("{{% for i in range(1000) %}}{}{{% endfor %}}", "x".repeat(60_000));
    let expected = format!("the result is larger than {MAX_LETTER_BYTES} bytes");
    assert_eq!(refused(&template), expected);
    let template = format!(
        "{{% set x = '{}' %}}{{% for i in range(1000) %}}{{{{ x }}}}{{% endfor %}}",
        "x".repeat(60_000)
    );
    assert_eq!(refused(&template), expected);
}

#[test]
fn a_template_larger_than_the_bound_is_refused() {
    assert_eq!(
        ends(&"x".repeat(MAX_TEMPLATE_BYTES)).unwrap().len(),
        MAX_TEMPLATE_BYTES
    );
    for full_of in ["{{a}}", "{#", "'", "{{'", "{%raw%}", "\n{{a}}", "{"] {
        let template = full_of.repeat(MAX_TEMPLATE_BYTES / full_of.len());
        let _ = ends(&template);
    }
    let fault = refused(&"x".repeat(MAX_TEMPLATE_BYTES + 1));
    assert_eq!(
        fault,
        format!("the template is larger than {MAX_TEMPLATE_BYTES} bytes")
    );
}

#[test]
fn texts_that_double_are_stopped() {
    for step in [
        "x ~ x",
        "x + x",
        "[x, x]|join",
        "x|replace('x', 'xx')",
        "x|replace('', x)",
    ] {
        let template = format!(
            "{{% set x = 'x' %}}{}",
            format!("{{% set x = {step} %}}").repeat(60)
        );
        let fault = refused(&template);
        let is_bounded = fault.contains("a text larger than") || fault.ends_with("rendering takes too long");
        assert!(is_bounded, "{step}: {fault}");
        let looped =
            format!("{{% set x = 'x' %}}{{% for i in range(60) %}}{{% set x = {step} %}}{{% endfor %}}");
        // Where a loop's names begin anew each time around, nothing doubles.
        if let Err(fault) = ends(&looped) {
            assert!(fault.contains("a text larger than"), "{step}: {fault}");
        }
    }
}

#[test]
fn texts_and_lists_cannot_be_repeated() {
    for template in [
        "{{ 'x' * 100000000 }}",
        "{{ 100000000 * 'x' }}",
        "{{ ('x') * 100000000 }}",
        "{{ 100000000 * 'x' * 100000000 }}",
        "{{ 2 * 100000000 * 'x' }}",
        "{{ [1] * 100000000 }}",
        "{% set x = 'x' %}{{ x * 100000000 }}",
        "{% set x = [1] %}{{ (x * 100000000)|length }}",
        "{{ title|title * 100000000 }}",
    ] {
        assert!(refused(template).contains("`*` is for numbers"), "{template}");
    }
    refused("{{ 100000000 * -('x') }}");
}

#[test]
fn values_that_double_in_width_or_grow_in_depth_are_refused() {
    let doubling = format!(
        "{{% set x = [1, 2] %}}{}{{{{ x == x }}}}",
        "{% set x = [x, x] %}".repeat(50)
    );
    assert!(
        refused(&doubling).ends_with("rendering takes too long"),
        "{}",
        refused(&doubling)
    );
    let concatenated = format!(
        "{{% set x = [1] %}}{}{{{{ x|length }}}}",
        "{% set x = x + x %}".repeat(50)
    );
    assert!(
        refused(&concatenated).contains("`+` is for numbers"),
        "{}",
        refused(&concatenated)
    );
    let deep = format!("{{{{ {}{} }}}}", "[".repeat(5000), "]".repeat(5000));
    refused(&deep);
    let deeper = format!(
        "{{% set x = 1 %}}{}",
        format!("{{% set x = {}x{} %}}", "[".repeat(30), "]".repeat(30)).repeat(200)
    );
    assert!(
        refused(&deeper).contains("nested too deep"),
        "{}",
        refused(&deeper)
    );
}

#[test]
fn filters_over_long_lists_run_out_of_work() {
    let list = format!("'{}'|split(',')", "a,".repeat(30_000));
    let template = format!(
        "{{% set x = {list} %}}{{% for i in range(1000) %}}{{{{ x|sort|unique|length }}}}{{% endfor %}}"
    );
    assert!(refused(&template).ends_with("rendering takes too long"));
    let template =
        "{% for i in range(1000) %}{% for j in range(1000) %}{{ range(1000)|sum }}{% endfor %}{% endfor %}";
    assert!(refused(template).contains("no filter `sum`"));
}

#[test]
fn looking_for_many_things_in_a_long_text_runs_out_of_work() {
    let template = format!(
        "{{% set long = '{}' %}}{{{{ long|split(',')|select('in', long)|length }}}}",
        "a,".repeat(30_000)
    );
    assert!(refused(&template).ends_with("rendering takes too long"));
}

#[test]
fn deep_recursion_is_an_error_and_not_the_end_of_the_process() {
    for template in [
        format!("{{{{ {}1{} }}}}", "(".repeat(30_000), ")".repeat(30_000)),
        format!("{{{{ 1{} }}}}", "+1".repeat(30_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(60_000)),
        format!("{{{{ {}true }}}}", "not ".repeat(15_000)),
        format!("{{{{ title{} }}}}", "|list".repeat(12_000)),
        format!("{{{{ title{} }}}}", ".a".repeat(30_000)),
        format!("{{{{ title{} }}}}", "[0]".repeat(20_000)),
        format!("{{{{ 1{} }}}}", " if 1 else 1".repeat(5000)),
        format!("{{{{ 1{} }}}}", "==1".repeat(20_000)),
        "{% if 1 %}".repeat(6000),
        "{% for a in title %}".repeat(3000),
        format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(5000)),
    ] {
        refused(&template);
    }
}

#[test]
fn the_deepest_template_permitted_fits_the_stack() {
    let chained = format!("{{{{ {}1 }}}}", "1+".repeat(120));
    let subtracted = format!("{{{{ {}1 }}}}", "1-".repeat(120));
    let parenthesized = format!("{{{{ {}1{} }}}}", "(".repeat(60), ")".repeat(60));
    let negated = format!("{{{{ {}1 }}}}", "-".repeat(200));
    let inverted = format!("{{{{ {}1 }}}}", "not ".repeat(200));
    let filtered = format!("{{{{ title{} }}}}", "|list".repeat(120));
    let nested = format!("{}{}", "{% if true %}".repeat(100), "{% endif %}".repeat(100));
    let elifs = format!("{{% if false %}}{}{{% endif %}}", "{% elif false %}".repeat(250));
    for template in [
        chained,
        subtracted,
        parenthesized,
        negated,
        inverted,
        filtered,
        nested,
        elifs,
    ] {
        // Whether it renders or is refused is all one: it returns, on a thread as small as a server's.
        let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
        small
            .spawn(move || drop(ends(&template)))
            .unwrap()
            .join()
            .unwrap();
    }
}

#[test]
fn comparisons_of_large_values_run_out_of_work() {
    let list = format!("'{}'|split(',')", "a,".repeat(30_000));
    for comparison in ["x == y", "x != y", "x in [y]", "'b' in x"] {
        let template = format!(
            "{{% set x = {list} %}}{{% set y = x|list %}}{{% for i in range(1000) %}}{{% if {comparison} %}}{{% endif %}}{{% endfor %}}"
        );
        assert!(
            refused(&template).ends_with("rendering takes too long"),
            "{comparison}"
        );
    }
}

#[test]
fn only_listed_filters_can_be_mapped() {
    for template in [
        "{{ skills|map('tojson')|join }}",
        "{{ skills|map('indent', 100000000)|join }}",
    ] {
        assert!(refused(template).contains("there is no filter"), "{template}");
    }
}

#[test]
fn a_lead_cannot_smuggle_a_template_in() {
    let mut lead = lead();
    lead["title"] = json!("{{ description }}{% for x in range(9) %}");
    let letter = JinjaProposalWriter::new().render("{{ title }}", &lead).unwrap();
    assert_eq!(letter, "{{ description }}{% for x in range(9) %}");
}

#[test]
fn a_leads_extra_fields_hide_neither_operators_nor_functions() {
    let mut lead = lead();
    for name in [
        "+", "~", "*", "[]", "=", "for", "in", "<", "loop", "range", "range()",
    ] {
        lead[name] = json!("hidden");
    }
    let letter = JinjaProposalWriter::new()
        .render(
            "{{ 1 + 2 }}{{ 1 ~ 2 }}{{ [1]|join }}{% for i in range(1) %}{{ loop.index }}{% endfor %}",
            &lead,
        )
        .unwrap();
    assert_eq!(letter, "31211");
}
