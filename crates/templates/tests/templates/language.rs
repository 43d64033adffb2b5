//! What templates can say.

use crate::{fault, rendered};

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
fn an_unknown_value_compares_as_false() {
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
    assert_eq!(
        rendered("a {%- raw -%} {{ 'x' * {%- endraw -%} b{#- {{ -#} c"),
        "a{{ 'x' *bc"
    );
}

#[test]
fn a_comment_without_an_end_is_refused_where_it_begins_however_many_follow() {
    let many = format!("Hello\n{}", "{# title }}".repeat(5_000));
    for template in ["Hello\n{# to the end", "Hello\n{#- title }}", &many] {
        assert_eq!(fault(template), "line 2: syntax error: a comment without an end");
    }
}

#[test]
fn operators_bind_as_in_jinja() {
    for (expression, value) in [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("10 - 3 - 2", "5"),
        ("7 // 2 ~ 7 % 4", "33"),
        ("2 * 3 ** 2", "18"),
        ("-2|abs", "2"),
        ("1 + -2", "-1"),
        ("1 / 2 * 4", "2.0"),
        ("1 + 1 < 3 and not 2 > 3", "True"),
        ("false or true and false", "False"),
        ("not true or true", "True"),
        ("1 not in [2] and 'a' not in title", "True"),
        ("'a' if false else 'b' if false else 'c'", "c"),
        ("('a', 'b')|last ~ [1, 2,]|length", "b2"),
        ("3 is divisibleby 3 and 4 is not divisibleby(3)", "True"),
        ("[3, 1, 2]|sort(reverse=true)|first", "3"),
        ("skills[:2][1].name ~ skills|length", "tokio3"),
        ("'}}' ~ \"%}\" ~ '{{' ~ '\\''", "}}%}{{'"),
    ] {
        assert_eq!(
            rendered(&format!("{{{{ {expression} }}}}")),
            value,
            "{expression}"
        );
    }
    assert_eq!(
        rendered("{% for a, b in [[1, 2], [3, 4]] %}{{ a }}{{ b }}{% endfor %}"),
        "1234"
    );
}
