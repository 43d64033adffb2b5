//! The Feed's card of what a campaign bids with.

use bidloop_domain::model::CampaignId;
use bidloop_domain::use_case::Readiness;

use crate::change::{Missing, missing};
use crate::page::PageError;
use crate::visit::Visit;
use crate::words;

/// What a campaign bids with, in words.
pub(super) struct Ready {
    readiness: Readiness,
}

impl Ready {
    pub(super) async fn of(visit: &Visit, campaign: &CampaignId) -> Result<Self, PageError> {
        let (show, member, campaign) = (
            visit.console.show_readiness.clone(),
            visit.member().clone(),
            campaign.clone(),
        );
        let shown = visit
            .console
            .run(async move { show.execute(&member, &campaign).await });
        let readiness = shown.await??.ok_or(PageError::NotFound)?;
        Ok(Self { readiness })
    }

    pub(super) fn missing(&self) -> Vec<Missing> {
        missing(&self.readiness.sign, &self.readiness.missing)
    }

    pub(super) fn mode(&self) -> &'static str {
        words::mode(self.readiness.sign.mode)
    }

    /// How the last deliveries of all endpoints ended; `None` without an endpoint.
    pub(super) fn delivered(&self) -> Option<String> {
        let endpoints = &self.readiness.endpoints;
        let last = || endpoints.iter().flat_map(|facts| &facts.last);
        let good = last().filter(|good| **good).count();
        match (endpoints.len(), last().count()) {
            (0, _) => None,
            (_, 0) => Some("Nothing sent yet".to_owned()),
            (_, of) => Some(format!("{good} of {of} delivered")),
        }
    }

    /// Whether all of the last deliveries were delivered, as an icon.
    pub(super) fn icon(&self) -> &'static str {
        let mut endpoints = self.readiness.endpoints.iter();
        if endpoints.any(|facts| facts.last.contains(&false)) {
            "x"
        } else {
            "check"
        }
    }

    pub(super) fn account(&self) -> Option<&str> {
        let account = self.readiness.account.as_ref();
        account.map(|account| account.name.as_str())
    }

    pub(super) fn balance(&self) -> String {
        let account = self.readiness.account.as_ref();
        words::balance(account.and_then(|account| account.reading.as_ref()))
    }

    /// "216 until 1 Dec".
    pub(super) fn proposals_left(&self) -> String {
        let left = words::count(self.readiness.proposals_left);
        format!("{left} until {}", words::day(self.readiness.until))
    }
}
