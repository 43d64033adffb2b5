//! The frame of every page: title, side bar, and what stands above the content.

use std::collections::HashMap;

use bidloop_domain::model::{CampaignId, CampaignState, Subscription, SubscriptionStatus, Timestamp};
use bidloop_domain::port::CampaignSign;
use bidloop_domain::use_case::MarketplaceReading;

use crate::campaign_head::CampaignHead;
use crate::display::Display;
use crate::page::PageError;
use crate::visit::Visit;
use crate::words;

/// The entry of the side bar that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Overview,
    Campaigns,
    Activity,
    Settings(Setting),
}

/// A page of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Integrations,
    Accounts,
    Users,
    Tokens,
    Billing,
    Display,
}

impl Setting {
    /// The pages with their paths and words.
    const ALL: &[(Self, &'static str, &'static str)] = &[
        (
            Self::Integrations,
            "/settings/integrations/api-keys",
            "Integrations",
        ),
        (Self::Accounts, "/settings/accounts", "Bidder accounts"),
        (Self::Users, "/settings/users", "Users"),
        (Self::Tokens, "/settings/tokens", "Personal tokens"),
        (Self::Billing, "/settings/billing", "Billing"),
        (Self::Display, "/settings/display", "Display"),
    ];
}

/// A campaign in the side bar.
#[derive(Debug, Clone)]
pub(crate) struct SideCampaign {
    pub(crate) sign: CampaignSign,
    pub(crate) is_active: bool,
    /// Matches since the person's last look at its Feed.
    pub(crate) new: u64,
}

/// How many proposals of the period are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    pub(crate) used: u64,
    pub(crate) limit: Option<u64>,
}

impl Quota {
    /// "412 of 1,000"; without a limit "412".
    pub(crate) fn in_words(self) -> String {
        let used = words::count(self.used);
        self.limit
            .map_or(used.clone(), |limit| format!("{used} of {}", words::count(limit)))
    }

    /// "1,000" or "no limit".
    pub(crate) fn limit_in_words(self) -> String {
        self.limit.map_or_else(|| "no limit".to_owned(), words::count)
    }

    /// The width of the meter; without a limit there is none.
    pub(crate) fn percent(self) -> Option<f64> {
        let limit = self.limit?;
        if limit == 0 {
            return Some(100.0);
        }
        #[expect(clippy::cast_precision_loss, reason = "a width in an image")]
        let percent = self.used as f64 * 100.0 / limit as f64;
        Some(percent.min(100.0))
    }
}

/// A sentence above the content.
#[derive(Debug, Clone)]
pub(crate) struct Banner {
    /// `warn`, `bad`, `good`, or empty for information.
    pub(crate) class: &'static str,
    pub(crate) text: String,
    /// Where to read more: path and words.
    pub(crate) link: Option<(&'static str, &'static str)>,
}

/// The frame of a page.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) title: String,
    pub(crate) place: Place,
    /// The campaign that is shown.
    pub(crate) campaign: Option<CampaignId>,
    pub(crate) organization: String,
    /// The person's other organizations: id and name.
    pub(crate) others: Vec<(String, String)>,
    pub(crate) email: String,
    pub(crate) csrf: String,
    pub(crate) display: Display,
    pub(crate) campaigns: Vec<SideCampaign>,
    pub(crate) quota: Quota,
    pub(crate) marketplace: MarketplaceReading,
    pub(crate) now: Timestamp,
    pub(crate) banners: Vec<Banner>,
    /// What was done just now.
    pub(crate) toast: Option<&'static str>,
}

impl Shell {
    /// The frame of a page of `place`.
    pub(crate) async fn of(visit: &Visit, place: Place, title: &str) -> Result<Self, PageError> {
        let (console, member) = (&visit.console, visit.member());
        let shell = console.runtime.read(console.show_shell.execute(member));
        let shell = shell.await??.ok_or(PageError::NotFound)?;
        let new = console
            .show_feed
            .new_matches(member.organization_id(), &member.person.key);
        let new: HashMap<CampaignId, u64> = console.runtime.read(new).await??.into_iter().collect();
        let others = visit.signed_in.memberships.iter();
        let others = others.filter(|other| other.organization_id != *member.organization_id());
        Ok(Self {
            title: title.to_owned(),
            place,
            campaign: None,
            organization: member.organization.organization_name.clone(),
            others: others
                .map(|other| (other.organization_id.to_string(), other.organization_name.clone()))
                .collect(),
            email: member.person.email.clone(),
            csrf: visit.csrf.clone(),
            display: visit.display,
            campaigns: shell
                .campaigns
                .into_iter()
                .map(|sign| SideCampaign {
                    new: new.get(&sign.id).copied().unwrap_or_default(),
                    is_active: sign.state == CampaignState::Active,
                    sign,
                })
                .collect(),
            quota: Quota {
                used: shell.used,
                limit: shell.subscription.proposal_limit.map(u64::from),
            },
            marketplace: shell.marketplace,
            now: visit.now,
            banners: lapsed(&shell.subscription).into_iter().collect(),
            toast: visit.done.as_deref().and_then(words::done),
        })
    }

    /// The frame of a campaign's page, and its head.
    pub(crate) async fn of_campaign(
        visit: &Visit,
        campaign: &CampaignId,
    ) -> Result<(Self, CampaignHead), PageError> {
        let mut shell = Self::of(visit, Place::Campaigns, "").await?;
        let known = shell.campaigns.iter().find(|known| known.sign.id == *campaign);
        let known = known.ok_or(PageError::NotFound)?;
        let head = CampaignHead {
            id: campaign.clone(),
            name: known.sign.name.clone(),
            mode: known.sign.mode,
            is_active: known.is_active,
            new: known.new,
            tab: None,
        };
        shell.campaign = Some(campaign.clone());
        shell.title.clone_from(&head.name);
        Ok((shell, head))
    }

    /// The frame of a campaign's page without its head.
    pub(crate) async fn within(visit: &Visit, campaign: &CampaignId) -> Result<Self, PageError> {
        Ok(Self::of_campaign(visit, campaign).await?.0)
    }

    pub(crate) fn is_at(&self, place: Place) -> bool {
        self.place == place && self.campaign.is_none()
    }

    /// The pages of the settings, while one of them is shown: path, words, whether it is this one.
    pub(crate) fn settings(&self) -> Option<Vec<(&'static str, &'static str, bool)>> {
        let Place::Settings(shown) = self.place else {
            return None;
        };
        let all = Setting::ALL.iter();
        Some(
            all.map(|(setting, path, words)| (*path, *words, *setting == shown))
                .collect(),
        )
    }

    pub(crate) fn shows(&self, campaign: &SideCampaign) -> bool {
        self.campaign.as_ref() == Some(&campaign.sign.id)
    }

    /// The class of the dot, and the words.
    pub(crate) fn marketplace(&self) -> (&'static str, String) {
        match self.marketplace {
            MarketplaceReading::Current(at) => ("", format!("Marketplace read {}", words::ago(at, self.now))),
            MarketplaceReading::Stale(at) => (
                " warn",
                format!("Marketplace not read since {}", words::ago(at, self.now)),
            ),
            MarketplaceReading::Never => (" off", "Marketplace not read yet".to_owned()),
        }
    }
}

/// "past due", as the end of "The subscription is …".
pub(crate) fn subscription_words(subscription: &Subscription) -> String {
    if subscription.status == SubscriptionStatus::Active && subscription.collection_paused {
        return "not collected at the moment".to_owned();
    }
    subscription.status.as_str().replace('_', " ")
}

/// What every page says while the subscription is not active (decision E4).
fn lapsed(subscription: &Subscription) -> Option<Banner> {
    (!subscription.is_active()).then(|| Banner {
        class: "bad",
        text: format!(
            "The subscription is {}. API keys get 401 and campaigns neither send nor bid. Jobs are still matched and listed; \
             bids already queued are submitted.",
            subscription_words(subscription)
        ),
        link: Some(("/settings/billing", "Billing")),
    })
}
