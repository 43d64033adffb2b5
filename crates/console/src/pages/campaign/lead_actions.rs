//! What a person does with one lead: reject, trigger, reopen, settle. Acting on a match makes it a lead (decision E5).

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{CampaignId, JobId, LeadId};
use bidloop_domain::use_case::{LeadAddress, LeadError, MAX_REASON_CHARS, ManageLeadError, Settlement};
use serde::Deserialize;

use crate::page::{PageError, campaign_id, go_to, html};
use crate::shell::Shell;
use crate::tries;
use crate::visit::{Posted, Visit};

/// Where a lead is found: the path's ids, and the job of a match without a record.
#[derive(Debug, Clone)]
pub(crate) struct LeadPlace {
    pub(crate) campaign: CampaignId,
    pub(crate) address: LeadAddress,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JobQuery {
    job: String,
}

impl LeadPlace {
    pub(crate) fn of(path: &(String, String), job: &str) -> Result<Self, PageError> {
        let (campaign, lead) = path;
        Ok(Self {
            campaign: campaign_id(campaign)?,
            address: LeadAddress {
                lead: LeadId::parse(lead).map_err(|_| PageError::NotFound)?,
                job: JobId::parse(job).ok(),
            },
        })
    }

    pub(crate) fn of_query(path: &(String, String), query: &JobQuery) -> Result<Self, PageError> {
        Self::of(path, &query.job)
    }

    /// The lead's page.
    pub(crate) fn path(&self) -> String {
        format!("/campaigns/{}/leads/{}", self.campaign, self.address.lead)
    }

    /// The address of the lead's page, or of something below it; it names the job of a match without a record.
    pub(crate) fn address_of(&self, below: &str) -> String {
        let path = format!("{}{below}", self.path());
        match &self.address.job {
            Some(job) => {
                let query = form_urlencoded::Serializer::new(String::new())
                    .append_pair("job", job.as_str())
                    .finish();
                format!("{path}?{query}")
            }
            None => path,
        }
    }

    /// Makes the match a lead, if it is none.
    pub(crate) async fn materialize(&self, visit: &Visit) -> Result<(), PageError> {
        let (find, organization, place) = (
            visit.console.find_lead.clone(),
            visit.organization().clone(),
            self.clone(),
        );
        let made = visit.console.run(async move {
            find.materialize(&organization, &place.campaign, &place.address)
                .await
        });
        made.await??.then_some(()).ok_or(PageError::NotFound)
    }
}

#[derive(Template)]
#[template(path = "reject.html")]
struct RejectPage {
    shell: Shell,
    form: RejectForm,
}

/// The form alone, for the dialog.
#[derive(Template)]
#[template(path = "reject_form.html")]
struct RejectForm {
    title: String,
    path: String,
    job: Option<String>,
    csrf: String,
    reason: String,
    fault: Option<String>,
}

/// `GET …/leads/{l}/reject`.
pub(crate) async fn ask_reject(
    visit: Visit,
    path: web::Path<(String, String)>,
    query: web::Query<JobQuery>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of_query(&path, &query)?;
    reject_form(&visit, &place, "", None).await
}

async fn reject_form(
    visit: &Visit,
    place: &LeadPlace,
    reason: &str,
    fault: Option<String>,
) -> Result<HttpResponse, PageError> {
    let (show_lead, organization, wanted) = (
        visit.console.show_lead.clone(),
        visit.organization().clone(),
        place.clone(),
    );
    let shown = visit.console.run(async move {
        show_lead
            .execute(&organization, &wanted.campaign, &wanted.address)
            .await
    });
    let shown = shown.await??.ok_or(PageError::NotFound)?;
    let form = RejectForm {
        title: shown.post.title,
        path: place.path(),
        job: place.address.job.as_ref().map(ToString::to_string),
        csrf: visit.csrf.clone(),
        reason: reason.to_owned(),
        fault,
    };
    if visit.wants_part {
        return html(&form);
    }
    let (shell, _) = Shell::of_campaign(visit, &place.campaign).await?;
    html(&RejectPage { shell, form })
}

/// `POST …/leads/{l}/reject`.
pub(crate) async fn reject(
    Posted { visit, fields }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of(&path, fields.text("job"))?;
    let reason = fields.filled("reason").map(str::to_owned);
    if reason
        .as_ref()
        .is_some_and(|reason| reason.chars().nth(MAX_REASON_CHARS).is_some())
    {
        let fault = format!("Use at most {MAX_REASON_CHARS} characters.");
        return reject_form(&visit, &place, &reason.unwrap_or_default(), Some(fault)).await;
    }
    place.materialize(&visit).await?;
    let (reject_lead, requester, wanted) = (
        visit.console.reject_lead.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let rejected = visit.console.run(async move {
        reject_lead
            .execute(&requester, &wanted.campaign, &wanted.address.lead, Ok(reason))
            .await
    });
    match rejected.await? {
        Ok(()) => Ok(go_to(&visit, &format!("{}?done=rejected", place.path()))),
        Err(error @ LeadError::RejectionTooLate(_)) => {
            reject_form(&visit, &place, fields.text("reason"), Some(error.to_string())).await
        }
        Err(error) => Err(error.into()),
    }
}

/// `POST …/leads/{l}/trigger`: sends the lead's `job.new` anew (decision E6).
pub(crate) async fn trigger(
    Posted { visit, fields }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of(&path, fields.text("job"))?;
    place.materialize(&visit).await?;
    let (try_endpoints, requester, wanted) = (
        visit.console.try_endpoints.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let tried = visit.console.run(async move {
        try_endpoints
            .trigger(&requester, &wanted.campaign, &wanted.address.lead)
            .await
    });
    let tried = tried
        .await?
        .map_err(|error| tries::page_error(error, visit.now))?;
    let tried = tries::query(tried.into_iter().map(|one| one.id));
    Ok(go_to(&visit, &format!("{}?{tried}", place.path())))
}

/// `POST …/leads/{l}/reopen`.
pub(crate) async fn reopen(
    Posted { visit, .. }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of(&path, "")?;
    let (manage, requester, wanted) = (
        visit.console.manage_lead.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let reopened = visit.console.run(async move {
        manage
            .reopen(&requester, &wanted.campaign, &wanted.address.lead)
            .await
    });
    reopened.await?.map_err(page_error)?;
    Ok(go_to(&visit, &format!("{}?done=reopened", place.path())))
}

#[derive(Template)]
#[template(path = "settle.html")]
struct SettlePage {
    shell: Shell,
    form: SettleForm,
}

/// The form alone, for the dialog.
#[derive(Template)]
#[template(path = "settle_form.html")]
struct SettleForm {
    path: String,
    csrf: String,
}

/// `GET …/leads/{l}/settle`.
pub(crate) async fn ask_settle(
    visit: Visit,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of(&path, "")?;
    let form = SettleForm {
        path: place.path(),
        csrf: visit.csrf.clone(),
    };
    if visit.wants_part {
        return html(&form);
    }
    let (shell, _) = Shell::of_campaign(&visit, &place.campaign).await?;
    html(&SettlePage { shell, form })
}

/// `POST …/leads/{l}/settle`: ends a bid whose answer can never be had (decision B4).
pub(crate) async fn settle(
    Posted { visit, fields }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of(&path, "")?;
    let settlement = match fields.filled("proposal") {
        Some(proposal) if fields.text("found") == "yes" => Settlement::Submitted {
            proposal_id: proposal.to_owned(),
        },
        None if fields.text("found") == "no" => Settlement::NotSubmitted,
        _ => {
            return Err(PageError::Refused(
                "Say whether the marketplace has the proposal; if it has, give its id, else leave the id empty."
                    .to_owned(),
            ));
        }
    };
    let (manage, requester, wanted) = (
        visit.console.manage_lead.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let settled = visit.console.run(async move {
        manage
            .settle(&requester, &wanted.campaign, &wanted.address.lead, settlement)
            .await
    });
    settled.await?.map_err(page_error)?;
    Ok(go_to(&visit, &format!("{}?done=settled", place.path())))
}

fn page_error(error: ManageLeadError) -> PageError {
    match error {
        ManageLeadError::NotAuthorized => PageError::SubscriptionLapsed,
        ManageLeadError::LeadUnknown => PageError::NotFound,
        ManageLeadError::Store(error) => error.into(),
        ManageLeadError::NotReopenable(status) => PageError::Refused(format!(
            "The lead is {status}. Only a skipped or failed lead can be reopened."
        )),
        ManageLeadError::NotUnanswered => {
            PageError::Refused("No queued bid on this lead waits for an answer.".to_owned())
        }
        ManageLeadError::Settle(error) => PageError::Refused(error.to_string()),
    }
}
