//! Provisioning: what the port's contract does not reach. What the other stores' columns become, races with commands
//! that raise no revision, characters that a database refuses, and more than one statement can hold.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::{
    AccountId, ApiKey, ApiKeyId, ApiKeyRecord, BiddingConfig, CampaignId, CampaignMode, CampaignState,
    FilterId, MarketplaceToken, MemberRole, OrganizationId, ProposalTemplate, Renewal, Secret, Subscription,
    SubscriptionStatus, Timestamp,
};
use bidloop_domain::port::{
    AccountRecord, CampaignRecord, CommitProvisioning, FilterRecord, ProvisioningChange,
    ProvisioningSnapshot, UserRecord,
};
use serde_json::json;

use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    text_may_hold_any_character,
    more_organizations_are_read_than_a_statement_holds,
    a_period_that_changes_drops_what_was_counted,
    a_revocation_that_the_plan_did_not_see_stays,
    another_token_makes_the_waiting_bids_due,
    a_campaign_made_again_shares_no_revision_with_the_one_before,
    a_filter_that_moves_makes_both_campaigns_due,
    a_long_list_goes_with_its_campaign,
);

const NOW: Timestamp = Timestamp::from_millis(1500);

fn organization() -> OrganizationId {
    OrganizationId::parse("org_a").unwrap()
}

fn campaign_id(id: &str) -> CampaignId {
    CampaignId::parse(id).unwrap()
}

fn account(token: &str) -> AccountRecord {
    AccountRecord {
        id: AccountId::parse("acct_1").unwrap(),
        name: "Ann".to_owned(),
        token: MarketplaceToken::unchecked(token.to_owned()),
        connected: true,
    }
}

fn campaign(id: &str) -> CampaignRecord {
    CampaignRecord {
        id: campaign_id(id),
        name: "Rust".to_owned(),
        mode: CampaignMode::External,
        state: CampaignState::Active,
        account_id: None,
        bidding_config: BiddingConfig::default(),
        proposal: ProposalTemplate::default(),
        attachments: Vec::new(),
        filters: Vec::new(),
    }
}

fn filter(keywords: &str) -> FilterRecord {
    FilterRecord {
        id: FilterId::parse("f_1").unwrap(),
        name: "Rust".to_owned(),
        body: json!({ "keywords": keywords }),
    }
}

fn put_account(token: &str) -> ProvisioningChange {
    ProvisioningChange::PutAccount(organization(), account(token))
}

fn put_campaign(id: &str) -> ProvisioningChange {
    ProvisioningChange::PutCampaign(organization(), Box::new(campaign(id)))
}

fn put_filter(campaign: &str, keywords: &str) -> ProvisioningChange {
    ProvisioningChange::PutFilter(organization(), campaign_id(campaign), filter(keywords))
}

fn put_organization(id: &OrganizationId, period: (i64, i64)) -> ProvisioningChange {
    ProvisioningChange::PutOrganization {
        id: id.clone(),
        name: format!("Organization {id}"),
        subscription: Subscription {
            status: SubscriptionStatus::Active,
            collection_paused: false,
            period_start: Timestamp::from_millis(period.0),
            period_end: Timestamp::from_millis(period.1),
            renewal: Renewal::SameLength,
            proposal_limit: Some(5),
            customer: None,
        },
    }
}

async fn snapshot(bed: &TestDatabase) -> ProvisioningSnapshot {
    let provisioning = bed.database.provisioning();
    provisioning.snapshot(&[organization()], &[]).await.unwrap()
}

async fn commit(bed: &TestDatabase, changes: &[ProvisioningChange]) {
    let provisioning = bed.database.provisioning();
    let before = snapshot(bed).await.revision;
    assert_eq!(
        provisioning.commit(before, changes, NOW).await,
        Ok(CommitProvisioning::Committed)
    );
}

async fn text_may_hold_any_character(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let text = "nul \0, \\0, 'quote', \u{1f600}";
    let user = UserRecord {
        email: format!("{text}@EXAMPLE.test"),
        name: text.to_owned(),
        password_hash: Some(Secret::new(text.to_owned())),
        role: MemberRole::Member,
    };
    let mut account = account(text);
    text.clone_into(&mut account.name);
    let mut campaign = campaign("camp");
    text.clone_into(&mut campaign.name);
    campaign.proposal.cover_letter = Some(text.to_owned());
    let mut filter = filter(text);
    text.clone_into(&mut filter.name);
    let id = organization();
    commit(
        &bed,
        &[
            ProvisioningChange::PutUser(id.clone(), user.clone()),
            ProvisioningChange::PutAccount(id.clone(), account.clone()),
            ProvisioningChange::PutCampaign(id.clone(), Box::new(campaign.clone())),
            ProvisioningChange::PutFilter(id.clone(), campaign.id.clone(), filter.clone()),
        ],
    )
    .await;
    let found = snapshot(&bed).await.organizations.remove(0);
    campaign.filters = vec![filter];
    assert_eq!(found.users, [user]);
    assert_eq!(found.accounts, [account]);
    assert_eq!(found.campaigns, [campaign]);
    commit(
        &bed,
        &[ProvisioningChange::RemoveUser(id, format!("{text}@example.TEST"))],
    )
    .await;
    assert_eq!(snapshot(&bed).await.organizations[0].users, []);
    bed
}

async fn more_organizations_are_read_than_a_statement_holds(bed: TestDatabase) -> TestDatabase {
    let ids: Vec<OrganizationId> = (0..1_203)
        .map(|number| OrganizationId::parse(&format!("org_{number}")).unwrap())
        .collect();
    let mut changes: Vec<ProvisioningChange> = Vec::new();
    for id in &ids {
        changes.push(put_organization(id, (1000, 2000)));
        changes.push(ProvisioningChange::PutAccount(id.clone(), account("token")));
    }
    commit(&bed, &changes).await;
    let found = bed.database.provisioning().snapshot(&ids, &[]).await.unwrap();
    let found_ids: Vec<&OrganizationId> = found.organizations.iter().map(|record| &record.id).collect();
    assert_eq!(found_ids, ids.iter().collect::<Vec<_>>());
    assert!(
        found
            .organizations
            .iter()
            .all(|record| record.accounts == [account("token")])
    );
    bed
}

async fn a_period_that_changes_drops_what_was_counted(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let counted = "SELECT count(*) FROM quota_usage WHERE organization_id = 'org_a'";
    bed.run_sql(
        "INSERT INTO quota_usage (organization_id, period_start, period_end, used) VALUES \
         ('org_a', 1000, 2000, 3), ('org_b', 1000, 2000, 4)",
    )
    .await;
    commit(&bed, &[put_organization(&organization(), (1000, 2000))]).await;
    assert_eq!(bed.number(counted).await, 1);
    commit(&bed, &[put_organization(&organization(), (1000, 2001))]).await;
    assert_eq!(bed.number(counted).await, 0);
    let of_others = "SELECT used FROM quota_usage WHERE organization_id = 'org_b'";
    assert_eq!(bed.number(of_others).await, 4);
    bed
}

async fn a_revocation_that_the_plan_did_not_see_stays(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let (keys, hash) = (bed.database.api_keys(), ApiKey::from_random([1; 32]).hash());
    let planned = ApiKeyRecord {
        id: ApiKeyId::parse("key_ci").unwrap(),
        organization_id: organization(),
        name: "CI".to_owned(),
        created_at: NOW,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    let put = |hash| ProvisioningChange::PutApiKey(organization(), planned.clone(), hash);
    commit(&bed, &[put(hash.clone())]).await;
    keys.revoke(&organization(), &planned.id, NOW).await.unwrap();
    commit(&bed, &[put(hash.clone())]).await;
    let found = keys.find(&hash).await.unwrap().unwrap();
    assert_eq!(found.record.revoked_at, Some(NOW));
    // A new key under the old id was never revoked.
    let other = ApiKey::from_random([2; 32]).hash();
    commit(&bed, &[put(other.clone())]).await;
    let found = keys.find(&other).await.unwrap().unwrap();
    assert_eq!(found.record.revoked_at, None);
    bed
}

async fn another_token_makes_the_waiting_bids_due(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    commit(&bed, &[put_account("refused")]).await;
    bed.run_sql(
        "INSERT INTO bids (organization_id, id, campaign_id, lead_id, job_id, account_id, cover_letter, answers, \
         config, attachments, queued_at, period_start, deadline, status, next_attempt_at, attempts, \
         answer_outstanding, boost_connects, connects_spent) VALUES \
         ('org_a', 'waiting', 'c', 'l1', 'j1', 'acct_1', '', '[]', '{}', '[]', 1000, 1000, 9000, 'queued', 9000, 1, \
         false, 0, 0), \
         ('org_a', 'anothers', 'c', 'l2', 'j2', 'acct_2', '', '[]', '{}', '[]', 1000, 1000, 9000, 'queued', 9000, 1, \
         false, 0, 0)",
    )
    .await;
    let due = "SELECT next_attempt_at FROM bids WHERE id = 'waiting'";
    // A bid of an account that is connected waits for something else.
    commit(&bed, &[put_account("refused too")]).await;
    assert_eq!(bed.number(due).await, 9000);
    bed.run_sql("UPDATE bidder_accounts SET connected = false").await;
    commit(&bed, &[put_account("refused too")]).await;
    assert_eq!(bed.number(due).await, 9000);
    commit(&bed, &[put_account("new")]).await;
    assert_eq!(bed.number(due).await, NOW.as_millis());
    assert!(snapshot(&bed).await.organizations[0].accounts[0].connected);
    let other = "SELECT next_attempt_at FROM bids WHERE id = 'anothers'";
    assert_eq!(bed.number(other).await, 9000);
    bed
}

async fn a_campaign_made_again_shares_no_revision_with_the_one_before(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let revision = "SELECT revision FROM campaigns WHERE id = 'camp'";
    let is_due = "SELECT count(*) FROM campaigns WHERE id = 'camp' AND revision <> matched_revision";
    commit(&bed, &[put_campaign("camp")]).await;
    assert_eq!(bed.number(is_due).await, 0);
    commit(&bed, &[put_filter("camp", "rust")]).await;
    assert_eq!(bed.number(is_due).await, 1);
    let before = bed.number(revision).await;
    bed.run_sql(
        "INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) VALUES \
         ('org_a', 'camp', 1, 1, 'j1', 1), ('org_a', 'camp', 2, 1, 'j1', 1), ('org_a', 'other', 1, 1, 'j1', 1)",
    )
    .await;
    let remove = ProvisioningChange::RemoveCampaign(organization(), campaign_id("camp"));
    commit(
        &bed,
        &[
            remove,
            put_campaign("camp"),
            put_filter("camp", "rust"),
            put_filter("camp", "go"),
        ],
    )
    .await;
    assert!(bed.number(revision).await > before);
    assert_eq!(bed.number(is_due).await, 1);
    assert_eq!(bed.number("SELECT match_total FROM campaigns").await, 0);
    assert_eq!(bed.number("SELECT count(*) FROM matches").await, 1);
    bed
}

async fn a_filter_that_moves_makes_both_campaigns_due(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    commit(
        &bed,
        &[
            put_campaign("one"),
            put_campaign("two"),
            put_filter("one", "rust"),
        ],
    )
    .await;
    bed.run_sql("UPDATE campaigns SET matched_revision = revision")
        .await;
    let is_due = "SELECT count(*) FROM campaigns WHERE revision <> matched_revision";
    let mut renamed = filter("rust");
    "Renamed".clone_into(&mut renamed.name);
    commit(
        &bed,
        &[ProvisioningChange::PutFilter(
            organization(),
            campaign_id("one"),
            renamed,
        )],
    )
    .await;
    assert_eq!(bed.number(is_due).await, 0, "a name matches nothing");
    commit(&bed, &[put_filter("two", "rust")]).await;
    assert_eq!(bed.number(is_due).await, 2);
    bed
}

async fn a_long_list_goes_with_its_campaign(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    commit(&bed, &[put_campaign("camp")]).await;
    bed.run_sql(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500) \
         INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
         SELECT 'org_a', 'camp', 1 + n % 2, n, n, n FROM numbers",
    )
    .await;
    let remove = ProvisioningChange::RemoveCampaign(organization(), campaign_id("camp"));
    commit(&bed, &[remove.clone(), put_campaign("camp")]).await;
    assert_eq!(bed.number("SELECT count(*) FROM matches").await, 0);
    assert_eq!(bed.number("SELECT generation FROM campaigns").await, 3);
    bed.run_sql("INSERT INTO matches VALUES ('org_a', 'camp', 3, 1, 'j1', 1, 'new')")
        .await;
    commit(&bed, &[remove.clone(), put_campaign("camp"), remove]).await;
    assert_eq!(bed.number("SELECT count(*) FROM matches").await, 0);
    bed
}
