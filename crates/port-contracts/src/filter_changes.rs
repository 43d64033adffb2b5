//! The rules of `JobStore` on filters: how all are read, and what is told of their changes (decision D7).

use std::collections::{BTreeMap, BTreeSet};

use bidloop_domain::model::{CampaignId, FilterId, OrganizationId};
use bidloop_domain::port::{FilterChanges, FilterRecord, ProvisioningChange, Revision, StoredFilter};
use serde_json::json;

use crate::Stores;
use crate::fixture::{all_filters, campaign, campaign_id, commit, organization, organization_id, revision};

fn put(campaign: &str, id: &str, keywords: &str) -> ProvisioningChange {
    let filter = FilterRecord {
        id: FilterId::parse(id).unwrap(),
        name: id.to_owned(),
        body: json!({"keywords": keywords}),
    };
    ProvisioningChange::PutFilter(organization_id("org_acme"), campaign_id(campaign), filter)
}

fn remove(campaign: &str, id: &str) -> ProvisioningChange {
    let (organization, campaign) = (organization_id("org_acme"), campaign_id(campaign));
    ProvisioningChange::RemoveFilter(organization, campaign, FilterId::parse(id).unwrap())
}

fn remove_campaign(id: &str) -> ProvisioningChange {
    ProvisioningChange::RemoveCampaign(organization_id("org_acme"), campaign_id(id))
}

fn told(filter: &StoredFilter) -> String {
    format!("{} {} {}", filter.campaign_id, filter.id, filter.body)
}

/// What is told of the changes since a revision, and what is removed, both in order.
async fn changes(stores: &Stores, since: Revision) -> (Vec<String>, Vec<String>) {
    let now = revision(stores).await;
    let changes = stores.jobs.filters_since(since).await.unwrap();
    let FilterChanges::Known {
        revision,
        put,
        removed,
    } = changes
    else {
        panic!("{changes:?}");
    };
    assert_eq!(revision, now);
    let mut put: Vec<String> = put.iter().map(told).collect();
    put.sort();
    let mut removed: Vec<String> = removed.iter().map(|(_, id)| id.to_string()).collect();
    removed.sort();
    (put, removed)
}

/// `org_acme` with the paused campaigns `one` and `two`, each with a filter of its name.
async fn two_campaigns(stores: &Stores) -> Revision {
    let acme = organization("org_acme")
        .campaign(campaign("one").paused())
        .campaign(campaign("two").paused());
    acme.provision(stores).await;
    revision(stores).await
}

pub async fn filters_are_read_in_parts_in_the_order_of_organization_and_id(stores: Stores) {
    for name in ["org_b", "org_a"] {
        let campaign = campaign("camp").filter("f_Z", json!({})).filter("f_a", json!({}));
        organization(name).campaign(campaign).provision(&stores).await;
    }
    let mut read: Vec<(OrganizationId, FilterId)> = Vec::new();
    loop {
        let part = stores.jobs.filters(read.last(), 2).await.unwrap();
        assert!(part.len() <= 2);
        let is_last = part.len() < 2;
        read.extend(part.into_iter().map(|filter| (filter.organization_id, filter.id)));
        if is_last {
            break;
        }
    }
    let read: Vec<String> = read.iter().map(|(org, id)| format!("{org} {id}")).collect();
    assert_eq!(
        read,
        [
            "org_a f_Z",
            "org_a f_a",
            "org_a f_camp",
            "org_b f_Z",
            "org_b f_a",
            "org_b f_camp"
        ]
    );
}

pub async fn nothing_changed_since_the_current_revision(stores: Stores) {
    let now = revision(&stores).await;
    assert_eq!(changes(&stores, now).await, (vec![], vec![]));
    let now = two_campaigns(&stores).await;
    assert_eq!(changes(&stores, now).await, (vec![], vec![]));
}

pub async fn filters_that_were_added_or_changed_since_are_told_as_they_are_now(stores: Stores) {
    let before = two_campaigns(&stores).await;
    commit(&stores, &[put("one", "f_one", "go"), put("one", "f_new", "qt")]).await;
    let between = revision(&stores).await;
    commit(&stores, &[put("one", "f_new", "axum")]).await;
    let new = r#"one f_new {"keywords":"axum"}"#.to_owned();
    let one = r#"one f_one {"keywords":"go"}"#.to_owned();
    assert_eq!(changes(&stores, before).await, (vec![new.clone(), one], vec![]));
    assert_eq!(changes(&stores, between).await, (vec![new], vec![]));
}

pub async fn a_removed_filter_is_told(stores: Stores) {
    let before = two_campaigns(&stores).await;
    commit(&stores, &[remove("one", "f_one")]).await;
    let between = revision(&stores).await;
    assert_eq!(changes(&stores, before).await, (vec![], vec!["f_one".to_owned()]));
    // It is back, and told as any other.
    commit(&stores, &[put("two", "f_one", "go")]).await;
    let back = vec![r#"two f_one {"keywords":"go"}"#.to_owned()];
    assert_eq!(changes(&stores, before).await, (back.clone(), vec![]));
    assert_eq!(changes(&stores, between).await, (back, vec![]));
}

pub async fn the_filters_of_a_removed_campaign_are_told(stores: Stores) {
    two_campaigns(&stores).await;
    commit(&stores, &[put("two", "f_more", "go")]).await;
    let before = revision(&stores).await;
    commit(&stores, &[remove_campaign("two")]).await;
    let removed = vec!["f_more".to_owned(), "f_two".to_owned()];
    assert_eq!(changes(&stores, before).await, (vec![], removed));
}

pub async fn a_filter_that_moved_to_another_campaign_is_told_there(stores: Stores) {
    let before = two_campaigns(&stores).await;
    commit(&stores, &[put("two", "f_one", "rust")]).await;
    let moved = vec![r#"two f_one {"keywords":"rust"}"#.to_owned()];
    assert_eq!(changes(&stores, before).await, (moved, vec![]));
    let ids: Vec<CampaignId> = all_filters(&stores)
        .await
        .into_iter()
        .map(|filter| filter.campaign_id)
        .collect();
    assert_eq!(ids, [campaign_id("two"), campaign_id("two")]);
}

pub async fn other_provisioning_moves_the_revision_and_changes_no_filter(stores: Stores) {
    let before = two_campaigns(&stores).await;
    commit(&stores, &[organization("org_acme").limit(3).put_organization()]).await;
    assert!(revision(&stores).await > before);
    assert_eq!(changes(&stores, before).await, (vec![], vec![]));
}

pub async fn of_a_revision_that_was_never_reached_nothing_is_known(stores: Stores) {
    let Revision(now) = two_campaigns(&stores).await;
    let ahead = stores.jobs.filters_since(Revision(now + 1)).await;
    assert_eq!(ahead, Ok(FilterChanges::Forgotten));
}

pub async fn changes_since_any_revision_lead_to_all_filters(stores: Stores) {
    two_campaigns(&stores).await;
    let mut known: Vec<(Revision, BTreeMap<FilterId, StoredFilter>)> = Vec::new();
    let edits = [
        vec![put("one", "f_1", "go"), put("two", "f_2", "qt")],
        vec![put("two", "f_1", "go"), remove("two", "f_2")],
        vec![
            put("one", "f_2", "c"),
            put("one", "f_3", "d"),
            put("two", "f_4", "e"),
        ],
        vec![remove_campaign("two")],
        vec![remove("one", "f_3"), put("one", "f_4", "rust")],
    ];
    for edit in &edits {
        known.push((revision(&stores).await, by_id(all_filters(&stores).await)));
        commit(&stores, edit).await;
    }
    let all = by_id(all_filters(&stores).await);
    for (since, mut filters) in known {
        let FilterChanges::Known { put, removed, .. } = stores.jobs.filters_since(since).await.unwrap()
        else {
            panic!("{since:?}");
        };
        let removed: BTreeSet<FilterId> = removed.into_iter().map(|(_, id)| id).collect();
        filters.retain(|id, _| !removed.contains(id));
        filters.extend(by_id(put));
        assert_eq!(filters, all, "{since:?}");
    }
}

fn by_id(filters: Vec<StoredFilter>) -> BTreeMap<FilterId, StoredFilter> {
    let named = filters.into_iter().map(|filter| (filter.id.clone(), filter));
    named.collect()
}
