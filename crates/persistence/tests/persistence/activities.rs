//! The Activity record.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;

use bidloop_domain::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, ActivityQuery, ActivitySearch, Actor, ActorKind,
    ApiKeyId, CampaignId, LeadId, OrganizationId, Timestamp,
};
use bidloop_port_contracts::fixture::{activity, at, organization_id};
use serde_json::json;
use uuid::Uuid;

use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    an_entry_is_listed_as_it_was_recorded,
    text_may_hold_any_character,
    a_known_id_is_passed_over,
    entries_are_listed_newest_first_and_no_more_than_asked_for,
    a_list_holds_what_is_asked_for,
    a_search_for_what_few_of_many_entries_meet_goes_on_in_bounded_steps,
);

fn entry(number: u128, organization: &str) -> Activity {
    let organization = organization_id(organization);
    Activity {
        id: ActivityId(Uuid::from_u128(number)),
        ..activity(&organization, ActivityKind::Bid, "accepted", at(0))
    }
}

/// Records them for organizations that exist.
async fn record_all(bed: &TestDatabase, entries: &[Activity]) {
    let organizations: BTreeSet<&str> = entries
        .iter()
        .map(|entry| entry.organization_id.as_str())
        .collect();
    for organization in organizations {
        bed.put_organization(organization).await;
    }
    for entry in entries {
        bed.database.activities().record(entry).await.unwrap();
    }
}

async fn list(bed: &TestDatabase, query: ActivityQuery) -> Vec<Activity> {
    bed.database.activities().list(&query).await.unwrap()
}

fn all() -> ActivityQuery {
    ActivityQuery {
        limit: 100,
        ..ActivityQuery::default()
    }
}

async fn an_entry_is_listed_as_it_was_recorded(bed: TestDatabase) -> TestDatabase {
    let full = Activity {
        campaign_id: Some(CampaignId::parse("camp").unwrap()),
        lead_id: Some(LeadId::parse("ld_1").unwrap()),
        kind: ActivityKind::Delivery,
        actor: Actor::api_key(&ApiKeyId::parse("key_ci").unwrap(), "CI"),
        outcome: ActivityOutcome::Failed,
        http_status: Some(409),
        dry_run: true,
        message: "The lead is queued.".to_owned(),
        details: json!({"durationMs": 12, "reason": null, "nested": {"a": [1, 2]}})
            .as_object()
            .unwrap()
            .clone(),
        ..entry(1, "org_a")
    };
    record_all(&bed, std::slice::from_ref(&full)).await;
    assert_eq!(list(&bed, all()).await, [full]);
    bed
}

async fn text_may_hold_any_character(bed: TestDatabase) -> TestDatabase {
    let text = "nul \0, \\0, 'quote', \u{1f600}";
    let odd = Activity {
        actor: Actor {
            name: Some(text.to_owned()),
            id: Some(text.to_owned()),
            ..Actor::service()
        },
        message: text.to_owned(),
        details: json!({ text: text }).as_object().unwrap().clone(),
        ..entry(1, "org_a")
    };
    record_all(&bed, std::slice::from_ref(&odd)).await;
    assert_eq!(list(&bed, all()).await, [odd]);
    bed
}

async fn a_known_id_is_passed_over(bed: TestDatabase) -> TestDatabase {
    let first = entry(1, "org_a");
    let second = Activity {
        message: "another".to_owned(),
        ..entry(1, "org_a")
    };
    record_all(&bed, &[first.clone(), second]).await;
    assert_eq!(list(&bed, all()).await, [first]);
    bed
}

async fn entries_are_listed_newest_first_and_no_more_than_asked_for(bed: TestDatabase) -> TestDatabase {
    let at = |number: u128, millis: i64| Activity {
        at: Timestamp::from_millis(millis),
        ..entry(number, "org_a")
    };
    let (old, middle, new) = (at(3, 10), at(1, 20), at(2, 30));
    record_all(&bed, &[middle.clone(), new.clone(), old.clone()]).await;
    assert_eq!(list(&bed, all()).await, [new.clone(), middle.clone(), old]);
    assert_eq!(
        list(&bed, ActivityQuery { limit: 2, ..all() }).await,
        [new, middle]
    );
    assert_eq!(list(&bed, ActivityQuery { limit: 0, ..all() }).await, []);
    bed
}

async fn a_list_holds_what_is_asked_for(bed: TestDatabase) -> TestDatabase {
    let campaign = Some(CampaignId::parse("camp").unwrap());
    let lead = Some(LeadId::parse("ld_1").unwrap());
    let of_lead = Activity {
        campaign_id: campaign.clone(),
        lead_id: lead.clone(),
        ..entry(4, "org_a")
    };
    let of_campaign = Activity {
        campaign_id: campaign.clone(),
        ..entry(3, "org_a")
    };
    let of_other = Activity {
        campaign_id: campaign.clone(),
        ..entry(2, "org_b")
    };
    let bare = entry(1, "org_a");
    record_all(
        &bed,
        &[
            of_lead.clone(),
            of_campaign.clone(),
            of_other.clone(),
            bare.clone(),
        ],
    )
    .await;
    let organization_id = Some(OrganizationId::parse("org_a").unwrap());
    assert_eq!(
        list(
            &bed,
            ActivityQuery {
                organization_id: organization_id.clone(),
                ..all()
            }
        )
        .await,
        [of_lead.clone(), of_campaign.clone(), bare]
    );
    assert_eq!(
        list(
            &bed,
            ActivityQuery {
                organization_id,
                campaign_id: campaign.clone(),
                ..all()
            }
        )
        .await,
        [of_lead.clone(), of_campaign.clone()]
    );
    assert_eq!(
        list(
            &bed,
            ActivityQuery {
                campaign_id: campaign,
                ..all()
            }
        )
        .await,
        [of_lead.clone(), of_campaign, of_other]
    );
    assert_eq!(
        list(
            &bed,
            ActivityQuery {
                lead_id: lead,
                ..all()
            }
        )
        .await,
        [of_lead]
    );
    let no_such_lead = Some(LeadId::parse("ld_2").unwrap());
    assert_eq!(
        list(
            &bed,
            ActivityQuery {
                lead_id: no_such_lead,
                ..all()
            }
        )
        .await,
        []
    );
    bed
}

async fn a_search_for_what_few_of_many_entries_meet_goes_on_in_bounded_steps(
    bed: TestDatabase,
) -> TestDatabase {
    bed.put_organization("org_a").await;
    let (no, padded) = if bed.url().starts_with("sqlite") {
        ("0", "substr('000000000000' || n, -12)")
    } else {
        ("false", "lpad(n::text, 12, '0')")
    };
    // A third of the entries meets the first two of three conditions, a third the last two, and so on; two meet all.
    bed.run_sql(&format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 15000) \
         INSERT INTO activities (organization_id, id, at, campaign_id, kind, actor_kind, outcome, dry_run, message, \
         details) SELECT 'org_a', '00000000-0000-4000-8000-' || {padded}, n / 2, \
         CASE WHEN n % 3 > 0 OR n IN (3, 9000) THEN 'camp' END, 'bid', \
         CASE WHEN n % 3 < 2 THEN 'service' ELSE 'command' END, \
         CASE WHEN n % 3 = 1 THEN 'accepted' ELSE 'refused' END, {no}, '', '{{}}' FROM numbers"
    ))
    .await;
    let search = ActivitySearch {
        campaign_id: Some(CampaignId::parse("camp").unwrap()),
        outcome: Some(ActivityOutcome::Refused),
        actor: Some((ActorKind::Service, None)),
        ..ActivitySearch::of(organization_id("org_a"))
    };
    let activities = bed.database.activities();
    let (mut found, mut below, mut steps) = (Vec::new(), None, 0);
    loop {
        let some = activities.search(&search, below, 50).await.unwrap();
        found.extend(some.entries.iter().map(|entry| entry.at.as_millis()));
        steps += 1;
        below = some.below;
        if below.is_none() {
            break;
        }
    }
    assert_eq!(found, [4_500, 1]);
    assert!((3..=5).contains(&steps), "{steps} steps");
    bed
}
