//! Commands that share a transaction on PostgreSQL lose nothing and double nothing, at whatever message their connections
//! are cut.
//!
//! A store waits for the server's messages, and for nothing else. So each test gives the same commands again and again, each
//! time on fresh data, and cuts the connections one message later than before. It ends with commands that are done before
//! the cut: every message was cut at then.
//!
//! | file | owns |
//! |---|---|
//! | [`forwarder`] | what cuts connections |
//! | [`decisions`] | bids and rejections |
//! | [`bid_ends`] | ends of bids |
//! | [`delivery_ends`] | ends of deliveries |

#![expect(clippy::unwrap_used, reason = "test code")]

mod bid_ends;
mod decisions;
mod delivery_ends;
mod forwarder;

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use bidloop_domain::model::{Lead, Measure, OrganizationId, StatisticsStep, Timestamp};
use bidloop_domain::port::{CountsQuery, StoreError};
use bidloop_persistence::{Database, DatabaseSettings};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{OrganizationBuilder, World, at, commit, job, job_id, lead_id};
use futures::future::{join, join_all};
use tokio_postgres::Client;

use self::forwarder::{Afterwards, Cut, Forwarder, Towards};
use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

/// How soon commands are answered, whatever happens to their connections.
const SOON: Duration = Duration::from_secs(10);

/// Commands that are given at once.
trait Commands: Sized {
    /// What is answered to one of them.
    type Answer: Debug;

    /// Some commands with data of their own. `batch` tells these data from others.
    async fn fresh(bed: &Bed, batch: usize) -> Vec<Self>;

    /// Gives them, and returns the answers.
    async fn give(&self, stores: &Stores) -> Vec<Result<Self::Answer, StoreError>>;

    /// Which of them are stored. Panics if one is stored in part or twice, or is not counted.
    async fn stored(&self, bed: &Bed, cut: Cut) -> Vec<bool>;

    /// What of them may be stored, as each group is stored whole or not at all.
    fn may_be_stored(&self) -> Vec<Vec<bool>>;

    /// Whether the answer to a command says that it is stored. Panics at an answer that nothing but a second attempt explains.
    fn says_stored(answer: &Self::Answer, cut: Cut) -> bool;

    /// Gives all of them again, as the same commands or as new ones, and checks the answers and what is stored in the end.
    async fn repeat(&self, bed: &Bed, stored: &[bool], cut: Cut);
}

/// The cuts so far, and the commands by whether they were answered and are stored.
#[derive(Debug, Default)]
struct Seen {
    cuts: usize,
    answered: usize,
    stored_unanswered: usize,
    not_stored: usize,
}

/// A database, and a store with connections that nobody cuts.
struct Bed {
    database: TestDatabase,
    stores: Stores,
    client: Client,
}

impl Bed {
    async fn new() -> Self {
        let database = TestDatabase::spare_postgres().await;
        Self {
            stores: stores(&database.database),
            client: connect(&database.url()).await,
            database,
        }
    }

    /// Returns once no session of this name is left: one whose connection is cut may still commit.
    async fn until_gone(&self, name: &str) {
        let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                        AND application_name = $1";
        let count = async || -> i64 { self.client.query_one(sessions, &[&name]).await.unwrap().get(0) };
        let are_gone = async {
            while count().await > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(SOON, are_gone).await.unwrap();
    }

    /// The units of quota that an organization used, and what was counted of it.
    async fn used_and_counted(&self, organization: &OrganizationId, measure: Measure) -> [usize; 2] {
        let used = "SELECT coalesce(sum(used), 0)::bigint FROM quota_usage WHERE organization_id = $1";
        let used = self.client.query_one(used, &[&organization.as_str()]).await;
        let used: i64 = used.unwrap().get(0);
        let query = CountsQuery {
            organization_id: Some(organization.clone()),
            step: StatisticsStep::Hour,
            from: Timestamp::from_millis(0),
            until: Timestamp::from_millis(i64::MAX),
            measures: vec![measure],
            by_time: None,
            by_campaign: false,
        };
        let sums = self.stores.statistics.sums(&query).await.unwrap();
        let counted: u64 = sums.iter().map(|sum| sum.count).sum();
        [usize::try_from(used).unwrap(), usize::try_from(counted).unwrap()]
    }

    /// Provisions organizations, and records so many jobs that match the campaign `camp` of each.
    async fn provision(
        &self,
        batch: usize,
        organizations: Vec<OrganizationBuilder>,
        jobs: usize,
    ) -> Vec<World> {
        let changes: Vec<_> = organizations
            .iter()
            .flat_map(OrganizationBuilder::changes)
            .collect();
        commit(&self.stores, &changes).await;
        let world = |OrganizationBuilder(organization)| World {
            stores: self.stores.clone(),
            campaign: organization.campaigns[0].id.clone(),
            organization: organization.id,
        };
        let worlds: Vec<World> = organizations.into_iter().map(world).collect();
        let jobs = (0..jobs).map(|number| {
            let matched = worlds.iter().map(|world| (world.organization.as_str(), "camp"));
            let matched: Vec<_> = matched.collect();
            job(&job_name(batch, number), at(0), &matched)
        });
        worlds[0].ingest(at(0), jobs.collect()).await;
        worlds
    }
}

fn job_name(batch: usize, number: usize) -> String {
    format!("job-{batch}-{number}")
}

/// The lead of another job and organization than `like`.
fn lead(like: &Lead, world: &World, job: &str) -> Lead {
    Lead {
        id: lead_id(world.organization.as_str(), "camp", job),
        organization_id: world.organization.clone(),
        job_id: job_id(job),
        ..like.clone()
    }
}

/// Carries out the first commands, and the others once a group is made of those. On a runtime of one thread the others are a
/// group, too.
async fn in_two_groups<C: Future>(mut commands: Vec<C>, first: usize) -> Vec<C::Output> {
    let others = commands.split_off(first);
    let others = async {
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        join_all(others).await
    };
    let (mut answers, of_others) = join(join_all(commands), others).await;
    answers.extend(of_others);
    answers
}

/// Cuts the connections of a store at each message in one direction. Checks what is stored then, and repeats the commands,
/// with another store, as a restarted process does. Returns how many messages it cut at.
async fn cut_at_each_message<C: Commands>(towards: Towards, afterwards: Afterwards) -> usize {
    let bed = Bed::new().await;
    let (mut fresh, mut batches) = (Vec::new(), 0..);
    let mut seen = Seen::default();
    for at in 1.. {
        let cut = Cut {
            towards,
            at,
            afterwards,
        };
        if fresh.is_empty() {
            fresh = C::fresh(&bed, batches.next().unwrap()).await;
        }
        let commands = fresh.pop().unwrap();
        let (answers, has_cut) = given_through(&bed, &commands, cut).await;
        let stored = commands.stored(&bed, cut).await;
        if afterwards == Afterwards::Refused {
            let may_be = commands.may_be_stored();
            assert!(
                may_be.contains(&stored),
                "{cut:?}: of groups {stored:?} is stored"
            );
        }
        for (number, (answer, stored)) in answers.iter().zip(&stored).enumerate() {
            match answer {
                Ok(answer) => {
                    let said = C::says_stored(answer, cut);
                    assert_eq!(said, *stored, "{cut:?}: command {number} is answered {answer:?}");
                    seen.answered += usize::from(has_cut);
                }
                Err(StoreError::Unavailable(_)) if *stored => seen.stored_unanswered += 1,
                Err(StoreError::Unavailable(_)) => seen.not_stored += 1,
                Err(error) => panic!("{cut:?}: command {number} failed: {error}"),
            }
        }
        commands.repeat(&bed, &stored, cut).await;
        if !has_cut {
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            break;
        }
        seen.cuts += 1;
    }
    // A commit whose answer is lost is known to the server alone.
    let commits_unheard = seen.stored_unanswered > 0 || towards == Towards::Server;
    assert!(
        seen.answered > 0 && seen.not_stored > 0 && commits_unheard,
        "{seen:?}"
    );
    bed.database.close().await;
    seen.cuts
}

/// Gives commands to a store whose connections are cut. Returns the answers, and whether the cut came before the last one.
async fn given_through<C: Commands>(
    bed: &Bed,
    commands: &C,
    cut: Cut,
) -> (Vec<Result<C::Answer, StoreError>>, bool) {
    let url = bed.database.url();
    let forwarder = Forwarder::start(&url, cut).await;
    let name = format!("cut-{}", cut.at);
    let (through, separator) = (forwarder.through(&url), if url.contains('?') { '&' } else { '?' });
    let database = Database::open(&DatabaseSettings {
        request_connections: 2,
        worker_connections: 1,
        ..DatabaseSettings::new(format!("{through}{separator}application_name={name}"))
    });
    let database = database.unwrap();
    let stores = stores(&database);
    let given = commands.give(&stores);
    let answers = tokio::time::timeout(SOON, given).await.unwrap();
    let has_cut = forwarder.has_cut();
    drop((database, stores, forwarder));
    bed.until_gone(&name).await;
    (answers, has_cut)
}

/// Whether each command may be stored, if each of two groups is stored whole or not at all.
fn of_whole_groups(stored_of: impl Fn([bool; 2]) -> Vec<bool>) -> Vec<Vec<bool>> {
    let groups = [[false, false], [true, false], [false, true], [true, true]];
    groups.into_iter().map(stored_of).collect()
}

/// Tests of one kind of commands, of which each cuts at more than `$fewest` messages.
macro_rules! cut_tests {
    ($commands:ty, $fewest:expr, $($rule:ident: $towards:ident, $afterwards:ident;)+) => {$(
        #[tokio::test]
        async fn $rule() {
            let cuts = super::cut_at_each_message::<$commands>(
                super::Towards::$towards,
                super::Afterwards::$afterwards,
            );
            let cuts = cuts.await;
            assert!(cuts > $fewest, "{cuts} messages");
        }
    )+};
}
use cut_tests;
