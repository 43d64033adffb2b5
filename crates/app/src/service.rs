//! Wires adapters to ports and ports to use cases: the one place that knows them all.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bidloop_domain::model::Links;
use bidloop_domain::port::{
    ActivityStore, ApiKeyStore, AutomaticBidStore, BillingStore, BlobStore, CampaignFeedStore, Clock,
    DeliveryRecords, DeliveryStore, Entropy, ErasureStore, FeedLeaseStore, FirstRunStore, JobStore,
    LeadStore, LeaseOwner, Marketplace, MatchStore, OverviewStore, PeopleStore, ProposalWriter,
    ProvisioningStore, Quarantine, RetentionStore, SessionStore, SignInTryStore, StatisticsStore,
    SubmissionStore, WorkSignal,
};
use bidloop_domain::use_case::{
    ApplyProvisioning, Authenticate, BackfillMatches, ChangePassword, CurrentFilters, DeliverWebhooks,
    EraseOrganizations, FindLead, FirstRun, InFlight, IngestJobs, KeyLeases, KeyUses, LeadRequests,
    ListActivity, ListCampaigns, ListLeads, ListOrganizations, LocateLead, MAX_IN_FLIGHT, ManageApiKeys,
    ManageMembers, ManagePersonalTokens, OperateLeads, PeopleCommits, PostCache, Prune, RejectLead, Sessions,
    SettleBids, ShowFeed, SignIn, SubmitBid, SubmitProposals, TakeTurns, Throttle, TryEndpoints,
    UploadAttachments, UseLink, WriteAutomaticBids,
};
use bidloop_marketplace::HyperMarketplace;
use bidloop_persistence::Database;
use bidloop_templates::JinjaProposalWriter;
use bidloop_webhooks::HyperWebhookSender;

use crate::descriptors;
use crate::measured_marketplace::MeasuredMarketplace;
use crate::metrics::Metrics;
use crate::password_hasher::Argon2PasswordHasher;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemEntropy, SystemThreads};
use crate::traces::{TaskTrace, Traces};
use crate::work_notifiers::WorkNotifiers;
use crate::workers::WorkerStates;

/// The database, port by port.
#[derive(Debug, Clone)]
pub(crate) struct Stores {
    pub(crate) api_keys: Arc<dyn ApiKeyStore>,
    pub(crate) leads: Arc<dyn LeadStore>,
    pub(crate) jobs: Arc<dyn JobStore>,
    pub(crate) matches: Arc<dyn MatchStore>,
    pub(crate) deliveries: Arc<dyn DeliveryStore>,
    pub(crate) delivery_records: Arc<dyn DeliveryRecords>,
    pub(crate) submissions: Arc<dyn SubmissionStore>,
    pub(crate) automatic_bids: Arc<dyn AutomaticBidStore>,
    pub(crate) billing: Arc<dyn BillingStore>,
    pub(crate) activities: Arc<dyn ActivityStore>,
    pub(crate) provisioning: Arc<dyn ProvisioningStore>,
    pub(crate) retention: Arc<dyn RetentionStore>,
    pub(crate) erasure: Arc<dyn ErasureStore>,
    pub(crate) feed_lease: Arc<dyn FeedLeaseStore>,
    pub(crate) people: Arc<dyn PeopleStore>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) sign_in_tries: Arc<dyn SignInTryStore>,
    pub(crate) first_run: Arc<dyn FirstRunStore>,
    pub(crate) campaign_feed: Arc<dyn CampaignFeedStore>,
    pub(crate) overview: Arc<dyn OverviewStore>,
    pub(crate) statistics: Arc<dyn StatisticsStore>,
}

impl Stores {
    pub(crate) fn find_lead(&self) -> FindLead {
        FindLead {
            leads: Arc::clone(&self.leads),
            feed: Arc::clone(&self.campaign_feed),
        }
    }

    pub(crate) fn of(database: &Database) -> Self {
        Self {
            api_keys: database.api_keys(),
            leads: database.leads(),
            jobs: database.jobs(),
            matches: database.matches(),
            deliveries: database.deliveries(),
            delivery_records: database.delivery_records(),
            submissions: database.submissions(),
            automatic_bids: database.automatic_bids(),
            billing: database.billing(),
            activities: database.activities(),
            provisioning: database.provisioning(),
            retention: database.retention(),
            erasure: database.erasure(),
            feed_lease: database.feed_lease(),
            people: database.people(),
            sessions: database.sessions(),
            sign_in_tries: database.sign_in_tries(),
            first_run: database.first_run(),
            campaign_feed: database.campaign_feed(),
            overview: database.overview(),
            statistics: database.statistics(),
        }
    }
}

/// The use cases of people: who they are, and who signs in. They share one limit of hashing.
#[derive(Debug)]
pub(crate) struct PeopleCases {
    pub(crate) sign_in: Arc<SignIn>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) first_run: Arc<FirstRun>,
    pub(crate) change_password: Arc<ChangePassword>,
    pub(crate) manage_members: Arc<ManageMembers>,
    pub(crate) use_link: Arc<UseLink>,
    pub(crate) manage_tokens: Arc<ManagePersonalTokens>,
}

impl PeopleCases {
    fn new(stores: &Stores, clock: &Arc<dyn Clock>, entropy: &Arc<dyn Entropy>) -> Self {
        let throttle = Throttle {
            tries: Arc::clone(&stores.sign_in_tries),
            passwords: Arc::new(Argon2PasswordHasher::new()),
            clock: Arc::clone(clock),
        };
        let commits = PeopleCommits {
            people: Arc::clone(&stores.people),
            clock: Arc::clone(clock),
            entropy: Arc::clone(entropy),
        };
        Self {
            change_password: Arc::new(ChangePassword {
                commits: commits.clone(),
                throttle: throttle.clone(),
            }),
            manage_members: Arc::new(ManageMembers {
                commits: commits.clone(),
            }),
            manage_tokens: Arc::new(ManagePersonalTokens {
                commits: commits.clone(),
            }),
            use_link: Arc::new(UseLink {
                commits,
                throttle: throttle.clone(),
            }),
            sign_in: Arc::new(SignIn {
                people: Arc::clone(&stores.people),
                sessions: Arc::clone(&stores.sessions),
                throttle: throttle.clone(),
                entropy: Arc::clone(entropy),
            }),
            sessions: Arc::new(Sessions {
                sessions: Arc::clone(&stores.sessions),
                clock: Arc::clone(clock),
            }),
            first_run: Arc::new(FirstRun {
                store: Arc::clone(&stores.first_run),
                throttle,
                entropy: Arc::clone(entropy),
            }),
        }
    }
}

/// The use cases and stores of a service process.
///
/// What requests wait for uses `stores`. The workers use `worker_stores`, which have connections of their own.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) stores: Stores,
    pub(crate) worker_stores: Stores,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) traces: Arc<Traces>,
    pub(crate) notifiers: Arc<WorkNotifiers>,
    pub(crate) authenticate: Arc<Authenticate>,
    pub(crate) list_leads: Arc<ListLeads>,
    pub(crate) locate_lead: Arc<LocateLead>,
    pub(crate) submit_bid: Arc<SubmitBid>,
    pub(crate) reject_lead: Arc<RejectLead>,
    pub(crate) upload_attachments: Arc<UploadAttachments>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) people: PeopleCases,
    pub(crate) backfill_matches: BackfillMatches,
    pub(crate) deliver_webhooks: Arc<DeliverWebhooks>,
    pub(crate) write_automatic_bids: WriteAutomaticBids,
    pub(crate) prune: Prune,
    pub(crate) erase_organizations: EraseOrganizations,
    pub(crate) take_turns: TakeTurns,
    /// `None` without a marketplace.
    pub(crate) submit_proposals: Option<Arc<SubmitProposals>>,
    marketplace: Option<(Arc<dyn Marketplace>, Duration)>,
    pub(crate) clock: Arc<dyn Clock>,
    act_within: Option<Duration>,
    /// Which workers run, once they are started.
    pub(crate) worker_states: Arc<WorkerStates>,
    /// The stored rows that this process cannot read.
    pub(crate) quarantine: Quarantine,
}

impl Service {
    /// Wires a service whose API is reached under `base_url`. The database need not be reachable yet.
    pub(crate) async fn new(
        settings: &Settings,
        database: &Database,
        base_url: &str,
    ) -> anyhow::Result<Self> {
        let stores = Stores::of(database);
        let worker_stores = Stores::of(&database.for_workers());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let notifiers = Arc::new(WorkNotifiers::default());
        let signal: Arc<dyn WorkSignal> = Arc::clone(&notifiers) as Arc<dyn WorkSignal>;
        let writer: Arc<dyn ProposalWriter> = Arc::new(JinjaProposalWriter::new());
        let blobs = open_blobs(settings).await?;
        let market_url = settings.marketplace_url();
        let links = Links::new(base_url, market_url);
        // A new name for each start, so that a restarted process does not hold the claims of the previous one.
        let owner = LeaseOwner::new(entropy.uuid().to_string());
        let quarantine = database.quarantine();
        let measured = database.clone();
        let posts = Arc::new(PostCache::new(settings.server.post_cache_bytes));
        let metrics = Metrics::new(quarantine.clone(), Arc::clone(&posts), move || measured.load());
        let traces = Arc::new(Traces::start(settings.telemetry.as_ref())?);
        let marketplace = open_marketplace(settings, &clock, &entropy, &metrics, &traces)?;
        let lead_requests = |stores: &Stores| LeadRequests {
            leads: Arc::clone(&stores.leads),
            feed: Arc::clone(&stores.campaign_feed),
            activities: Arc::clone(&stores.activities),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
        };
        let submit_bid = |stores: &Stores| {
            Arc::new(SubmitBid {
                requests: lead_requests(stores),
                signal: Arc::clone(&signal),
                links: links.clone(),
                deadline: settings.submission_deadline,
            })
        };
        let requests = lead_requests(&stores);
        let bid_by_template = submit_bid(&worker_stores);
        let submit_bid = submit_bid(&stores);
        let submit_proposals = marketplace.as_ref().map(|(marketplace, _)| {
            Arc::new(SubmitProposals {
                store: Arc::clone(&worker_stores.submissions),
                marketplace: Arc::clone(marketplace),
                blobs: Arc::clone(&blobs),
                clock: Arc::clone(&clock),
                entropy: Arc::clone(&entropy),
                signal: Arc::clone(&signal),
                links: links.clone(),
                owner: owner.clone(),
            })
        });
        let erase_organizations = EraseOrganizations {
            store: Arc::clone(&worker_stores.erasure),
            blobs: Arc::clone(&blobs),
            clock: Arc::clone(&clock),
            owner: owner.clone(),
        };
        Ok(Self {
            people: PeopleCases::new(&stores, &clock, &entropy),
            metrics,
            traces,
            authenticate: Arc::new(Authenticate {
                keys: Arc::clone(&stores.api_keys),
                clock: Arc::clone(&clock),
                uses: KeyUses::default(),
                leases: KeyLeases::default(),
            }),
            list_leads: Arc::new(ListLeads {
                leads: Arc::clone(&stores.leads),
                posts,
                links: links.clone(),
                quarantine: quarantine.clone(),
            }),
            locate_lead: Arc::new(LocateLead {
                leads: Arc::clone(&stores.leads),
            }),
            blobs: Arc::clone(&blobs),
            reject_lead: Arc::new(RejectLead {
                requests: requests.clone(),
            }),
            upload_attachments: Arc::new(UploadAttachments { blobs, requests }),
            backfill_matches: BackfillMatches {
                matches: Arc::clone(&worker_stores.matches),
                clock: Arc::clone(&clock),
                threads: Arc::new(SystemThreads),
                quarantine: quarantine.clone(),
            },
            deliver_webhooks: Arc::new(DeliverWebhooks {
                store: Arc::clone(&worker_stores.deliveries),
                sender: Arc::new(webhook_sender(settings)),
                clock: Arc::clone(&clock),
                links: links.clone(),
                owner: owner.clone(),
                max_in_flight: descriptors::webhooks_within(descriptors::raise_limit()),
                in_flight: InFlight::default(),
            }),
            take_turns: TakeTurns {
                store: Arc::clone(&worker_stores.feed_lease),
                clock: Arc::clone(&clock),
                owner: owner.clone(),
            },
            write_automatic_bids: WriteAutomaticBids {
                intents: Arc::clone(&worker_stores.automatic_bids),
                leads: Arc::clone(&worker_stores.leads),
                writer,
                submit_bid: bid_by_template,
                clock: Arc::clone(&clock),
                entropy,
                links,
                owner,
                quarantine: quarantine.clone(),
            },
            prune: prune(settings, &worker_stores, &clock),
            erase_organizations,
            submit_bid,
            submit_proposals,
            marketplace,
            clock,
            act_within: settings.act_within,
            quarantine,
            worker_states: Arc::default(),
            stores,
            worker_stores,
            notifiers,
        })
    }

    /// The marketplace, unless the installation has none.
    pub(crate) fn marketplace(&self) -> Option<Arc<dyn Marketplace>> {
        self.marketplace
            .as_ref()
            .map(|(marketplace, _)| Arc::clone(marketplace))
    }

    /// The use case that reads the feed and the pause between its passes; `None` without a marketplace. `sends`: this process
    /// sends webhooks.
    pub(crate) fn ingest_jobs(&self, sends: bool) -> Option<(IngestJobs, Duration)> {
        let (marketplace, poll_interval) = self.marketplace.as_ref()?;
        let signal: Arc<dyn WorkSignal> = Arc::clone(&self.notifiers) as Arc<dyn WorkSignal>;
        let ingest = IngestJobs {
            marketplace: Arc::clone(marketplace),
            jobs: Arc::clone(&self.worker_stores.jobs),
            clock: Arc::clone(&self.clock),
            signal,
            sender: sends.then(|| Arc::clone(&self.deliver_webhooks)),
            act_within: self.act_within,
            threads: Arc::new(SystemThreads),
            filters: CurrentFilters::new(self.quarantine.clone()),
            noted: None,
        };
        Some((ingest, *poll_interval))
    }
}

/// The use cases of operators' commands.
#[derive(Debug)]
pub(crate) struct Operations {
    pub(crate) apply_provisioning: ApplyProvisioning,
    pub(crate) manage_api_keys: ManageApiKeys,
    pub(crate) people: PeopleCases,
    pub(crate) operate_leads: OperateLeads,
    pub(crate) settle_bids: SettleBids,
    pub(crate) list_activity: ListActivity,
    pub(crate) list_organizations: ListOrganizations,
    pub(crate) list_campaigns: ListCampaigns,
    pub(crate) show_feed: ShowFeed,
    pub(crate) try_endpoints: TryEndpoints,
    pub(crate) prune: Prune,
    pub(crate) erase_organizations: EraseOrganizations,
    pub(crate) backfill_matches: BackfillMatches,
}

impl Operations {
    pub(crate) async fn new(settings: &Settings, database: &Database) -> anyhow::Result<Self> {
        let stores = Stores::of(database);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let market_url = settings.marketplace_url();
        let base_url = settings.server.base_url.clone();
        let base_url = base_url.unwrap_or_else(|| format!("http://{}", settings.server.listen));
        let blobs = open_blobs(settings).await?;
        let links = Links::new(&base_url, market_url);
        let quarantine = database.quarantine();
        Ok(Self {
            list_organizations: ListOrganizations {
                store: Arc::clone(&stores.overview),
                clock: Arc::clone(&clock),
            },
            list_campaigns: ListCampaigns {
                store: Arc::clone(&stores.overview),
                statistics: Arc::clone(&stores.statistics),
                clock: Arc::clone(&clock),
            },
            show_feed: ShowFeed {
                feed: Arc::clone(&stores.campaign_feed),
                links: links.clone(),
                quarantine: quarantine.clone(),
            },
            try_endpoints: TryEndpoints {
                deliver: DeliverWebhooks {
                    store: Arc::clone(&stores.deliveries),
                    sender: Arc::new(webhook_sender(settings)),
                    clock: Arc::clone(&clock),
                    links: links.clone(),
                    owner: LeaseOwner::new(format!("command/{}", entropy.uuid())),
                    max_in_flight: MAX_IN_FLIGHT,
                    in_flight: InFlight::default(),
                },
                find: stores.find_lead(),
                records: Arc::clone(&stores.delivery_records),
                entropy: Arc::clone(&entropy),
                pause: Arc::new(SystemClock),
            },
            people: PeopleCases::new(&stores, &clock, &entropy),
            erase_organizations: EraseOrganizations {
                store: Arc::clone(&stores.erasure),
                blobs: Arc::clone(&blobs),
                clock: Arc::clone(&clock),
                owner: LeaseOwner::new(entropy.uuid().to_string()),
            },
            apply_provisioning: ApplyProvisioning {
                store: Arc::clone(&stores.provisioning),
                blobs,
                templates: Arc::new(JinjaProposalWriter::new()),
                passwords: Arc::new(Argon2PasswordHasher::new()),
                clock: Arc::clone(&clock),
                entropy: Arc::clone(&entropy),
                signal: Arc::new(WorkNotifiers::default()),
                pause: Arc::new(SystemClock),
            },
            manage_api_keys: ManageApiKeys {
                keys: Arc::clone(&stores.api_keys),
                organizations: Arc::clone(&stores.provisioning),
                clock: Arc::clone(&clock),
                entropy: Arc::clone(&entropy),
                pause: Arc::new(SystemClock),
            },
            operate_leads: OperateLeads {
                leads: Arc::clone(&stores.leads),
                clock: Arc::clone(&clock),
                entropy: Arc::clone(&entropy),
                links: links.clone(),
            },
            settle_bids: SettleBids {
                store: Arc::clone(&stores.submissions),
                clock: Arc::clone(&clock),
                entropy,
                links,
            },
            prune: prune(settings, &stores, &clock),
            list_activity: ListActivity {
                activities: Arc::clone(&stores.activities),
            },
            backfill_matches: BackfillMatches {
                matches: Arc::clone(&stores.matches),
                clock,
                threads: Arc::new(SystemThreads),
                quarantine,
            },
        })
    }
}

fn prune(settings: &Settings, stores: &Stores, clock: &Arc<dyn Clock>) -> Prune {
    Prune {
        store: Arc::clone(&stores.retention),
        clock: Arc::clone(clock),
        retention: settings.retention,
    }
}

pub(crate) fn webhook_sender(settings: &Settings) -> HyperWebhookSender {
    HyperWebhookSender::new(
        settings.webhooks.targets.clone(),
        Arc::clone(&settings.webhooks.tls),
    )
}

async fn open_blobs(settings: &Settings) -> anyhow::Result<Arc<dyn BlobStore>> {
    settings
        .attachments
        .clone()
        .open()
        .await
        .context("attachments.url")
}

fn open_marketplace(
    settings: &Settings,
    clock: &Arc<dyn Clock>,
    entropy: &Arc<dyn Entropy>,
    metrics: &Arc<Metrics>,
    traces: &Arc<Traces>,
) -> anyhow::Result<Option<(Arc<dyn Marketplace>, Duration)>> {
    let Some(market) = &settings.marketplace else {
        return Ok(None);
    };
    let client = HyperMarketplace::new(&market.client, Arc::clone(clock), Arc::clone(entropy))?;
    let measured = MeasuredMarketplace {
        marketplace: Arc::new(client.with_trace(Arc::new(TaskTrace))),
        metrics: Arc::clone(metrics),
        traces: Arc::clone(traces),
    };
    Ok(Some((Arc::new(measured), market.poll_interval)))
}
