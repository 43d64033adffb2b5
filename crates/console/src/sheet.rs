//! Sheets: short forms that scripts show in the dialog, and that are pages of their own without scripts.

use std::future::Future;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use askama::Template;

use crate::page::{PageError, html_with};
use crate::shell::Shell;
use crate::visit::Visit;

/// Tells htmx to put an answer that is an error where the form was.
const IN_PLACE: (HeaderName, HeaderValue) = (
    HeaderName::from_static("hx-retarget"),
    HeaderValue::from_static("this"),
);

/// A sheet as a page.
#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage<'a> {
    shell: Shell,
    title: &'a str,
    form: String,
}

/// Shows a form: alone for a script, else under this title in the frame of a page.
pub(crate) async fn show(
    visit: &Visit,
    title: &str,
    form: &impl Template,
    shell: impl Future<Output = Result<Shell, PageError>>,
) -> Result<HttpResponse, PageError> {
    show_with(visit, StatusCode::OK, title, form, shell).await
}

/// As [`show`], with another status: of a form that was not taken, which is shown in its own place.
pub(crate) async fn show_with(
    visit: &Visit,
    status: StatusCode,
    title: &str,
    form: &impl Template,
    shell: impl Future<Output = Result<Shell, PageError>>,
) -> Result<HttpResponse, PageError> {
    if visit.wants_part {
        let mut part = html_with(status, form)?;
        if !status.is_success() {
            part.headers_mut().insert(IN_PLACE.0, IN_PLACE.1);
        }
        return Ok(part);
    }
    let form = form.render();
    let page = SheetPage {
        shell: shell.await?,
        title,
        form: form.map_err(|error| PageError::Failed(error.to_string()))?,
    };
    html_with(status, &page)
}

/// A question before something that cannot be taken back.
#[derive(Debug)]
pub(crate) struct Question {
    /// What is asked, before the name.
    pub(crate) asks: &'static str,
    /// What it is about, if that has a name.
    pub(crate) name: Option<String>,
    /// What follows from it.
    pub(crate) text: String,
    /// The words of the button, and of the page's title.
    pub(crate) button: &'static str,
    pub(crate) is_danger: bool,
    /// Where the form goes, and its fields.
    pub(crate) action: String,
    pub(crate) fields: Vec<(&'static str, String)>,
    /// Where one goes instead.
    pub(crate) back: String,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionForm<'a> {
    csrf: &'a str,
    question: &'a Question,
}

impl Question {
    /// Asks it.
    pub(crate) async fn ask(
        &self,
        visit: &Visit,
        shell: impl Future<Output = Result<Shell, PageError>>,
    ) -> Result<HttpResponse, PageError> {
        let form = QuestionForm {
            csrf: &visit.csrf,
            question: self,
        };
        show(visit, self.button, &form, shell).await
    }
}
