//! API keys: who may call?

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{ApiKeyId, ApiKeyRecord, Timestamp};
use bidloop_domain::use_case::{CreatedApiKey, ManageApiKeysError};

use crate::page::{PageError, go_to, html};
use crate::sheet::Question;
use crate::shell::{Place, Setting, Shell};
use crate::visit::{Posted, Visit};
use crate::words;

const PLACE: Place = Place::Settings(Setting::Integrations);
const PATH: &str = "/settings/integrations/api-keys";
/// A key is new for so long.
const NEW_MILLIS: i64 = 3_600_000;

#[derive(Template)]
#[template(path = "api_keys.html")]
struct KeysPage {
    shell: Shell,
    keys: Vec<ApiKeyRecord>,
    created: Option<CreatedApiKey>,
    is_owner: bool,
    now: Timestamp,
}

impl KeysPage {
    fn is_new(&self, key: &ApiKeyRecord) -> bool {
        self.now.as_millis() - key.created_at.as_millis() < NEW_MILLIS && key.last_used_at.is_none()
    }
}

#[derive(Template)]
#[template(path = "api_key_new.html")]
struct NewKeyPage<'a> {
    shell: Shell,
    name: &'a str,
    expires: &'a str,
    name_fault: Option<&'static str>,
    expires_fault: Option<&'static str>,
}

/// `GET /settings/integrations/api-keys`.
pub(crate) async fn list(visit: Visit) -> Result<HttpResponse, PageError> {
    show(&visit, None).await
}

async fn show(visit: &Visit, created: Option<CreatedApiKey>) -> Result<HttpResponse, PageError> {
    let shell = Shell::of(visit, PLACE, "Integrations").await?;
    html(&KeysPage {
        keys: keys(visit).await?,
        is_owner: visit.member().is_owner(),
        created,
        now: visit.now,
        shell,
    })
}

/// The keys, those that are not revoked first, then the newest first.
pub(crate) async fn keys(visit: &Visit) -> Result<Vec<ApiKeyRecord>, PageError> {
    let keys = visit.console.manage_api_keys.list(visit.organization());
    let keys = visit.console.runtime.read(keys).await?;
    let mut keys = keys.map_err(page_error)?;
    keys.sort_by_key(|key| (key.revoked_at.is_some(), std::cmp::Reverse(key.created_at)));
    Ok(keys)
}

/// `GET …/api-keys/new`.
pub(crate) async fn ask_new(visit: Visit) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    form(&visit, "", "", None, None).await
}

async fn form(
    visit: &Visit,
    name: &str,
    expires: &str,
    name_fault: Option<&'static str>,
    expires_fault: Option<&'static str>,
) -> Result<HttpResponse, PageError> {
    html(&NewKeyPage {
        shell: Shell::of(visit, PLACE, "Integrations").await?,
        name,
        expires,
        name_fault,
        expires_fault,
    })
}

/// `POST …/api-keys`: the answer shows the key, this once.
pub(crate) async fn create(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let (name, expires) = (
        fields.text("name").trim().to_owned(),
        fields.text("expires").to_owned(),
    );
    let expiry = match words::read_expiry(&expires) {
        Ok(expiry) => expiry,
        Err(fault) => return form(&visit, &name, &expires, None, Some(fault)).await,
    };
    let (manage, person, wanted) = (
        visit.console.manage_api_keys.clone(),
        visit.signed_in.clone(),
        name.clone(),
    );
    let created = visit
        .console
        .runtime
        .run(async move { manage.create_as(&(&person).into(), &wanted, expiry).await });
    match created.await? {
        Ok(created) => show(&visit, Some(created)).await,
        Err(ManageApiKeysError::Name) => {
            let fault = Some("Give the key a name of up to 200 characters that says who will use it.");
            form(&visit, &name, &expires, fault, None).await
        }
        Err(ManageApiKeysError::ExpiryPast) => {
            form(
                &visit,
                &name,
                &expires,
                None,
                Some("Choose today or a later day."),
            )
            .await
        }
        Err(error) => Err(page_error(error)),
    }
}

/// `GET …/api-keys/{key}/revoke`.
pub(crate) async fn ask_revoke(visit: Visit, key: web::Path<String>) -> Result<HttpResponse, PageError> {
    visit.require_owner()?;
    let known = keys(&visit).await?.into_iter();
    let key = known.into_iter().find(|known| known.id.as_str() == key.as_str());
    let key = key.ok_or(PageError::NotFound)?;
    let question = Question {
        asks: "Revoke",
        text: format!(
            "{}Programs that use it get 401 at once; this cannot be undone.",
            words::was_used(key.last_used_at, visit.now)
        ),
        button: "Revoke key",
        is_danger: true,
        action: format!("{PATH}/{}/revoke", key.id),
        fields: Vec::new(),
        back: PATH.to_owned(),
        name: Some(key.name),
    };
    question
        .ask(&visit, Shell::of(&visit, PLACE, "Integrations"))
        .await
}

/// `POST …/api-keys/{key}/revoke`.
pub(crate) async fn revoke(
    Posted { visit, .. }: Posted,
    key: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let key = ApiKeyId::parse(&key).map_err(|_| PageError::NotFound)?;
    let (manage, person) = (visit.console.manage_api_keys.clone(), visit.signed_in.clone());
    let revoked = visit
        .console
        .runtime
        .run(async move { manage.revoke_as(&(&person).into(), &key).await });
    revoked.await?.map_err(page_error)?;
    Ok(go_to(&visit, &format!("{PATH}?done=revoked")))
}

fn page_error(error: ManageApiKeysError) -> PageError {
    match error {
        ManageApiKeysError::NotAuthorized(why) => why.into(),
        ManageApiKeysError::OrganizationUnknown(_) | ManageApiKeysError::KeyUnknown { .. } => {
            PageError::NotFound
        }
        ManageApiKeysError::SubscriptionInactive(_) => PageError::SubscriptionLapsed,
        ManageApiKeysError::Store(error) => error.into(),
        error => PageError::Refused(error.to_string()),
    }
}
