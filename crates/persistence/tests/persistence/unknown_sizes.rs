//! What single leads cost as long as PostgreSQL has no statistics of the tables, as after an import, a restore, or in the first
//! minute of much work.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::{Lead, LeadId};
use bidloop_domain::port::{AcceptBid, LeadLookup};
use bidloop_port_contracts::fixture::{World, at};

use crate::contracts::stores;
use crate::held_snapshot::{read_by, reopened};
use crate::test_database::TestDatabase;

/// A campaign with so many leads that to read them all takes many times what one takes; and two of its leads.
async fn many_leads() -> (TestDatabase, World, Vec<Lead>) {
    let bed = TestDatabase::postgres().await;
    let (world, leads) = {
        let world = World::new(stores(&bed.reopened())).await;
        let leads = world.new_leads(2, at(0)).await;
        (reopened(&bed, &world), leads)
    };
    bed.run_sql(
        "ALTER TABLE leads SET (autovacuum_enabled = off); \
         INSERT INTO leads SELECT (jsonb_populate_record(l, jsonb_build_object('id', l.id || n, 'job_id', l.job_id || n))).* \
         FROM leads AS l, generate_series(1, 5000) AS n",
    )
    .await;
    (bed, world, leads)
}

/// Fails if the work reads more blocks of the leads than some of them take.
async fn assert_reads_few_leads<T>(
    bed: &TestDatabase,
    world: &World,
    what: &str,
    work: impl AsyncFnOnce(&World) -> T,
) -> T {
    let (done, blocks) = read_by(bed, world, "leads", work).await;
    assert!(blocks < 50, "{what} reads {blocks} blocks of leads");
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lead_is_looked_up_without_its_campaigns_other_leads() {
    let (bed, world, leads) = many_leads().await;
    let unknown = LeadId::parse("ld_00000000000000000000000000000000").unwrap();
    let locate = async |world: &World, lead: &LeadId| {
        let (organization, campaign) = (&world.organization, &world.campaign);
        world
            .stores
            .leads
            .locate(organization, campaign, lead)
            .await
            .unwrap()
    };
    let found = assert_reads_few_leads(&bed, &world, "locating a lead", async |world| {
        locate(world, &leads[0].id).await
    })
    .await;
    assert!(matches!(found, LeadLookup::Found(_)), "{found:?}");
    let found = assert_reads_few_leads(&bed, &world, "locating an unknown lead", async |world| {
        locate(world, &unknown).await
    })
    .await;
    assert!(matches!(found, LeadLookup::LeadUnknown), "{found:?}");
    let found = assert_reads_few_leads(&bed, &world, "finding a lead", async |world| {
        world.find(&leads[0].id).await
    })
    .await;
    assert!(found.is_some());
    let found = assert_reads_few_leads(&bed, &world, "finding an unknown lead", async |world| {
        world.find(&unknown).await
    })
    .await;
    assert!(found.is_none());
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lead_is_decided_on_without_its_campaigns_other_leads() {
    let (bed, world, leads) = many_leads().await;
    let accepted = assert_reads_few_leads(&bed, &world, "a bid", async |world| {
        world.try_bid(&leads[0], at(1)).await
    })
    .await;
    assert_eq!(accepted, AcceptBid::Accepted);
    bed.close().await;
}
