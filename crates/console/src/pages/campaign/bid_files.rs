//! The files of a bid: taken with the form in which the bid is written.

use bidloop_domain::use_case::{LeadError, PartHead, UploadSession};

use super::lead_place::LeadPlace;
use crate::form::Fields;
use crate::page::{PageError, Refusal};
use crate::upload::{Content, Received, TakesFiles, said_of_files};
use crate::visit::Visit;

/// Takes files for a lead. A match becomes a lead when its files are added.
pub(super) struct LeadFiles {
    visit: Visit,
    /// The ids in the path.
    path: (String, String),
    session: Option<UploadSession>,
}

impl LeadFiles {
    pub(super) const fn of(visit: Visit, path: (String, String)) -> Self {
        Self {
            visit,
            path,
            session: None,
        }
    }
}

/// Starts an upload for the lead that the path and the form name.
async fn begin(visit: &Visit, path: &(String, String), fields: &Fields) -> Result<UploadSession, LeadError> {
    let place = LeadPlace::of(path, fields.text("job")).map_err(|_| LeadError::LeadUnknown)?;
    let (console, requester) = (&visit.console, visit.signed_in.requester());
    let (campaign, address) = (&place.campaign, &place.address);
    let located = console
        .find_lead
        .locate(&requester.organization_id, campaign, address);
    let address = located.await?.ok_or(LeadError::LeadUnknown)?;
    let upload = &console.upload_attachments;
    upload.begin(&requester, campaign, address, Ok(())).await
}

impl TakesFiles for LeadFiles {
    async fn take(
        &mut self,
        fields: &Fields,
        head: PartHead,
        content: &mut Content,
    ) -> Result<(), LeadError> {
        let session = match self.session.take() {
            Some(session) => session,
            None => begin(&self.visit, &self.path, fields).await?,
        };
        self.session.insert(session).add_file(head, content).await
    }
}

/// How the files of a form ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attached {
    /// The form had none.
    None,
    /// All are the lead's now.
    All,
    /// One was refused, and so all were. What is said beside the field.
    Refused(String),
    /// None could be taken, whatever they are.
    NotNow(Refusal),
}

/// Adds the files of a form to the lead's, all or none. Returns what was typed beside them.
pub(super) async fn attach(
    visit: &Visit,
    received: Received<LeadFiles>,
) -> Result<(Fields, Attached), PageError> {
    let Received { fields, files, fault } = received;
    let ended = visit.console.runtime.run(async move {
        match (files.session, fault) {
            (Some(session), Some(fault)) => Err(session.refuse(fault).await),
            (Some(session), None) => session.finish().await.map(|_| Attached::All),
            (None, Some(fault)) => Err(fault),
            (None, None) => Ok(Attached::None),
        }
    });
    let attached = match ended.await? {
        Ok(attached) => attached,
        Err(fault) => match said_of_files(fault) {
            Ok(said) => Attached::Refused(said),
            Err(error) => Attached::NotNow(error.above_form()?),
        },
    };
    Ok((fields, attached))
}
