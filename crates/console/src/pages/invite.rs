//! What an invitation or a password reset leads to (decision E2). Whoever has the link need not be signed in.

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{LinkKind, MemberRole};
use bidloop_domain::use_case::{LinkAsks, LinkForm, OpenedLink, PeopleError, TryError};

use crate::Console;
use crate::form::PublicForm;
use crate::page::{PageError, html};
use crate::pages::sign_in;
use crate::visit;
use crate::words;

#[derive(Template)]
#[template(path = "invite.html")]
struct InvitePage<'a> {
    token: &'a str,
    link: OpenedLink,
    name: &'a str,
    name_fault: Option<String>,
    password_fault: Option<String>,
}

/// `GET /invite/{token}`.
pub(crate) async fn show(
    console: web::Data<Console>,
    token: web::Path<String>,
) -> Result<HttpResponse, PageError> {
    let link = look(&console, &token).await?;
    // Where the owner typed none, the address stands for it.
    let typed = Some(link.person.name.clone()).filter(|name| *name != link.person.email);
    let name = typed.unwrap_or_default();
    html(&InvitePage {
        token: &token,
        link,
        name: &name,
        name_fault: None,
        password_fault: None,
    })
}

async fn look(console: &Console, token: &str) -> Result<OpenedLink, PageError> {
    Ok(console.runtime.read(console.use_link.look(token)).await??)
}

/// `POST /invite/{token}`.
pub(crate) async fn use_link(
    request: HttpRequest,
    console: web::Data<Console>,
    token: web::Path<String>,
    PublicForm(fields): PublicForm,
) -> Result<HttpResponse, PageError> {
    let network = sign_in::network_of(&request);
    let (use_link, used_token) = (console.use_link.clone(), token.clone());
    let (fields, used) = console
        .runtime
        .run(async move {
            let form = LinkForm {
                name: fields.text("name"),
                password: fields.text("password"),
            };
            let used = use_link.execute(&used_token, form, network).await;
            (fields, used)
        })
        .await?;
    let (mut name_fault, mut password_fault) = (None, None);
    match used {
        Ok(session) => return Ok(visit::signed_in(&console.address, &session, "/")),
        Err(PeopleError::Name) => {
            name_fault = Some("Use at most 200 characters, on one line.".to_owned());
        }
        Err(PeopleError::Password(fault)) => {
            password_fault = Some(words::sentence(&format!("the password {fault}")));
        }
        Err(PeopleError::Try(
            error @ (TryError::Wrong { .. } | TryError::Wait { .. } | TryError::Busy(_)),
        )) => {
            password_fault = Some(sign_in::fault(error, "That is not your password.")?);
        }
        Err(error) => return Err(error.into()),
    }
    let link = look(&console, &token).await?;
    html(&InvitePage {
        token: &token,
        link,
        name: fields.text("name"),
        name_fault,
        password_fault,
    })
}
