//! Deliveries that cannot be understood, or whose receiver, lead or job cannot, hold up no other and wait (decision D2).

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::EventKind;
use bidloop_port_contracts::fixture::{World, at, campaign, organization, send_at_once, webhook};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};
use crate::unreadable_rows::{claim, claimed, counted, pending, world};

on_both_databases!(
    an_unreadable_delivery_stays_pending_and_the_others_are_claimed,
    a_thousand_unreadable_deliveries_at_the_front_do_not_fill_a_batch,
    a_delivery_whose_endpoint_lead_or_job_is_unreadable_stays_pending,
    an_overdue_delivery_that_is_unreadable_holds_up_no_other,
    an_event_waits_for_an_endpoint_that_is_unreadable_when_it_happens,
    a_page_that_is_sent_at_once_is_stored_for_unreadable_endpoints_too,
);

async fn an_unreadable_delivery_stays_pending_and_the_others_are_claimed(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let leads = world.new_leads(4, at(0)).await;
    for (broken, with) in [
        (&leads[0], "event = 'job.vanished'"),
        (&leads[1], "event = 'bid_complete'"),
        (&leads[2], "event = 'bid_complete', data = '{\"dryRun\": fal'"),
    ] {
        bed.run_sql(&format!(
            "UPDATE deliveries SET {with} WHERE lead_id = '{}'",
            broken.id
        ))
        .await;
    }
    assert_eq!(claimed(&world).await, [leads[3].id.clone()]);
    assert_eq!(counted(&bed, "deliveries"), 3);
    assert_eq!(
        bed.number("SELECT COUNT(*) FROM deliveries WHERE state = 'pending'")
            .await,
        3
    );
    assert_eq!(pending(&world).await, [], "they are not chosen again");
    bed
}

async fn a_thousand_unreadable_deliveries_at_the_front_do_not_fill_a_batch(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    let lead = world.new_lead("1", at(0)).await;
    let copied = "INSERT INTO deliveries (organization_id, id, endpoint_id, campaign_id, lead_id, event, created_at, \
                  state) SELECT organization_id, ";
    // A thousand older ones, of a form that another version may write.
    let digits = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION \
                  SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
    bed.run_sql(&format!(
        "{copied} 'v2-' || a.n || b.n || c.n, endpoint_id, campaign_id, lead_id, event, 1, 'pending' \
         FROM deliveries, {digits} a, {digits} b, {digits} c"
    ))
    .await;
    assert_eq!(claimed(&world).await, [lead.id]);
    assert_eq!(counted(&bed, "deliveries"), 1000);
    bed
}

async fn a_delivery_whose_endpoint_lead_or_job_is_unreadable_stays_pending(
    bed: TestDatabase,
) -> TestDatabase {
    let other = webhook("wh_other", None, "https://other.test/", &[EventKind::JobNew]);
    let world = World::with(
        stores(&bed.database),
        organization("org_acme").campaign(campaign("camp")).webhook(other),
    )
    .await;
    let leads = world.new_leads(3, at(0)).await;
    bed.run_sql(&format!(
        "UPDATE leads SET status = 'archived' WHERE id = '{}'; \
         UPDATE jobs SET json = '{{\"title\"' WHERE id = '{}'; \
         UPDATE webhook_endpoints SET secret = 'sealed' WHERE id = 'wh_other'",
        leads[0].id, leads[1].job_id
    ))
    .await;
    let sent = claim(&world.stores, &pending(&world).await).await;
    let sent: Vec<_> = sent
        .iter()
        .map(|one| (one.lead_id.clone(), one.target.url.as_str()))
        .collect();
    assert_eq!(sent, [(leads[2].id.clone(), World::URL)]);
    assert_eq!(
        bed.number("SELECT COUNT(*) FROM deliveries WHERE state = 'pending'")
            .await,
        5
    );
    assert_eq!(
        bed.number("SELECT COUNT(*) FROM deliveries WHERE state = 'failed'")
            .await,
        0
    );
    assert_eq!(pending(&world).await, [], "they are not chosen again");
    for table in ["webhook_endpoints", "leads", "jobs"] {
        assert_eq!(counted(&bed, table), 1, "{table}");
    }
    // Mended, they are sent in the next round.
    bed.run_sql(&format!(
        "UPDATE leads SET status = 'new' WHERE id = '{}'; \
         UPDATE webhook_endpoints SET secret = '{}' WHERE id = 'wh_other'",
        leads[0].id,
        webhook("wh_other", None, "", &[]).secret.expose()
    ))
    .await;
    bed.database.quarantine().next_round();
    assert_eq!(claimed(&world).await.len(), 3);
    bed
}

async fn an_overdue_delivery_that_is_unreadable_holds_up_no_other(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let leads = world.new_leads(2, at(0)).await;
    assert_eq!(claimed(&world).await.len(), 2);
    bed.run_sql(&format!(
        "UPDATE deliveries SET event = 'other' WHERE lead_id = '{}'",
        leads[0].id
    ))
    .await;
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(1000)).await, Ok(1));
    assert_eq!(
        bed.number("SELECT COUNT(*) FROM deliveries WHERE state = 'sending'")
            .await,
        1
    );
    bed
}

async fn an_event_waits_for_an_endpoint_that_is_unreadable_when_it_happens(
    bed: TestDatabase,
) -> TestDatabase {
    let bids_only = webhook("wh_bids", None, "https://bids.test/", &[EventKind::BidComplete]);
    let world = World::with(
        stores(&bed.database),
        organization("org_acme")
            .campaign(campaign("camp"))
            .webhook(bids_only),
    )
    .await;
    bed.run_sql("UPDATE webhook_endpoints SET events = '[\"job.new\", \"' || events")
        .await;
    let lead = world.new_lead("1", at(0)).await;
    assert_eq!(claimed(&world).await, []);
    assert_eq!(counted(&bed, "webhook_endpoints"), 2);
    bed.run_sql(
        "UPDATE webhook_endpoints SET events = '[\"job.new\"]' WHERE id = 'wh_all'; \
         UPDATE webhook_endpoints SET events = '[\"bid_complete\"]' WHERE id = 'wh_bids'",
    )
    .await;
    bed.database.quarantine().next_round();
    assert_eq!(
        claimed(&world).await,
        [lead.id],
        "only to the one that has subscribed"
    );
    bed
}

async fn a_page_that_is_sent_at_once_is_stored_for_unreadable_endpoints_too(
    bed: TestDatabase,
) -> TestDatabase {
    let to = |id| webhook(id, None, &format!("https://{id}.test/"), &[EventKind::JobNew]);
    let world = World::with(
        stores(&bed.database),
        organization("org_acme")
            .campaign(campaign("camp"))
            .webhook(to("wh_events"))
            .webhook(to("wh_secret")),
    )
    .await;
    bed.run_sql(
        "UPDATE webhook_endpoints SET events = '[\"job.new\", ' WHERE id = 'wh_events'; \
         UPDATE webhook_endpoints SET secret = 'sealed' WHERE id = 'wh_secret'",
    )
    .await;
    let page = world.page(at(60), vec![world.job("1", at(0))]).await;
    let by = send_at_once(3);
    let (_, sent) = world
        .stores
        .jobs
        .record_and_claim(&page, Some(&by))
        .await
        .unwrap();
    let sent: Vec<&str> = sent.iter().map(|one| one.target.url.as_str()).collect();
    assert_eq!(sent, [World::URL]);
    assert_eq!(counted(&bed, "webhook_endpoints"), 2);
    bed.run_sql(&format!(
        "UPDATE webhook_endpoints SET events = '[\"job.new\"]' WHERE id = 'wh_events'; \
         UPDATE webhook_endpoints SET secret = '{}' WHERE id = 'wh_secret'",
        to("wh_secret").secret.expose()
    ))
    .await;
    bed.database.quarantine().next_round();
    assert_eq!(claimed(&world).await.len(), 2, "mended, they get what has waited");
    bed
}
