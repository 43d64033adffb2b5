//! Cookies: all have the same reach, and none is read by scripts.

use actix_web::HttpResponse;
use actix_web::cookie::{Cookie, SameSite};

use crate::guard::ConsoleAddress;

/// A cookie for the pages of the console alone.
pub(crate) fn of(address: &ConsoleAddress, name: &'static str, value: String) -> Cookie<'static> {
    Cookie::build(name, value)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(address.is_https())
        .finish()
}

/// Gives the answer with a cookie.
pub(crate) fn give(mut answer: HttpResponse, cookie: &Cookie<'_>) -> HttpResponse {
    // Name, value and attributes are ASCII: the cookie is always written.
    let _written = answer.add_cookie(cookie);
    answer
}
