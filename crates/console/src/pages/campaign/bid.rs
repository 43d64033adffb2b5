//! The bid: what exactly will be sent?

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use bidloop_domain::bidding::QuestionAnswerPair;
use bidloop_domain::model::{
    BidRequest, BiddingConfig, CoverLetter, ExplanationStep, FieldError, LeadStatus, PaymentKind,
    ProposalFile, Timestamp, UsdCents,
};
use bidloop_domain::use_case::{AskMarketplace, BidPreview, LeadError, PreviewBasis, PreviewedProposal};

use super::bid_files::{self, Attached, LeadFiles};
use super::lead_place::{JobQuery, LeadPlace};
use crate::bidding_fields::{self, Override};
use crate::campaign_head::CampaignHead;
use crate::form::Fields;
use crate::page::{PageError, Refusal, go_to, html_with};
use crate::shell::Shell;
use crate::upload;
use crate::visit::{Posted, Visit};
use crate::words;

#[derive(Template)]
#[template(path = "bid.html")]
struct BidPage {
    shell: Shell,
    head: CampaignHead,
    /// The lead's page.
    lead: String,
    /// The address of the form.
    path: String,
    /// Where one changes the lead's own bidding.
    configure: String,
    job: Option<String>,
    title: String,
    status: LeadStatus,
    letter: String,
    letter_fault: Option<String>,
    questions: Vec<Question>,
    answered: usize,
    attachments: Vec<ProposalFile>,
    attachments_are_the_leads: bool,
    /// Whether there is room for another file.
    takes_files: bool,
    overrides: Vec<Override>,
    sent: Sent,
    /// Each fault, with the field that it is about.
    faults: Vec<(String, String)>,
    refusal: Option<Refusal>,
}

impl BidPage {
    fn fault(&self, field: &str) -> Option<&str> {
        let found = self.faults.iter().find(|(name, _)| name == field);
        found.map(|(_, sentence)| sentence.as_str())
    }
}

struct Question {
    /// The name of its field.
    field: String,
    text: String,
    answer: String,
    fault: Option<String>,
}

/// What would be sent.
struct Sent {
    basis: String,
    rate: String,
    rate_unit: &'static str,
    connects: String,
    cost: String,
    /// Why nothing would be sent.
    refusal: Option<String>,
    steps: Vec<ExplanationStep>,
    button: String,
}

impl Default for Sent {
    /// Nothing is known.
    fn default() -> Self {
        Self {
            basis: String::new(),
            rate: "–".to_owned(),
            rate_unit: "",
            connects: "–".to_owned(),
            cost: String::new(),
            refusal: None,
            steps: Vec::new(),
            button: "Submit bid".to_owned(),
        }
    }
}

/// `GET …/leads/{l}/bid`.
pub(crate) async fn ask(
    visit: Visit,
    path: web::Path<(String, String)>,
    query: web::Query<JobQuery>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of_query(&path, &query)?;
    show(&visit, &place, &Fields::default(), Vec::new(), None).await
}

/// `POST …/leads/{l}/bid`: adds the files that come with the form, then submits, tries, or computes again.
pub(crate) async fn act(
    mut visit: Visit,
    request: HttpRequest,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let path = path.into_inner();
    let (fields, attached) = if upload::is_form_data(&request) {
        let files = LeadFiles::of(visit.clone(), path.clone());
        let received = upload::read(&visit, &request, files).await?;
        bid_files::attach(&visit, received).await?
    } else {
        let posted = Posted::read(visit.clone(), &request).await?;
        (posted.fields, Attached::None)
    };
    let mut place = LeadPlace::of(&path, fields.text("job"))?;
    let action = fields.text("action");
    match attached {
        Attached::Refused(said) => return not_attached(&visit, &place, &fields, said).await,
        Attached::NotNow(refusal) => {
            return show(&visit, &place, &fields, Vec::new(), Some(refusal)).await;
        }
        Attached::None if action == "attach" => {
            return not_attached(&visit, &place, &fields, upload::CHOOSE.to_owned()).await;
        }
        Attached::All => visit.done = Some("attached".to_owned()),
        Attached::None => {}
    }
    let dry_run = match action {
        "submit" => false,
        "dry_run" => true,
        _ => {
            let faults = bidding_fields::overrides(&fields).err().unwrap_or_default();
            let faults = faults.iter().map(field_fault).collect();
            return show(&visit, &place, &fields, faults, None).await;
        }
    };
    let found = preview(&visit, &place, &BiddingConfig::default(), AskMarketplace::No).await?;
    let questions = found.post.questions.unwrap_or_default();
    place.address.job = Some(found.lead.job_id);
    let bid = bid_of(&fields, &questions, dry_run);
    let (submit, requester, wanted) = (
        visit.console.submit_bid.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let submitted = visit.console.runtime.run(async move {
        submit
            .execute(&requester, &wanted.campaign, &wanted.address, bid)
            .await
    });
    match submitted.await? {
        Ok(accepted) => {
            // A dry run makes no lead, so the address names the job.
            let path = if accepted.is_dry_run() {
                place.after("dry_run")
            } else {
                format!("{}?done=queued", place.path())
            };
            Ok(go_to(&visit, &path))
        }
        Err(error) => refused(&visit, &place, &fields, &questions, error).await,
    }
}

/// The form again, after its files were refused.
async fn not_attached(
    visit: &Visit,
    place: &LeadPlace,
    fields: &Fields,
    said: String,
) -> Result<HttpResponse, PageError> {
    let what = "No file was attached, and nothing was sent.".to_owned();
    let refusal = Refusal::new(StatusCode::OK, what);
    let faults = vec![(upload::FILES.to_owned(), said)];
    show(visit, place, fields, faults, Some(refusal)).await
}

/// The bid of a form. An answer that is left empty is none.
fn bid_of(fields: &Fields, questions: &[String], dry_run: bool) -> Result<BidRequest, LeadError> {
    let letter = CoverLetter::parse(fields.text("coverLetter").to_owned());
    let config = bidding_fields::overrides(fields);
    let mut faults = Vec::new();
    if letter.is_none() {
        faults.push(FieldError::new(&["coverLetter"], "must not be blank"));
    }
    faults.extend(config.as_ref().err().into_iter().flatten().cloned());
    match (letter, config) {
        (Some(cover_letter), Ok(bidding_config)) => {
            let answers = questions.iter().enumerate().filter_map(|(number, question)| {
                Some(QuestionAnswerPair {
                    question: question.clone(),
                    answer: fields.filled(&answer_field(number))?.to_owned(),
                })
            });
            Ok(BidRequest {
                cover_letter,
                question_answer_pairs: answers.collect(),
                dry_run,
                bidding_config,
            })
        }
        _ => Err(LeadError::Malformed(faults)),
    }
}

fn answer_field(number: usize) -> String {
    format!("answer-{number}")
}

async fn refused(
    visit: &Visit,
    place: &LeadPlace,
    fields: &Fields,
    questions: &[String],
    error: LeadError,
) -> Result<HttpResponse, PageError> {
    let faults = match &error {
        LeadError::Malformed(faults) => faults.iter().map(field_fault).collect(),
        LeadError::Rules(broken) => {
            let unanswered =
                (0..questions.len()).filter(|number| fields.filled(&answer_field(*number)).is_none());
            let mut faults: Vec<(String, String)> = unanswered
                .map(|number| {
                    let sentence = "Answer this question: a bid answers every question once.";
                    (answer_field(number), sentence.to_owned())
                })
                .collect();
            if faults.is_empty() {
                faults.extend(broken.iter().map(|fault| named(&fault.path, &fault.message)));
            }
            faults
        }
        _ => Vec::new(),
    };
    let refusal = match error {
        LeadError::Malformed(_) | LeadError::Rules(_) => {
            let what = "Nothing was sent: the form has faults.";
            Refusal::new(StatusCode::OK, what.to_owned())
        }
        LeadError::BidTooLate(_) | LeadError::NoConnectedAccount | LeadError::QuotaUsedUp(_) => {
            Refusal::new(StatusCode::CONFLICT, format!("Nothing was sent: {error}."))
        }
        LeadError::ReceiverOverloaded => {
            let what = format!("Nothing was sent: {error}.");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, what)
        }
        error => PageError::from(error).above_form()?,
    };
    show(visit, place, fields, faults, Some(refusal)).await
}

/// The field that a fault is about, and what is wrong.
fn field_fault(fault: &FieldError) -> (String, String) {
    named(&fault.path, &fault.message)
}

fn named(path: &[String], message: &str) -> (String, String) {
    (path.last().cloned().unwrap_or_default(), message.to_owned())
}

async fn preview(
    visit: &Visit,
    place: &LeadPlace,
    overrides: &BiddingConfig,
    ask: AskMarketplace,
) -> Result<BidPreview, PageError> {
    let (preview_bid, organization, wanted, overrides) = (
        visit.console.preview_bid.clone(),
        visit.organization().clone(),
        place.clone(),
        overrides.clone(),
    );
    // What the marketplace answers is kept for the next preview.
    let preview = visit.console.runtime.run(async move {
        preview_bid
            .execute(&organization, &wanted.campaign, &wanted.address, &overrides, ask)
            .await
    });
    preview.await??.ok_or(PageError::NotFound)
}

async fn show(
    visit: &Visit,
    place: &LeadPlace,
    fields: &Fields,
    faults: Vec<(String, String)>,
    refusal: Option<Refusal>,
) -> Result<HttpResponse, PageError> {
    let (shell, head) = Shell::of_campaign(visit, &place.campaign).await?;
    // Nothing can be computed of an override that cannot be read.
    let (overrides, ask, unreadable) = match bidding_fields::overrides(fields) {
        Ok(overrides) => (overrides, AskMarketplace::Yes, None),
        Err(faults) => (
            BiddingConfig::default(),
            AskMarketplace::No,
            faults.first().map(field_fault),
        ),
    };
    let preview = preview(visit, place, &overrides, ask).await?;
    let mut page = page(shell, head, place, fields, preview, faults, refusal, visit.now);
    if let Some((field, fault)) = unreadable {
        page.sent = Sent {
            refusal: Some(format!("{field} {fault}")),
            ..Sent::default()
        };
    }
    html_with(Refusal::status(page.refusal.as_ref()), &page)
}

#[expect(clippy::too_many_arguments, reason = "what a page is made of")]
fn page(
    shell: Shell,
    head: CampaignHead,
    place: &LeadPlace,
    fields: &Fields,
    preview: BidPreview,
    faults: Vec<(String, String)>,
    refusal: Option<Refusal>,
    now: Timestamp,
) -> BidPage {
    let fault = |field: &str| {
        let found = faults.iter().find(|(name, _)| name == field);
        found.map(|(_, sentence)| sentence.clone())
    };
    let questions = preview.post.questions.iter().flatten().enumerate();
    let questions: Vec<Question> = questions
        .map(|(number, question)| Question {
            field: answer_field(number),
            text: question.clone(),
            answer: fields.text(&answer_field(number)).to_owned(),
            fault: fault(&answer_field(number)),
        })
        .collect();
    BidPage {
        lead: place.address_of(""),
        path: format!("{}/bid", place.path()),
        configure: place.address_of("/configure"),
        job: place.job(),
        title: preview.post.title.clone(),
        status: preview.lead.status,
        letter: fields.text("coverLetter").to_owned(),
        letter_fault: fault("coverLetter").map(|_| "Write a cover letter.".to_owned()),
        answered: questions
            .iter()
            .filter(|question| !question.answer.trim().is_empty())
            .count(),
        questions,
        overrides: Override::all(fields, &preview.config),
        refusal,
        sent: sent(&preview, now),
        faults,
        takes_files: preview.lead.status.is_open()
            && (!preview.attachments_are_the_leads || preview.attachments.len() < upload::MAX_FILES),
        attachments: preview.attachments,
        attachments_are_the_leads: preview.attachments_are_the_leads,
        shell,
        head,
    }
}

fn sent(preview: &BidPreview, now: Timestamp) -> Sent {
    let basis = match &preview.basis {
        PreviewBasis::Live(at) => format!("from the live state, {}", words::ago(*at, now)),
        PreviewBasis::Known(why) => format!("from what is known: {why}"),
    };
    let refusal = match (&preview.shape_fault, &preview.rate_fault, &preview.proposal) {
        (Some(fault), _, _) => Some(format!(
            "{} {}",
            fault.path.last().map_or("", String::as_str),
            fault.message
        )),
        (_, Some(fault), _) => Some(fault.message.clone()),
        (_, _, Some(Err(reason))) => Some(reason.message.clone()),
        _ => None,
    };
    let mut sent = Sent {
        basis,
        refusal,
        steps: preview.steps.clone(),
        ..Sent::default()
    };
    if let Some(Ok(PreviewedProposal { terms, cost, .. })) = &preview.proposal {
        let unknown = || "not known".to_owned();
        let dollars = |amount: UsdCents| words::dollars(amount.cents());
        sent.rate = terms.amount.map_or_else(unknown, dollars);
        sent.rate_unit = match terms.kind {
            PaymentKind::Hourly => "/h",
            PaymentKind::Fixed => "fixed",
        };
        match cost {
            None => sent.connects = unknown(),
            Some((connects, cost)) => {
                sent.connects = words::count(connects.get());
                sent.cost = dollars(*cost);
                let connects = words::counted(connects.get(), "connect", "connects");
                sent.button = format!("Submit bid for {connects}");
            }
        }
    }
    sent
}
