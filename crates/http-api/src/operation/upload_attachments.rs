//! `POST /v1/campaigns/{campaign_id}/leads/{lead_id}/attachments` (specification, uploadLeadAttachments).
//!
//! The connection's thread sends the pieces of the body to the use case, which parses them on its own runtime. So memory
//! use is constant: reading is as slow as the storage. If the connection breaks, a refusal is recorded.

use std::pin::pin;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::attachment_rules::{MAX_FILE_BYTES, MAX_FILES};
use bidloop_domain::model::LeadAttachment;
use bidloop_domain::use_case::{LeadError, UploadSession};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use tokio::sync::mpsc;

use super::LeadRequest;
use bidloop_http_server::RequestBody;

use crate::HttpApi;
use crate::bodies_in_flight::{BodiesInFlight, Pool, Share};
use crate::errors::Refusal;
use crate::multipart::{Parts, Pieces, boundary_of};
use crate::request_body::{FORM_DATA, ReadFault, check_declared_length, check_media_type};

/// The most bytes of all heads and boundaries of the parts.
const FRAMING_BYTES: u64 = 1_048_576;

/// The largest upload: five files of 25 MB with their heads and boundaries.
const MAX_UPLOAD_BYTES: u64 = MAX_FILES as u64 * MAX_FILE_BYTES + FRAMING_BYTES;

/// The most pieces between the connection and the use case.
const PIECES_IN_FLIGHT: usize = 2;

/// Adds files to a lead's proposal, in place of the campaign's files. One faulty file causes all to be refused.
pub(crate) async fn upload_attachments(
    request: HttpRequest,
    payload: web::Payload,
    api: web::Data<HttpApi>,
    bodies: web::Data<BodiesInFlight>,
) -> HttpResponse {
    let body = RequestBody::new(payload, &request);
    let list = upload(&request, &body, &api, &bodies.uploads).await;
    Refusal::answer(body, list.map(|list| HttpResponse::Ok().json(list)))
}

async fn upload(
    request: &HttpRequest,
    body: &RequestBody,
    api: &HttpApi,
    bodies: &Arc<Pool>,
) -> Result<Vec<LeadAttachment>, Refusal> {
    let LeadRequest {
        requester,
        campaign,
        lead,
        mut share,
    } = LeadRequest::authenticate(request, api, MAX_UPLOAD_BYTES, bodies).await?;
    let declared = check_declared_length(request.headers(), MAX_UPLOAD_BYTES);
    let envelope = declared.and_then(|()| check_media_type(request.headers(), FORM_DATA));
    let upload = api.upload_attachments.clone();
    let session = api
        .run(async move { upload.begin(&requester, &campaign, &lead, envelope).await })
        .await??;

    let boundary = boundary_of(request.headers());
    let (sender, pieces) = mpsc::channel(PIECES_IN_FLIGHT);
    let receiving = api.start(receive(session, boundary, pieces));
    forward(body, sender, &mut share).await;
    Ok(receiving.await??)
}

/// Sends the body's pieces to the use case until the body ends or breaks off, or the use case stops because of a fault.
async fn forward(body: &RequestBody, pieces: mpsc::Sender<Result<Bytes, LeadError>>, share: &mut Share) {
    let pieces_of_body = body.stream(MAX_UPLOAD_BYTES, |bytes| {
        share.take(bytes).map_err(ReadFault::from)
    });
    let mut stream = pin!(pieces_of_body.map_err(LeadError::from));
    while let Some(piece) = stream.next().await {
        if pieces.send(piece).await.is_err() {
            return;
        }
    }
}

async fn receive(
    mut session: UploadSession,
    boundary: Result<String, LeadError>,
    pieces: Pieces,
) -> Result<Vec<LeadAttachment>, LeadError> {
    match add_files(&mut session, boundary, pieces).await {
        Ok(()) => session.finish().await,
        Err(fault) => Err(session.refuse(fault).await),
    }
}

async fn add_files(
    session: &mut UploadSession,
    boundary: Result<String, LeadError>,
    pieces: Pieces,
) -> Result<(), LeadError> {
    let mut parts = Parts::new(boundary?, pieces);
    while let Some((head, content)) = parts.next().await? {
        session.add_file(head, content).await?;
    }
    Ok(())
}
