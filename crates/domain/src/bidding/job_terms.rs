//! What a job post says about money, as the bidding rules read it.
//!
//! Owns which kind of job it is and which of its figures count as known. Does not own the job post.

use rust_decimal::Decimal;

use crate::model::{JobPost, LEAST_DECIMAL, PaymentKind, UsdCents, exact_decimal};

/// A job's figures for the rules on amounts, in USD; `None` where unknown.
///
/// A figure that is not above zero, or not finite, counts as unknown. The ends of a range are swapped if the lower
/// is above the upper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobTerms {
    /// How the job is paid.
    pub kind: PaymentKind,
    /// The lower end of the client's hourly range.
    pub lower_rate: Option<Decimal>,
    /// The upper end of the client's hourly range.
    pub upper_rate: Option<Decimal>,
    /// The price of a fixed-price job.
    pub fixed_price: Option<Decimal>,
    /// What the client has paid per hour on average.
    pub client_average_rate: Option<Decimal>,
}

impl JobTerms {
    /// The terms of a job post.
    pub fn of(post: &JobPost) -> Self {
        let metadata = post.metadata.as_ref();
        let range = metadata.and_then(|metadata| metadata.hourly_rate);
        Self::new(
            metadata.and_then(|metadata| metadata.payment_type.as_deref()),
            range.and_then(|range| range.min),
            range.and_then(|range| range.max),
            metadata.and_then(|metadata| metadata.fixed_price),
            post.client_info
                .as_ref()
                .and_then(|client| client.avg_hourly_rate_paid),
        )
    }

    /// From a job post's `metadata.paymentType`, `metadata.hourlyRate.min` and `.max`, `metadata.fixedPrice`
    /// and `clientInfo.avgHourlyRatePaid`.
    ///
    /// A job is hourly or fixed by its payment type. Without a known one it is hourly if it names a range, fixed if
    /// it names a price, and else hourly (decision B5, `docs/rules.md#b5`).
    ///
    /// ```
    /// use bidloop_domain::bidding::JobTerms;
    /// use bidloop_domain::model::PaymentKind;
    ///
    /// let kind = |payment_type, price| JobTerms::new(payment_type, None, None, price, None).kind;
    /// assert_eq!(kind(Some("Fixed-price"), None), PaymentKind::Fixed);
    /// assert_eq!(kind(None, Some(500.0)), PaymentKind::Fixed);
    /// assert_eq!(kind(None, None), PaymentKind::Hourly);
    /// ```
    pub fn new(
        payment_type: Option<&str>,
        min_rate: Option<f64>,
        max_rate: Option<f64>,
        fixed_price: Option<f64>,
        client_average_rate: Option<f64>,
    ) -> Self {
        let (lower_rate, upper_rate) = match (known_dollars(min_rate), known_dollars(max_rate)) {
            (Some(min), Some(max)) => (Some(min.min(max)), Some(min.max(max))),
            ends => ends,
        };
        let fixed_price = known_dollars(fixed_price);
        let kind = payment_type
            .and_then(|name| PaymentKind::from_text(name.trim()))
            .unwrap_or_else(|| {
                if lower_rate.is_none() && upper_rate.is_none() && fixed_price.is_some() {
                    PaymentKind::Fixed
                } else {
                    PaymentKind::Hourly
                }
            });
        Self {
            kind,
            lower_rate,
            upper_rate,
            fixed_price,
            client_average_rate: known_dollars(client_average_rate),
        }
    }
}

/// A figure if it counts as known: above zero and at most [`UsdCents::MAX`]. What no decimal but zero is near to is zero.
pub(super) fn known_dollars(figure: Option<f64>) -> Option<Decimal> {
    let dollars = exact_decimal(figure?)?;
    (dollars > LEAST_DECIMAL && dollars <= UsdCents::MAX.to_decimal()).then_some(dollars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_hourly_or_fixed_by_its_payment_type_then_its_range_then_its_price() {
        let cases = [
            (Some("Hourly"), None, Some(500.0), PaymentKind::Hourly),
            (Some("Fixed-price"), Some(40.0), None, PaymentKind::Fixed),
            (Some("Fixed"), Some(40.0), None, PaymentKind::Fixed),
            (None, Some(40.0), Some(500.0), PaymentKind::Hourly),
            (None, None, Some(500.0), PaymentKind::Fixed),
            (None, None, None, PaymentKind::Hourly),
            (Some("By the moon"), None, Some(500.0), PaymentKind::Fixed),
            (None, Some(0.0), Some(500.0), PaymentKind::Fixed),
            (None, None, Some(0.0), PaymentKind::Hourly),
        ];
        for (payment_type, rate, price, kind) in cases {
            assert_eq!(
                JobTerms::new(payment_type, rate, None, price, None).kind,
                kind,
                "{payment_type:?} {rate:?}"
            );
            assert_eq!(
                JobTerms::new(payment_type, None, rate, price, None).kind,
                kind,
                "{payment_type:?} {rate:?}"
            );
        }
    }

    #[test]
    fn figures_that_are_not_positive_amounts_are_unknown() {
        for nothing in [0.0, -5.0, f64::NAN, f64::INFINITY, 1e300, 1e-300] {
            let terms = JobTerms::new(None, Some(nothing), Some(nothing), Some(nothing), Some(nothing));
            let unknown = JobTerms::new(None, None, None, None, None);
            assert_eq!(terms, unknown, "{nothing}");
        }
    }

    #[test]
    fn the_ends_of_a_range_are_swapped_if_the_lower_is_above_the_upper() {
        let terms = JobTerms::new(None, Some(60.0), Some(40.0), None, None);
        assert_eq!(terms, JobTerms::new(None, Some(40.0), Some(60.0), None, None));
    }
}
