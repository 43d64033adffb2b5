//! What single leads cost as long as PostgreSQL has no statistics of the tables, as after an import, a restore, or in the first
//! minute of much work.

use bidloop_domain::model::{Lead, LeadId};
use bidloop_domain::port::{AcceptBid, LeadLookup};
use bidloop_port_contracts::fixture::{World, at};

use crate::held_snapshot::{acme, prepared, read_by};
use crate::test_database::TestDatabase;

/// A campaign with so many leads that to read them all takes many times what one takes; and two of its leads.
async fn many_leads() -> (TestDatabase, World, Vec<Lead>) {
    let (bed, world, leads) = prepared(acme(), async |world| world.new_leads(2, at(0)).await).await;
    bed.run_sql(
        "ALTER TABLE leads SET (autovacuum_enabled = off); ALTER TABLE matches SET (autovacuum_enabled = off); \
         INSERT INTO leads SELECT (jsonb_populate_record(l, jsonb_build_object('id', l.id || n, 'job_id', l.job_id || n))).* \
         FROM leads AS l, generate_series(1, 5000) AS n; \
         INSERT INTO matches SELECT (jsonb_populate_record(m, jsonb_build_object( \
           'seq', 10 * n + m.seq, 'job_id', m.job_id || n))).* \
         FROM matches AS m, generate_series(1, 5000) AS n",
    )
    .await;
    (bed, world, leads)
}

/// Fails if the work reads more blocks of the table than some rows take.
async fn assert_reads_little<T>(
    (bed, world): (&TestDatabase, &World),
    table: &str,
    what: &str,
    work: impl AsyncFnOnce(&World) -> T,
) -> T {
    let (done, blocks) = read_by(bed, world, table, work).await;
    assert!(blocks < 50, "{what} reads {blocks} blocks of {table}");
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lead_is_looked_up_without_its_campaigns_other_leads() {
    let (bed, world, leads) = many_leads().await;
    let place = (&bed, &world);
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
    for (lead, is_there) in [(&leads[0].id, true), (&unknown, false)] {
        let located = async |world: &World| locate(world, lead).await;
        let located = assert_reads_little(place, "leads", "locating a lead", located).await;
        assert_eq!(matches!(located, LeadLookup::Found(_)), is_there, "{located:?}");
        let found = async |world: &World| world.find(lead).await;
        let found = assert_reads_little(place, "leads", "finding a lead", found).await;
        assert_eq!(found.is_some(), is_there, "{found:?}");
    }
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lead_is_decided_on_without_its_campaigns_other_leads_and_matches() {
    let (bed, world, leads) = many_leads().await;
    for (table, lead) in ["leads", "matches"].into_iter().zip(&leads) {
        let bid = async |world: &World| world.try_bid(lead, at(1)).await;
        let accepted = assert_reads_little((&bed, &world), table, "a bid", bid).await;
        assert_eq!(accepted, AcceptBid::Accepted);
    }
    bed.close().await;
}
