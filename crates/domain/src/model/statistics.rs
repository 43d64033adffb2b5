//! What the service counts, hour by hour and day by day, so that nothing scans the record (decision E9).
//!
//! A command of a store notes what it did in a [`Tally`] and stores that in the same transaction. The rules of what counts
//! as what are here; the stores only add.

use std::collections::BTreeMap;
use std::time::Duration;

use super::words::words;
use super::{BidOutcome, CampaignId, EndpointId, NewBid, OrganizationId, Timestamp};

words! {
    /// What is counted.
    pub enum Measure {
        /// New jobs of the feed; of the installation, not of an organization.
        JobsSeen,
        /// New jobs that matched a campaign when they arrived, whatever the campaign did with them.
        Matched,
        /// Those of them that were listed only, because the campaign was paused or the subscription not active.
        MatchedPaused,
        /// Leads whose `job.new` was delivered, each once, however many endpoints received it.
        Delivered,
        /// Deliveries of `job.new` that failed.
        DeliveryFailed,
        /// Leads that an automatic campaign handed to its template.
        HandedOver,
        /// Real bids accepted.
        Bid,
        /// Bids ended; the subject is `submitted` or the reason's code.
        Ended,
        /// Connects spent by submitted bids, those of the boosts included; the subject is the bidder account.
        ConnectsSpent,
        /// Connects spent on boosts.
        BoostConnects,
        /// Time from posting to the first delivery of a lead's `job.new`.
        DeliveryTime,
        /// Time from posting to the acceptance of a bid.
        BidTime,
        /// Time from posting to the recording of a submission.
        SubmissionTime,
        /// Deliveries sent to an endpoint, which is the subject, that failed; those that a crash interrupted too.
        EndpointFailed,
        /// Time that an endpoint, which is the subject, took to answer or to fail.
        EndpointTime,
        /// Deliveries sent to an endpoint, which is the subject, whose time is unknown because a crash interrupted them.
        EndpointUntimed,
    }

    /// The length of the steps in which is counted, in UTC.
    pub enum StatisticsStep {
        /// An hour.
        Hour,
        /// A day.
        Day,
    }
}

impl Measure {
    /// Whether it counts times, each in the [`TimeBucket`] that holds it.
    pub const fn is_time(self) -> bool {
        matches!(
            self,
            Self::DeliveryTime | Self::BidTime | Self::SubmissionTime | Self::EndpointTime
        )
    }
}

impl StatisticsStep {
    /// Milliseconds of a step.
    pub const fn millis(self) -> i64 {
        match self {
            Self::Hour => 60 * 60 * 1000,
            Self::Day => 24 * 60 * 60 * 1000,
        }
    }

    /// The beginning of the step that holds `at`.
    #[must_use]
    pub const fn start(self, at: Timestamp) -> Timestamp {
        let millis = at.as_millis();
        Timestamp::from_millis(millis - millis.rem_euclid(self.millis()))
    }

    /// The moment `steps` steps after `at`, or before it.
    #[must_use]
    pub const fn shifted(self, at: Timestamp, steps: i64) -> Timestamp {
        Timestamp::from_millis(at.as_millis().saturating_add(self.millis().saturating_mul(steps)))
    }
}

/// The ratio of a bucket's bounds.
const GROWTH: f64 = 1.1;

/// The bucket of a histogram with logarithmic bounds that holds a time. What is read from it differs from the time by at
/// most 5 percent (or half a millisecond).
///
/// ```
/// use bidloop_domain::model::TimeBucket;
/// use std::time::Duration;
///
/// let bucket = TimeBucket::of(Duration::from_millis(2_600));
/// let read = bucket.time().as_secs_f64();
/// assert!((read - 2.6).abs() <= 2.6 * 0.05);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimeBucket(pub u16);

impl TimeBucket {
    /// The last one; it holds all longer times (a year is in bucket 253).
    const LAST: u16 = 300;

    /// The bucket of a time.
    pub fn of(time: Duration) -> Self {
        let millis = time.as_secs_f64() * 1000.0;
        if millis < 1.0 {
            return Self(0);
        }
        let number = (millis.ln() / GROWTH.ln()).floor() + 1.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is from 1 to LAST"
        )]
        Self(number.min(f64::from(Self::LAST)) as u16)
    }

    /// What stands for the bucket's times: the middle of its bounds.
    pub fn time(self) -> Duration {
        if self.0 == 0 {
            return Duration::from_micros(500);
        }
        let lower = GROWTH.powi(i32::from(self.0) - 1);
        Duration::from_secs_f64(lower * f64::midpoint(1.0, GROWTH) / 1000.0)
    }
}

/// Times by bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram(BTreeMap<TimeBucket, u64>);

impl Histogram {
    /// Adds so many times.
    pub fn add(&mut self, bucket: TimeBucket, count: u64) {
        *self.0.entry(bucket).or_default() += count;
    }

    /// How many times there are.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The time within which `percent` of 100 are; `None` without any.
    pub fn within(&self, percent: u64) -> Option<Duration> {
        let rank = self.count().saturating_mul(percent).div_ceil(100).max(1);
        let mut passed = 0;
        let bucket = self.0.iter().find(|(_, count)| {
            passed += **count;
            passed >= rank
        });
        bucket.map(|(bucket, _)| bucket.time())
    }

    /// The longest.
    pub fn slowest(&self) -> Option<Duration> {
        self.0.last_key_value().map(|(bucket, _)| bucket.time())
    }
}

/// What a count is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counted {
    /// The organization; `None` for the installation.
    pub organization_id: Option<OrganizationId>,
    /// The campaign; `None` for the organization.
    pub campaign_id: Option<CampaignId>,
    /// What is counted.
    pub measure: Measure,
    /// A reason's code or an endpoint's id, as the measure says; else empty.
    pub subject: String,
    /// Of a measure of times, the bucket; else the first.
    pub bucket: TimeBucket,
}

/// What happened in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally(BTreeMap<Counted, u64>);

impl Tally {
    /// New jobs of the feed.
    pub fn jobs_seen(&mut self, count: u64) {
        self.add(None, None, Measure::JobsSeen, "", TimeBucket::default(), count);
    }

    /// A new job matched the campaign.
    pub fn matched(&mut self, organization: &OrganizationId, campaign: &CampaignId, paused: bool) {
        self.one(organization, campaign, Measure::Matched);
        if paused {
            self.one(organization, campaign, Measure::MatchedPaused);
        }
    }

    /// The campaign's `job.new` was delivered; `first` tells when the job was posted if it is the lead's first.
    pub fn delivered(
        &mut self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        at: Timestamp,
        first: Option<Timestamp>,
    ) {
        if let Some(posted_at) = first {
            self.one(organization, campaign, Measure::Delivered);
            self.time(organization, Measure::DeliveryTime, "", at.since(posted_at));
        }
    }

    /// A delivery of the campaign's `job.new` failed.
    pub fn delivery_failed(&mut self, organization: &OrganizationId, campaign: &CampaignId) {
        self.one(organization, campaign, Measure::DeliveryFailed);
    }

    /// Something was sent to an endpoint; `took` is unknown if a crash interrupted it.
    pub fn endpoint_sent(
        &mut self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
        delivered: bool,
        took: Option<Duration>,
    ) {
        let bucket = TimeBucket::default();
        let mut count = |measure| {
            self.add(Some(organization), None, measure, endpoint.as_str(), bucket, 1);
        };
        if !delivered {
            count(Measure::EndpointFailed);
        }
        match took {
            Some(took) => self.time(organization, Measure::EndpointTime, endpoint.as_str(), took),
            None => count(Measure::EndpointUntimed),
        }
    }

    /// An automatic campaign handed a lead to its template.
    pub fn handed_over(&mut self, organization: &OrganizationId, campaign: &CampaignId) {
        self.one(organization, campaign, Measure::HandedOver);
    }

    /// A real bid was accepted.
    pub fn bid(&mut self, bid: &NewBid) {
        let organization = &bid.organization_id;
        self.one(organization, &bid.campaign_id, Measure::Bid);
        self.time(
            organization,
            Measure::BidTime,
            "",
            bid.queued_at.since(bid.posted_at),
        );
    }

    /// A bid with this account ended.
    pub fn bid_ended(
        &mut self,
        (organization, campaign, account): (&OrganizationId, &CampaignId, &str),
        outcome: &BidOutcome,
        at: Timestamp,
        posted_at: Option<Timestamp>,
    ) {
        let code = outcome.reason().map(|reason| reason.code.as_str());
        let bucket = TimeBucket::default();
        let mut count = |measure, subject, count| {
            self.add(
                Some(organization),
                Some(campaign),
                measure,
                subject,
                bucket,
                count,
            );
        };
        count(Measure::Ended, code.unwrap_or(SUBMITTED), 1);
        if code.is_some() {
            return;
        }
        count(Measure::ConnectsSpent, account, outcome.connects_spent().get());
        count(Measure::BoostConnects, "", outcome.boost_connects().get());
        if let Some(posted_at) = posted_at {
            self.time(organization, Measure::SubmissionTime, "", at.since(posted_at));
        }
    }

    /// The counts, in one order everywhere.
    pub fn counts(&self) -> impl Iterator<Item = (&Counted, u64)> {
        self.0.iter().map(|(counted, count)| (counted, *count))
    }

    fn one(&mut self, organization: &OrganizationId, campaign: &CampaignId, measure: Measure) {
        self.add(
            Some(organization),
            Some(campaign),
            measure,
            "",
            TimeBucket::default(),
            1,
        );
    }

    /// Times are the organization's: nobody asks for them by campaign, and there are many buckets.
    fn time(&mut self, organization: &OrganizationId, measure: Measure, subject: &str, time: Duration) {
        self.add(
            Some(organization),
            None,
            measure,
            subject,
            TimeBucket::of(time),
            1,
        );
    }

    fn add(
        &mut self,
        organization: Option<&OrganizationId>,
        campaign: Option<&CampaignId>,
        measure: Measure,
        subject: &str,
        bucket: TimeBucket,
        count: u64,
    ) {
        if count == 0 {
            return;
        }
        let counted = Counted {
            organization_id: organization.cloned(),
            campaign_id: campaign.cloned(),
            measure,
            subject: subject.to_owned(),
            bucket,
        };
        *self.0.entry(counted).or_default() += count;
    }
}

/// The subject of [`Measure::Ended`] for a submitted bid.
pub const SUBMITTED: &str = "submitted";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_tells_its_times_to_five_percent() {
        for micros in (0..60_000_000_u64)
            .step_by(3_331)
            .chain([1_000, 999, 86_400_000_000])
        {
            let time = Duration::from_micros(micros).as_secs_f64() * 1000.0;
            let read = TimeBucket::of(Duration::from_micros(micros)).time().as_secs_f64() * 1000.0;
            assert!(
                (read - time).abs() <= (time * 0.05).max(0.5),
                "{time} ms is read as {read} ms"
            );
        }
        assert_eq!(TimeBucket::of(Duration::MAX), TimeBucket(TimeBucket::LAST));
    }

    #[test]
    fn a_histogram_tells_within_which_time_how_many_are() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.within(50), histogram.slowest()), (None, None));
        for millis in 1..=1000_u64 {
            histogram.add(TimeBucket::of(Duration::from_millis(millis)), 1);
        }
        let near = |time: Option<Duration>, millis: f64| {
            let time = time.unwrap().as_secs_f64() * 1000.0;
            assert!((time - millis).abs() <= millis * 0.05, "{time} for {millis}");
        };
        assert_eq!(histogram.count(), 1000);
        near(histogram.within(50), 500.0);
        near(histogram.within(95), 950.0);
        near(histogram.slowest(), 1000.0);
    }

    #[test]
    fn steps_begin_in_utc() {
        let at = Timestamp::from_seconds(1_790_000_000);
        assert_eq!(StatisticsStep::Hour.start(at).as_seconds() % 3600, 0);
        assert_eq!(StatisticsStep::Day.start(at).as_seconds() % 86400, 0);
        assert!(StatisticsStep::Day.start(at) <= StatisticsStep::Hour.start(at));
    }
}
