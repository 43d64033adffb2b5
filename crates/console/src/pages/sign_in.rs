//! Signing in and out, and switching to another organization of the person (decisions E1 and E2).

use std::net::IpAddr;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{NetworkOrigin, OrganizationId};
use bidloop_domain::use_case::TryError;
use serde::Deserialize;

use crate::Console;
use crate::form::PublicForm;
use crate::page::{PageError, go_to, html, see_other};
use crate::visit::{self, Posted, Visit};
use crate::words;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    next: &'a str,
    email: &'a str,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_out.html")]
struct SignOutPage<'a> {
    csrf: &'a str,
    email: &'a str,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

/// `GET /sign-in`. An installation without people is set up first.
pub(crate) async fn show(
    request: HttpRequest,
    console: web::Data<Console>,
    query: web::Query<Next>,
) -> Result<HttpResponse, PageError> {
    if visit::find(&request, &console).await?.is_some() {
        return Ok(see_other(own_path(&query.next)));
    }
    if console.runtime.read(console.first_run.is_open()).await?? {
        return Ok(see_other("/first-run"));
    }
    html(&SignInPage {
        next: own_path(&query.next),
        email: "",
        fault: None,
    })
}

/// `POST /sign-in`.
pub(crate) async fn sign_in(
    request: HttpRequest,
    console: web::Data<Console>,
    form: PublicForm,
) -> Result<HttpResponse, PageError> {
    let (email, password) = (
        form.0.text("email").to_owned(),
        form.0.text("password").to_owned(),
    );
    let network = network_of(&request);
    let sign_in = console.sign_in.clone();
    let (email, tried) = console
        .runtime
        .run(async move {
            let tried = sign_in.execute(&email, &password, network).await;
            (email, tried)
        })
        .await?;
    let next = own_path(form.0.text("next"));
    match tried {
        Ok(token) => Ok(visit::signed_in(&console.address, &token, next)),
        Err(error) => html(&SignInPage {
            next,
            email: &email,
            fault: Some(fault(error, "That e-mail and password do not belong together.")?),
        }),
    }
}

/// `GET /sign-out`: asks. A GET changes nothing.
pub(crate) async fn ask_sign_out(visit: Visit) -> Result<HttpResponse, PageError> {
    html(&SignOutPage {
        csrf: &visit.csrf,
        email: &visit.member().person.email,
    })
}

/// `POST /sign-out`.
pub(crate) async fn sign_out(Posted { visit, .. }: Posted) -> Result<HttpResponse, PageError> {
    let (sessions, signed_in) = (visit.console.sessions.clone(), visit.signed_in.clone());
    visit
        .console
        .runtime
        .run(async move { sessions.sign_out(&signed_in).await })
        .await??;
    Ok(visit::signed_out(
        &visit.console.address,
        go_to(&visit, "/sign-in"),
    ))
}

/// `POST /switch`: shows another organization of the person.
pub(crate) async fn switch(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let organization = OrganizationId::parse(fields.text("organization")).map_err(|_| PageError::NotFound)?;
    let (sessions, signed_in) = (visit.console.sessions.clone(), visit.signed_in.clone());
    let switched = visit
        .console
        .runtime
        .run(async move { sessions.switch(&signed_in, &organization).await })
        .await??;
    if switched {
        Ok(go_to(&visit, "/"))
    } else {
        Err(PageError::NotFound)
    }
}

/// Where the request comes from, for the limit of tries.
pub(crate) fn network_of(request: &HttpRequest) -> NetworkOrigin {
    let console = request.app_data::<web::Data<Console>>();
    let address = console.and_then(|console| console.proxies.client_of(request));
    NetworkOrigin::of(address.unwrap_or(IpAddr::from([0, 0, 0, 0])))
}

/// What a person is told about a try that failed; `wrong` begins it if something was wrong.
pub(crate) fn fault(error: TryError, wrong: &str) -> Result<String, PageError> {
    let seconds = |time: Duration| words::took(time.max(Duration::from_secs(1)));
    Ok(match error {
        TryError::Wrong { tries_left: None, .. } => wrong.to_owned(),
        TryError::Wrong {
            tries_left: Some(0),
            pause,
        } => format!("{wrong} Wait {} before the next try.", seconds(pause)),
        TryError::Wrong {
            tries_left: Some(left),
            pause,
        } => {
            let tries = words::counted(u64::from(left), "more try", "more tries");
            format!("{wrong} {tries}, then a pause of {}.", seconds(pause))
        }
        TryError::Wait { retry_after } => {
            format!("Too many tries. Wait {}, then try again.", seconds(retry_after))
        }
        TryError::Busy(_) => {
            "Too many people are signing in at this moment. Try again in a few seconds.".to_owned()
        }
        TryError::Store(error) => return Err(error.into()),
    })
}

/// A path of the console to go to; anything else becomes the overview.
fn own_path(next: &str) -> &str {
    let bytes = next.as_bytes();
    let is_path = bytes.first() == Some(&b'/') && !matches!(bytes.get(1), Some(b'/' | b'\\'));
    if is_path && bytes.iter().all(|byte| (0x21..0x7f).contains(byte)) {
        next
    } else {
        "/"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_one_stays_on_the_console() {
        assert_eq!(
            own_path("/campaigns/c/feed?status=new"),
            "/campaigns/c/feed?status=new"
        );
        for elsewhere in [
            "",
            "https://evil.test",
            "//evil.test",
            "/\\evil.test",
            "/a\r\nset-cookie: x",
            "campaigns",
        ] {
            assert_eq!(own_path(elsewhere), "/", "{elsewhere:?}");
        }
    }
}
