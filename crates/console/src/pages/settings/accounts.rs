//! Bidder accounts: who bids? A token is checked with the marketplace before it is saved.

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{AccountId, MarketplaceToken, Timestamp};
use bidloop_domain::port::LiveAccount;
use bidloop_domain::use_case::{ConnectAccountError, OrganizationChange, ShownAccount};

use crate::change::{Faults, Unchanged, change};
use crate::page::{PageError, go_to, html};
use crate::sheet::{self, Question};
use crate::shell::{Place, Setting, Shell};
use crate::visit::{Posted, Visit};
use crate::words;

/// The list's path.
const PATH: &str = "/settings/accounts";

#[derive(Template)]
#[template(path = "accounts.html")]
struct AccountsPage {
    shell: Shell,
    accounts: Vec<Row>,
    is_owner: bool,
    now: Timestamp,
}

struct Row {
    shown: ShownAccount,
}

impl Row {
    fn balance(&self) -> String {
        words::balance(self.shown.facts.reading.as_ref())
    }

    fn rate(&self) -> String {
        words::profile_rate(self.shown.facts.reading.as_ref())
    }

    fn waiting(&self) -> Option<String> {
        let facts = &self.shown.facts;
        let queued = facts.queued;
        if facts.connected {
            return None;
        }
        let until = facts.first_deadline.map(words::utc);
        Some(match (queued, until) {
            (0, _) => "New bids are refused until it has a new one.".to_owned(),
            (queued, Some(until)) => format!(
                "{} {} for a new one until {until}, then they fail.",
                words::counted(queued, "queued bid", "queued bids"),
                if queued == 1 { "waits" } else { "wait" }
            ),
            (queued, None) => format!(
                "{} for a new one.",
                if queued == 1 {
                    "1 queued bid waits".to_owned()
                } else {
                    format!("{} queued bids wait", words::count(queued))
                }
            ),
        })
    }
}

#[derive(Template, Default)]
#[template(path = "account_form.html")]
struct AccountForm {
    csrf: String,
    /// The account that gets another name or token; `None` for a new one.
    account: Option<AccountId>,
    name: String,
    faults: Faults,
    token_fault: Option<String>,
}

async fn shell(visit: &Visit) -> Result<Shell, PageError> {
    Shell::of(visit, Place::Settings(Setting::Accounts), "Bidder accounts").await
}

async fn accounts(visit: &Visit) -> Result<(Vec<ShownAccount>, Timestamp), PageError> {
    let shown = visit.console.show_accounts.execute(visit.member());
    let shown = visit.console.runtime.read(shown).await??;
    shown.ok_or(PageError::NotFound)
}

async fn account(visit: &Visit, id: &str) -> Result<ShownAccount, PageError> {
    let accounts = accounts(visit).await?.0.into_iter();
    let mut accounts = accounts.filter(|known| known.facts.id.as_str() == id);
    accounts.next().ok_or(PageError::NotFound)
}

/// `GET /settings/accounts`.
pub(crate) async fn list(visit: Visit) -> Result<HttpResponse, PageError> {
    let (accounts, now) = accounts(&visit).await?;
    html(&AccountsPage {
        shell: shell(&visit).await?,
        accounts: accounts.into_iter().map(|shown| Row { shown }).collect(),
        is_owner: visit.member().is_owner(),
        now,
    })
}

async fn form(visit: &Visit, form: AccountForm) -> Result<HttpResponse, PageError> {
    let form = AccountForm {
        csrf: visit.csrf.clone(),
        ..form
    };
    let title = match form.account {
        Some(_) => "Edit account",
        None => "Connect account",
    };
    sheet::show(visit, title, &form, shell(visit)).await
}

/// `GET /settings/accounts/new`.
pub(crate) async fn ask_new(visit: Visit) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    form(&visit, AccountForm::default()).await
}

/// Asks the marketplace whose token it is.
async fn check(
    visit: &Visit,
    token: &str,
) -> Result<Result<(MarketplaceToken, LiveAccount), String>, PageError> {
    let checked = visit.console.connect_account.check(visit.member(), token.trim());
    Ok(match visit.console.runtime.read(checked).await? {
        Ok(checked) => Ok(checked),
        Err(ConnectAccountError::NotOwner) => return Err(PageError::OwnersOnly),
        Err(ConnectAccountError::NotAToken(error)) => Err(format!("This cannot be a token: {error}.")),
        Err(ConnectAccountError::NoMarketplace) => Err(
            "This installation has no marketplace to ask (setting marketplace.base_url). Nothing was saved."
                .to_owned(),
        ),
        Err(ConnectAccountError::Refused) => Err(
            "The marketplace does not accept this token. Nothing was saved; copy it again from the account."
                .to_owned(),
        ),
        Err(ConnectAccountError::Unreachable(why)) => Err(format!(
            "The marketplace could not be asked: {why}. Nothing was saved; try again."
        )),
    })
}

/// `POST /settings/accounts`.
pub(crate) async fn connect(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    let (name, token) = (fields.text("name").trim().to_owned(), fields.text("token"));
    let (token, live) = match check(&visit, token).await? {
        Ok(checked) => checked,
        Err(fault) => {
            let refused = AccountForm {
                name,
                token_fault: Some(fault),
                ..AccountForm::default()
            };
            return form(&visit, refused).await;
        }
    };
    let added = OrganizationChange::AddAccount {
        name: if name.is_empty() { live.name } else { name.clone() },
        token,
    };
    match change(&visit, added).await {
        Ok(_) => Ok(go_to(&visit, &format!("{PATH}?done=connected"))),
        Err(Unchanged::Faulty(faults)) => {
            let refused = AccountForm {
                name,
                faults,
                ..AccountForm::default()
            };
            form(&visit, refused).await
        }
        Err(Unchanged::Page(error)) => Err(error),
    }
}

/// `GET /settings/accounts/{account}/edit`.
pub(crate) async fn ask_edit(visit: Visit, id: web::Path<String>) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    let known = account(&visit, &id).await?;
    let edited = AccountForm {
        account: Some(known.facts.id),
        name: known.facts.name,
        ..AccountForm::default()
    };
    form(&visit, edited).await
}

/// `POST /settings/accounts/{account}/edit`: another name and, if one was typed, another token.
pub(crate) async fn edit(
    Posted { visit, fields }: Posted,
    id: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    let known = account(&visit, &id).await?;
    let name = fields.text("name").trim().to_owned();
    let refused = |faults: Faults, token_fault: Option<String>| AccountForm {
        account: Some(known.facts.id.clone()),
        name: name.clone(),
        faults,
        token_fault,
        ..AccountForm::default()
    };
    let token = match fields.filled("token") {
        None => None,
        Some(token) => match check(&visit, token).await? {
            Ok((token, _)) => Some(token),
            Err(fault) => return form(&visit, refused(Faults::default(), Some(fault))).await,
        },
    };
    let done = if token.is_some() { "connected" } else { "saved" };
    let edited = OrganizationChange::EditAccount {
        account: known.facts.id.clone(),
        name: Some(name.clone()),
        token,
    };
    match change(&visit, edited).await {
        Ok(_) => Ok(go_to(&visit, &format!("{PATH}?done={done}"))),
        Err(Unchanged::Faulty(faults)) => form(&visit, refused(faults, None)).await,
        Err(Unchanged::Page(error)) => Err(error),
    }
}

/// `GET /settings/accounts/{account}/remove`.
pub(crate) async fn ask_remove(visit: Visit, id: web::Path<String>) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    let account = account(&visit, &id).await?;
    let question = Question {
        asks: "Remove",
        text: removal(&account),
        button: "Remove account",
        is_danger: true,
        action: format!("{PATH}/{}/remove", account.facts.id),
        fields: Vec::new(),
        back: PATH.to_owned(),
        name: Some(account.facts.name),
    };
    question.ask(&visit, shell(&visit)).await
}

/// What follows from removing an account.
fn removal(account: &ShownAccount) -> String {
    let campaigns = account.campaigns.iter();
    let campaigns: Vec<String> = campaigns.map(|campaign| words::quoted(&campaign.name)).collect();
    let campaigns = match campaigns.as_slice() {
        [] => "No campaign bids with it.".to_owned(),
        names => format!(
            "{} can bid no more until another account is chosen.",
            names.join(", ")
        ),
    };
    let queued = match account.facts.queued {
        0 => String::new(),
        queued => format!(
            " {} cannot be submitted with it any more.",
            words::counted(queued, "queued bid", "queued bids")
        ),
    };
    format!("{campaigns}{queued} Its token is forgotten.")
}

/// `POST /settings/accounts/{account}/remove`.
pub(crate) async fn remove(
    Posted { visit, .. }: Posted,
    id: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let removed = OrganizationChange::RemoveAccount {
        account: AccountId::parse(&id).map_err(|_| PageError::NotFound)?,
    };
    change(&visit, removed).await.map_err(Unchanged::into_page)?;
    Ok(go_to(&visit, &format!("{PATH}?done=account_removed")))
}
