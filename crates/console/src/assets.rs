//! The files that pages load: the style sheet, the scripts and the icons. A name carries the digest of its content, so
//! browsers keep a file for ever and load a changed one at once.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_http_server::StaticContent;
use sha2::{Digest, Sha256};

struct Asset {
    name: &'static str,
    path: String,
    content: StaticContent,
}

fn asset(name: &'static str, content_type: &'static str, content: &'static str) -> Asset {
    let digest = hex::encode(&Sha256::digest(content)[..8]);
    let path = format!("/assets/{name}.{digest}");
    Asset {
        name,
        path,
        content: StaticContent::new(content_type, FOR_EVER, content),
    }
}

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const SVG: &str = "image/svg+xml";
const SCRIPT: &str = "text/javascript; charset=utf-8";

static ASSETS: LazyLock<[Asset; 6]> = LazyLock::new(|| {
    [
        asset(
            "app.css",
            "text/css; charset=utf-8",
            include_str!("../assets/app.css"),
        ),
        asset("icons.svg", SVG, include_str!("../assets/icons.svg")),
        asset("logo.svg", SVG, include_str!("../assets/logo.svg")),
        asset("htmx.js", SCRIPT, include_str!("../assets/htmx.js")),
        asset("sse.js", SCRIPT, include_str!("../assets/sse.js")),
        asset("console.js", SCRIPT, include_str!("../assets/console.js")),
    ]
});

/// The path of a file, by its name.
pub(crate) fn path(name: &str) -> &'static str {
    ASSETS
        .iter()
        .find(|asset| asset.name == name)
        .map_or("", |asset| &asset.path)
}

/// `GET /assets/{file}`.
pub(crate) async fn serve(request: HttpRequest, file: web::Path<String>) -> HttpResponse {
    let wanted = format!("/assets/{file}");
    match ASSETS.iter().find(|asset| asset.path == wanted) {
        Some(asset) => asset.content.answer(&request),
        None => HttpResponse::NotFound().finish(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(name: &str) -> usize {
        ASSETS
            .iter()
            .find(|asset| asset.name == name)
            .unwrap()
            .content
            .length()
    }

    #[test]
    fn the_style_sheet_and_the_own_script_stay_small() {
        assert!(bytes("app.css") < 26_000, "{}", bytes("app.css"));
        assert!(bytes("console.js") < 2_000, "{}", bytes("console.js"));
    }

    #[test]
    fn a_changed_file_has_another_path() {
        assert_ne!(asset("a", SCRIPT, "one").path, asset("a", SCRIPT, "two").path);
        assert!(path("app.css").starts_with("/assets/app.css."));
    }
}
