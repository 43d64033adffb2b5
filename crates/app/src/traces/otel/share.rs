//! Which traces are recorded.

use std::hash::{BuildHasher as _, RandomState};

use opentelemetry::trace::{Link, SpanKind, TraceContextExt as _, TraceId};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{Sampler, SamplingResult, ShouldSample};

/// Records a share of the traces. A caller can keep its trace from being recorded, and cannot have it recorded: anybody who
/// reaches the service may call.
#[derive(Debug, Clone)]
pub(super) struct Share {
    /// For requests.
    drawn: Sampler,
    /// For everything else: as what it follows from, or drawn.
    followed: Sampler,
    keys: RandomState,
}

impl Share {
    pub(super) fn of(ratio: f64) -> Self {
        let drawn = Sampler::TraceIdRatioBased(ratio);
        Self {
            followed: Sampler::ParentBased(Box::new(drawn.clone())),
            drawn,
            keys: RandomState::new(),
        }
    }
}

impl ShouldSample for Share {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace_id: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let is_asked_for = parent.is_some_and(|parent| parent.span().span_context().is_sampled());
        if *kind != SpanKind::Server || !is_asked_for {
            return self
                .followed
                .should_sample(parent, trace_id, name, kind, attributes, links);
        }
        // The caller has chosen the id, too.
        let lot = TraceId::from(u128::from(self.keys.hash_one(trace_id.to_bytes())));
        self.drawn.should_sample(None, lot, name, kind, attributes, links)
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceState};
    use opentelemetry_sdk::trace::SamplingDecision;

    use super::*;

    fn recorded_of(share: &Share, kind: &SpanKind, flags: TraceFlags) -> usize {
        let is_recorded = |id: &u128| {
            let trace = TraceId::from(*id);
            let span = SpanContext::new(trace, SpanId::from(1), flags, true, TraceState::default());
            let parent = Context::new().with_remote_span_context(span);
            let result = share.should_sample(Some(&parent), trace, "a span", kind, &[], &[]);
            result.decision == SamplingDecision::RecordAndSample
        };
        (1..=1_000).filter(is_recorded).count()
    }

    #[test]
    fn a_caller_cannot_have_its_trace_recorded_beyond_the_share() {
        for (ratio, expected) in [(0.0, 0..=0), (0.5, 400..=600), (1.0, 1_000..=1_000)] {
            let recorded = recorded_of(&Share::of(ratio), &SpanKind::Server, TraceFlags::SAMPLED);
            assert!(expected.contains(&recorded), "{ratio}: {recorded}");
        }
    }

    #[test]
    fn a_caller_can_keep_its_trace_from_being_recorded_and_parts_follow_their_whole() {
        let all = Share::of(1.0);
        assert_eq!(recorded_of(&all, &SpanKind::Server, TraceFlags::default()), 0);
        assert_eq!(recorded_of(&all, &SpanKind::Client, TraceFlags::default()), 0);
        let none = Share::of(0.0);
        assert_eq!(recorded_of(&none, &SpanKind::Client, TraceFlags::SAMPLED), 1_000);
    }
}
