//! The overview: is it healthy, does it pay?

use actix_web::HttpResponse;
use askama::Template;

use crate::page::{PageError, html};
use crate::shell::{Place, Shell};
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
}

/// `GET /`.
pub(crate) async fn show(visit: Visit) -> Result<HttpResponse, PageError> {
    html(&OverviewPage {
        shell: Shell::of(&visit, Place::Overview, "Overview").await?,
    })
}
