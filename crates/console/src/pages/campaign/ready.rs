//! The Feed's card of what a campaign bids with.

use bidloop_domain::model::{CampaignId, CampaignState, MissingPart};
use bidloop_domain::use_case::Readiness;

use crate::change::{Missing, mending_path, missing, missing_part};
use crate::page::PageError;
use crate::visit::Visit;
use crate::words;

/// What a campaign bids with, in words.
pub(super) struct Ready {
    readiness: Readiness,
}

/// A part that a campaign of this mode needs.
pub(super) struct Need {
    pub(super) has: bool,
    pub(super) name: String,
    pub(super) why: &'static str,
    /// Where it is had.
    pub(super) path: String,
}

impl Ready {
    pub(super) async fn of(visit: &Visit, campaign: &CampaignId) -> Result<Self, PageError> {
        let show = &visit.console.show_readiness;
        let shown = visit.console.runtime.read(show.execute(visit.member(), campaign));
        let readiness = shown.await??.ok_or(PageError::NotFound)?;
        Ok(Self { readiness })
    }

    /// What it lacks beside what prevents a start.
    pub(super) fn missing(&self) -> Vec<Missing> {
        missing(&self.readiness.sign, &self.readiness.missing)
    }

    /// Whether the campaign is paused and lacks what an active one needs (decision D1).
    pub(super) fn cannot_start(&self) -> bool {
        let mut missing = self.readiness.missing.iter();
        self.readiness.sign.state != CampaignState::Active && missing.any(|part| part.prevents_start())
    }

    /// All that the campaign needs, in the order in which it is told.
    pub(super) fn needs(&self) -> Vec<Need> {
        let (sign, missing) = (&self.readiness.sign, &self.readiness.missing);
        let needs = sign.mode.needs().into_iter();
        let needs = needs.map(|part| {
            let refused = part == MissingPart::Account && missing.contains(&MissingPart::AccountToken);
            let part = if refused { MissingPart::AccountToken } else { part };
            Need {
                has: !missing.contains(&part),
                name: words::capital(missing_part(part)),
                why: why(part),
                path: mending_path(part, &sign.id),
            }
        });
        needs.collect()
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
        match self.readiness.proposals_left {
            Some(left) => format!(
                "{} until {}",
                words::count(left),
                words::day(self.readiness.until)
            ),
            None => "no limit".to_owned(),
        }
    }
}

/// What a campaign without the part cannot do.
const fn why(part: MissingPart) -> &'static str {
    match part {
        MissingPart::Filter => "Without one no job matches.",
        MissingPart::JobNewEndpoint => "External campaigns need somewhere to send jobs.",
        MissingPart::Account => "Not needed to start; without one, real bids are refused and dry runs work.",
        MissingPart::AccountToken => "The marketplace refused the one it has; bids wait or are refused.",
        MissingPart::CoverLetter => "Not needed to start; without one, its leads are left for you.",
    }
}
