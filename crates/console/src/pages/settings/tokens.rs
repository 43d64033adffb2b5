//! Personal tokens: with which tools does this person work (decision E7)? Everybody sees the own ones alone.

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{PersonalTokenId, PersonalTokenRecord, Timestamp, TokenScope};
use bidloop_domain::use_case::{MadeToken, NewPersonalToken, PeopleError, TokenHolder};

use crate::page::{PageError, go_to, html};
use crate::sheet::Question;
use crate::shell::{Place, Setting, Shell};
use crate::visit::{Posted, Visit};
use crate::words;

const PLACE: Place = Place::Settings(Setting::Tokens);
const TITLE: &str = "Personal tokens";
const PATH: &str = "/settings/tokens";

#[derive(Template)]
#[template(path = "tokens.html")]
struct TokensPage {
    shell: Shell,
    tokens: Vec<PersonalTokenRecord>,
    made: Option<MadeToken>,
    now: Timestamp,
}

#[derive(Template)]
#[template(path = "token_new.html")]
struct NewTokenPage {
    shell: Shell,
    form: NewTokenForm,
    is_owner: bool,
}

/// What was typed, and what is wrong with it.
struct NewTokenForm {
    name: String,
    expires: String,
    scope: TokenScope,
    name_fault: Option<String>,
    expires_fault: Option<String>,
}

/// `GET /settings/tokens`.
pub(crate) async fn list(visit: Visit) -> Result<HttpResponse, PageError> {
    show(&visit, None).await
}

async fn show(visit: &Visit, made: Option<MadeToken>) -> Result<HttpResponse, PageError> {
    let tokens = tokens(visit).await?;
    html(&TokensPage {
        shell: Shell::of(visit, PLACE, TITLE).await?,
        tokens,
        made,
        now: visit.now,
    })
}

/// The person's tokens, those that work first.
async fn tokens(visit: &Visit) -> Result<Vec<PersonalTokenRecord>, PageError> {
    let (manage, person) = (&visit.console.manage_tokens, &visit.member().person.key);
    let tokens = manage.list(visit.organization(), person);
    let mut tokens = visit.console.runtime.read(tokens).await??;
    tokens.sort_by_key(|token| !token.works_at(visit.now));
    Ok(tokens)
}

/// `GET /settings/tokens/new`.
pub(crate) async fn ask_new(visit: Visit) -> Result<HttpResponse, PageError> {
    let form = NewTokenForm {
        name: String::new(),
        expires: String::new(),
        scope: TokenScope::Read,
        name_fault: None,
        expires_fault: None,
    };
    new_form(&visit, form).await
}

async fn new_form(visit: &Visit, form: NewTokenForm) -> Result<HttpResponse, PageError> {
    html(&NewTokenPage {
        shell: Shell::of(visit, PLACE, TITLE).await?,
        form,
        is_owner: visit.member().is_owner(),
    })
}

/// `POST /settings/tokens`: the answer shows the token, this once.
pub(crate) async fn make(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let scope = fields.text("scope").parse();
    let scope =
        scope.map_err(|_| PageError::FormUnreadable("The scope is none of read, bid, manage.".into()))?;
    let mut form = NewTokenForm {
        name: fields.text("name").to_owned(),
        expires: fields.text("expires").to_owned(),
        scope,
        name_fault: None,
        expires_fault: None,
    };
    let expires_at = match words::read_expiry(&form.expires) {
        Ok(expiry) => expiry,
        Err(fault) => {
            form.expires_fault = Some(fault.to_owned());
            return new_form(&visit, form).await;
        }
    };
    let (manage, holder) = (
        visit.console.manage_tokens.clone(),
        TokenHolder::of(visit.member()),
    );
    let name = form.name.clone();
    let made = visit.console.runtime.run(async move {
        let new = NewPersonalToken {
            name: &name,
            scope,
            expires_at,
        };
        manage.make(&holder, new).await
    });
    match made.await? {
        Ok(made) => return show(&visit, Some(made)).await,
        Err(PeopleError::Name) => {
            form.name_fault = Some("Give the token a name that says which tool will use it.".to_owned());
        }
        Err(PeopleError::ExpiryPast) => form.expires_fault = Some("Choose today or a later day.".to_owned()),
        Err(error) => return Err(error.into()),
    }
    new_form(&visit, form).await
}

/// `GET /settings/tokens/{token}/revoke`.
pub(crate) async fn ask_revoke(visit: Visit, token: web::Path<String>) -> Result<HttpResponse, PageError> {
    let mut known = tokens(&visit).await?.into_iter();
    let token = known.find(|known| known.id.as_str() == token.as_str());
    let token = token.ok_or(PageError::NotFound)?;
    let question = Question {
        asks: "Revoke",
        text: format!(
            "{}Tools that use it are refused at once; this cannot be undone.",
            words::was_used(token.last_used_at, visit.now)
        ),
        button: "Revoke token",
        is_danger: true,
        action: format!("{PATH}/{}/revoke", token.id),
        fields: Vec::new(),
        back: PATH.to_owned(),
        name: Some(token.name),
    };
    question.ask(&visit, Shell::of(&visit, PLACE, TITLE)).await
}

/// `POST /settings/tokens/{token}/revoke`.
pub(crate) async fn revoke(
    Posted { visit, .. }: Posted,
    token: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let token = PersonalTokenId::parse(&token).map_err(|_| PageError::NotFound)?;
    let (manage, holder) = (
        visit.console.manage_tokens.clone(),
        TokenHolder::of(visit.member()),
    );
    let revoked = visit
        .console
        .runtime
        .run(async move { manage.revoke(&holder, &token).await });
    revoked.await??;
    Ok(go_to(&visit, &format!("{PATH}?done=token_revoked")))
}
