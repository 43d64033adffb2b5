//! The campaigns: what runs, what cannot start? Making, editing, starting, pausing and deleting one.

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{CampaignId, CampaignMode, CampaignState};
use bidloop_domain::use_case::{ListedCampaign, OrganizationChange};

use crate::change::{Faults, Missing, Unchanged, change, missing};
use crate::form::Fields;
use crate::page::{PageError, campaign_id, go_to, html};
use crate::sheet::Question;
use crate::shell::{Place, Shell};
use crate::visit::{Posted, Visit};
use crate::words;

#[derive(Template)]
#[template(path = "campaigns.html")]
struct CampaignsPage {
    shell: Shell,
    campaigns: Vec<Row>,
}

struct Row {
    campaign: ListedCampaign,
}

impl Row {
    fn id(&self) -> &CampaignId {
        &self.campaign.sign.id
    }

    fn is_active(&self) -> bool {
        self.campaign.sign.state == CampaignState::Active
    }

    fn mode(&self) -> &'static str {
        words::mode(self.campaign.sign.mode)
    }

    fn filters(&self) -> String {
        words::counted(self.campaign.filters, "filter", "filters")
    }

    fn connects(&self) -> String {
        words::count(self.campaign.connects.get())
    }

    fn cost(&self) -> String {
        words::dollars(self.campaign.connects.cost().cents())
    }

    fn missing(&self) -> Vec<Missing> {
        missing(&self.campaign.sign, &self.campaign.missing)
    }
}

#[derive(Template)]
#[template(path = "campaign_form.html")]
struct CampaignForm {
    shell: Shell,
    /// `None` for a new one.
    campaign: Option<CampaignId>,
    name: String,
    mode: CampaignMode,
    is_active: bool,
    is_owner: bool,
    faults: Faults,
}

/// `GET /campaigns`.
pub(crate) async fn list(visit: Visit) -> Result<HttpResponse, PageError> {
    let shell = Shell::of(&visit, Place::Campaigns, "Campaigns").await?;
    let campaigns = visit.console.list_campaigns.execute(visit.member());
    let campaigns = visit.console.runtime.read(campaigns).await??;
    let campaigns = campaigns.ok_or(PageError::NotFound)?;
    html(&CampaignsPage {
        shell,
        campaigns: campaigns.into_iter().map(|campaign| Row { campaign }).collect(),
    })
}

/// `GET /campaigns/new`.
pub(crate) async fn ask_new(visit: Visit) -> Result<HttpResponse, PageError> {
    form(&visit, None, "", CampaignMode::External, Faults::default()).await
}

/// `POST /campaigns/new`.
pub(crate) async fn create(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let (name, mode) = (fields.text("name").to_owned(), mode_of(&fields));
    let new = OrganizationChange::CreateCampaign {
        name: name.clone(),
        mode,
        account: None,
    };
    match change(&visit, new).await {
        Ok(changed) => {
            let id = changed.made.unwrap_or_default();
            Ok(go_to(&visit, &format!("/campaigns/{id}/feed")))
        }
        Err(Unchanged::Faulty(faults)) => form(&visit, None, &name, mode, faults).await,
        Err(Unchanged::Page(error)) => Err(error),
    }
}

/// `GET /campaigns/{c}/edit`.
pub(crate) async fn ask_edit(visit: Visit, campaign: web::Path<String>) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let (shell, head) = Shell::of_campaign(&visit, &campaign).await?;
    show_form(
        &visit,
        shell,
        Some(campaign),
        &head.name,
        head.mode,
        Faults::default(),
    )
}

/// `POST /campaigns/{c}/edit`.
pub(crate) async fn edit(
    Posted { visit, fields }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let (name, mode) = (fields.text("name").to_owned(), mode_of(&fields));
    let edited = OrganizationChange::EditCampaign {
        campaign: campaign.clone(),
        name: Some(name.clone()),
        mode: Some(mode),
        account: None,
    };
    match change(&visit, edited).await {
        Ok(changed) => {
            let done = if changed.paused { "paused_by_mode" } else { "saved" };
            Ok(go_to(&visit, &format!("/campaigns/{campaign}/feed?done={done}")))
        }
        Err(Unchanged::Faulty(faults)) => form(&visit, Some(campaign), &name, mode, faults).await,
        Err(Unchanged::Page(error)) => Err(error),
    }
}

/// `POST /campaigns/{c}/start`.
pub(crate) async fn start(
    Posted { visit, .. }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let started = OrganizationChange::StartCampaign {
        campaign: campaign.clone(),
    };
    change(&visit, started).await.map_err(Unchanged::into_page)?;
    Ok(go_to(&visit, &format!("/campaigns/{campaign}/feed?done=started")))
}

/// `POST /campaigns/{c}/pause`.
pub(crate) async fn pause(
    Posted { visit, .. }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let paused = OrganizationChange::PauseCampaign {
        campaign: campaign.clone(),
    };
    change(&visit, paused).await.map_err(Unchanged::into_page)?;
    Ok(go_to(&visit, &format!("/campaigns/{campaign}/feed?done=paused")))
}

/// `GET /campaigns/{c}/delete`.
pub(crate) async fn ask_delete(visit: Visit, campaign: web::Path<String>) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    let campaign = campaign_id(&campaign)?;
    let (shell, head) = Shell::of_campaign(&visit, &campaign).await?;
    let question = Question {
        asks: "Delete",
        name: Some(head.name),
        text: "Its filters and endpoints go with it; its leads and Activity stay.".to_owned(),
        button: "Delete campaign",
        is_danger: true,
        action: format!("/campaigns/{campaign}/delete"),
        fields: Vec::new(),
        back: format!("/campaigns/{campaign}/edit"),
    };
    question.ask(&visit, std::future::ready(Ok(shell))).await
}

/// `POST /campaigns/{c}/delete`.
pub(crate) async fn delete(
    Posted { visit, .. }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let deleted = OrganizationChange::DeleteCampaign {
        campaign: campaign_id(&campaign)?,
    };
    change(&visit, deleted).await.map_err(Unchanged::into_page)?;
    Ok(go_to(&visit, "/campaigns?done=deleted"))
}

fn mode_of(fields: &Fields) -> CampaignMode {
    fields.text("mode").parse().unwrap_or(CampaignMode::External)
}

async fn form(
    visit: &Visit,
    campaign: Option<CampaignId>,
    name: &str,
    mode: CampaignMode,
    faults: Faults,
) -> Result<HttpResponse, PageError> {
    let shell = match &campaign {
        Some(campaign) => Shell::of_campaign(visit, campaign).await?.0,
        None => Shell::of(visit, Place::Campaigns, "New campaign").await?,
    };
    show_form(visit, shell, campaign, name, mode, faults)
}

fn show_form(
    visit: &Visit,
    shell: Shell,
    campaign: Option<CampaignId>,
    name: &str,
    mode: CampaignMode,
    faults: Faults,
) -> Result<HttpResponse, PageError> {
    let shown = shell
        .campaigns
        .iter()
        .find(|known| Some(&known.sign.id) == campaign.as_ref());
    html(&CampaignForm {
        is_active: shown.is_some_and(|known| known.is_active),
        is_owner: visit.member().is_owner(),
        campaign,
        name: name.to_owned(),
        mode,
        faults,
        shell,
    })
}
