//! Forms as browsers send them: read within limits, before anything is looked at.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use bidloop_http_server::{BodyFault, RequestBody, is_media_type};
use serde_json::{Number, Value};

use crate::page::PageError;

/// The most bytes of a form before somebody has signed in.
const MAX_PUBLIC_FORM_BYTES: u64 = 16 * 1024;
/// The most bytes of a form: a cover letter, answers and a filter fit in.
pub(crate) const MAX_FORM_BYTES: u64 = 1_048_576;
/// The most fields of a form.
pub(crate) const MAX_FIELDS: usize = 2_000;

const FORM: &str = "application/x-www-form-urlencoded";

/// The fields of a form, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads the form of a signed-in person.
    pub(crate) async fn read(request: &HttpRequest) -> Result<Self, PageError> {
        Self::read_within(request, MAX_FORM_BYTES).await
    }

    async fn read_within(request: &HttpRequest, limit_bytes: u64) -> Result<Self, PageError> {
        let body = request.extensions().get::<RequestBody>().cloned();
        let body = body.ok_or(PageError::FormUnreadable("It has no body.".into()))?;
        let media_type = request.headers().get(header::CONTENT_TYPE);
        if !media_type.is_none_or(|given| is_media_type(given, FORM)) {
            return Err(PageError::FormUnreadable("It was not sent as a form.".into()));
        }
        let bytes = body.read::<PageError, _>(limit_bytes, |_| Ok(())).await?;
        let fields = form_urlencoded::parse(&bytes)
            .take(MAX_FIELDS)
            // Browsers send line breaks as CR LF.
            .map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n")));
        Ok(Self(fields.collect()))
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a field.
    pub(crate) fn push(&mut self, name: String, value: String) {
        self.0.push((name, value));
    }

    /// The field's value; empty if it was not sent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// The field's value, if it was sent.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value.as_str())
    }

    /// The values of all fields of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.0.iter().filter(move |(field, _)| field == name);
        fields.map(|(_, value)| value.as_str())
    }

    /// A form with these fields.
    #[cfg(test)]
    pub(crate) const fn of(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    /// The value without spaces around it; `None` if nothing is left.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|value| !value.is_empty())
    }
}

/// A number, or what was typed instead of one.
pub(crate) fn number(text: &str) -> Value {
    let text = text.trim();
    match serde_json::from_str::<Number>(text) {
        Ok(number) => Value::Number(number),
        Err(_) => text.into(),
    }
}

impl From<BodyFault> for PageError {
    fn from(fault: BodyFault) -> Self {
        Self::FormUnreadable(format!("It {fault}.").into())
    }
}

/// The form of somebody who is not signed in.
#[derive(Debug)]
pub(crate) struct PublicForm(pub(crate) Fields);

impl FromRequest for PublicForm {
    type Error = PageError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, PageError>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let fields = Fields::read_within(&request, MAX_PUBLIC_FORM_BYTES).await?;
            Ok(Self(fields))
        })
    }
}
