//! The files that a campaign sends with each proposal: added and removed on its Bidding.

use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::use_case::{CampaignUpload, LeadError, OrganizationChange, PartHead};

use super::bidding;
use crate::change::{Unchanged, change};
use crate::form::Fields;
use crate::page::{PageError, campaign_id, go_to};
use crate::upload::{self, Content, TakesFiles, said_of_files};
use crate::visit::{Posted, Visit};
use crate::words;

impl TakesFiles for CampaignUpload {
    async fn take(&mut self, _: &Fields, head: PartHead, content: &mut Content) -> Result<(), LeadError> {
        self.add_file(head, content).await
    }
}

/// `POST /campaigns/{c}/bidding/files`: adds files.
pub(crate) async fn add(
    visit: Visit,
    request: HttpRequest,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let begun = CampaignUpload::begin(
        visit.console.manage_organization.clone(),
        visit.signed_in.clone(),
        campaign.clone(),
    );
    let begun = visit.console.runtime.run(begun).await?;
    let files = begun.map_err(|error| Unchanged::from(error).into_page())?;
    let received = upload::read(&visit, &request, files).await?;
    let said = match received.fault {
        Some(fault) => said_of_files(fault)?,
        None if received.files.is_empty() => upload::CHOOSE.to_owned(),
        None => {
            let finished = visit.console.runtime.run(received.files.finish());
            match finished.await?.map_err(Unchanged::from) {
                Ok(_) => return Ok(go_to(&visit, &format!("{}?done=saved", bidding::path(&campaign)))),
                Err(Unchanged::Page(error)) => return Err(error),
                Err(Unchanged::Faulty(faults)) => {
                    let first = faults.all().next();
                    words::sentence(first.map_or("the files cannot be added", |(_, message)| message))
                }
            }
        }
    };
    bidding::show_refused_files(&visit, &campaign, said).await
}

/// `POST /campaigns/{c}/bidding/files/remove`: removes a file, by its name.
pub(crate) async fn remove(
    Posted { visit, fields }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let wanted = OrganizationChange::RemoveFile {
        campaign: campaign.clone(),
        name: fields.text("name").to_owned(),
    };
    change(&visit, wanted).await.map_err(Unchanged::into_page)?;
    Ok(go_to(
        &visit,
        &format!("{}?done=file_removed", bidding::path(&campaign)),
    ))
}
