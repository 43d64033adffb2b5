//! What templates can say, what parks a lead, and what hostile templates come to.

#![expect(clippy::expect_used, reason = "test code")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bidloop_domain::port::ProposalWriter as _;
use bidloop_templates::{JinjaProposalWriter, MAX_LETTER_BYTES, MAX_TEMPLATE_BYTES};
use proptest::prelude::*;
use serde_json::{Value, json};

fn lead() -> Value {
    json!({
        "id": "ld_1",
        "title": "Rust <service> & more",
        "description": "Build a service in Rust.\nAxum, tokio.",
        "skills": [{"name": "Rust"}, {"name": "tokio"}, {"name": "PostgreSQL"}],
        "questions": [],
        "region": null,
        "isFeatured": true,
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 45.5}, "hours": null},
        "clientInfo": {"totalSpent": 12000, "rating": null},
        "attachments": null,
    })
}

fn render(template: &str) -> Result<String, String> {
    JinjaProposalWriter::new()
        .render(template, &lead())
        .map_err(|error| error.to_string())
}

fn rendered(template: &str) -> String {
    render(template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn fault(template: &str) -> String {
    render(template).expect_err(template)
}

// ---- what templates can say

#[test]
fn fields_of_the_lead_are_put_in_as_they_are() {
    assert_eq!(rendered("About {{ title }}."), "About Rust <service> & more.");
    assert_eq!(
        rendered("{{ metadata.hourlyRate.max }} {{ metadata['paymentType'] }} {{ isFeatured }}"),
        "45.5 Hourly True"
    );
    assert_eq!(
        rendered("{{ skills[0].name }}, {{ description[:5] }}"),
        "Rust, Build"
    );
}

#[test]
fn null_renders_as_nothing_and_counts_as_false() {
    assert_eq!(rendered("[{{ region }}][{{ metadata.hours }}]"), "[][]");
    assert_eq!(
        rendered("{% if region %}{{ region }}{% else %}anywhere{% endif %}"),
        "anywhere"
    );
    assert_eq!(rendered("{{ 'in ' ~ region ~ '!' }}"), "in !");
    assert_eq!(
        rendered("[{{ region|upper }}][{{ metadata.hours|int }}][{{ region|replace('a', 'b')|trim }}]"),
        "[][][]"
    );
    assert_eq!(
        rendered("{{ attachments|length }}{{ attachments|map(attribute='fileName')|join(', ') }}"),
        "0"
    );
    assert_eq!(
        rendered("{% for file in attachments %}{{ file.fileName }}{% else %}none{% endfor %}"),
        "none"
    );
    assert_eq!(rendered("{{ ['a', region, 'b']|join('-') }}"), "a--b");
}

#[test]
fn default_stands_in_for_null_and_for_what_is_missing() {
    assert_eq!(rendered("{{ region|default('anywhere') }}"), "anywhere");
    assert_eq!(
        rendered("{{ clientInfo.country|default('your country') }}"),
        "your country"
    );
    assert_eq!(
        rendered("{{ vendorQualifications|default('-') }}{{ nothing|d }}"),
        "-"
    );
    assert_eq!(rendered("{{ title|default('-')|length }}"), "21");
}

#[test]
fn a_missing_member_can_be_asked_about() {
    assert_eq!(
        rendered("Hi{% if clientInfo.country %} {{ clientInfo.country }}{% endif %}!"),
        "Hi!"
    );
    assert_eq!(rendered("{% if clientInfo.country is defined %}x{% endif %}"), "");
    assert_eq!(
        rendered("{% if vendorQualifications is defined %}x{% endif %}"),
        ""
    );
    assert_eq!(
        rendered("{% if metadata.fixedPrice and metadata.fixedPrice > 5 %}x{% endif %}"),
        ""
    );
    assert_eq!(rendered("{{ 'x' if clientInfo.country else 'y' }}"), "y");
    assert_eq!(rendered("[{{ 'x' if clientInfo.country }}]"), "[]");
    assert_eq!(
        rendered("{% if clientInfo.address.city %}x{% endif %}{{ clientInfo.address.city|default('y') }}"),
        "y"
    );
    assert_eq!(
        rendered("{% if metadata.hours.max %}x{% endif %}{{ metadata.hours.max|default('y') }}"),
        "y"
    );
}

#[test]
fn what_is_not_known_compares_as_false() {
    for unknown in [
        "clientInfo.rating",
        "clientInfo.hireRate",
        "region",
        "clientInfo.address.city",
    ] {
        for condition in [
            "{} < 4",
            "{} >= 4",
            "4 > {}",
            "{} == 4",
            "'x' in {}",
            "{} in [1, 2]",
        ] {
            let condition = condition.replace("{}", unknown);
            assert_eq!(
                rendered(&format!("{{% if {condition} %}}yes{{% else %}}no{{% endif %}}")),
                "no",
                "{condition}"
            );
        }
    }
    assert_eq!(
        rendered("{% if clientInfo.totalSpent > 5000 and 4 <= 4 and 'a' < 'b' %}yes{% endif %}"),
        "yes"
    );
    assert_eq!(
        fault("{% if title > 4 %}{% endif %}"),
        "line 1: string and number cannot be compared by order"
    );
    assert_eq!(
        fault("{% if 1 < totalSpent < 5 %}{% endif %}"),
        "line 1: comparisons cannot be chained; join two with `and`"
    );
}

#[test]
fn lists_are_joined_filtered_and_looped_over() {
    assert_eq!(
        rendered("{{ skills|map(attribute='name')|join(', ') }}"),
        "Rust, tokio, PostgreSQL"
    );
    assert_eq!(
        rendered("{{ skills|join('/', attribute='name') }}"),
        "Rust/tokio/PostgreSQL"
    );
    assert_eq!(
        rendered(
            "{% for skill in skills %}{{ loop.index }}. {{ skill.name }}{% if not loop.last %}; {% endif %}{% endfor %}"
        ),
        "1. Rust; 2. tokio; 3. PostgreSQL"
    );
    assert_eq!(
        rendered(
            "{% for skill in skills if skill.name is startingwith('R') %}{{ skill.name }}{{ loop.length }}{% endfor %}"
        ),
        "Rust1"
    );
    assert_eq!(
        rendered("{% for question in questions %}?{% else %}none{% endfor %}"),
        "none"
    );
    assert_eq!(
        rendered("{{ skills|selectattr('name', 'in', ['Rust', 'Go'])|map(attribute='name')|join }}"),
        "Rust"
    );
    assert_eq!(
        rendered("{% for n in range(3) %}{{ n }}{% endfor %} {{ range(5, 0, -2)|join(',') }}"),
        "012 5,3,1"
    );
}

#[test]
fn names_can_be_set_and_reckoned_with() {
    assert_eq!(
        rendered(
            "{% set rate = metadata.hourlyRate.max * 0.9 %}{{ rate|round(2) }} {{ rate|int + 1 }} {{ 2 * 3 - 1 }}"
        ),
        "40.95 41 5"
    );
    assert_eq!(
        rendered("{% set names = skills|map(attribute='name') %}{{ names|last }} of {{ names|length }}"),
        "PostgreSQL of 3"
    );
    assert_eq!(rendered("{{ 'a' + 'b' ~ 1 }}"), "ab1");
    assert_eq!(
        rendered("{{ title|upper|replace('RUST', 'Go') }}"),
        "Go <SERVICE> & MORE"
    );
    assert_eq!(
        rendered("{% if 'Rust' in description and not region %}yes{% elif isFeatured %}no{% endif %}"),
        "yes"
    );
}

#[test]
fn one_line_end_at_the_end_is_dropped_and_white_space_is_kept_otherwise() {
    assert_eq!(rendered("Hello\n"), "Hello");
    assert_eq!(rendered("  Hello \n\n"), "  Hello \n");
    assert_eq!(rendered("a\n{%- if isFeatured %}\nb\n{%- endif %}\nc"), "a\nb\nc");
}

#[test]
fn comments_and_raw_text_are_jinjas() {
    assert_eq!(
        rendered("a{# not this #}b{% raw %}{{ title }}{% endraw %}"),
        "ab{{ title }}"
    );
}

const GUIDE: &str = include_str!("../../../docs/templates.md");

#[test]
fn the_guides_recipes_render() {
    let recipes: Vec<_> = GUIDE
        .split("```jinja\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .map(rendered)
        .collect();
    assert_eq!(
        recipes,
        [
            "Hello,",
            "You are looking for Rust, tokio, PostgreSQL.",
            "My usual week has 30 hours for one client.",
            "* Rust\n* tokio\n* PostgreSQL\n",
            "I would do it for 40 USD an hour.",
        ]
    );
}

#[test]
fn the_guide_names_the_filters_and_tests_that_there_are() {
    let writer = JinjaProposalWriter::new();
    let named = |kind: &str| -> Vec<&str> {
        let (_, list) = GUIDE.split_once(kind).unwrap();
        list.split('`').nth(1).unwrap().split_whitespace().collect()
    };
    for filter in named("* Filters:") {
        writer.check(&format!("{{{{ title|{filter} }}}}")).unwrap();
    }
    for test in named("* Tests:") {
        writer.check(&format!("{{{{ title is {test} }}}}")).unwrap();
    }
}

// ---- what parks a lead

#[test]
fn a_name_that_the_lead_does_not_have_is_told_with_its_line() {
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
fn what_would_print_as_code_is_refused() {
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
fn syntax_errors_are_told_with_their_line_before_any_lead() {
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

// ---- hostile templates

/// Far more than any rendering takes, on a slow machine without optimization too; without our limits each of these
/// would take hours, or all memory.
const SOON: Duration = Duration::from_secs(20);

fn ends(template: &str) -> Result<String, String> {
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
    let expected = format!("line 1: the result is larger than {MAX_LETTER_BYTES} bytes");
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
        assert!(refused(&template).contains("a text larger than"), "{step}");
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
        "{{ 100000000 * -('x') }}",
        "{{ [1] * 100000000 }}",
        "{% set x = 'x' %}{{ x * 100000000 }}",
        "{% set x = [1] %}{{ (x * 100000000)|length }}",
        "{{ title|title * 100000000 }}",
    ] {
        assert!(refused(template).contains('*'), "{template}");
    }
}

#[test]
fn values_that_double_in_width_or_grow_in_depth_are_refused() {
    let doubling = format!(
        "{{% set x = [1, 2] %}}{}{{{{ x == x }}}}",
        "{% set x = [x, x] %}".repeat(50)
    );
    assert!(
        refused(&doubling).contains("a list in brackets"),
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
    let filtered = format!("{{{{ title{} }}}}", "|list".repeat(120));
    let nested = format!("{}{}", "{% if true %}".repeat(100), "{% endif %}".repeat(100));
    let elifs = format!("{{% if false %}}{}{{% endif %}}", "{% elif false %}".repeat(250));
    for template in [chained, filtered, nested, elifs] {
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
