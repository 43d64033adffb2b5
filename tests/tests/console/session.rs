//! A session over plain HTTP, for what a browser does not let people do.

use acceptance::api::form_token;
use acceptance::{Answer, Service};

use crate::acme::PASSWORD;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Somebody who is signed in.
pub(crate) struct Session<'s> {
    service: &'s Service,
    cookie: String,
}

/// A field as forms carry it: what is no letter or digit is encoded.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    fields.join("&")
}

impl<'s> Session<'s> {
    /// Signs in with everybody's password.
    pub(crate) fn of(service: &'s Service, email: &str) -> Self {
        Self::open(service, email, PASSWORD)
    }

    /// Signs in.
    pub(crate) fn open(service: &'s Service, email: &str, password: &str) -> Self {
        let mut session = Self {
            service,
            cookie: String::new(),
        };
        let fields = form(&[("email", email), ("password", password)]);
        let answer = session.call("POST", "/sign-in", &fields).expect(303);
        let cookie = answer.header("set-cookie").expect("a session");
        cookie.split(';').next().unwrap().clone_into(&mut session.cookie);
        session
    }

    /// A session that was opened before the service's restart.
    pub(crate) const fn with_cookie(service: &'s Service, cookie: String) -> Self {
        Self { service, cookie }
    }

    fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        let origin = format!("http://{}", self.service.address());
        let page = format!("{origin}/settings/users");
        let headers = [
            FORM,
            ("Origin", &origin),
            ("Referer", &page),
            ("Cookie", &self.cookie),
        ];
        let api = self.service.api_with(None);
        api.try_call(method, path, &headers, body.as_bytes()).unwrap()
    }

    /// What the browser sends with every request.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Asks for a page.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, "")
    }

    /// Asks for a part of the page `shown`, to replace an element, perhaps with this id.
    pub(crate) fn get_part(&self, path: &str, shown: &str, element: Option<&str>) -> Answer {
        let mut headers = vec![
            ("Cookie", self.cookie.as_str()),
            ("HX-Request", "true"),
            ("HX-Current-URL", shown),
        ];
        headers.extend(element.map(|id| ("HX-Target", id)));
        let api = self.service.api_with(None);
        api.try_call("GET", path, &headers, b"").unwrap()
    }

    /// Asks for a page as browsers do, who take it compressed.
    pub(crate) fn get_compressed(&self, path: &str) -> Answer {
        let headers = [("Cookie", self.cookie.as_str()), ("Accept-Encoding", "gzip")];
        let api = self.service.api_with(None);
        api.try_call("GET", path, &headers, b"").unwrap().expect(200)
    }

    /// The token that forms of the session carry at this moment.
    pub(crate) fn token(&self) -> String {
        form_token(&self.get("/sign-out").expect(200).text())
    }

    /// Sends a form of the settings' page of users with the session's token.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_with(&self.token(), path, fields)
    }

    /// As [`post`](Self::post), with this token.
    pub(crate) fn post_with(&self, token: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut all = vec![("csrf", token)];
        all.extend(fields);
        self.call("POST", path, &form(&all))
    }

    /// Whether the session lives.
    pub(crate) fn lives(&self) -> bool {
        match self.get("/").status {
            200 => true,
            303 => false,
            status => panic!("{status}"),
        }
    }
}
