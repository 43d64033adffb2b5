use proptest::prelude::*;

use super::SubscriptionStatus::{Active, Canceled, PastDue, Paused, Unpaid};
use super::*;

fn state(status: SubscriptionStatus, limit: u32) -> BilledState {
    BilledState {
        status,
        collection_paused: false,
        period_start: Timestamp::from_seconds(0),
        period_end: Timestamp::from_seconds(1_000),
        proposal_limit: Some(limit),
        organization: None,
        customer: CustomerId::parse("cus_1").unwrap(),
        created_at: Timestamp::from_seconds(0),
        latest_invoice: Some(InvoiceId::parse("in_1").unwrap()),
    }
}

fn report(event: &str, second: i64, status: SubscriptionStatus) -> SubscriptionReport {
    SubscriptionReport {
        event: event.to_owned(),
        at: Timestamp::from_seconds(second),
        state: state(status, 50),
        before: None,
        begins: false,
    }
}

fn changed(event: &str, second: i64, from: SubscriptionStatus, to: SubscriptionStatus) -> SubscriptionReport {
    SubscriptionReport {
        before: Some(state(from, 50)),
        ..report(event, second, to)
    }
}

fn invoice(id: &str, second: i64, paid: bool) -> InvoiceReport {
    InvoiceReport {
        invoice: InvoiceId::parse(id).unwrap(),
        at: Timestamp::from_seconds(second),
        paid,
    }
}

fn status(reports: &[SubscriptionReport], invoices: &[InvoiceReport]) -> SubscriptionStatus {
    let mut events = BillingEvents::default();
    for invoice in invoices {
        events.add_invoice(invoice.clone());
    }
    for report in reports {
        events.add(report.clone());
    }
    events.state().unwrap().status
}

#[test]
fn the_newest_snapshot_counts_and_an_older_one_changes_nothing() {
    let (older, newer) = (report("evt_z", 1, Active), report("evt_a", 2, PastDue));
    assert_eq!(status(&[older.clone(), newer.clone()], &[]), PastDue);
    assert_eq!(status(&[newer, older], &[]), PastDue);
}

#[test]
fn an_end_is_final_whenever_it_was_reported() {
    let (end, later) = (report("evt_a", 1, Canceled), report("evt_b", 2, Active));
    assert_eq!(status(&[end.clone(), later.clone()], &[]), Canceled);
    assert_eq!(status(&[later, end], &[invoice("in_1", 3, true)]), Canceled);
}

#[test]
fn within_a_second_a_change_follows_the_state_that_it_began_with() {
    let created = SubscriptionReport {
        begins: true,
        ..report("evt_z", 1, Unpaid)
    };
    let paid = changed("evt_m", 1, Unpaid, Active);
    let paused = changed("evt_a", 1, Active, Paused);
    for order in [
        [&created, &paid, &paused],
        [&paused, &paid, &created],
        [&paid, &created, &paused],
    ] {
        let order: Vec<_> = order.into_iter().cloned().collect();
        assert_eq!(status(&order, &[]), Paused);
    }
    // It tells nothing of what was before, but it cannot be the first.
    assert_eq!(status(&[report("evt_a", 1, Active), created], &[]), Active);
}

#[test]
fn changes_that_tell_no_order_are_ordered_by_their_ids() {
    let there = changed("evt_a", 1, Active, Paused);
    let back = changed("evt_b", 1, Paused, Active);
    assert_eq!(status(&[there.clone(), back.clone()], &[]), Active);
    assert_eq!(status(&[back, there], &[]), Active);
}

#[test]
fn the_latest_invoice_decides_after_the_snapshot_and_no_other() {
    for (snapshot, happened, expected) in [
        (Active, invoice("in_1", 2, false), PastDue),
        (PastDue, invoice("in_1", 2, true), Active),
        (Unpaid, invoice("in_1", 2, true), Active),
        (Active, invoice("in_1", 1, false), Active),
        (PastDue, invoice("in_0", 2, true), PastDue),
        (Paused, invoice("in_1", 2, true), Paused),
    ] {
        let shown = format!("{snapshot} {happened:?}");
        assert_eq!(
            status(&[report("evt", 1, snapshot)], &[happened]),
            expected,
            "{shown}"
        );
    }
    let both = [invoice("in_1", 2, true), invoice("in_1", 2, false)];
    assert_eq!(
        status(&[report("evt", 1, PastDue)], &both),
        Active,
        "paid in the end"
    );
}

/// What the provider may report, with few different moments and ids, so that they collide.
fn anything() -> impl Strategy<Value = Result<SubscriptionReport, InvoiceReport>> {
    let statuses = prop::sample::select(vec![Active, PastDue, Unpaid, Paused, Canceled]);
    let states = (statuses, 1_u32..3).prop_map(|(status, limit)| state(status, limit));
    let report = (
        0_usize..24,
        states.clone(),
        prop::option::of(states),
        any::<bool>(),
    );
    prop_oneof![
        3 => report.prop_map(|(number, state, before, begins)| Ok(SubscriptionReport {
            event: format!("evt_{number}"),
            at: Timestamp::from_seconds(i64::try_from(number % 4).unwrap()),
            state,
            before,
            begins,
        })),
        1 => (0_usize..2, 0_i64..5, any::<bool>())
            .prop_map(|(id, second, paid)| Err(invoice(&format!("in_{id}"), second, paid))),
    ]
}

/// Several reports, each event once, and the same in another order with repetitions.
fn shuffled() -> impl Strategy<Value = [Vec<Result<SubscriptionReport, InvoiceReport>>; 2]> {
    prop::collection::vec(anything(), 1..12).prop_flat_map(|mut events| {
        let mut seen = std::collections::HashSet::new();
        events.retain(|event| {
            event
                .as_ref()
                .map_or(true, |report| seen.insert(report.event.clone()))
        });
        let again = prop::collection::vec(prop::sample::select(events.clone()), 0..12);
        let repeated = again.prop_map({
            let events = events.clone();
            move |again| [events.clone(), again].concat()
        });
        (Just(events), repeated.prop_shuffle()).prop_map(|(events, shuffled)| [events, shuffled])
    })
}

fn all_of(events: &[Result<SubscriptionReport, InvoiceReport>]) -> BillingEvents {
    let mut kept = BillingEvents::default();
    for event in events {
        match event.clone() {
            Ok(report) => kept.add(report),
            Err(invoice) => kept.add_invoice(invoice),
        }
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_is_kept_depends_on_no_order_and_no_repetition([events, shuffled] in shuffled()) {
        let (one, other) = (all_of(&events), all_of(&shuffled));
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.state(), other.state());
    }
}
