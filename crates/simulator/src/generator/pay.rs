//! Payment terms of a job: hourly or fixed price, level, duration. Amounts are in USD.

use serde_json::{Value, json};

use super::market_data::{Category, Knowledge};
use super::random::Random;

/// A job's payment terms.
#[derive(Debug)]
pub(super) struct Pay {
    pub(super) level: String,
    pub(super) duration: Option<String>,
    pub(super) hours: Option<String>,
    amount: Amount,
}

#[derive(Debug, Clone, Copy)]
enum Amount {
    Range(Option<f64>, Option<f64>),
    HourlyUnspecified,
    Price(f64),
    PriceUnspecified,
}

impl Pay {
    /// `factor` is the pay as a multiple of the category's usual pay.
    pub(super) fn draw(knowledge: &Knowledge, category: &Category, factor: f64, random: &mut Random) -> Self {
        let market = &knowledge.market;
        let row = &market.terms[random.weighted(market.terms.iter().map(|row| row.4))];
        let factor = factor
            * match row.1.as_str() {
                "Entry level" => 0.55,
                "Expert" => 1.6,
                _ => 1.0,
            };
        let amount = if row.0 == "Hourly" {
            if random.chance(0.1) {
                Amount::HourlyUnspecified
            } else {
                range(knowledge, category.2 * factor, random)
            }
        } else if random.chance(0.02) {
            Amount::PriceUnspecified
        } else {
            price(knowledge, category.3 * factor, random)
        };
        Self {
            level: row.1.clone(),
            duration: row.2.clone(),
            hours: row.3.clone(),
            amount,
        }
    }

    pub(super) fn is_hourly(&self) -> bool {
        matches!(self.amount, Amount::Range(..) | Amount::HourlyUnspecified)
    }

    /// Long hourly work is an ongoing project, other work a complex or a one-time project; sometimes unknown.
    pub(super) fn project_type(&self, random: &mut Random) -> Option<&'static str> {
        if random.chance(0.3) {
            return None;
        }
        let long = matches!(
            self.duration.as_deref(),
            Some("3 to 6 months" | "More than 6 months")
        );
        Some(match (long, self.level.as_str()) {
            (true, _) if self.is_hourly() => "Ongoing project",
            (true, _) | (false, "Expert") if random.chance(0.5) => "Complex project",
            _ => "One-time project",
        })
    }

    /// The post's `metadata`. A few posts have the weekly hours in the duration, as real ones do.
    pub(super) fn metadata(&self, random: &mut Random) -> Value {
        let (mut duration, mut hours) = (self.duration.as_deref(), self.hours.as_deref());
        if hours.is_some() && random.chance(0.04) {
            (duration, hours) = (hours, None);
        }
        let payment = match (self.is_hourly(), random.chance(0.1)) {
            (true, _) => "Hourly",
            (false, true) => "Fixed",
            (false, false) => "Fixed-price",
        };
        let (range, price) = match self.amount {
            Amount::Range(min, max) => (json!({"min": min, "max": max}), Value::Null),
            Amount::Price(price) => (Value::Null, json!(price)),
            Amount::HourlyUnspecified | Amount::PriceUnspecified => (Value::Null, Value::Null),
        };
        json!({
            "experienceLevel": if random.chance(0.03) { None } else { Some(&self.level) },
            "paymentType": if random.chance(0.01) { None } else { Some(payment) },
            "hourlyRate": range,
            "fixedPrice": price,
            "duration": duration,
            "hours": hours,
        })
    }
}

/// The range, of those that clients commonly name, that is closest to the pay of the work.
fn range(knowledge: &Knowledge, usual: f64, random: &mut Random) -> Amount {
    let target = usual * random.amount(0.6, 1.7);
    let ranges = &knowledge.market.hourly_ranges;
    let drawn = (0..10).map(|_| &ranges[random.weighted(ranges.iter().map(|range| range.2))]);
    let middle = |(min, max): (Option<f64>, Option<f64>)| {
        f64::midpoint(min.or(max).unwrap_or(target), max.or(min).unwrap_or(target))
    };
    let distance = |range: (Option<f64>, Option<f64>)| (middle(range) / target).ln().abs();
    drawn
        .map(|range| (range.0, range.1))
        .min_by(|one, other| distance(*one).total_cmp(&distance(*other)))
        .map_or(Amount::HourlyUnspecified, |(min, max)| Amount::Range(min, max))
}

/// The price, of those that clients commonly name, that is closest to the pay of the work. Prices span orders of magnitude,
/// so they are compared by ratio.
fn price(knowledge: &Knowledge, usual: f64, random: &mut Random) -> Amount {
    let spread = random.amount(-1.0, 1.0) + random.amount(-1.0, 1.0) + random.amount(-0.5, 1.0);
    let target = usual * (spread * 1.1).exp();
    let prices = &knowledge.market.fixed_prices;
    let drawn = (0..10).map(|_| prices[random.weighted(prices.iter().map(|price| price.1))].0);
    let distance = |price: f64| (price / target).ln().abs();
    drawn
        .min_by(|one, other| distance(*one).total_cmp(&distance(*other)))
        .map_or(Amount::PriceUnspecified, Amount::Price)
}
