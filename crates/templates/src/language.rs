//! The filters, tests, functions and operators of templates.
//!
//! A list of what there is, not of what there is not: an engine that gains filters does not give them to templates.
//! Every filter is charged for the size of what it is given; the few whose result can be much larger than that have
//! versions of their own.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use minijinja::value::{FunctionArgs, FunctionResult, Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, Output, State, UndefinedBehavior, escape_formatter, filters, tests};

use crate::limits::{
    FUEL, MAX_RANGE, charge, charge_for, charge_for_call, charge_output, check_text, refused,
};

/// Names that stand for operators and the one function. No template can write them, and no field of a lead can hide them, since filters
/// have a name space of their own.
pub(crate) mod operator {
    pub(crate) const ADD: &str = "+";
    pub(crate) const MULTIPLY: &str = "*";
    pub(crate) const CONCATENATE: &str = "~";
    pub(crate) const LESS: &str = "<";
    pub(crate) const LESS_OR_EQUAL: &str = "<=";
    pub(crate) const GREATER: &str = ">";
    pub(crate) const GREATER_OR_EQUAL: &str = ">=";
    pub(crate) const IN: &str = "in";
    pub(crate) const LIST: &str = "[]";
    pub(crate) const KEEP: &str = "=";
    pub(crate) const RANGE: &str = "range()";
    pub(crate) const ITERATE: &str = "for";
}

/// What templates are rendered with, and the names they may use.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) environment: Environment<'static>,
    pub(crate) filters: BTreeSet<&'static str>,
    pub(crate) tests: BTreeSet<&'static str>,
}

impl Language {
    pub(crate) fn new() -> Self {
        let mut environment = Environment::empty();
        environment.set_fuel(Some(FUEL));
        // Members of what is missing are missing too, so that `if a.b.c` needs no `if a` and `if a.b` around it. The
        // engine's stricter behaviours refuse that even in an `if`; what they refuse beside it, `print`, the operators
        // and the filters here do: whatever would put a missing value into the letter is an error.
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_formatter(print);
        let mut language = Self {
            environment,
            filters: BTreeSet::new(),
            tests: BTreeSet::new(),
        };
        language.add_operators();
        language.add_filters();
        language.add_tests();
        language
    }

    fn add_operators(&mut self) {
        self.environment.add_filter(operator::ADD, add);
        self.environment.add_filter(operator::MULTIPLY, multiply);
        self.environment.add_filter(operator::CONCATENATE, concatenate);
        self.environment
            .add_filter(operator::LESS, |a: &Value, b: &Value| {
                compare(a, b, Ordering::is_lt)
            });
        self.environment
            .add_filter(operator::LESS_OR_EQUAL, |a: &Value, b: &Value| {
                compare(a, b, Ordering::is_le)
            });
        self.environment
            .add_filter(operator::GREATER, |a: &Value, b: &Value| {
                compare(a, b, Ordering::is_gt)
            });
        self.environment
            .add_filter(operator::GREATER_OR_EQUAL, |a: &Value, b: &Value| {
                compare(a, b, Ordering::is_ge)
            });
        self.environment.add_filter(operator::IN, is_in);
        self.environment.add_filter(operator::LIST, list_of_plain_values);
        self.environment.add_filter(operator::KEEP, keep);
        self.environment.add_filter(operator::ITERATE, iterate);
        self.environment.add_filter(operator::RANGE, range);
    }

    fn add_filters(&mut self) {
        self.filter("abs", "abs'", filters::abs);
        self.filter("bool", "bool'", filters::bool);
        self.filter("capitalize", "capitalize'", filters::capitalize);
        self.filter("count", "count'", filters::length);
        self.filter("d", "d'", default);
        self.filter("default", "default'", default);
        self.filter("first", "first'", filters::first);
        self.filter("float", "float'", filters::float);
        self.filter("int", "int'", filters::int);
        self.filter("join", "join'", join);
        self.filter("last", "last'", filters::last);
        self.filter("length", "length'", filters::length);
        self.filter("lines", "lines'", filters::lines);
        self.filter("list", "list'", filters::list);
        self.filter("lower", "lower'", filters::lower);
        self.filter("map", "map'", filters::map);
        self.filter("max", "max'", filters::max);
        self.filter("min", "min'", filters::min);
        self.filter("reject", "reject'", filters::reject);
        self.filter("rejectattr", "rejectattr'", filters::rejectattr);
        self.filter("replace", "replace'", replace);
        self.filter("reverse", "reverse'", filters::reverse);
        self.filter("round", "round'", filters::round);
        self.filter("select", "select'", filters::select);
        self.filter("selectattr", "selectattr'", filters::selectattr);
        self.filter("sort", "sort'", filters::sort);
        self.filter("split", "split'", filters::split);
        self.filter("string", "string'", filters::string);
        self.filter("title", "title'", filters::title);
        self.filter("trim", "trim'", filters::trim);
        self.filter("unique", "unique'", filters::unique);
        self.filter("upper", "upper'", filters::upper);
    }

    /// Adds a filter that is charged for what it is given. The filter proper stands under `inner`, a name with a quote,
    /// which no template can write.
    fn filter<F, R, A>(&mut self, name: &'static str, inner: &'static str, filter: F)
    where
        F: minijinja::functions::Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.environment.add_filter(inner, filter);
        let charged = move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            charge_for_call(state, &args)?;
            if !matches!(name, "d" | "default") {
                args.iter().try_for_each(refuse_missing)?;
                if args.first().is_some_and(Value::is_none) {
                    return Ok(of_null(name));
                }
            }
            state.apply_filter(inner, &args)
        };
        self.environment.add_filter(name, charged);
        self.filters.insert(name);
    }

    fn add_tests(&mut self) {
        self.test("boolean", tests::is_boolean);
        self.test("defined", tests::is_defined);
        self.test("divisibleby", tests::is_divisibleby);
        self.test("endingwith", tests::is_endingwith);
        self.test("eq", tests::is_eq);
        self.test("equalto", tests::is_eq);
        self.test("even", tests::is_even);
        self.test("false", tests::is_false);
        self.test("ge", tests::is_ge);
        self.test("gt", tests::is_gt);
        self.test("in", tests::is_in);
        self.test("integer", tests::is_integer);
        self.test("iterable", tests::is_iterable);
        self.test("le", tests::is_le);
        self.test("lower", tests::is_lower);
        self.test("lt", tests::is_lt);
        self.test("mapping", tests::is_mapping);
        self.test("ne", tests::is_ne);
        self.test("none", tests::is_none);
        self.test("number", tests::is_number);
        self.test("odd", tests::is_odd);
        self.test("sequence", tests::is_sequence);
        self.test("startingwith", tests::is_startingwith);
        self.test("string", tests::is_string);
        self.test("true", tests::is_true);
        self.test("undefined", tests::is_undefined);
        self.test("upper", tests::is_upper);
    }

    fn test<F, R, A>(&mut self, name: &'static str, test: F)
    where
        F: minijinja::functions::Function<R, A>,
        R: FunctionResult,
        A: for<'a> FunctionArgs<'a>,
    {
        self.environment.add_test(name, test);
        self.tests.insert(name);
    }
}

/// Writes a value into the letter. Null is nothing; a missing value, a list or an object is a mistake that must not go
/// out.
fn print(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => Ok(()),
        ValueKind::String | ValueKind::Number | ValueKind::Bool => {
            charge_output(state, value.as_str().map_or(40, str::len))?;
            escape_formatter(out, state, value)
        }
        ValueKind::Undefined => refuse_missing(value),
        ValueKind::Map => Err(refused("an object cannot be printed; print one of its fields")),
        _ => Err(refused("a list cannot be printed; use `join` or a `for` loop")),
    }
}

/// Refuses a missing value, naming the expression that gave it.
fn refuse_missing(value: &Value) -> Result<(), Error> {
    // Asking it for a member has the engine complain with that name.
    if value.is_undefined() {
        value.get_attr("").map(drop)
    } else {
        Ok(())
    }
}

/// What a filter makes of null: null, but for those that count or convert.
fn of_null(filter: &str) -> Value {
    match filter {
        "bool" => Value::from(false),
        "count" | "length" => Value::from(0),
        "list" => Value::from(Vec::<Value>::new()),
        _ => Value::from(()),
    }
}

/// A value's text within an expression: as it would be printed.
fn text(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::None => Ok(String::new()),
        ValueKind::String | ValueKind::Number | ValueKind::Bool => Ok(value.to_string()),
        ValueKind::Undefined => refuse_missing(value).map(|()| String::new()),
        kind => Err(refused(format!("a {kind} cannot be part of a text"))),
    }
}

fn concatenate(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    let left = text(left)?;
    let right = text(right)?;
    charge(state, check_text(left.len().checked_add(right.len()))?)?;
    Ok(Value::from(left + &right))
}

fn add(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(_), Some(_)) = (left.as_str(), right.as_str()) {
        return concatenate(state, left, right);
    }
    arithmetic(left, right, "+", i64::checked_add, |a, b| a + b)
}

/// Numbers only: repeating a text or a list is not for letters.
fn multiply(left: &Value, right: &Value) -> Result<Value, Error> {
    arithmetic(left, right, "*", i64::checked_mul, |a, b| a * b)
}

fn arithmetic(
    left: &Value,
    right: &Value,
    sign: &str,
    whole: fn(i64, i64) -> Option<i64>,
    broken: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    refuse_missing(left)?;
    refuse_missing(right)?;
    if !left.is_number() || !right.is_number() {
        return Err(refused(format!(
            "`{sign}` is for numbers, not for {} and {}",
            left.kind(),
            right.kind()
        )));
    }
    let integer = |value: &Value| if value.is_integer() { value.as_i64() } else { None };
    if let (Some(a), Some(b)) = (integer(left), integer(right))
        && let Some(result) = whole(a, b)
    {
        return Ok(Value::from(result));
    }
    Ok(Value::from(broken(
        f64::try_from(left.clone())?,
        f64::try_from(right.clone())?,
    )))
}

/// What is not known is neither less nor greater than anything, and in nothing. (The engine orders null below all
/// numbers, so that an unknown rating would be a bad one.)
fn compare(left: &Value, right: &Value, holds: fn(Ordering) -> bool) -> Result<bool, Error> {
    let is_unknown = |value: &Value| value.is_undefined() || value.is_none();
    if is_unknown(left) || is_unknown(right) {
        return Ok(false);
    }
    if left.kind() != right.kind() || !matches!(left.kind(), ValueKind::Number | ValueKind::String) {
        return Err(refused(format!(
            "{} and {} cannot be compared by order",
            left.kind(),
            right.kind()
        )));
    }
    Ok(holds(left.cmp(right)))
}

fn is_in(state: &mut State<'_, '_>, value: &Value, container: &Value) -> Result<bool, Error> {
    if container.is_undefined() || container.is_none() {
        return Ok(false);
    }
    state.perform_test("in", &[value.clone(), container.clone()])
}

/// `[a, b]`. Without lists in lists, no template builds a value deeper or wider than it is long.
fn list_of_plain_values(items: Rest<Value>) -> Result<Value, Error> {
    let is_plain = |item: &Value| {
        matches!(
            item.kind(),
            ValueKind::None | ValueKind::String | ValueKind::Number | ValueKind::Bool | ValueKind::Undefined
        )
    };
    if items.iter().all(is_plain) {
        Ok(Value::from(items.0))
    } else {
        Err(refused("a list in brackets can hold texts and numbers only"))
    }
}

/// What `set` keeps: computed lists are kept as their elements, so that none grows into a chain of computations.
fn keep(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    refuse_missing(&value)?;
    charge_for(state, &value)?;
    match value.kind() {
        ValueKind::Iterable | ValueKind::Seq => Ok(Value::from(value.try_iter()?.collect::<Vec<_>>())),
        _ => Ok(value),
    }
}

/// What `for` goes over: null is a list of nothing.
fn iterate(value: Value) -> Result<Value, Error> {
    refuse_missing(&value)?;
    Ok(if value.is_none() {
        Value::from(Vec::<Value>::new())
    } else {
        value
    })
}

/// Jinja's `default`, which also stands in for null: a lead's null means that the marketplace told nothing.
fn default(value: Value, other: Option<Value>, boolean: Option<bool>) -> Value {
    let missing = value.is_undefined() || value.is_none() || (boolean == Some(true) && !value.is_true());
    if missing {
        other.unwrap_or_else(|| Value::from(""))
    } else {
        value
    }
}

fn replace(state: &mut State<'_, '_>, value: &str, from: &str, to: &str) -> Result<String, Error> {
    let found = value.matches(from).count();
    let grown = found
        .checked_mul(to.len())
        .and_then(|added| added.checked_add(value.len()));
    charge(state, check_text(grown)?)?;
    Ok(value.replace(from, to))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands keyword arguments over by value"
)]
fn join(
    state: &mut State<'_, '_>,
    items: &Value,
    separator: Option<&str>,
    attribute: Option<&str>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let attribute = match attribute {
        Some(attribute) => Some(attribute),
        None => kwargs.get::<Option<&str>>("attribute")?,
    };
    kwargs.assert_all_used()?;
    let mut joined = String::new();
    for (index, item) in items.try_iter()?.enumerate() {
        let item = match attribute {
            Some(attribute) => item.get_attr(attribute)?,
            None => item,
        };
        let item = text(&item)?;
        let separator = if index == 0 {
            ""
        } else {
            separator.unwrap_or_default()
        };
        check_text(joined.len().checked_add(separator.len() + item.len()))?;
        joined.push_str(separator);
        joined.push_str(&item);
    }
    charge(state, joined.len())?;
    Ok(joined)
}

fn range(lower: i64, upper: Option<i64>, step: Option<i64>) -> Result<Vec<i64>, Error> {
    let (lower, upper, step) = (
        upper.map_or(0, |_| lower),
        upper.unwrap_or(lower),
        step.unwrap_or(1),
    );
    if step == 0 {
        return Err(refused("a range needs a step other than 0"));
    }
    let mut numbers = Vec::new();
    let mut number = lower;
    while (step > 0 && number < upper) || (step < 0 && number > upper) {
        if numbers.len() >= MAX_RANGE {
            return Err(refused(format!("a range has at most {MAX_RANGE} elements")));
        }
        numbers.push(number);
        match number.checked_add(step) {
            Some(next) => number = next,
            None => break,
        }
    }
    Ok(numbers)
}
