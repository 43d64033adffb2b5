//! What ends every rendering: how large a template, a text on the way and the result may be, and how much work may
//! be done.
//!
//! The engine's fuel counts instructions. One instruction can do much, so those that can are charged for the size of
//! what they touch as well.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

/// The largest template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 64 * 1024;

/// The largest result, in bytes.
pub const MAX_LETTER_BYTES: usize = 1024 * 1024;

/// The largest text that a template may put together or bind, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 128 * 1024;

/// Instructions of the engine. A letter that names fifty skills takes about a thousand.
pub(crate) const FUEL: u64 = 20_000;

/// Most tokens within one `{{ … }}` or `{% … %}`. It bounds how long a chain of filters or operators can be, which the
/// engine follows by recursion.
pub(crate) const MAX_TAG_TOKENS: usize = 256;

/// How deep expressions and values may be nested; leads are less than a tenth of it.
pub(crate) const MAX_DEPTH: usize = 64;

/// Most `{% … %}` in a template. It bounds how deep a chain of `elif` can be.
pub(crate) const MAX_STATEMENTS: usize = 256;

/// Most elements of a `range`.
pub(crate) const MAX_RANGE: usize = 1000;

/// Bytes and list elements that filters and operators may touch.
const WORK: usize = 2 * 1024 * 1024;

/// The work that a rendering has done.
#[derive(Debug, Default)]
struct Work(usize);

pub(crate) fn refused(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Charges for touching so many bytes or elements.
pub(crate) fn charge(state: &mut State<'_, '_>, units: usize) -> Result<(), Error> {
    let work = state.get_or_insert_extension_with(Work::default);
    work.0 = work.0.saturating_add(units);
    if work.0 > WORK {
        Err(Error::from(ErrorKind::OutOfFuel))
    } else {
        Ok(())
    }
}

/// Charges for touching all of `value`.
pub(crate) fn charge_for(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    charge_below(state, value, 0)
}

/// Charges for a filter's work: all that it is given, and what it is given beside a list once for each element, as where
/// each is looked for in a text.
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
