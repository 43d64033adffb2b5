//! Forms with files, as browsers send them: read part by part, so that no file is held in memory.
//!
//! The form's first field is the session's token. Until it has come nothing is stored, and a body without it is read no
//! further. After the first faulty file the others are read over, so that all that was typed stays in the form.

use std::future::Future;
use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest, web};
use bidloop_domain::attachment_rules::MAX_FILE_BYTES;
pub(crate) use bidloop_domain::attachment_rules::MAX_FILES;
use bidloop_domain::model::{CsrfToken, FieldError};
use bidloop_domain::use_case::{LeadError, PartHead};
use bidloop_http_server::{
    BodyFault, BytePool, FRAMING_BYTES, FormDataFault, FormPartHead, NoRoom, Parts, RequestBody, boundary_of,
    is_media_type, pieces, send_pieces,
};
use bytes::Bytes;
use futures::StreamExt;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use crate::csrf;
use crate::form::{Fields, MAX_FIELDS, MAX_FORM_BYTES};
use crate::page::PageError;
use crate::visit::{CSRF, Visit, header_token};
use crate::words;

const FORM_DATA: &str = "multipart/form-data";

/// The name of the field with files.
pub(crate) const FILES: &str = "files";

/// What browsers offer to choose from. The rules are the domain's.
pub(crate) const ACCEPTED: &str = ".pdf,.png,.jpg,.jpeg,.gif,.webp,.doc,.docx,.zip,.txt";

/// What is said where no file was chosen.
pub(crate) const CHOOSE: &str = "Choose a file first.";

/// The largest form with files: five of 25 MB, and what was typed.
const MAX_UPLOAD_BYTES: u64 = MAX_FILES as u64 * MAX_FILE_BYTES + MAX_FORM_BYTES + FRAMING_BYTES;
/// The longest token.
const MAX_TOKEN_BYTES: u64 = 256;
/// The most bytes of forms with files that are on their way at once.
const BYTES_IN_FLIGHT: u64 = 1_073_741_824;

/// The pieces of a file.
pub(crate) type Content = BoxStream<'static, Result<Bytes, LeadError>>;

/// How many bytes of forms are on their way.
#[derive(Debug, Clone)]
pub(crate) struct Uploads(Arc<BytePool>);

impl Default for Uploads {
    fn default() -> Self {
        Self(BytePool::of(BYTES_IN_FLIGHT))
    }
}

/// Takes the files of a form.
pub(crate) trait TakesFiles: Send + 'static {
    /// Takes the next file; `fields` are those that stand before it in the form. It is not called again after a fault.
    fn take(
        &mut self,
        fields: &Fields,
        head: PartHead,
        content: &mut Content,
    ) -> impl Future<Output = Result<(), LeadError>> + Send;
}

/// A form whose files were given to what takes them.
#[derive(Debug)]
pub(crate) struct Received<T> {
    pub(crate) fields: Fields,
    pub(crate) files: T,
    /// The first fault of a file, or of the body as a whole. The last fields may be missing then.
    pub(crate) fault: Option<LeadError>,
}

/// Whether the request has a form with files.
pub(crate) fn is_form_data(request: &HttpRequest) -> bool {
    let media_type = request.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|given| is_media_type(given, FORM_DATA))
}

/// Reads the form of a change that a signed-in person asks for.
pub(crate) async fn read<T: TakesFiles>(
    visit: &Visit,
    request: &HttpRequest,
    files: T,
) -> Result<Received<T>, PageError> {
    let body = request.extensions().get::<RequestBody>().cloned();
    let body = body.ok_or(PageError::FormUnreadable("It has no body.".into()))?;
    let boundary = boundary_of(request.headers())
        .map_err(|_| PageError::FormUnreadable("It was not sent as a form with files.".into()))?;
    let uploads = request.app_data::<web::Data<Uploads>>();
    let uploads = uploads.ok_or_else(|| PageError::Failed("the console is not configured".to_owned()))?;
    let member = visit.member();
    let (organization, person) = (member.organization_id().clone(), member.person.key.as_str());
    let mut share = uploads.0.share_of(organization, person);

    let token = visit.signed_in.csrf.clone();
    let is_trusted = header_token(request).is_some_and(|presented| csrf::is_presented(&token, presented));
    let (sender, pieces) = pieces();
    let parts = Parts::new(boundary, pieces, worded);
    let receiving = async move { receive(parts, &token, is_trusted, files).await };
    let receiving = visit.console.runtime.start(receiving);
    let pieces_of_body = body.stream(MAX_UPLOAD_BYTES, |bytes| {
        share.take(bytes).map_err(BodyError::from)
    });
    send_pieces(pieces_of_body.map_err(LeadError::from), sender).await;
    receiving.await?
}

/// Reads the parts. `is_trusted`: the token was presented already.
async fn receive<T: TakesFiles>(
    mut parts: Parts<LeadError>,
    token: &CsrfToken,
    mut is_trusted: bool,
    mut files: T,
) -> Result<Received<T>, PageError> {
    let (mut fields, mut room) = (Fields::default(), MAX_FORM_BYTES);
    let mut fault = None;
    loop {
        let (head, mut content) = match parts.next().await {
            Ok(Some(part)) => part,
            Ok(None) => break,
            Err(error) => {
                fault.get_or_insert(error);
                break;
            }
        };
        if !is_trusted {
            is_trusted = presents(token, &head, &mut content).await;
            if !is_trusted {
                return Err(PageError::FormExpired);
            }
        } else if head.file_name.is_none() {
            let Some(text) = text(&mut content, room).await else {
                return Err(PageError::FormUnreadable("It is too large.".into()));
            };
            room -= text.len() as u64;
            if fields.len() >= MAX_FIELDS {
                return Err(PageError::FormUnreadable("It has too many fields.".into()));
            }
            fields.push(head.name, String::from_utf8_lossy(&text).replace("\r\n", "\n"));
        } else if head.name == FILES && fault.is_none() {
            fault = take(&mut files, &fields, head, &mut content).await.err();
        }
        // What is left of the part: of a field of another form, or of a faulty file.
        while let Some(Ok(_)) = content.next().await {}
    }
    if !is_trusted {
        return Err(PageError::FormExpired);
    }
    Ok(Received { fields, files, fault })
}

/// Whether the part is the session's token.
async fn presents(token: &CsrfToken, head: &FormPartHead, content: &mut Content) -> bool {
    if head.name != CSRF || head.file_name.is_some() {
        return false;
    }
    let presented = text(content, MAX_TOKEN_BYTES).await.unwrap_or_default();
    csrf::is_presented(token, &String::from_utf8_lossy(&presented))
}

/// Gives a file to what takes it. Where none was chosen, browsers send one without a name and without content.
async fn take<T: TakesFiles>(
    files: &mut T,
    fields: &Fields,
    head: FormPartHead,
    content: &mut Content,
) -> Result<(), LeadError> {
    let is_nameless = head.file_name.as_deref().is_some_and(str::is_empty);
    let head = PartHead {
        name: head.name,
        file_name: head.file_name,
        content_type: head.content_type,
    };
    if is_nameless && text(content, 0).await.is_some() {
        return Ok(());
    }
    files.take(fields, head, content).await
}

/// The part's content; `None` if it has more bytes. What a broken body has of it counts.
async fn text(content: &mut Content, limit_bytes: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(Ok(piece)) = content.next().await {
        if (text.len() + piece.len()) as u64 > limit_bytes {
            return None;
        }
        text.extend_from_slice(&piece);
    }
    Some(text)
}

/// What is said beside the field of files.
///
/// # Errors
/// The fault is not the file's.
pub(crate) fn said_of_files(fault: LeadError) -> Result<String, PageError> {
    match &fault {
        LeadError::Malformed(faults) => {
            let why = faults
                .first()
                .map_or("cannot be read", |fault| fault.message.as_str());
            Ok(format!("The upload {why}."))
        }
        LeadError::File(_) | LeadError::TooLarge { .. } | LeadError::UploadTooLate(_) => {
            Ok(words::sentence(&fault.to_string()))
        }
        _ => Err(fault.into()),
    }
}

fn worded(fault: FormDataFault) -> LeadError {
    malformed(&fault.to_string())
}

fn malformed(message: &str) -> LeadError {
    LeadError::Malformed(vec![FieldError::new::<&str>(&[], message)])
}

/// Why a body ends too early.
struct BodyError(LeadError);

impl From<NoRoom> for BodyError {
    fn from(_: NoRoom) -> Self {
        Self(LeadError::Overloaded)
    }
}

impl From<BodyFault> for BodyError {
    fn from(fault: BodyFault) -> Self {
        Self(match fault {
            BodyFault::TooLarge { limit_bytes } => LeadError::TooLarge { limit_bytes },
            fault => malformed(&fault.to_string()),
        })
    }
}

impl From<BodyError> for LeadError {
    fn from(error: BodyError) -> Self {
        error.0
    }
}

#[cfg(test)]
mod tests;
