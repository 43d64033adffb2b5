//! Charts as plain SVG shapes. All text is HTML beside them, so that it stays readable at any width and in both colour
//! schemes; the shapes are stretched to the width that they get.

use std::fmt::Write as _;
use std::time::Duration;

use bidloop_domain::model::Timestamp;

/// Width and height of a plot, in units of its view box.
const WIDTH: f64 = 700.0;
const HEIGHT: f64 = 168.0;
/// The lines of a plot's grid above zero.
const LINES: u64 = 4;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The distances of a grid's lines: so many of a unit, its milliseconds and its name.
const DISTANCES: [(&[u64], u64, &str); 5] = [
    (&[1, 2, 5, 10, 20, 50, 100, 200, 500], 1, "ms"),
    (&[1, 2, 5, 10, 20], SECOND, "s"),
    (&[1, 2, 5, 10, 20], MINUTE, "min"),
    (&[1, 2, 5, 10], HOUR, "h"),
    (&[1, 2, 5, 10, 20, 50, 100], DAY, "days"),
];

/// A value of a part of the plot's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The part's beginning.
    pub(crate) at: Timestamp,
    /// The value in its middle.
    pub(crate) value: Duration,
}

/// The time that a plot shows, in parts of one length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeAxis {
    pub(crate) from: Timestamp,
    pub(crate) length_millis: i64,
    pub(crate) part_millis: i64,
}

/// The values of a plot: the labels of its grid, and how high a value is drawn.
#[derive(Debug, Clone)]
pub(crate) struct ValueAxis {
    top_millis: u64,
    /// From the top down to "0".
    pub(crate) labels: Vec<String>,
}

impl ValueAxis {
    /// An axis on which the longest of the values fits.
    pub(crate) fn of(values: impl Iterator<Item = Duration>) -> Self {
        let longest = values.max().unwrap_or(Duration::from_secs(1));
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let distances = DISTANCES
            .iter()
            .flat_map(|(counts, millis, name)| counts.iter().map(move |count| (*count, *millis, *name)));
        let mut last = (100, DAY, "days");
        for (count, millis, name) in distances {
            if count * millis * LINES >= longest {
                last = (count, millis, name);
                break;
            }
        }
        let (count, millis, name) = last;
        let labels = (0..=LINES).rev().map(|line| match line * count {
            0 => "0".to_owned(),
            1 if name == "days" => "1 day".to_owned(),
            value => format!("{value} {name}"),
        });
        Self {
            top_millis: count * millis * LINES,
            labels: labels.collect(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a place in an image")]
    fn y(&self, value: Duration) -> f64 {
        let part = value.as_secs_f64() * 1_000.0 / self.top_millis as f64;
        HEIGHT * (1.0 - part.min(1.0))
    }
}

impl TimeAxis {
    #[expect(clippy::cast_precision_loss, reason = "a place in an image")]
    fn x(&self, millis: i64) -> f64 {
        let since = (millis - self.from.as_millis()) as f64;
        (WIDTH * since / self.length_millis as f64).clamp(0.0, WIDTH)
    }
}

/// The points of each line: a line ends where a part is missing. A part alone is drawn as long as it is.
pub(crate) fn lines(parts: &[Part], time: &TimeAxis, values: &ValueAxis) -> Vec<String> {
    parts
        .chunk_by(|one, next| next.at.as_millis() - one.at.as_millis() <= time.part_millis)
        .map(|run| match run {
            [alone] => {
                let start = alone.at.as_millis();
                let y = values.y(alone.value);
                points(&[(time.x(start), y), (time.x(start + time.part_millis), y)])
            }
            run => {
                let middle = |part: &Part| time.x(part.at.as_millis() + time.part_millis / 2);
                let run: Vec<(f64, f64)> = run
                    .iter()
                    .map(|part| (middle(part), values.y(part.value)))
                    .collect();
                points(&run)
            }
        })
        .collect()
}

/// The points of a small line without axes, 84 by 22 units, for counts of which the last is the newest.
pub(crate) fn spark(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let steps = counts.len().saturating_sub(1).max(1);
    #[expect(clippy::cast_precision_loss, reason = "places in an image")]
    let line: Vec<(f64, f64)> = counts
        .iter()
        .enumerate()
        .map(|(index, count)| {
            let x = 84.0 * index as f64 / steps as f64;
            (x, 20.0 - 18.0 * *count as f64 / most as f64)
        })
        .collect();
    points(&line)
}

/// The width of a bar of 100 units: `part` of `whole`.
#[expect(clippy::cast_precision_loss, reason = "a width in an image")]
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    let share = part as f64 * 100.0 / whole as f64;
    (share.min(100.0) * 10.0).round() / 10.0
}

fn points(places: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (x, y) in places {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{x:.0},{y:.0}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(millis: u64) -> Vec<String> {
        ValueAxis::of([Duration::from_millis(millis)].into_iter()).labels
    }

    #[test]
    fn the_grid_has_steps_of_one_two_or_five() {
        assert_eq!(axis(3), ["4 ms", "3 ms", "2 ms", "1 ms", "0"]);
        assert_eq!(axis(19_300), ["20 s", "15 s", "10 s", "5 s", "0"]);
        assert_eq!(axis(61_000), ["80 s", "60 s", "40 s", "20 s", "0"]);
        assert_eq!(axis(5 * HOUR), ["8 h", "6 h", "4 h", "2 h", "0"]);
        assert_eq!(axis(4 * DAY), ["4 days", "3 days", "2 days", "1 day", "0"]);
        assert_eq!(axis(u64::MAX)[0], "400 days");
    }

    #[test]
    fn a_line_ends_where_a_part_is_missing() {
        let time = TimeAxis {
            from: Timestamp::from_millis(0),
            length_millis: 7_000,
            part_millis: 1_000,
        };
        let part = |second: i64, value: u64| Part {
            at: Timestamp::from_millis(second * 1_000),
            value: Duration::from_millis(value),
        };
        let parts = [part(0, 4), part(1, 2), part(4, 0)];
        let values = ValueAxis::of(parts.iter().map(|part| part.value));
        assert_eq!(lines(&parts, &time, &values), ["50,0 150,84", "400,168 500,168"]);
    }

    #[test]
    fn a_share_is_at_most_the_whole() {
        assert_eq!(share(1, 3).to_bits(), 33.3_f64.to_bits());
        assert_eq!(share(5, 3).to_bits(), 100_f64.to_bits());
        assert_eq!(share(5, 0).to_bits(), 0_f64.to_bits());
    }

    #[test]
    fn a_spark_of_nothing_is_flat() {
        assert_eq!(spark(&[0, 0, 0]), "0,20 42,20 84,20");
        assert_eq!(spark(&[1, 2]), "0,11 84,2");
    }
}
