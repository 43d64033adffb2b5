//! The language's sentences and corners, and that what is printed reads back the same.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The canonical text of an expression that must parse.
fn canonical(text: &str) -> String {
    match Expression::parse(text) {
        Ok(expression) => expression.to_string(),
        Err(fault) => panic!("{text:?}: {fault}"),
    }
}

fn position(text: &str) -> usize {
    match Expression::parse(text) {
        Ok(expression) => panic!("{text:?} was read as {expression}"),
        Err(fault) => fault.position,
    }
}

fn suggestion(text: &str) -> String {
    Expression::parse(text)
        .unwrap_err()
        .suggestion
        .unwrap_or_default()
}

#[test]
fn a_space_is_and_and_binds_tighter_than_or() {
    for (text, expected) in [
        ("rust", "rust"),
        ("rust axum", "rust AND axum"),
        ("rust AND axum", "rust AND axum"),
        ("a b OR c d", "(a AND b) OR (c AND d)"),
        ("a AND b OR c AND d", "(a AND b) OR (c AND d)"),
        ("a OR b c", "a OR (b AND c)"),
        ("(a OR b) c", "(a OR b) AND c"),
        ("a OR b OR c", "a OR b OR c"),
        ("((a))", "a"),
        (" \t\na\u{a0}b ", "a AND b"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn not_and_minus_exclude_what_follows() {
    for (text, expected) in [
        ("NOT a", "NOT a"),
        ("a -b", "a AND NOT b"),
        ("a NOT b c", "a AND NOT b AND c"),
        ("a OR NOT b", "a OR NOT b"),
        ("a AND NOT b", "a AND NOT b"),
        ("-(a OR b)", "NOT (a OR b)"),
        ("-\"a b\"", "NOT \"a b\""),
        ("-title:a", "NOT title:a"),
        ("NOT(a)", "NOT a"),
        ("NOT NOT a", "NOT NOT a"),
        ("--a", "NOT NOT a"),
        ("NOT -a", "NOT NOT a"),
        ("a(-b)", "a AND NOT b"),
        ("a -b OR c", "(a AND NOT b) OR c"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn operators_are_upper_case_only() {
    assert_eq!(canonical("rock and roll"), "rock AND and AND roll");
    assert_eq!(canonical("this or that not"), "this AND or AND that AND not");
    assert_eq!(canonical("\"AND\" \"OR\" android"), "and AND or AND android");
}

#[test]
fn a_word_with_separators_inside_is_the_phrase_of_its_parts() {
    for (text, expected) in [
        ("node.js", "\"node js\""),
        ("node-js", "\"node js\""),
        ("rust/axum,actix", "\"rust axum actix\""),
        ("don't", "\"don t\""),
        ("asp.net", "\"asp .net\""),
        (".NET", ".net"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("+rust", "rust"),
        ("rust,", "rust"),
        ("東京", "\"東 京\""),
        ("10:30", "\"10 30\""),
        ("STRASSE", "strasse"),
        ("\"exact phrase\"", "\"exact phrase\""),
        ("\"Exact,  phrase!\"", "\"exact phrase\""),
        ("\"rust\"", "rust"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn a_prefix_ends_with_a_star() {
    for (text, expected) in [
        ("dev*", "dev*"),
        ("D*", "d*"),
        ("c+*", "c+*"),
        ("node.j*", "node/j*"),
        ("東京*", "東/京*"),
        ("title:dev*", "title:dev*"),
        ("\"dev*\"", "dev"),
        ("dev* ops", "dev* AND ops"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
    for (text, at) in [
        ("*", 1),
        ("a *", 3),
        ("*script", 1),
        ("a ru*t", 3),
        ("dev**", 1),
        ("rust-*", 1),
        ("\"a b\"*", 6),
    ] {
        assert_eq!(position(text), at, "{text}");
    }
}

#[test]
fn a_field_stands_before_a_term_or_a_parenthesis() {
    for (text, expected) in [
        ("title:rust", "title:rust"),
        ("description:\"a b\"", "description:\"a b\""),
        ("skill:node.js", "skill:\"node js\""),
        ("title:(a OR -b)", "title:(a OR NOT b)"),
        ("title: rust", "title:rust"),
        ("title:a b", "title:a AND b"),
        ("title:(a OR skill:b)", "title:(a OR skill:b)"),
        ("title:\"skill:b\"", "title:\"skill b\""),
        ("a(title:b)", "a AND title:b"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
    for (text, at) in [
        ("title:", 7),
        ("a title: ", 10),
        ("title:-x", 7),
        ("title:NOT x", 7),
        ("title:AND", 7),
        ("title:)", 7),
        ("title:skill:x", 7),
        ("title:()", 8),
    ] {
        assert_eq!(position(text), at, "{text}");
    }
    assert_eq!(suggestion("title:-x"), "to exclude, write `-title:…`");
}

#[test]
fn an_unknown_name_is_refused_and_what_could_be_meant_is_suggested() {
    assert_eq!(position("rust http://x"), 6);
    assert!(suggestion("http://x").contains("double quotes"));
    assert_eq!(position("-body:x"), 2);
    assert_eq!(suggestion("Title:x"), "did you mean `title:`?");
    assert_eq!(suggestion("skills:x"), "did you mean `skill:`?");
    assert_eq!(position("std::vec"), 1);
    assert_eq!(position("skill:foo:bar"), 7);
    assert_eq!(canonical("\"http://x\""), "\"http x\"");
}

#[test]
fn an_empty_expression_is_refused_at_its_end() {
    assert_eq!(position(""), 1);
    assert_eq!(position("   "), 4);
}

#[test]
fn a_missing_end_is_the_length_plus_one() {
    for text in [
        "a AND", "a OR", "NOT", "a -", "(", "(a", "(a OR", "a (b (c)", "\"a b", "a \"", "title:(a", "é OR",
    ] {
        assert_eq!(position(text), text.chars().count() + 1, "{text}");
    }
    assert_eq!(position("a AND  "), 8);
}

#[test]
fn a_fault_is_at_the_first_offending_token_counted_in_characters() {
    for (text, at) in [
        ("AND a", 1),
        ("OR", 1),
        ("a OR OR b", 6),
        ("a AND AND b", 7),
        ("a OR AND b", 6),
        ("NOT OR a", 5),
        (")", 1),
        ("a )", 3),
        ("(a)) OR \"b", 4),
        ("()", 2),
        ("a ()", 4),
        ("a && b", 3),
        ("\"\"", 1),
        ("a \"--\"", 3),
        ("a - b", 3),
        ("日本 🚀 a", 4),
        ("é ) x", 3),
        ("( && b", 3),
        ("x:y \"b", 1),
        ("a –b", 3),
        ("!a", 1),
    ] {
        assert_eq!(position(text), at, "{text}");
    }
    assert!(suggestion("a && b").contains("AND"));
    assert!(suggestion("a || b").contains("OR"));
}

#[test]
fn a_fault_names_the_position_in_its_text() {
    let fault = Expression::parse("rust (axum").unwrap_err();
    assert_eq!(
        fault.to_string(),
        "character 11: the parenthesis opened at character 6 is not closed"
    );
}

#[test]
fn the_guide_quotes_the_messages_as_they_are() {
    let guide = include_str!("../../../../docs/saved-filters.md");
    let quoted: Vec<(String, String)> = guide
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| ")?
                .strip_suffix(" |")?
                .split_once(" | character ")
        })
        .map(|(written, message)| {
            let expression = if written == "(empty)" {
                ""
            } else {
                written.trim_matches('`')
            };
            (
                expression.to_owned(),
                format!("character {}", message.replace("\\`", "`")),
            )
        })
        .collect();
    assert!(quoted.len() > 5, "the guide's table of messages is gone");
    for (expression, message) in quoted {
        assert_eq!(Expression::parse(&expression).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_sign_that_looks_like_an_exclusion_and_is_none_is_refused() {
    for sign in [
        '\u{2010}', '\u{2011}', '\u{2012}', '–', '—', '\u{2015}', '−', '﹘', '﹣', '－', '!',
    ] {
        let text = format!("rust {sign}java");
        let fault = Expression::parse(&text).unwrap_err();
        assert_eq!(
            fault.to_string(),
            format!("character 6: `{sign}` does not exclude; to exclude, write `-` or `NOT`")
        );
        assert_eq!(position(&format!("title:{sign}x")), 7, "{sign}");
        assert_eq!(position(&format!("a {sign}(b)")), 3, "{sign}");
    }
    for (text, expected) in [
        ("node－js", "\"node js\""),
        ("2020—2024", "\"2020 2024\""),
        ("\"－java\"", "java"),
        ("東京－大阪", "\"東 京 大 阪\""),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn full_width_signs_in_an_operators_place_are_refused() {
    for (text, at, meant) in [
        ("rust ＯＲ go", 6, "write `OR`"),
        ("rust ＡＮＤ go", 6, "write `AND`"),
        ("ＮＯＴ go", 1, "write `NOT`"),
        ("a title：rust", 3, "write `title:`"),
        ("skill﹕rust", 1, "write `skill:`"),
        ("a dev＊", 3, "a prefix is written `rust*`"),
        ("c++﹡", 1, "a prefix is written `rust*`"),
        ("title:dev＊", 7, "a prefix is written `rust*`"),
        ("rust （java OR go）", 6, "write `(` and `)`"),
        ("（java OR go） rust", 1, "write `(` and `)`"),
        ("rust -（java go）", 7, "write `(` and `)`"),
        ("NOT （java go）", 5, "write `(` and `)`"),
        ("title:﹙java go﹚", 7, "write `(` and `)`"),
    ] {
        assert_eq!((position(text), suggestion(text).as_str()), (at, meant), "{text}");
    }
}

#[test]
fn full_width_punctuation_of_plain_text_separates() {
    for (text, expected) in [
        ("开发（后端）", "\"开 发 后 端\""),
        ("（后端）开发", "\"后 端 开 发\""),
        ("-（后端）", "NOT \"后 端\""),
        ("（急募） rust", "\"急 募\" AND rust"),
        ("（rust axum） dev", "rust AND axum AND dev"),
        ("rust（web）", "\"rust web\""),
        ("＊急募＊", "\"急 募\""),
        ("rust＊web", "\"rust web\""),
        ("急募＊", "\"急 募\""),
        ("言語：rust", "\"言 語 rust\""),
        ("subtitle：rust", "\"subtitle rust\""),
        ("Ｒｕｓｔ", "rust"),
        ("＂exact phrase＂", "\"exact phrase\""),
        ("「rust」、「go」", "\"rust go\""),
        ("！rust", "rust"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn typographic_quotes_are_quotes() {
    assert_eq!(
        canonical("“exact phrase” „zwei Worte“"),
        "\"exact phrase\" AND \"zwei worte\""
    );
}

#[test]
fn hostile_expressions_are_refused_before_they_cost_much() {
    let deep = |open: &str, n: usize, close: &str| format!("{}a{}", open.repeat(n), close.repeat(n));
    assert!(Expression::parse(&deep("(", MAX_DEPTH, ")")).is_ok());
    assert_eq!(position(&deep("(", MAX_DEPTH + 1, ")")), MAX_DEPTH + 1);
    assert_eq!(position(&deep("(", 4_900, ")")), MAX_DEPTH + 1);
    assert_eq!(position(&deep("-", 5_000, "")), MAX_DEPTH + 1);
    assert!(Expression::parse(&"a ".repeat(MAX_TERMS)).is_ok());
    assert_eq!(position(&"a ".repeat(MAX_TERMS + 1)), 2 * MAX_TERMS + 1);
    assert!(Expression::parse(&"a.".repeat(MAX_PHRASE_WORDS)).is_ok());
    assert_eq!(position(&"a.".repeat(MAX_PHRASE_WORDS + 1)), 1);
    assert!(Expression::parse(&"é".repeat(MAX_EXPRESSION_CHARS)).is_ok());
    assert_eq!(
        position(&"é".repeat(MAX_EXPRESSION_CHARS + 1)),
        MAX_EXPRESSION_CHARS + 1
    );
}

#[test]
fn the_printed_form_of_an_expression_at_a_limit_may_exceed_the_limit() {
    let deepest = format!("{}a b OR c", "-".repeat(MAX_DEPTH));
    let longest = "nine-char ".repeat(MAX_EXPRESSION_CHARS / 10);
    for (text, limit) in [
        (deepest, "parentheses and negations nest at most 64 deep"),
        (longest, "an expression has at most 10000 characters"),
    ] {
        let fault = Expression::parse(&canonical(&text)).unwrap_err();
        assert_eq!(fault.message, limit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_parses_is_printed_as_something_that_parses_to_the_same(
        tokens in prop::collection::vec(
            select(vec![
                "AND", "OR", "NOT", "-", "(", ")", "\"", "\"a b\"", "title:", "skill:", "description:", "*", "rust",
                "c++", "c#", ".net", "asp.net", "é", "e\u{301}", "東京", "งาน", "\u{fe0f}", "x*", "a.b*", "&", ":", "–",
                "－", "（", "）", "＊", "：", "＂",
                " ", " ", " ", " ",
            ]),
            0..14,
        ),
    ) {
        let text = tokens.concat();
        match Expression::parse(&text) {
            Ok(expression) => {
                let printed = expression.to_string();
                prop_assert_eq!(Expression::parse(&printed), Ok(expression), "{} printed as {}", text, printed);
            }
            Err(fault) => {
                prop_assert!((1..=text.chars().count() + 1).contains(&fault.position), "{}: {}", text, fault);
            }
        }
    }

    #[test]
    fn any_quoted_text_reads_back_from_its_print(text in "\\PC{0,20}") {
        if let Ok(expression) = Expression::parse(&format!("\"{text}\"")) {
            prop_assert_eq!(Expression::parse(&expression.to_string()), Ok(expression));
        }
    }
}
