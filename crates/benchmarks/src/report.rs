//! The report: what was measured, row by row, beside its goals; and the median of several figures.

use std::fmt::Write as _;
use std::io::Write as _;

use serde::{Serialize, Serializer};

/// A measured figure, or the reason why there is none.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    measure: String,
    figure: Option<f64>,
    unit: &'static str,
    /// Values measured along with the figure.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    details: Vec<(&'static str, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl Row {
    /// A figure without a goal.
    pub(crate) fn new(measure: impl Into<String>, figure: f64, unit: &'static str) -> Self {
        Self {
            measure: measure.into(),
            figure: Some(figure),
            unit,
            details: Vec::new(),
            goal: None,
            holds: None,
            failure: None,
        }
    }

    /// A measure that failed. A report with such a row does not hold.
    pub(crate) fn failed(measure: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            figure: None,
            holds: Some(false),
            failure: Some(why.into()),
            ..Self::new(measure, 0.0, "")
        }
    }

    /// Sets a goal: the figure is below this.
    pub(crate) fn below(mut self, goal: f64) -> Self {
        self.holds = Some(self.figure.is_some_and(|figure| figure < goal));
        self.goal = Some(format!("under {}", number(goal)));
        self
    }

    /// Sets a goal: the figure is this or less.
    pub(crate) fn at_most(mut self, goal: f64) -> Self {
        self.holds = Some(self.figure.is_some_and(|figure| figure <= goal));
        self.goal = Some(format!("at most {}", number(goal)));
        self
    }

    /// Sets a goal: the figure is this or more.
    pub(crate) fn at_least(mut self, goal: f64) -> Self {
        self.holds = Some(self.figure.is_some_and(|figure| figure >= goal));
        self.goal = Some(format!("at least {}", number(goal)));
        self
    }

    /// Adds a value measured along with the figure, if there is one. Its name ends with its unit.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Option<f64>>) -> Self {
        self.details.extend(value.into().map(|value| (name, value)));
        self
    }

    fn cells(&self) -> [String; 5] {
        let figure = self.figure.map_or_else(
            || "-".to_owned(),
            |figure| format!("{} {}", number(figure), self.unit),
        );
        let mut details = self.failure.clone().unwrap_or_default();
        for (name, value) in &self.details {
            let separator = if details.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(details, "{separator}{name} {}", number(*value));
        }
        let holds = match self.holds {
            Some(true) => "holds",
            Some(false) => "MISSED",
            None => "",
        };
        [
            self.measure.clone(),
            figure,
            self.goal.clone().unwrap_or_default(),
            holds.to_owned(),
            details,
        ]
    }
}

/// All rows of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Adds a row.
    pub(crate) fn add(&mut self, row: Row) {
        progress(&row.cells().join("  "));
        self.rows.push(row);
    }

    /// Whether every goal is met and everything could be measured.
    pub(crate) fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.holds != Some(false))
    }

    /// Writes the rows to standard output: a table, or JSON.
    pub(crate) fn print(&self, json: bool) -> anyhow::Result<()> {
        let text = if json {
            serde_json::to_string_pretty(self)?
        } else {
            self.table()
        };
        writeln!(std::io::stdout().lock(), "{text}")?;
        Ok(())
    }

    fn table(&self) -> String {
        let heading = ["measure", "figure", "goal", "holds", "details"].map(str::to_owned);
        let lines: Vec<[String; 5]> = std::iter::once(heading)
            .chain(self.rows.iter().map(Row::cells))
            .collect();
        let width = |column: usize| {
            lines
                .iter()
                .map(|line| line[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths = [width(0), width(1), width(2), width(3)];
        let mut table = String::new();
        for [measure, figure, goal, holds, details] in &lines {
            let [a, b, c, d] = widths;
            let line = format!("{measure:<a$}  {figure:>b$}  {goal:<c$}  {holds:<d$}  {details}");
            table.push_str(line.trim_end());
            table.push('\n');
        }
        table
    }
}

/// Writes a message about a run's progress to standard error.
pub(crate) fn progress(message: &str) {
    // A closed standard error does not stop the run.
    let _ = writeln!(std::io::stderr().lock(), "{}", message.trim_end());
}

/// The middle value; of an even number of values the mean of the two in the middle; NaN if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => f64::NAN,
        values if values.len() % 2 == 1 => values[middle],
        values => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The median of the ratios of what was measured in turns. A machine's speed may change from one turn to the next, and the
/// two of a ratio are of one turn.
pub(crate) fn median_ratio<'m, M: 'm>(
    ours: impl IntoIterator<Item = &'m M>,
    theirs: impl IntoIterator<Item = &'m M>,
    figure: impl Fn(&M) -> f64,
) -> f64 {
    let turns = ours.into_iter().zip(theirs);
    median(
        turns
            .map(|(ours, theirs)| figure(ours) / figure(theirs))
            .collect(),
    )
}

/// Three significant digits, or all before the point.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

fn as_object<S: Serializer>(details: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(details.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_holds_only_if_every_goal_is_met_and_everything_was_measured() {
        let with = |row: Row| {
            let mut report = Report::default();
            report.add(Row::new("something", 1.0, "s"));
            report.add(row);
            report
        };
        assert!(with(Row::new("idle", 39.9, "MB").below(40.0)).holds());
        assert!(!with(Row::new("idle", 40.0, "MB").below(40.0)).holds());
        assert!(!with(Row::failed("idle", "no database")).holds());
    }

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert!(median(vec![]).is_nan());
        for (values, middle) in [(vec![9.0, 1.0, 5.0], 5.0), (vec![4.0, 1.0, 9.0, 2.0], 3.0)] {
            assert!((median(values) - middle).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn the_table_and_the_json_show_figure_goal_and_details() {
        let mut report = Report::default();
        let row = Row::new("idle", 12.345, "MB").below(40.0);
        report.add(row.with("p50 ms", 1.5).with("p99 ms", None));
        let table = report.table();
        let line = table.lines().nth(1).unwrap();
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>(),
            [
                "idle", "12.3", "MB", "under", "40.0", "holds", "p50", "ms", "1.50"
            ]
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["rows"][0],
            serde_json::json!({
                "measure": "idle", "figure": 12.345, "unit": "MB", "goal": "under 40.0", "holds": true,
                "details": {"p50 ms": 1.5},
            })
        );
    }
}
