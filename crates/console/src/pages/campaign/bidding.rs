//! A campaign's Bidding: what does a bid do, and who says so?

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{AnswerTemplate, CampaignId, ConfigSource, LeadId, ProposalTemplate};
use bidloop_domain::use_case::{CampaignBidding, OrganizationChange, TemplatePreview};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::bidding_fields::BiddingField;
use crate::campaign_head::{CampaignHead, Tab};
use crate::change::{Faults, Unchanged, change};
use crate::form::Fields;
use crate::page::{PageError, Refusal, campaign_id, go_to, html_with};
use crate::pages::campaign::bidding_settings::{SETTINGS, Setting};
use crate::sheet;
use crate::shell::Shell;
use crate::visit::{Posted, Visit};
use crate::words;

/// The most answers of a template's form.
const MAX_ANSWERS: usize = 100;

#[derive(Template)]
#[template(path = "bidding.html")]
struct BiddingPage {
    shell: Shell,
    head: CampaignHead,
    bidding: CampaignBidding,
    rows: Vec<Row>,
    template: TemplateForm,
    /// Why the templates were not saved, whatever is typed.
    refusal: Option<Refusal>,
    /// Why files were not added.
    files_fault: Option<String>,
}

impl BiddingPage {
    fn preview(&self) -> Option<&TemplatePreview> {
        self.bidding.preview.as_ref()
    }

    fn balance(&self) -> String {
        let account = self.bidding.account.as_ref();
        words::balance(account.and_then(|account| account.reading.as_ref()))
    }

    fn rate(&self) -> String {
        let account = self.bidding.account.as_ref();
        words::profile_rate(account.and_then(|account| account.reading.as_ref()))
    }

    /// Each account that the campaign can bid with: id, name, whether it does.
    fn accounts(&self) -> Vec<(String, String, bool)> {
        let own = self.bidding.account.as_ref().map(|account| &account.id);
        let accounts = self.bidding.accounts.iter();
        accounts
            .map(|(id, name)| (id.to_string(), name.clone(), own == Some(id)))
            .collect()
    }
}

/// A setting with its value.
struct Row {
    key: &'static str,
    name: &'static str,
    note: &'static str,
    value: String,
    source: Source,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Campaign,
    Default,
    /// Nothing sets it, and it has no default.
    None,
}

impl Row {
    fn is_of_campaign(&self) -> bool {
        self.source == Source::Campaign
    }

    fn is_default(&self) -> bool {
        self.source == Source::Default
    }
}

/// The templates as they are typed.
struct TemplateForm {
    letter: String,
    answers: Vec<AnswerTemplate>,
    faults: Faults,
    /// Whether what is shown is not saved.
    is_draft: bool,
}

impl TemplateForm {
    fn of(template: &ProposalTemplate) -> Self {
        Self {
            letter: template.cover_letter.clone().unwrap_or_default(),
            answers: template.answers.clone(),
            faults: Faults::default(),
            is_draft: false,
        }
    }
}

#[derive(Template)]
#[template(path = "bidding_form.html")]
struct SettingForm {
    csrf: String,
    back: String,
    setting: &'static Setting,
    inputs: Vec<ShownInput>,
    /// Why it was not saved, whatever is typed.
    refusal: Option<Refusal>,
}

struct ShownInput {
    input: &'static BiddingField,
    value: String,
    fault: Option<String>,
}

impl ShownInput {
    fn is_chosen(&self, value: &str) -> bool {
        self.value == value
    }
}

/// What the query string asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BiddingQuery {
    lead: String,
}

pub(super) fn path(campaign: &CampaignId) -> String {
    format!("/campaigns/{campaign}/bidding")
}

async fn bidding(
    visit: &Visit,
    campaign: &CampaignId,
    lead: Option<LeadId>,
    draft: Option<ProposalTemplate>,
) -> Result<CampaignBidding, PageError> {
    let (show, member, campaign) = (
        visit.console.show_bidding.clone(),
        visit.member().clone(),
        campaign.clone(),
    );
    // Templates may take long to render.
    let shown = visit.console.runtime.run(async move {
        show.execute(&member, &campaign, lead.as_ref(), draft.as_ref())
            .await
    });
    shown.await??.ok_or(PageError::NotFound)
}

/// `GET /campaigns/{c}/bidding`.
pub(crate) async fn show(
    visit: Visit,
    campaign: web::Path<String>,
    query: web::Query<BiddingQuery>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let lead = LeadId::parse(&query.lead).ok();
    let bidding = bidding(&visit, &campaign, lead, None).await?;
    let template = TemplateForm::of(&bidding.template);
    page(&visit, &campaign, bidding, template, None, None).await
}

/// The page again after files were refused.
pub(super) async fn show_refused_files(
    visit: &Visit,
    campaign: &CampaignId,
    said: String,
) -> Result<HttpResponse, PageError> {
    let bidding = bidding(visit, campaign, None, None).await?;
    let template = TemplateForm::of(&bidding.template);
    page(visit, campaign, bidding, template, Some(said), None).await
}

async fn page(
    visit: &Visit,
    campaign: &CampaignId,
    bidding: CampaignBidding,
    template: TemplateForm,
    files_fault: Option<String>,
    refusal: Option<Refusal>,
) -> Result<HttpResponse, PageError> {
    let (shell, head) = Shell::of_campaign(visit, campaign).await?;
    let page = BiddingPage {
        shell,
        head: head.at(Tab::Bidding),
        rows: rows(&bidding)?,
        bidding,
        template,
        refusal,
        files_fault,
    };
    html_with(Refusal::status(page.refusal.as_ref()), &page)
}

fn in_force(bidding: &CampaignBidding) -> Result<Value, PageError> {
    serde_json::to_value(&bidding.config).map_err(|error| PageError::Failed(error.to_string()))
}

fn rows(bidding: &CampaignBidding) -> Result<Vec<Row>, PageError> {
    let values = in_force(bidding)?;
    let source = |setting: &Setting| {
        let field = setting.first();
        match (bidding.config.source_of(field), &values[field]) {
            (ConfigSource::Default, Value::Null) => Source::None,
            (ConfigSource::Default, _) => Source::Default,
            _ => Source::Campaign,
        }
    };
    let row = |setting: &'static Setting| Row {
        key: setting.key,
        name: setting.name,
        note: setting.note,
        value: setting.worded(&values),
        source: source(setting),
    };
    Ok(SETTINGS.iter().map(row).collect())
}

fn setting(key: &str) -> Result<&'static Setting, PageError> {
    let mut all = SETTINGS.iter();
    all.find(|setting| setting.key == key).ok_or(PageError::NotFound)
}

/// `GET /campaigns/{c}/bidding/{setting}`.
pub(crate) async fn ask_change(
    visit: Visit,
    names: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let (campaign, setting) = (campaign_id(&names.0)?, setting(&names.1)?);
    let bidding = bidding(&visit, &campaign, None, None).await?;
    let values = in_force(&bidding)?;
    let shown = |input: &'static BiddingField| {
        let is_own = bidding.config.source_of(input.name) == ConfigSource::Campaign;
        ShownInput {
            value: match &values[input.name] {
                value if !is_own || value.is_null() => String::new(),
                Value::String(word) => word.clone(),
                value => value.to_string(),
            },
            fault: None,
            input,
        }
    };
    let inputs = setting.fields().map(shown).collect();
    form(&visit, &campaign, setting, inputs, None).await
}

async fn form(
    visit: &Visit,
    campaign: &CampaignId,
    setting: &'static Setting,
    inputs: Vec<ShownInput>,
    refusal: Option<Refusal>,
) -> Result<HttpResponse, PageError> {
    let status = Refusal::status(refusal.as_ref());
    let form = SettingForm {
        csrf: visit.csrf.clone(),
        back: path(campaign),
        setting,
        inputs,
        refusal,
    };
    sheet::show_with(visit, status, setting.name, &form, Shell::within(visit, campaign)).await
}

/// `POST /campaigns/{c}/bidding/{setting}`. What is left empty is not set here.
pub(crate) async fn set(
    Posted { visit, fields }: Posted,
    names: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let (campaign, setting) = (campaign_id(&names.0)?, setting(&names.1)?);
    let typed = |input: &BiddingField| fields.text(input.name).trim().to_owned();
    let values: Map<String, Value> = setting
        .fields()
        .map(|input| (input.name.to_owned(), input.typed(&typed(input))))
        .collect();
    let wanted = OrganizationChange::SetBidding {
        campaign: campaign.clone(),
        fields: values,
    };
    let Err(unchanged) = change(&visit, wanted).await else {
        return Ok(go_to(&visit, &format!("{}?done=saved", path(&campaign))));
    };
    let faults = match &unchanged {
        Unchanged::Faulty(faults) => faults.clone(),
        Unchanged::Page(_) => Faults::default(),
    };
    let shown = |input: &'static BiddingField| ShownInput {
        value: typed(input),
        fault: faults.of(input.name).map(str::to_owned),
        input,
    };
    let inputs: Vec<ShownInput> = setting.fields().map(shown).collect();
    let refusal = if inputs.iter().all(|input| input.fault.is_none()) {
        Some(unchanged.into_page().above_form()?)
    } else {
        None
    };
    form(&visit, &campaign, setting, inputs, refusal).await
}

/// `POST /campaigns/{c}/bidding/account`: the account that bids.
pub(crate) async fn set_account(
    Posted { visit, fields }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let account = match fields.filled("account") {
        Some(id) => Some(bidloop_domain::model::AccountId::parse(id).map_err(|_| PageError::NotFound)?),
        None => None,
    };
    let wanted = OrganizationChange::EditCampaign {
        campaign: campaign.clone(),
        name: None,
        mode: None,
        account: Some(account),
    };
    change(&visit, wanted).await.map_err(Unchanged::into_page)?;
    Ok(go_to(&visit, &format!("{}?done=saved", path(&campaign))))
}

fn typed_template(fields: &Fields) -> ProposalTemplate {
    let answers = (0..MAX_ANSWERS).map_while(|place| {
        let question = fields.given(&format!("question{place}"))?.trim().to_owned();
        let answer = fields.text(&format!("answer{place}")).to_owned();
        Some(AnswerTemplate { question, answer })
    });
    ProposalTemplate {
        cover_letter: fields.filled("letter").map(|_| fields.text("letter").to_owned()),
        answers: answers
            .filter(|answer| !answer.question.is_empty() && !answer.answer.trim().is_empty())
            .collect(),
    }
}

/// `POST /campaigns/{c}/bidding/template`: saves the templates, or shows what they would write.
pub(crate) async fn set_template(
    Posted { visit, fields }: Posted,
    campaign: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let campaign = campaign_id(&campaign)?;
    let typed = typed_template(&fields);
    let (mut faults, mut refusal) = (Faults::default(), None);
    let another = fields.given("another");
    if another.is_none() && fields.text("then") != "preview" {
        let wanted = OrganizationChange::SetTemplate {
            campaign: campaign.clone(),
            cover_letter: typed.cover_letter.clone(),
            answers: typed.answers.clone(),
        };
        match change(&visit, wanted).await {
            Ok(_) => return Ok(go_to(&visit, &format!("{}?done=saved", path(&campaign)))),
            Err(Unchanged::Faulty(found)) => faults = found,
            Err(Unchanged::Page(error)) => refusal = Some(error.above_form()?),
        }
    }
    let lead = LeadId::parse(another.unwrap_or(fields.text("lead"))).ok();
    let bidding = bidding(&visit, &campaign, lead, Some(typed.clone())).await?;
    let template = TemplateForm {
        faults,
        is_draft: true,
        ..TemplateForm::of(&typed)
    };
    page(&visit, &campaign, bidding, template, None, refusal).await
}
