//! Display: which colours, and do single keys act? With the list of the keys.

use actix_web::HttpResponse;
use askama::Template;

use crate::cookie;
use crate::display::{Display, Theme};
use crate::page::{PageError, go_to, html};
use crate::shell::{Place, Setting, Shell};
use crate::visit::{Posted, Visit};

const PLACE: Place = Place::Settings(Setting::Display);
const TITLE: &str = "Display";

/// What keys do: the keys, one after another, and the words.
const KEYS: [(&[&str], &str); 12] = [
    (&["G", "O"], "Go to the overview"),
    (&["G", "C"], "Go to the campaigns"),
    (&["G", "A"], "Go to Activity"),
    (&["G", "S"], "Go to the settings"),
    (&["/"], "Search"),
    (&["J"], "Next card"),
    (&["K"], "Previous card"),
    (&["Enter"], "Open the card"),
    (&["B"], "Bid on the lead"),
    (&["T"], "Trigger the lead"),
    (&["R"], "Reject the lead"),
    (&["?"], "Show the keys"),
];

#[derive(Template)]
#[template(path = "display.html")]
struct DisplayPage {
    shell: Shell,
}

/// The list of keys alone, for the dialog.
#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPart;

/// `GET /settings/display`.
pub(crate) async fn show(visit: Visit) -> Result<HttpResponse, PageError> {
    html(&DisplayPage {
        shell: Shell::of(&visit, PLACE, TITLE).await?,
    })
}

/// `GET /settings/display/keys`.
pub(crate) async fn show_keys(visit: Visit) -> Result<HttpResponse, PageError> {
    if visit.wants_part {
        html(&KeysPart)
    } else {
        show(visit).await
    }
}

/// `POST /settings/display`.
pub(crate) async fn set(Posted { visit, fields }: Posted) -> Result<HttpResponse, PageError> {
    let chosen = Display {
        theme: Theme::named(fields.text("theme")),
        has_keys: fields.given("keys").is_some(),
    };
    let saved = go_to(&visit, "/settings/display?done=saved");
    Ok(cookie::give(saved, &chosen.cookie(&visit.console.address)))
}
