//! From a template's text to instructions, refusing what letters do not need: blocks that capture text, macros,
//! recursion, methods, and operators on values that would grow without bound.
//!
//! Works on the engine's own tokens, syntax tree and instructions (`minijinja::machinery`), so that a template means
//! here what it means in Jinja.

use std::collections::BTreeSet;

use minijinja::machinery::ast::{Expr, ForLoop, Stmt};
use minijinja::machinery::{CodeGenerator, Instruction, Instructions, Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;

use crate::language::{Language, operator};
use crate::limits::{MAX_STATEMENTS, MAX_TAG_TOKENS, MAX_TEMPLATE_BYTES};
use crate::writer::{at_line, described};

/// The name under which the engine knows every template.
const NAME: &str = "template";

/// Not one of the engine's slots for looked-up filters: look it up each time.
const UNSLOTTED: u8 = u8::MAX;

/// A template ready to be rendered.
#[derive(Debug)]
pub(crate) struct Compiled<'source> {
    pub(crate) instructions: Instructions<'source>,
    /// The names looked up that are neither the template's own nor guarded by `is defined` or `default`, with their
    /// lines: the lead must have them.
    pub(crate) needed: Vec<(&'source str, Option<usize>)>,
}

/// Compiles `source`, or says in which line it is wrong and how.
pub(crate) fn compile<'source>(
    source: &'source str,
    language: &Language,
) -> Result<Compiled<'source>, String> {
    if source.len() > MAX_TEMPLATE_BYTES {
        return Err(format!("the template is larger than {MAX_TEMPLATE_BYTES} bytes"));
    }
    check_tokens(source)?;
    let tree = parse(source, NAME, SyntaxConfig::default()).map_err(|error| described(&error))?;
    let mut generator = CodeGenerator::new(NAME, source);
    compile_all(&mut generator, std::slice::from_ref(&tree))?;
    let (mut instructions, _blocks) = generator.finish();
    rewrite(&mut instructions, language)?;
    let needed = needed_names(&instructions);
    Ok(Compiled { instructions, needed })
}

// ---- tokens: before anything recurses or computes

/// Bounds depth and keeps the engine, which computes constant expressions while it compiles, from repeating a text
/// written in the template: `*` stands between names and numbers only.
fn check_tokens(source: &str) -> Result<(), String> {
    let mut statements = 0;
    let mut in_tag = 0_usize;
    let mut before_is_factor = false;
    let mut after_star = false;
    for token in tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token.map_err(|error| described(&error))?;
        let line = Some(line(span));
        let is_factor = matches!(token, Token::Ident(_) | Token::Int(_) | Token::Float(_));
        if matches!(token, Token::BlockStart) {
            statements += 1;
            if statements > MAX_STATEMENTS {
                return Err(at_line(
                    line,
                    &format!("a template has at most {MAX_STATEMENTS} statements"),
                ));
            }
        }
        match token {
            Token::TemplateData(_) | Token::BlockStart | Token::VariableStart => in_tag = 0,
            _ => in_tag += 1,
        }
        if in_tag > MAX_TAG_TOKENS {
            return Err(at_line(line, "the expression is too long"));
        }
        let is_star = matches!(token, Token::Mul);
        if (after_star && !is_factor) || (is_star && !before_is_factor) {
            let hint = "`*` stands between names and numbers; give other values a name with `set` first";
            return Err(at_line(line, hint));
        }
        after_star = is_star;
        before_is_factor = is_factor;
    }
    Ok(())
}

// ---- statements

fn compile_all<'source>(g: &mut CodeGenerator<'source>, statements: &[Stmt<'source>]) -> Result<(), String> {
    for statement in statements {
        compile_statement(g, statement)?;
    }
    Ok(())
}

fn compile_statement<'source>(
    g: &mut CodeGenerator<'source>,
    statement: &Stmt<'source>,
) -> Result<(), String> {
    match statement {
        Stmt::Template(template) => compile_all(g, &template.children)?,
        Stmt::EmitRaw(raw) => {
            // As a value, so that all that is written passes one place that counts it.
            g.set_line_from_span(raw.span());
            g.add(Instruction::LoadConst(Value::from(raw.raw)));
            g.add(Instruction::Emit);
        }
        Stmt::EmitExpr(emit) => {
            g.set_line_from_span(emit.expr.span());
            g.push_span(emit.expr.span());
            g.compile_expr(&emit.expr);
            g.add(Instruction::Emit);
            g.pop_span();
        }
        Stmt::Set(set) => {
            g.set_line_from_span(set.span());
            g.compile_expr(&set.expr);
            g.add(Instruction::ApplyFilter(operator::KEEP, Some(1), UNSLOTTED));
            check_target(&set.target)?;
            g.compile_assignment(&set.target);
        }
        Stmt::IfCond(condition) => {
            g.set_line_from_span(condition.span());
            g.push_span(condition.expr.span());
            g.compile_expr(&condition.expr);
            g.start_if();
            g.pop_span();
            compile_all(g, &condition.true_body)?;
            if !condition.false_body.is_empty() {
                g.start_else();
                compile_all(g, &condition.false_body)?;
            }
            g.end_if();
        }
        Stmt::ForLoop(for_loop) => compile_loop(g, for_loop, for_loop.span())?,
        Stmt::WithBlock(with) => return Err(unavailable("with", with.span())),
        Stmt::SetBlock(set) => return Err(unavailable("set … endset", set.span())),
        Stmt::AutoEscape(escape) => return Err(unavailable("autoescape", escape.span())),
        Stmt::FilterBlock(filter) => return Err(unavailable("filter", filter.span())),
        Stmt::Do(call) => return Err(unavailable("do", call.span())),
        #[expect(
            unreachable_patterns,
            reason = "the engine has more statements with features that are off here"
        )]
        _ => return Err("holds a statement that templates do not have".to_owned()),
    }
    Ok(())
}

fn compile_loop<'source>(
    g: &mut CodeGenerator<'source>,
    for_loop: &ForLoop<'source>,
    span: Span,
) -> Result<(), String> {
    if for_loop.recursive {
        return Err(unavailable("for … recursive", span));
    }
    check_target(&for_loop.target)?;
    g.set_line_from_span(span);
    g.push_span(for_loop.iter.span());
    if let Some(condition) = &for_loop.filter_expr {
        // A loop without a body that leaves the elements that pass on the stack, and their number above them.
        g.add(Instruction::LoadConst(Value::from(0_usize)));
        compile_iterable(g, &for_loop.iter);
        g.start_for_loop(false, false);
        g.add(Instruction::DupTop);
        g.compile_assignment(&for_loop.target);
        g.compile_expr(condition);
        g.start_if();
        g.add(Instruction::Swap);
        g.add(Instruction::LoadConst(Value::from(1_usize)));
        g.add(Instruction::Add);
        g.start_else();
        g.add(Instruction::DiscardTop);
        g.end_if();
        g.end_for_loop(false);
        g.add(Instruction::BuildList(None));
    } else {
        compile_iterable(g, &for_loop.iter);
    }
    g.pop_span();
    g.start_for_loop(true, false);
    g.compile_assignment(&for_loop.target);
    compile_all(g, &for_loop.body)?;
    g.end_for_loop(!for_loop.else_body.is_empty());
    if !for_loop.else_body.is_empty() {
        g.start_if();
        compile_all(g, &for_loop.else_body)?;
        g.end_if();
    }
    Ok(())
}

fn compile_iterable<'source>(g: &mut CodeGenerator<'source>, iterable: &Expr<'source>) {
    g.compile_expr(iterable);
    g.add(Instruction::ApplyFilter(operator::ITERATE, Some(1), UNSLOTTED));
}

/// A name, or several in a row; not a member of something.
fn check_target(target: &Expr<'_>) -> Result<(), String> {
    match target {
        Expr::Var(_) => Ok(()),
        Expr::Tuple(names) => names.items.iter().try_for_each(check_target),
        Expr::List(names) => names.items.iter().try_for_each(check_target),
        other => Err(at_line(
            Some(line(other.span())),
            "only a name can be given a value",
        )),
    }
}

fn unavailable(statement: &str, span: Span) -> String {
    at_line(
        Some(line(span)),
        &format!("`{{% {statement} %}}` is not available in templates"),
    )
}

fn line(span: Span) -> usize {
    usize::from(span.start_line)
}

// ---- instructions

/// Puts our operators in the place of the engine's where those are unbounded, and refuses what is not there.
fn rewrite(instructions: &mut Instructions<'_>, language: &Language) -> Result<(), String> {
    let mut index = 0;
    while let Some(instruction) = instructions.get(index) {
        let binary = |name: &'static str| Some(Instruction::ApplyFilter(name, Some(2), UNSLOTTED));
        let (replacement, fault) = match instruction {
            Instruction::Add => (binary(operator::ADD), None),
            Instruction::Mul => (binary(operator::MULTIPLY), None),
            Instruction::StringConcat => (binary(operator::CONCATENATE), None),
            Instruction::BuildList(Some(items)) | Instruction::BuildTuple(Some(items)) => {
                let items = u16::try_from(*items).unwrap_or(u16::MAX);
                (
                    Some(Instruction::ApplyFilter(operator::LIST, Some(items), UNSLOTTED)),
                    None,
                )
            }
            Instruction::Lt => (binary(operator::LESS), None),
            Instruction::Lte => (binary(operator::LESS_OR_EQUAL), None),
            Instruction::Gt => (binary(operator::GREATER), None),
            Instruction::Gte => (binary(operator::GREATER_OR_EQUAL), None),
            Instruction::In => (binary(operator::IN), None),
            Instruction::CompareAndPreserve(_) => (
                None,
                Some("comparisons cannot be chained; join two with `and`".to_owned()),
            ),
            // What `… if …` without `else` gives: nothing, on purpose.
            Instruction::LoadConst(value) if value.is_undefined() => {
                (Some(Instruction::LoadConst(Value::from(()))), None)
            }
            Instruction::BuildMap(_) => (None, Some("objects cannot be written in templates".to_owned())),
            Instruction::UnpackLists(_) | Instruction::MergeKwargs(_) => (
                None,
                Some("`*` and `**` before an argument are not available in templates".to_owned()),
            ),
            Instruction::CallFunction("range", arguments) => (
                Some(Instruction::ApplyFilter(operator::RANGE, *arguments, UNSLOTTED)),
                None,
            ),
            Instruction::CallFunction(name, _) => (None, Some(format!("there is no function `{name}`"))),
            Instruction::CallMethod(name, _) => {
                (None, Some(format!("there is no method `{name}`; use a filter")))
            }
            Instruction::CallObject(_) | Instruction::FastRecurse => {
                (None, Some("only `range` can be called".to_owned()))
            }
            Instruction::ApplyFilter(name, ..)
                if ![operator::KEEP, operator::ITERATE].contains(name)
                    && !language.filters.contains(name) =>
            {
                (None, Some(format!("there is no filter `{name}`")))
            }
            Instruction::PerformTest(name, ..) if !language.tests.contains(name) => {
                (None, Some(format!("there is no test `{name}`")))
            }
            _ => (None, None),
        };
        if let Some(fault) = fault {
            return Err(at_line(instructions.get_line(index), &fault));
        }
        if let (Some(replacement), Some(place)) = (replacement, instructions.get_mut(index)) {
            *place = replacement;
        }
        index += 1;
    }
    Ok(())
}

fn needed_names<'source>(instructions: &Instructions<'source>) -> Vec<(&'source str, Option<usize>)> {
    let all = || (0..).map_while(|index| Some((index, instructions.get(index)?)));
    let own: BTreeSet<&str> = all()
        .filter_map(|(_, instruction)| match instruction {
            Instruction::StoreLocal(name) => Some(*name),
            _ => None,
        })
        .chain(["loop"])
        .collect();
    all()
        .filter_map(|(index, instruction)| match instruction {
            Instruction::Lookup(name) if !own.contains(name) && !is_guarded(instructions, index) => {
                Some((*name, instructions.get_line(index)))
            }
            _ => None,
        })
        .collect()
}

/// Whether the name looked up at `index` is asked about before it is used: `x is defined`, `x|default("…")`.
fn is_guarded(instructions: &Instructions<'_>, index: u32) -> bool {
    let is_default = |instruction: Option<&Instruction<'_>>| {
        matches!(instruction, Some(Instruction::ApplyFilter("default" | "d", ..)))
    };
    match instructions.get(index + 1) {
        Some(Instruction::PerformTest("defined" | "undefined", ..)) => true,
        Some(Instruction::LoadConst(_) | Instruction::Lookup(_)) => is_default(instructions.get(index + 2)),
        other => is_default(other),
    }
}
