//! Parts of pages that scripts ask for, and what is answered where a part cannot be had.

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use crate::page::{PageError, Problem, sign_in_for};

/// The dialog of every page. What went wrong is told in it where there is no better place.
const DIALOG: &str = "dialog";

/// Where a script wanted its part.
#[derive(Debug)]
pub(crate) struct WantedPart {
    /// The id of the element that the part replaces; the dialog's where it has none.
    element: String,
    /// Whether the part only follows what happens.
    pub(crate) is_update: bool,
}

/// What went wrong, in the place of a part.
#[derive(Template)]
#[template(path = "trouble.html")]
struct Trouble<'a> {
    title: &'a str,
    text: &'a str,
    in_dialog: bool,
}

impl WantedPart {
    /// What a request of a script wants.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        text("hx-request")?;
        let target = text("hx-target");
        let is_id = |id: &&str| id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        Some(Self {
            is_update: request.method() == Method::GET && target != Some(DIALOG),
            element: target.filter(is_id).unwrap_or(DIALOG).to_owned(),
        })
    }

    /// The answer in the part's place. The signed-out are led to the page to sign in on; an update that cannot be leaves the
    /// page as it is; anything else is told where the part was wanted.
    pub(crate) fn refused(&self, error: &PageError) -> HttpResponse {
        if let PageError::SignedOut { next } = error {
            return HttpResponse::Unauthorized()
                .insert_header(("hx-redirect", sign_in_for(next)))
                .finish();
        }
        let mut answer = HttpResponse::build(error.status());
        if self.is_update {
            return answer.finish();
        }
        let Problem { title, text, .. } = error.problem();
        let trouble = Trouble {
            title,
            text,
            in_dialog: self.element == DIALOG,
        };
        answer
            .insert_header(("hx-retarget", format!("#{}", self.element)))
            .insert_header(("hx-reswap", "innerHTML"))
            .insert_header(("hx-reselect", "unset"))
            .content_type("text/html; charset=utf-8")
            .body(trouble.render().unwrap_or_default())
    }
}
