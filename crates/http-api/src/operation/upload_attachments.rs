//! `POST /v1/campaigns/{campaign_id}/leads/{lead_id}/attachments` (specification, uploadLeadAttachments).
//!
//! The parts are read where the connection is and handed on, piece by piece, to the use case on its own runtime:
//! a slow storage slows the reading, memory stays constant, and a connection that breaks ends in a recorded refusal.

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::header::{CONTENT_DISPOSITION, ContentDisposition, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::attachment_rules::{MAX_FILE_BYTES, MAX_FILES};
use bidloop_domain::model::{LeadAttachment, ShapeFault};
use bidloop_domain::use_case::{RequestFault, UploadError, UploadSession};
use bytes::Bytes;
use futures::StreamExt;
use tokio::sync::mpsc;

use super::path_ids;
use crate::HttpApi;
use crate::errors::Refusal;
use crate::openapi::schemas;
use crate::request_body::{FORM_DATA, RequestBody, broken_body, check_declared_length, check_media_type};
use crate::unread_body::answer_holding;

/// What the parts' heads and boundaries may add to the files' own bytes.
const FRAMING_BYTES: u64 = 1_048_576;

/// No upload that could be accepted is longer: five files of 25 MB, and what is around them.
const MAX_UPLOAD_BYTES: u64 = MAX_FILES as u64 * MAX_FILE_BYTES + FRAMING_BYTES;

/// Pieces on their way from the connection to the use case.
const PIECES_IN_FLIGHT: usize = 2;

/// Upload files for a lead's proposal; they replace the campaign's.
///
/// 1 to 5 files a request, at most 5 a lead, each at most 25 MB. One faulty file refuses them all.
#[utoipa::path(
    post,
    path = "/v1/campaigns/{campaign_id}/leads/{lead_id}/attachments",
    operation_id = "uploadLeadAttachments",
    tag = "leads",
    params(schemas::LeadPath),
    request_body(content = schemas::UploadRequest, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The lead's full list, files of earlier requests included.",
            body = Vec<schemas::LeadAttachment>),
        (status = 400, description = "No file, too many, or a faulty one, which the message names; \
            a lead that is no longer new.", body = schemas::StandardError),
        schemas::Unauthorized,
        schemas::NotFound,
        (status = 413, description = "A file above 25 MB, or a request that could not hold acceptable files.",
            body = schemas::StandardError),
        schemas::UnsupportedMediaType,
        schemas::Unforeseen,
        schemas::Unavailable,
    ),
)]
pub(crate) async fn upload_attachments(
    request: HttpRequest,
    payload: web::Payload,
    api: web::Data<HttpApi>,
) -> HttpResponse {
    let body = RequestBody::new(payload);
    let response = match upload(&request, &body, &api).await {
        Ok(list) => HttpResponse::Ok().json(list),
        Err(refusal) => refusal.into_response(),
    };
    answer_holding(body, response)
}

async fn upload(
    request: &HttpRequest,
    body: &RequestBody,
    api: &HttpApi,
) -> Result<Vec<LeadAttachment>, Refusal> {
    let caller = api.authenticate(request).await?;
    let declared = check_declared_length(request.headers(), MAX_UPLOAD_BYTES);
    let Some(campaign) = path_ids::campaign(request) else {
        declared?;
        return Err(Refusal::campaign_unknown());
    };
    let lead = path_ids::lead(request);
    let envelope = declared.and_then(|()| check_media_type(request.headers(), FORM_DATA));
    let upload = api.upload_attachments.clone();
    let begun = api
        .run(async move { upload.begin(&caller, &campaign, &lead, envelope).await })
        .await?;
    let session = begun?;

    let (sender, steps) = mpsc::channel(PIECES_IN_FLIGHT);
    let receiving = api.start(receive(session, steps));
    // A receiver that is gone has found a fault, which its end tells.
    let _ = read_parts(request, body, &sender).await;
    drop(sender);
    Ok(receiving.await??)
}

/// What comes out of the body, in its order.
enum Step {
    Start {
        part_name: String,
        file_name: Option<String>,
        content_type: Option<String>,
    },
    Piece(Bytes),
    End,
    Faulty(RequestFault),
    Complete,
}

struct ReceiverGone;

impl<T> From<mpsc::error::SendError<T>> for ReceiverGone {
    fn from(_: mpsc::error::SendError<T>) -> Self {
        Self
    }
}

/// Carries the steps out. Without a last step, the connection has broken.
async fn receive(
    mut session: UploadSession,
    mut steps: mpsc::Receiver<Step>,
) -> Result<Vec<LeadAttachment>, UploadError> {
    let fault = loop {
        let step = steps
            .recv()
            .await
            .unwrap_or_else(|| Step::Faulty(malformed("broke off before its end")));
        let done = match step {
            Step::Start {
                part_name,
                file_name,
                content_type,
            } => {
                session
                    .start_file(&part_name, file_name.as_deref(), content_type.as_deref())
                    .await
            }
            Step::Piece(bytes) => session.write(bytes).await,
            Step::End => session.end_file(),
            Step::Faulty(fault) => Err(fault.into()),
            Step::Complete => return session.finish().await,
        };
        if let Err(fault) = done {
            break fault;
        }
    };
    steps.close();
    Err(session.refuse(fault).await)
}

/// Reads the body's parts until it ends, is faulty, or nobody wants more of it.
async fn read_parts(
    request: &HttpRequest,
    body: &RequestBody,
    steps: &mpsc::Sender<Step>,
) -> Result<(), ReceiverGone> {
    let mut parts = Multipart::new(request.headers(), body.stream(MAX_UPLOAD_BYTES));
    while let Some(part) = parts.next().await {
        let read = match part {
            Ok(part) => read_part(part, steps).await?,
            Err(error) => Err(fault_of(&error)),
        };
        if let Err(fault) = read {
            return Ok(steps.send(Step::Faulty(fault)).await?);
        }
    }
    Ok(steps.send(Step::Complete).await?)
}

async fn read_part(
    mut part: Field,
    steps: &mpsc::Sender<Step>,
) -> Result<Result<(), RequestFault>, ReceiverGone> {
    let Some((part_name, file_name)) = names(part.headers().get(CONTENT_DISPOSITION)) else {
        return Ok(Err(malformed(
            "has a part whose Content-Disposition is not a readable form-data with a name",
        )));
    };
    let content_type = part
        .headers()
        .get(actix_web::http::header::CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    steps
        .send(Step::Start {
            part_name,
            file_name,
            content_type,
        })
        .await?;
    while let Some(piece) = part.next().await {
        match piece {
            Ok(piece) => steps.send(Step::Piece(piece)).await?,
            Err(error) => return Ok(Err(fault_of(&error))),
        }
    }
    steps.send(Step::End).await?;
    Ok(Ok(()))
}

/// The part's name and its file's: of two forms of the latter, the one with a character set (RFC 5987) is exact.
fn names(disposition: Option<&HeaderValue>) -> Option<(String, Option<String>)> {
    let disposition = ContentDisposition::from_raw(disposition?).ok()?;
    if !disposition.is_form_data() {
        return None;
    }
    let extended = disposition
        .get_filename_ext()
        .map(|name| String::from_utf8(name.value.clone()));
    let file_name = match extended {
        Some(decoded) => Some(decoded.ok()?),
        None => disposition.get_filename().map(str::to_owned),
    };
    Some((disposition.get_name()?.to_owned(), file_name))
}

fn fault_of(error: &MultipartError) -> RequestFault {
    match error {
        MultipartError::Payload(error) => broken_body(error, MAX_UPLOAD_BYTES),
        MultipartError::Incomplete => malformed("broke off before its last boundary"),
        MultipartError::BoundaryMissing
        | MultipartError::ContentTypeMissing
        | MultipartError::ContentTypeParse => {
            malformed("has no usable boundary: send multipart/form-data with a boundary parameter")
        }
        MultipartError::ContentDispositionMissing | MultipartError::ContentDispositionNameMissing => {
            malformed("has a part whose Content-Disposition is not a readable form-data with a name")
        }
        _ => malformed("is not well-formed multipart/form-data"),
    }
}

fn malformed(message: &str) -> RequestFault {
    RequestFault::Shape(vec![ShapeFault::new::<&str>(&[], message)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(disposition: &str) -> Option<(String, Option<String>)> {
        names(Some(&HeaderValue::from_bytes(disposition.as_bytes()).unwrap()))
    }

    /// The name of the file, in a part named `files`.
    fn file_name(disposition: &str) -> String {
        let (part_name, file_name) = read(disposition).unwrap();
        assert_eq!(part_name, "files");
        file_name.unwrap()
    }

    #[test]
    fn a_file_name_is_read_in_every_form_that_clients_send() {
        for (disposition, expected) in [
            (r#"form-data; name="files"; filename="a b.pdf""#, "a b.pdf"),
            (
                r#"form-data; name="files"; filename="a\"b;c\\.pdf""#,
                r#"a"b;c\.pdf"#,
            ),
            (r#"form-data; name="files"; filename="Résumé.pdf""#, "Résumé.pdf"),
            ("form-data; name=files; filename=a.pdf", "a.pdf"),
            (
                r#"form-data; name="files"; filename="x.pdf"; filename*=UTF-8''R%C3%A9sum%C3%A9.pdf"#,
                "Résumé.pdf",
            ),
        ] {
            assert_eq!(file_name(disposition), expected, "{disposition}");
        }
    }

    #[test]
    fn a_part_without_a_readable_name_is_malformed() {
        assert_eq!(read("attachment; name=files"), None);
        assert_eq!(read(r#"form-data; filename="a.pdf""#), None);
        assert_eq!(read("form-data; name=\"files"), None);
        assert_eq!(read("form-data; name=files; filename*=UTF-8''%FF.pdf"), None);
        assert_eq!(names(None), None);
    }
}
