//! How much one line looks like a line of a script language. The verdict over a whole text is
//! [`script`](super::script)'s.

/// How much a line looks like code of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// It may as well be prose.
    No,
    /// Code that another language, or an odd sentence, might also hold.
    Likely,
    /// Nothing else begins so.
    Sure,
}

fn judged(is_sure: bool, is_likely: impl FnOnce() -> bool) -> Likeness {
    if is_sure {
        Likeness::Sure
    } else if is_likely() {
        Likeness::Likely
    } else {
        Likeness::No
    }
}

/// Windows batch.
pub(super) fn batch(line: &str) -> Likeness {
    let lower = line.to_ascii_lowercase();
    let (is_silent, command) = match lower.strip_prefix('@') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, lower.as_str()),
    };
    let (verb, rest) = first_word(command);
    let verb = verb.strip_suffix(".exe").unwrap_or(verb);
    let switches = rest
        .split_ascii_whitespace()
        .filter(|word| word.starts_with('/') && (2..=4).contains(&word.len()))
        .count();
    let names_path = || rest.contains('\\') || rest.split('%').count() > 2;
    let is_condition = verb == "if"
        && starts_with_any(
            rest,
            &[
                "exist ",
                "not exist ",
                "errorlevel ",
                "defined ",
                "not defined ",
                "\"%",
                "%",
            ],
        );
    // Prose goes on for longer than most commands do.
    let is_short = rest.split_ascii_whitespace().count() <= 4;
    let is_sure = (is_silent && (SILENT_VERBS.contains(&verb) || is_condition))
        || matches!((verb, rest), ("echo", "off" | "on"))
        || (verb == "setlocal" && matches!(rest, "" | "enabledelayedexpansion" | "enableextensions"))
        || (verb == "set" && (starts_with_any(rest, &["/p ", "/a ", "\""]) || is_assignment(rest)))
        || (verb == "for" && starts_with_any(rest, &["%", "/f ", "/l ", "/r ", "/d "]))
        || (verb == "exit" && starts_with_any(rest, &["/b"]))
        || (verb == "start" && rest.starts_with("\"\""))
        || (verb == "cd" && rest.starts_with("/d"))
        || lower.contains("%~dp0")
        || ((SILENT_VERBS.contains(&verb) || SYSTEM_VERBS.contains(&verb))
            && (lower.contains(">nul") || lower.contains("> nul")))
        || (SYSTEM_VERBS.contains(&verb) && (switches > 1 || (is_short && (switches == 1 || names_path()))));
    judged(is_sure, || {
        let is_label = lower.starts_with(':') && !lower[1..].is_empty() && is_word(&lower[1..]);
        let is_bare = rest.is_empty() && matches!(verb, "cls" | "pause" | "exit" | "endlocal" | ")");
        let is_jump = matches!(verb, "goto" | "call") && is_word(rest.trim_start_matches(':'));
        let is_command = matches!(verb, "echo" | "echo." | "title" | "color")
            || (SYSTEM_VERBS.contains(&verb) && is_short);
        is_label || is_bare || is_condition || is_jump || is_command
    })
}

/// Commands that follow `@`, and are no words that a note to a person of that name would go on with.
const SILENT_VERBS: [&str; 14] = [
    "cd",
    "cls",
    "cmd",
    "del",
    "echo",
    "endlocal",
    "goto",
    "ping",
    "popd",
    "powershell",
    "pushd",
    "rem",
    "setlocal",
    "timeout",
];

/// Commands that change or run something.
const SYSTEM_VERBS: [&str; 37] = [
    "attrib",
    "bitsadmin",
    "cacls",
    "certutil",
    "cmd",
    "copy",
    "cscript",
    "del",
    "erase",
    "format",
    "icacls",
    "md",
    "mkdir",
    "move",
    "mshta",
    "msiexec",
    "net",
    "netsh",
    "ping",
    "powershell",
    "rd",
    "reg",
    "regsvr32",
    "ren",
    "rmdir",
    "robocopy",
    "rundll32",
    "sc",
    "schtasks",
    "shutdown",
    "start",
    "takeown",
    "taskkill",
    "timeout",
    "wmic",
    "wscript",
    "xcopy",
];

/// JavaScript.
pub(super) fn javascript(line: &str) -> Likeness {
    let ends_as_code =
        line.ends_with([';', '{', '}', '(', '[', ',']) || line.ends_with("=>") || line.ends_with(')');
    let ends_statement = line.ends_with([';', '{', '}', '(', '[']) || line.ends_with("=>");
    let (word, rest) = first_word(line);
    let declares = matches!(word, "var" | "let" | "const") && is_declaration(rest);
    let function = line
        .strip_prefix("async ")
        .unwrap_or(line)
        .strip_prefix("function");
    let is_function = function.is_some_and(|rest| {
        rest.starts_with([' ', '*', '('])
            && rest.contains('(')
            && rest.contains(')')
            && line.ends_with(['{', '}', ';', ')'])
            && is_word(
                rest.trim_start_matches([' ', '*'])
                    .split('(')
                    .next()
                    .unwrap_or_default()
                    .trim_end(),
            )
    });
    let imports = word == "import"
        && (rest.starts_with(['"', '\'', '{']) || rest.contains(" from '") || rest.contains(" from \""))
        && line.ends_with(['"', '\'', ';', '{', ',']);
    let exports = word == "export"
        && starts_with_any(
            rest,
            &["default ", "const ", "function ", "class ", "async ", "{"],
        )
        && ends_as_code;
    let is_class = word == "class" && line.ends_with('{') && rest.split_ascii_whitespace().count() <= 4;
    let is_sure = starts_with_any(line, &["'use strict'", "\"use strict\""])
        || starts_with_any(
            line,
            &[
                "(function",
                "!function",
                ";(function",
                "(() =>",
                "(()=>",
                "(async ",
            ],
        )
        || (declares && ends_statement)
        || is_function
        || imports
        || exports
        || (starts_with_any(line, &["module.exports", "exports."]) && line.contains('='))
        || (is_class && ends_as_code)
        || (ends_as_code && HOSTS.iter().any(|host| line.starts_with(host)) && is_chain_with_effect(line));
    judged(is_sure, || {
        let is_closing = matches!(line, "}" | "};" | "});" | "})" | ")" | ");" | "]" | "];" | "},");
        let is_flow = matches!(word, "if" | "for" | "while" | "switch" | "catch" | "}")
            && line.ends_with('{')
            || starts_with_any(line, &["if(", "for(", "while(", "switch("]) && ends_as_code
            || matches!(line, "else {" | "try {" | "do {");
        let returns = word == "return" && line.ends_with(';');
        is_closing
            || is_flow
            || returns
            || declares
            || (line.ends_with([';', '{']) && is_chain_with_effect(line))
    })
}

/// What a script's first call is likely to be on.
const HOSTS: [&str; 20] = [
    "document.",
    "window.",
    "console.",
    "alert(",
    "eval(",
    "$(",
    "jQuery(",
    "new ",
    "WScript.",
    "setTimeout(",
    "setInterval(",
    "fetch(",
    "location",
    "process.",
    "self.",
    "globalThis.",
    "require(",
    "String.",
    "Function(",
    "confirm(",
];

/// PowerShell.
pub(super) fn powershell(line: &str) -> Likeness {
    let lower = line.to_ascii_lowercase();
    let (word, rest) = first_word(&lower);
    let value = lower
        .strip_prefix('$')
        .and_then(|assignment| assignment.split_once('='));
    let assigns = value.is_some_and(|(name, _)| {
        let name = name.trim_end().trim_end_matches(['+', '-']).trim_end();
        let name = name.split_once(':').map_or(name, |(_, name)| name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_.[]'\"".contains(c))
    });
    let is_static_call = lower.starts_with('[') && lower.contains("]::");
    let defines = word == "function"
        && (has_cmdlet_verb(rest) && rest.contains('{')
            || rest
                .split_once(' ')
                .is_some_and(|(name, brace)| is_word(name) && brace == "{"));
    let runs = matches!(word, "iex" | "invoke-expression" | "iwr" | "irm")
        && !rest.is_empty()
        && takes_arguments(rest)
        || matches!(word, "powershell" | "powershell.exe" | "pwsh") && rest.starts_with('-')
        || word == "&" && rest.starts_with(['"', '\'', '{', '$', '('])
        || starts_with_any(&lower, &["iex(", "iex ("]);
    let is_sure = starts_with_any(
        &lower,
        &["#requires -", "[cmdletbinding(", "using namespace system"],
    ) || matches!(lower.as_str(), "param(" | "param (")
        || (starts_with_any(&lower, &["param(", "param ("]) && lower.contains('$'))
        || assigns
        || is_static_call
        || defines
        || runs
        || (is_cmdlet(word) && takes_arguments(rest));
    judged(is_sure, || {
        let is_block = line.ends_with('{')
            && starts_with_any(
                &lower,
                &["if ", "if(", "foreach ", "foreach(", "try", "}", "while ", "else"],
            );
        matches!(line, "}" | ")" | "})")
            || is_block
            || lower.starts_with('|')
            || lower.contains(" | where-object")
    })
}

/// Whether what follows a command reads as its arguments, not as the rest of a sentence.
fn takes_arguments(rest: &str) -> bool {
    let mut words = rest.split_ascii_whitespace();
    let is_marked = |word: &str| {
        word.starts_with(['$', '"', '\'', '|', '(', '{', '@'])
            || word
                .strip_prefix('-')
                .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    words.clone().take(2).any(is_marked)
        || words.clone().any(|word| word == "|")
        || (words.by_ref().take(3).count() <= 2 && !rest.ends_with(['.', ',', '!', '?', ':']))
}

/// The verbs of cmdlets, in lower case.
const CMDLET_VERBS: [&str; 26] = [
    "add",
    "clear",
    "compress",
    "convertfrom",
    "convertto",
    "copy",
    "disable",
    "enable",
    "expand",
    "export",
    "foreach",
    "get",
    "import",
    "install",
    "invoke",
    "move",
    "new",
    "out",
    "read",
    "remove",
    "select",
    "set",
    "start",
    "stop",
    "test",
    "write",
];

fn has_cmdlet_verb(word: &str) -> bool {
    word.split_once('-')
        .is_some_and(|(verb, _)| CMDLET_VERBS.contains(&verb))
}

/// Whether a word in lower case is a cmdlet: a verb, a hyphen and a noun that cmdlets have, so that neither
/// "start-up" nor "read-only" is one.
fn is_cmdlet(word: &str) -> bool {
    const NOUNS: [&str; 47] = [
        "acl",
        "aduser",
        "archive",
        "bitstransfer",
        "childitem",
        "ciminstance",
        "command",
        "computer",
        "computerinfo",
        "content",
        "credential",
        "csv",
        "date",
        "error",
        "eventlog",
        "executionpolicy",
        "expression",
        "file",
        "host",
        "item",
        "itemproperty",
        "job",
        "json",
        "localuser",
        "location",
        "module",
        "mppreference",
        "netadapter",
        "null",
        "object",
        "output",
        "path",
        "process",
        "psdrive",
        "pssession",
        "random",
        "restmethod",
        "scheduledtask",
        "service",
        "sleep",
        "string",
        "type",
        "variable",
        "verbose",
        "warning",
        "webrequest",
        "wmiobject",
    ];
    has_cmdlet_verb(word)
        && word
            .split_once('-')
            .is_some_and(|(_, noun)| NOUNS.contains(&noun))
}

/// VBScript, and the Visual Basic of macros.
pub(super) fn vbscript(line: &str) -> Likeness {
    let lower = line.to_ascii_lowercase();
    let (word, rest) = first_word(&lower);
    let creates = |text: &str| {
        ["createobject(", "getobject(", "wscript."]
            .iter()
            .any(|call| text.contains(call))
    };
    let assignment = lower.strip_prefix("set ").unwrap_or(&lower).split_once('=');
    let assigned = assignment
        .filter(|(name, _)| is_word(name.trim()))
        .map(|(_, value)| value.trim_start());
    let is_procedure = {
        let (visibility, inner) = first_word(&lower);
        let head = if matches!(visibility, "private" | "public") {
            inner
        } else {
            &lower
        };
        starts_with_any(head, &["sub ", "function "])
            && head.ends_with(')')
            && head
                .split_once(' ')
                .is_some_and(|(_, name)| is_word(name.split('(').next().unwrap_or_default()))
    };
    let is_sure = lower == "option explicit"
        || lower.starts_with("on error resume next")
        || lower.starts_with("attribute vb_name")
        || assigned.is_some_and(|value| creates(value) || starts_with_any(value, &["inputbox(", "msgbox("]))
        || starts_with_any(
            &lower,
            &[
                "msgbox \"",
                "msgbox(\"",
                "createobject(",
                "execute(",
                "executeglobal ",
                "execute \"",
            ],
        )
        || starts_with_any(
            &lower,
            &[
                "wscript.echo",
                "wscript.sleep",
                "wscript.quit",
                "wscript.createobject",
            ],
        )
        || (word == "with" && creates(rest));
    judged(is_sure, || {
        let is_end = matches!(
            lower.as_str(),
            "end sub" | "end function" | "end if" | "next" | "loop" | "wend" | "else" | "end with"
        );
        let is_flow = matches!(word, "if" | "elseif") && lower.ends_with(" then")
            || (word == "for"
                && (rest.contains(" to ") || rest.starts_with("each "))
                && rest.split_ascii_whitespace().count() <= 6
                && (rest.contains('=') || rest.contains(" in ")));
        let is_dim = word == "dim"
            && rest
                .split(',')
                .all(|name| is_word(name.trim().split([' ', '(']).next().unwrap_or_default()))
            && !rest.ends_with('.');
        let is_value = assigned.is_some_and(|value| value.starts_with('"') && value.ends_with('"'))
            || word == "const" && rest.contains('=');
        is_end || is_flow || is_dim || is_procedure || is_value
    })
}

fn first_word(line: &str) -> (&str, &str) {
    line.split_once([' ', '\t'])
        .map_or((line, ""), |(word, rest)| (word, rest.trim()))
}

fn starts_with_any(text: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| text.starts_with(start))
}

/// One identifier, and nothing else; the empty one of a nameless function counts.
fn is_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
}

/// `name=value`, without a space before the sign, as batch has it.
fn is_assignment(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && is_word(name))
}

/// What follows `var`, `let` or `const` in a declaration: names, perhaps a pattern, perhaps a value.
fn is_declaration(rest: &str) -> bool {
    let target = rest
        .split('=')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_end_matches(';');
    let is_pattern = target.starts_with(['{', '[']);
    let names = || {
        target
            .split(',')
            .all(|name| !name.trim().is_empty() && is_word(name.trim()))
    };
    (is_pattern && rest.contains('=')) || (names() && (rest.contains('=') || rest.ends_with(';')))
}

/// `name.name(…`, `name.name = …` or `new Name(…`: no word stands beside another.
fn is_chain_with_effect(line: &str) -> bool {
    let line = line.strip_prefix("new ").unwrap_or(line);
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')))
        .unwrap_or(line.len());
    let rest = &line[end..];
    rest.starts_with('(') || rest.trim_start().starts_with('=') || rest.starts_with('[')
}
