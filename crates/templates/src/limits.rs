//! The limits of a rendering: the sizes of the template, of texts and of the result, and the work.
//!
//! The engine's fuel counts instructions. An instruction can be expensive, so such instructions are also charged for the
//! size of their values.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

/// The largest template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 64 * 1024;

/// The largest result, in bytes.
pub const MAX_LETTER_BYTES: usize = 1024 * 1024;

/// The largest text that a template may create or bind, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 128 * 1024;

/// The most instructions of the engine. A letter that names fifty skills takes about a thousand.
pub(crate) const FUEL: u64 = 20_000;

/// The most tokens in one `{{ … }}` or `{% … %}`. It limits chains of filters and operators, which the engine evaluates
/// recursively.
pub(crate) const MAX_TAG_TOKENS: usize = 256;

/// The deepest nesting of expressions and values. Leads need less than a tenth of it.
pub(crate) const MAX_DEPTH: usize = 64;

/// The most `{% … %}` in a template. It limits chains of `elif`.
pub(crate) const MAX_STATEMENTS: usize = 256;

/// The most elements of a `range`.
pub(crate) const MAX_RANGE: usize = 1000;

/// The most bytes and list elements that filters and operators may process.
const WORK: usize = 2 * 1024 * 1024;

/// The work that a rendering has done.
#[derive(Debug, Default)]
struct Work(usize);

pub(crate) fn refused(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Charges for processing this number of bytes or elements.
pub(crate) fn charge(state: &mut State<'_, '_>, units: usize) -> Result<(), Error> {
    let work = state.get_or_insert_extension_with(Work::default);
    work.0 = work.0.saturating_add(units);
    if work.0 > WORK {
        Err(Error::from(ErrorKind::OutOfFuel))
    } else {
        Ok(())
    }
}

/// Charges for processing all of `value`.
pub(crate) fn charge_for(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    charge_below(state, value, 0)
}

/// Charges for a call of a filter: for all its arguments, and for those after a list once for each element, since a filter
/// may use them for each.
pub(crate) fn charge_for_call(state: &mut State<'_, '_>, args: &[Value]) -> Result<(), Error> {
    let Some((subject, others)) = args.split_first() else {
        return Ok(());
    };
    charge_for(state, subject)?;
    let before = state.get_or_insert_extension_with(Work::default).0;
    others.iter().try_for_each(|other| charge_for(state, other))?;
    let for_each = state.get_or_insert_extension_with(Work::default).0 - before;
    let elements = if subject.kind() == ValueKind::String {
        0
    } else {
        subject.len().unwrap_or_default()
    };
    charge(state, for_each.saturating_mul(elements))
}

fn charge_below(state: &mut State<'_, '_>, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(refused("the value is nested too deep"));
    }
    charge(state, 1 + value.as_str().map_or(0, str::len))?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => value
            .try_iter()?
            .try_for_each(|item| charge_below(state, &item, depth + 1)),
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            charge_below(state, &key, depth + 1)?;
            charge_below(state, &value.get_item(&key)?, depth + 1)
        }),
        _ => Ok(()),
    }
}
