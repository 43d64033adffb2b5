//! Changes of settings: how pages ask for one, and what a form shows of a refused one.

use bidloop_domain::model::{CampaignId, CampaignState, FieldError, MissingPart};
use bidloop_domain::port::CampaignSign;
use bidloop_domain::use_case::{Changed, ManageOrganizationError, OrganizationChange};

use crate::page::PageError;
use crate::visit::Visit;
use crate::words;

/// What is wrong with a form's fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Vec<FieldError>);

impl Faults {
    pub(crate) const fn of_fields(faults: Vec<FieldError>) -> Self {
        Self(faults)
    }

    /// The first fault of a field, or of something within it.
    pub(crate) fn of(&self, field: &str) -> Option<&str> {
        let of_field = |fault: &&FieldError| fault.path.first().is_some_and(|first| first == field);
        self.0.iter().find(of_field).map(|fault| fault.message.as_str())
    }

    /// The first fault at a path, such as `client.minRating`, or below it.
    pub(crate) fn at(&self, path: &str) -> Option<&str> {
        let is_there = |fault: &&FieldError| {
            let rest = fault.path.join(".");
            let rest = rest.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.0.iter().find(is_there).map(|fault| fault.message.as_str())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// All of them, for the summary above a form: the first part of the path, and the sentence.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|fault| {
            (
                fault.path.first().map_or("", String::as_str),
                fault.message.as_str(),
            )
        })
    }
}

/// Why a change was not made.
#[derive(Debug)]
pub(crate) enum Unchanged {
    /// The form is shown again with these.
    Faulty(Faults),
    /// A page says it.
    Page(PageError),
}

impl From<PageError> for Unchanged {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}

impl Unchanged {
    /// For changes without a form.
    pub(crate) fn into_page(self) -> PageError {
        match self {
            Self::Faulty(faults) => {
                let messages: Vec<&str> = faults.all().map(|(_, message)| message).collect();
                PageError::Refused(messages.join(" "))
            }
            Self::Page(error) => error,
        }
    }
}

impl From<ManageOrganizationError> for Unchanged {
    fn from(error: ManageOrganizationError) -> Self {
        Self::Page(match error {
            ManageOrganizationError::Faulty(faults) => return Self::Faulty(Faults(faults)),
            ManageOrganizationError::NotAuthorized(why) => why.into(),
            ManageOrganizationError::Unknown => PageError::NotFound,
            ManageOrganizationError::SubscriptionLapsed(_) => PageError::SubscriptionLapsed,
            ManageOrganizationError::CannotStart(missing) => {
                let missing: Vec<&str> = missing.into_iter().map(missing_part).collect();
                PageError::Refused(format!(
                    "The campaign cannot start. It needs {}.",
                    missing.join(" and ")
                ))
            }
            ManageOrganizationError::StillNeeded(needed) => {
                let needed: Vec<String> = needed
                    .into_iter()
                    .map(|(campaign, part)| format!("{campaign} needs {}", missing_part(part)))
                    .collect();
                PageError::Refused(format!(
                    "An active campaign needs it: {}. Pause it first.",
                    needed.join(", ")
                ))
            }
            error @ ManageOrganizationError::TooMany(_) => {
                PageError::Refused(words::sentence(&error.to_string()))
            }
            ManageOrganizationError::Contended => {
                PageError::Refused("Others are changing settings at this moment. Try again.".to_owned())
            }
            ManageOrganizationError::Blobs(error) => PageError::Unavailable(error.to_string()),
            ManageOrganizationError::Store(error) => error.into(),
        })
    }
}

/// What a campaign lacks, as the end of "It needs …".
pub(crate) const fn missing_part(part: MissingPart) -> &'static str {
    match part {
        MissingPart::Filter => "a saved filter",
        MissingPart::JobNewEndpoint => "an active job.new endpoint",
        MissingPart::Account => "a bidder account",
        MissingPart::AccountToken => "a new token for its bidder account",
        MissingPart::CoverLetter => "a template of the cover letter",
    }
}

/// A part that a campaign lacks.
#[derive(Debug)]
pub(crate) struct Missing {
    /// What it is, as the end of "It needs …".
    pub(crate) part: &'static str,
    /// The page where it is had.
    pub(crate) path: String,
}

/// What a campaign lacks. What an active one needs to start, it does not lack.
pub(crate) fn missing(campaign: &CampaignSign, parts: &[MissingPart]) -> Vec<Missing> {
    let is_active = campaign.state == CampaignState::Active;
    let parts = parts.iter().copied();
    parts
        .filter(|part| !is_active || !part.prevents_start())
        .map(|part| Missing {
            part: missing_part(part),
            path: mending_path(part, &campaign.id),
        })
        .collect()
}

/// The page where a part is had.
pub(crate) fn mending_path(part: MissingPart, campaign: &CampaignId) -> String {
    match part {
        MissingPart::Filter => format!("/campaigns/{campaign}/filters"),
        MissingPart::JobNewEndpoint => format!("/campaigns/{campaign}/integrations"),
        MissingPart::AccountToken => "/settings/accounts".to_owned(),
        MissingPart::Account | MissingPart::CoverLetter => format!("/campaigns/{campaign}/bidding"),
    }
}

/// Makes a change.
pub(crate) async fn change(visit: &Visit, change: OrganizationChange) -> Result<Changed, Unchanged> {
    let (manage, person) = (visit.console.manage_organization.clone(), visit.signed_in.clone());
    let changed = visit
        .console
        .runtime
        .run(async move { manage.change(&person, &change).await });
    Ok(changed.await.map_err(PageError::from)??)
}
