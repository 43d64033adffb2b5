//! Preview bid: what a bid on a lead would send and cost, before it is sent (decisions B4 to B7). Tests:
//! `tests/use_case/preview_bid.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{Either, select};

use super::lead_address::{FindLead, LeadAddress};
use crate::bidding::{
    BoostPlan, ConnectsRefusals, Decision, DecisionInput, JobTerms, LiveJobState, ValidationFault,
    check_required_rates, decide, simulate,
};
use crate::model::{
    AccountId, BiddingConfig, CampaignId, Connects, EffectiveConfig, ExplanationStep, FieldError, JobId,
    JobPost, Lead, LeadId, MarketplaceToken, OrganizationId, ProposalFile, Reason, Terms, TermsJson,
    Timestamp, UsdCents, effective,
};
use crate::port::{AccountReading, BidMeans, Clock, LiveAccount, Marketplace, Pause, StoreError};

/// How long the marketplace may take to answer a preview.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an answer is shown again, and the least time between two looks at one lead's job.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// How many leads' answers are kept.
const KEPT_LOOKS: usize = 256;

/// A job and the account that would bid on it, as just read.
#[derive(Debug, Clone, PartialEq)]
struct LiveLook {
    state: LiveJobState,
    account: LiveAccount,
}

/// The last looks at leads' jobs, of one process.
#[derive(Debug, Default)]
pub struct LiveLooks(Mutex<HashMap<LeadId, (Timestamp, Option<LiveLook>)>>);

/// What a preview is computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewBasis {
    /// The job's state and the account's balance as the marketplace told them at this moment.
    Live(Timestamp),
    /// What the service knows without asking, as a dry run computes it (decision C1). The words say why.
    Known(&'static str),
}

/// What would be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewedProposal {
    /// The terms; an unknown amount is `None`.
    pub terms: TermsJson,
    /// The job's own connects, if they are known.
    pub required_connects: Option<Connects>,
    /// The boost, if it is known.
    pub boost: Option<BoostPlan>,
    /// What the job's own connects and the boost cost, if both are known.
    pub cost: Option<(Connects, UsdCents)>,
}

/// A bid, computed and not sent.
#[derive(Debug, Clone, PartialEq)]
pub struct BidPreview {
    /// The lead, or the one that the match would become.
    pub lead: Lead,
    /// The post.
    pub post: JobPost,
    /// All layers together. Each field tells its source: [`EffectiveConfig::source_of`].
    pub config: EffectiveConfig,
    /// Faults of the configuration, for which a bid would be refused (decision A2). Nothing is computed then.
    pub shape_fault: Option<FieldError>,
    /// A rate that the strategy needs and that is not set, for which a bid would be refused.
    pub rate_fault: Option<ValidationFault>,
    /// What it is computed from.
    pub basis: PreviewBasis,
    /// What would be sent, or why the bid would end without a proposal; `None` if there are faults.
    pub proposal: Option<Result<PreviewedProposal, Reason>>,
    /// Each step with its figures, in the engine's words.
    pub steps: Vec<ExplanationStep>,
    /// The files that would be sent: the lead's own or, without any, the campaign's.
    pub attachments: Vec<ProposalFile>,
    /// Whether these are the lead's own.
    pub attachments_are_the_leads: bool,
    /// The account that bids, with what was last read of it; `None` without one (decision A8).
    pub account: Option<PreviewAccount>,
}

/// The account of a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewAccount {
    /// The account.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// False once the marketplace refused its token.
    pub connected: bool,
    /// What was last read of it.
    pub reading: Option<AccountReading>,
}

/// Computes bids without sending them. Changes nothing.
#[derive(Debug)]
pub struct PreviewBid {
    /// Leads and matches.
    pub find: FindLead,
    /// The marketplace, unless the installation has none.
    pub marketplace: Option<Arc<dyn Marketplace>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ends the wait for the marketplace.
    pub pause: Arc<dyn Pause>,
    /// Shared by all previews of the process.
    pub looks: Arc<LiveLooks>,
}

impl PreviewBid {
    /// The bid with these overrides; `None` if there is no such lead or match. If `ask` is set, the marketplace is asked for
    /// the job's state and the account's balance: once in two seconds for a lead, for at most two seconds.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        address: &LeadAddress,
        overrides: &BiddingConfig,
        ask: AskMarketplace,
    ) -> Result<Option<BidPreview>, StoreError> {
        let Some(found) = self.find.find(organization, campaign, address).await? else {
            return Ok(None);
        };
        let means = self.find.feed.bid_means(organization, campaign).await?;
        let (Some(campaign), Some(means)) = (found.campaign, means) else {
            return Ok(None);
        };
        let lead = found.lead.lead;
        let post = JobPost::parse(&found.lead.job_json)
            .map_err(|fault| StoreError::Corrupt(format!("job {}: {fault}", lead.job_id)))?;
        let config = effective(overrides, &lead.bidding_config, &campaign.bidding_config);
        let own: Vec<ProposalFile> = found.attachments.into_iter().map(ProposalFile::from).collect();
        let BidMeans { account, attachments } = means;
        let mut preview = BidPreview {
            shape_fault: config.shape_fault(|_| true),
            rate_fault: check_required_rates(&config),
            basis: PreviewBasis::Known("the marketplace was not asked"),
            proposal: None,
            steps: Vec::new(),
            attachments_are_the_leads: !own.is_empty(),
            attachments: if own.is_empty() { attachments } else { own },
            account: account.as_ref().map(|account| PreviewAccount {
                id: account.record.id.clone(),
                name: account.record.name.clone(),
                connected: account.record.connected,
                reading: account.reading.clone(),
            }),
            lead,
            post,
            config,
        };
        if preview.shape_fault.is_some() || preview.rate_fault.is_some() {
            return Ok(Some(preview));
        }
        let job = JobTerms::of(&preview.post);
        let token = account
            .as_ref()
            .filter(|account| account.record.connected)
            .map(|account| &account.record.token);
        match self.look(&preview.lead, token, ask).await {
            Ok((at, look)) => {
                preview.basis = PreviewBasis::Live(at);
                decide_live(&mut preview, &job, &look);
            }
            Err(why) => {
                preview.basis = PreviewBasis::Known(why);
                let reading = preview
                    .account
                    .as_ref()
                    .and_then(|account| account.reading.as_ref());
                let rate = reading.and_then(|reading| reading.profile_hourly_rate);
                let simulated = simulate(&preview.config, &job, rate);
                preview.steps = simulated.steps;
                preview.proposal = Some(Ok(PreviewedProposal {
                    terms: simulated.terms,
                    required_connects: None,
                    boost: simulated.boost_connects.map(|connects| BoostPlan {
                        connects,
                        place: None,
                    }),
                    cost: None,
                }));
            }
        }
        Ok(Some(preview))
    }

    /// The live state, asked for now or a moment ago; or why there is none.
    async fn look(
        &self,
        lead: &Lead,
        token: Option<&MarketplaceToken>,
        ask: AskMarketplace,
    ) -> Result<(Timestamp, LiveLook), &'static str> {
        if ask == AskMarketplace::No {
            return Err("the marketplace was not asked");
        }
        let marketplace = self.marketplace.as_ref().ok_or("no marketplace is set up")?;
        let token = token.ok_or("the campaign has no connected bidder account")?;
        let now = self.clock.now();
        if let Some((at, known)) = self.looks.begin(&lead.id, now) {
            let known = known.ok_or("the marketplace was asked a moment ago and has not answered")?;
            return Ok((at, known));
        }
        let asked = ask_for(marketplace.as_ref(), token, &lead.job_id);
        match select(Box::pin(asked), self.pause.pause(PATIENCE)).await {
            Either::Left((Some(look), _)) => {
                self.looks.end(&lead.id, now, &look);
                Ok((now, look))
            }
            Either::Left((None, _)) => Err("the marketplace did not tell the job's state"),
            Either::Right(_) => Err("the marketplace did not answer in time"),
        }
    }
}

/// Decides as a submission would at this moment.
fn decide_live(preview: &mut BidPreview, job: &JobTerms, look: &LiveLook) {
    let decision = decide(DecisionInput {
        config: &preview.config,
        job,
        live: &look.state,
        balance: look.account.connects_balance,
        profile_rate: look.account.profile_hourly_rate,
        refusals: ConnectsRefusals::default(),
    });
    if let (Some(account), PreviewBasis::Live(at)) = (&mut preview.account, &preview.basis) {
        account.reading = Some(AccountReading {
            profile_hourly_rate: look.account.profile_hourly_rate,
            connects_balance: look.account.connects_balance,
            at: *at,
        });
    }
    let (proposal, steps) = match decision {
        Decision::Send {
            terms, boost, steps, ..
        } => (Ok(priced(terms, boost, look.state.required_connects)), steps),
        Decision::End { reason, steps, .. } => (Err(reason), steps),
    };
    preview.proposal = Some(proposal);
    preview.steps = steps;
}

/// Whether a preview may ask the marketplace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskMarketplace {
    /// It computes from what is known.
    No,
    /// It asks.
    Yes,
}

async fn ask_for(marketplace: &dyn Marketplace, token: &MarketplaceToken, job: &JobId) -> Option<LiveLook> {
    let (live, account) = futures::join!(marketplace.job(token, job), marketplace.account(token));
    Some(LiveLook {
        state: live.ok()?.state,
        account: account.ok()?,
    })
}

fn priced(terms: Terms, boost: BoostPlan, required: Connects) -> PreviewedProposal {
    let total = required.plus(boost.connects);
    PreviewedProposal {
        terms: terms.into(),
        required_connects: Some(required),
        cost: Some((total, total.cost())),
        boost: Some(boost),
    }
}

impl LiveLooks {
    /// The last look at the lead's job, if it is too recent for another one. Else a look begins.
    fn begin(&self, lead: &LeadId, now: Timestamp) -> Option<(Timestamp, Option<LiveLook>)> {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: Timestamp| now.since(at) < BETWEEN_LOOKS;
        if let Some((at, look)) = looks.get(lead)
            && is_recent(*at)
        {
            return Some((*at, look.clone()));
        }
        if looks.len() >= KEPT_LOOKS {
            looks.retain(|_, (at, _)| is_recent(*at));
        }
        if looks.len() >= KEPT_LOOKS {
            // So many leads are looked at just now that this one has to wait.
            return Some((now, None));
        }
        looks.insert(lead.clone(), (now, None));
        None
    }

    fn end(&self, lead: &LeadId, at: Timestamp, look: &LiveLook) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.insert(lead.clone(), (at, Some(look.clone())));
    }
}
