//! The first start of an installation without people (decision E3).

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use bidloop_domain::use_case::{FirstRunError, FirstRunField, FirstRunForm};

use crate::Console;
use crate::form::{Fields, PublicForm};
use crate::page::{PageError, html};
use crate::pages::sign_in;
use crate::visit;
use crate::words;

#[derive(Template)]
#[template(path = "first_run.html")]
struct FirstRunPage<'a> {
    given: Given<'a>,
    /// The field with a fault, and what is wrong.
    fault: Option<(&'static str, String)>,
}

impl FirstRunPage<'_> {
    fn fault_of(&self, field: &str) -> Option<&str> {
        let (faulty, message) = self.fault.as_ref()?;
        (*faulty == field).then_some(message)
    }
}

/// What was typed, for the form to keep.
#[derive(Default)]
struct Given<'a> {
    code: &'a str,
    organization: &'a str,
    email: &'a str,
}

/// `GET /first-run`. There is no such page once there is somebody.
pub(crate) async fn show(console: web::Data<Console>) -> Result<HttpResponse, PageError> {
    if !console.runtime.read(console.first_run.is_open()).await?? {
        return Err(PageError::NotFound);
    }
    html(&FirstRunPage {
        given: Given::default(),
        fault: None,
    })
}

/// `POST /first-run`.
pub(crate) async fn set_up(
    request: HttpRequest,
    console: web::Data<Console>,
    PublicForm(fields): PublicForm,
) -> Result<HttpResponse, PageError> {
    let network = sign_in::network_of(&request);
    let first_run = console.first_run.clone();
    let (fields, tried) = console
        .runtime
        .run(async move {
            let tried = first_run.execute(typed(&fields), network).await;
            (fields, tried)
        })
        .await?;
    match tried {
        Ok(token) => Ok(visit::signed_in(&console.address, &token, "/")),
        Err(error) => html(&FirstRunPage {
            given: Given {
                code: fields.text("code"),
                organization: fields.text("organization"),
                email: fields.text("email"),
            },
            fault: Some(fault(error)?),
        }),
    }
}

fn typed(fields: &Fields) -> FirstRunForm<'_> {
    FirstRunForm {
        code: fields.text("code"),
        organization: fields.text("organization"),
        email: fields.text("email"),
        name: None,
        password: fields.text("password"),
    }
}

fn fault(error: FirstRunError) -> Result<(&'static str, String), PageError> {
    Ok(match error {
        FirstRunError::Over => return Err(PageError::NotFound),
        FirstRunError::CodeReplaced { at } => (
            "code",
            format!(
                "This code was replaced by a newer one at {}. Use the newest one in the log.",
                words::clock(at)
            ),
        ),
        FirstRunError::Name(FirstRunField::Organization) => (
            "organization",
            "Give the organization a name of at most 200 characters.".to_owned(),
        ),
        FirstRunError::Name(FirstRunField::Owner) => {
            ("email", "The name must have at most 200 characters.".to_owned())
        }
        FirstRunError::Email(error) => ("email", error.to_string()),
        error @ FirstRunError::Password(_) => ("password", format!("{error}.")),
        FirstRunError::Try(error) => (
            "code",
            sign_in::fault(error, "That is not the code in the service's log.")?,
        ),
    })
}
