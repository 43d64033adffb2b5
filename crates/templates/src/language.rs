//! The filters, tests and guarded operators of templates.
//!
//! Templates may use only what is listed here, so filters that a later engine adds are not available to them. Every filter
//! and operator is charged for the size of its arguments. Those whose result could be much larger are implemented here.

use std::cmp::Ordering;

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, Output, State, UndefinedBehavior, escape_formatter};

use crate::limits::{FUEL, MAX_RANGE, MAX_TEXT_BYTES, charge, charge_for, charge_for_call, refused};

/// The filters that templates may use. The engine has more, which templates cannot call.
const FILTERS: &str = "abs bool capitalize count d default first float int join last length lines list lower map max \
    min reject rejectattr replace reverse round select selectattr sort split string title trim unique upper";

/// The tests that templates may use.
const TESTS: &str = "boolean defined divisibleby endingwith eq equalto even false ge gt in integer iterable le lower \
    lt mapping ne none number odd sequence startingwith string true undefined upper";

/// Whether templates may use the filter.
pub(crate) fn is_filter(name: &str) -> bool {
    FILTERS.split_whitespace().any(|filter| filter == name)
}

/// Whether templates may use the test.
pub(crate) fn is_test(name: &str) -> bool {
    TESTS.split_whitespace().any(|test| test == name)
}

/// The engine's environment. Filters with a leading underscore are the operators that [`grammar`](crate::grammar) writes.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    // Errors then name the missing member.
    environment.set_debug(true);
    // A member of a missing value is missing too, so that `if a.b.c` needs no `if a` and `if a.b` around it. The
    // engine's stricter modes refuse that even in an `if`. `print`, the operators and the filters here refuse a missing
    // value, so it never gets into the letter.
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_formatter(print);
    environment.add_filter("_compare", compare);
    environment.add_filter("_concatenate", concatenate);
    environment.add_filter("_filter", filter);
    environment.add_filter("_in", is_in);
    environment.add_filter("_keep", keep);
    environment.add_filter("_operand", operand);
    environment.add_filter("_range", range);
    environment.add_filter("d", default);
    environment.add_filter("default", default);
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    environment
}

/// Writes a value into the letter. Null is written as nothing. A missing value, a list or an object is an error.
fn print(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => Ok(()),
        ValueKind::String | ValueKind::Number | ValueKind::Bool => escape_formatter(out, state, value),
        ValueKind::Undefined => refuse_missing(value),
        ValueKind::Map => Err(refused("an object cannot be printed; print one of its fields")),
        _ => Err(refused("a list cannot be printed; use `join` or a `for` loop")),
    }
}

/// Refuses a missing value. The error names its expression.
fn refuse_missing(value: &Value) -> Result<(), Error> {
    // Only the engine knows the name, and says it when asked for a member.
    if value.is_undefined() {
        value.get_attr("").map(drop)
    } else {
        Ok(())
    }
}

/// `value|name(…)`: one of [`FILTERS`], charged for its arguments.
fn filter(state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let mut args = args.into_values();
    let name = args.remove(1);
    let name = name.as_str().unwrap_or_default();
    charge_for_call(state, &args)?;
    if !matches!(name, "d" | "default") {
        args.iter().try_for_each(refuse_missing)?;
        if args[0].is_none() {
            return Ok(of_null(name));
        }
    }
    // `map` takes the name of another filter.
    if let ("map", Some(inner)) = (name, args.get(1).and_then(Value::as_str))
        && !is_filter(inner)
    {
        return Err(refused(format!("there is no filter `{inner}`")));
    }
    state.apply_filter(name, &args)
}

/// The result of a filter on null: null, except for those that count or convert.
fn of_null(filter: &str) -> Value {
    match filter {
        "bool" => Value::from(false),
        "count" | "length" => Value::from(0),
        "list" => Value::from(Vec::<Value>::new()),
        _ => Value::from(()),
    }
}

/// The text of a value in an expression, which is the text that would be printed.
fn text(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::None => Ok(String::new()),
        ValueKind::String | ValueKind::Number | ValueKind::Bool => Ok(value.to_string()),
        ValueKind::Undefined => refuse_missing(value).map(|()| String::new()),
        kind => Err(refused(format!("a {kind} cannot be part of a text"))),
    }
}

fn concatenate(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    keep(state, Value::from(text(left)? + &text(right)?))
}

/// Checks a side of `+` or `*`, which must be a number, or for `+` a text. The engine would also repeat texts and lists.
fn operand(value: Value, operator: &str) -> Result<Value, Error> {
    refuse_missing(&value)?;
    if value.is_number() || (operator == "+" && value.as_str().is_some()) {
        Ok(value)
    } else {
        Err(refused(format!(
            "`{operator}` is for numbers, not for {}",
            value.kind()
        )))
    }
}

/// Compares two values. An unknown value is neither less nor greater than any other. (The engine orders null below all
/// numbers, so that an unknown rating would be a bad one.)
fn compare(state: &mut State<'_, '_>, left: &Value, operator: &str, right: &Value) -> Result<bool, Error> {
    charge_for(state, left)?;
    match operator {
        "==" => return Ok(left == right),
        "!=" => return Ok(left != right),
        _ => {}
    }
    let is_unknown = |value: &Value| value.is_undefined() || value.is_none();
    if is_unknown(left) || is_unknown(right) {
        return Ok(false);
    }
    if left.kind() != right.kind() || !matches!(left.kind(), ValueKind::Number | ValueKind::String) {
        let (left, right) = (left.kind(), right.kind());
        return Err(refused(format!("{left} and {right} cannot be compared by order")));
    }
    let order = left.cmp(right);
    Ok(match operator {
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    })
}

/// Whether `container` contains `value`. An unknown one contains nothing.
fn is_in(state: &mut State<'_, '_>, value: &Value, container: &Value) -> Result<bool, Error> {
    if container.is_undefined() || container.is_none() {
        return Ok(false);
    }
    charge_for(state, container)?;
    state.perform_test("in", &[value.clone(), container.clone()])
}

/// Charges for a value that a template binds or computes. A lazy list is evaluated, so that it does not become a chain of
/// computations.
fn keep(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    refuse_missing(&value)?;
    charge_for(state, &value)?;
    if value.as_str().is_some_and(|text| text.len() > MAX_TEXT_BYTES) {
        return Err(refused(format!(
            "creates a text larger than {MAX_TEXT_BYTES} bytes"
        )));
    }
    match value.kind() {
        ValueKind::Iterable | ValueKind::Seq => Ok(Value::from(value.try_iter()?.collect::<Vec<_>>())),
        _ => Ok(value),
    }
}

/// Jinja's `default`, which also replaces null: a null in a lead means that the marketplace gives no value.
fn default(value: Value, other: Option<Value>, boolean: Option<bool>) -> Value {
    let missing = value.is_undefined() || value.is_none() || (boolean == Some(true) && !value.is_true());
    if missing {
        other.unwrap_or_else(|| Value::from(""))
    } else {
        value
    }
}

fn replace(state: &mut State<'_, '_>, value: &str, from: &str, to: &str) -> Result<String, Error> {
    charge(state, value.matches(from).count().saturating_mul(to.len()))?;
    Ok(value.replace(from, to))
}

/// Jinja's `join`. Null is joined as nothing.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands keyword arguments over by value"
)]
fn join(items: &Value, separator: Option<&str>, options: Kwargs) -> Result<String, Error> {
    let attribute = options.get::<Option<&str>>("attribute")?;
    options.assert_all_used()?;
    let member = |item: Value| attribute.map_or(Ok(item.clone()), |name| item.get_attr(name));
    let texts = items.try_iter()?.map(|item| text(&member(item)?));
    Ok(texts
        .collect::<Result<Vec<_>, _>>()?
        .join(separator.unwrap_or_default()))
}

/// `range(…)`, which is written as a filter of null.
fn range(_: Value, lower: i64, upper: Option<i64>, step: Option<i64>) -> Result<Vec<i64>, Error> {
    let (lower, upper) = upper.map_or((0, lower), |upper| (lower, upper));
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(refused("a range needs a step other than 0"));
    }
    let numbers: Vec<i64> = std::iter::successors(Some(lower), |number| number.checked_add(step))
        .take_while(|number| {
            if step > 0 {
                *number < upper
            } else {
                *number > upper
            }
        })
        .take(MAX_RANGE + 1)
        .collect();
    if numbers.len() > MAX_RANGE {
        return Err(refused(format!("a range has at most {MAX_RANGE} elements")));
    }
    Ok(numbers)
}
