//! What a person does with one lead: reject, trigger, reopen, settle. An accepted action on a match makes it a lead
//! (decision E5).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::use_case::{MAX_REASON_CHARS, ManageLeadError, Settlement};

use super::lead_place::{JobQuery, LeadPlace};
use crate::page::{PageError, Refusal, go_to};
use crate::sheet;
use crate::shell::Shell;
use crate::tries;
use crate::visit::{Posted, Visit};

#[derive(Template)]
#[template(path = "reject_form.html")]
struct RejectForm {
    title: String,
    path: String,
    job: Option<String>,
    csrf: String,
    reason: String,
    fault: Option<Refusal>,
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
    fault: Option<Refusal>,
) -> Result<HttpResponse, PageError> {
    let status = Refusal::status(fault.as_ref());
    let shown = place.view(visit).await?;
    let form = RejectForm {
        title: shown.post.title,
        path: place.path(),
        job: place.job(),
        csrf: visit.csrf.clone(),
        reason: reason.to_owned(),
        fault,
    };
    let shell = Shell::within(visit, &place.campaign);
    sheet::show_with(visit, status, "Reject this lead", &form, shell).await
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
        let fault = Refusal::new(StatusCode::OK, fault);
        return reject_form(&visit, &place, &reason.unwrap_or_default(), Some(fault)).await;
    }
    let place = place.located(&visit).await?;
    let (reject_lead, requester, wanted) = (
        visit.console.reject_lead.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let rejected = visit.console.runtime.run(async move {
        reject_lead
            .execute(&requester, &wanted.campaign, &wanted.address, Ok(reason))
            .await
    });
    match rejected.await? {
        Ok(()) => Ok(go_to(&visit, &format!("{}?done=rejected", place.path()))),
        Err(error) => {
            let fault = PageError::from(error).above_form()?;
            reject_form(&visit, &place, fields.text("reason"), Some(fault)).await
        }
    }
}

/// `POST …/leads/{l}/trigger`: sends the lead's `job.new` anew (decision E6).
pub(crate) async fn trigger(
    Posted { visit, fields }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of(&path, fields.text("job"))?;
    let (try_endpoints, requester, wanted) = (
        visit.console.try_endpoints.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let tried = visit.console.runtime.run(async move {
        try_endpoints
            .trigger(&requester, &wanted.campaign, &wanted.address)
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
    let reopened = visit.console.runtime.run(async move {
        manage
            .reopen(&requester, &wanted.campaign, &wanted.address.lead)
            .await
    });
    reopened.await?.map_err(page_error)?;
    Ok(go_to(&visit, &format!("{}?done=reopened", place.path())))
}

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
    let shell = Shell::within(&visit, &place.campaign);
    sheet::show(&visit, "Settle this bid", &form, shell).await
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
    let settled = visit.console.runtime.run(async move {
        manage
            .settle(&requester, &wanted.campaign, &wanted.address.lead, settlement)
            .await
    });
    settled.await?.map_err(page_error)?;
    Ok(go_to(&visit, &format!("{}?done=settled", place.path())))
}

pub(super) fn page_error(error: ManageLeadError) -> PageError {
    match error {
        ManageLeadError::NotAuthorized(why) => why.into(),
        ManageLeadError::LeadUnknown => PageError::NotFound,
        ManageLeadError::Store(error) => error.into(),
        ManageLeadError::NotReopenable(status) => PageError::Refused(format!(
            "The lead is {status}. Only a skipped or failed lead can be reopened."
        )),
        ManageLeadError::NotUnanswered => {
            PageError::Refused("No queued bid on this lead waits for an answer.".to_owned())
        }
        error @ ManageLeadError::Faulty(_) => PageError::Refused(error.to_string()),
        ManageLeadError::Settle(error) => PageError::Refused(error.to_string()),
    }
}
