//! `POST /v1/campaigns/{campaign_id}/leads/{lead_id}/attachments` (specification, uploadLeadAttachments).
//!
//! The connection's thread sends the pieces of the body to the use case, which parses them on its own runtime. So memory
//! use is constant: reading is as slow as the storage. If the connection breaks, a refusal is recorded.

use actix_web::{HttpRequest, HttpResponse};
use bidloop_domain::attachment_rules::{MAX_FILE_BYTES, MAX_FILES};
use bidloop_domain::model::LeadAttachment;
use bidloop_domain::use_case::{LeadError, PartHead, UploadSession};
use bidloop_http_server::{
    FRAMING_BYTES, FormDataFault, Parts, Pieces, RequestBody, boundary_of, pieces, send_pieces,
};
use futures::TryStreamExt;

use super::LeadRequest;
use crate::HttpApi;
use crate::bodies_in_flight::BodiesInFlight;
use crate::errors::Refusal;
use crate::request_body::{FORM_DATA, ReadFault, check_declared_length, check_media_type, malformed};
use crate::routes::Ids;

/// The largest upload: five files of 25 MB with their heads and boundaries.
const MAX_UPLOAD_BYTES: u64 = MAX_FILES as u64 * MAX_FILE_BYTES + FRAMING_BYTES;

/// Adds files to a lead's proposal, in place of the campaign's files. One faulty file causes all to be refused.
pub(crate) async fn upload_attachments(
    request: &HttpRequest,
    ids: Ids<'_>,
    body: &RequestBody,
    api: &HttpApi,
    bodies: &BodiesInFlight,
) -> Result<HttpResponse, Refusal> {
    let LeadRequest {
        requester,
        campaign,
        lead,
        mut share,
    } = LeadRequest::authenticate(request, ids, api, MAX_UPLOAD_BYTES, &bodies.uploads).await?;
    let declared = check_declared_length(request.headers(), MAX_UPLOAD_BYTES);
    let envelope = declared.and_then(|()| check_media_type(request.headers(), FORM_DATA));
    let upload = api.upload_attachments.clone();
    let session = api
        .runtime
        .run(async move { upload.begin(&requester, &campaign, &lead, envelope).await })
        .await??;

    let boundary = boundary_of(request.headers());
    let (sender, pieces) = pieces();
    let receiving = api.runtime.start(receive(session, boundary, pieces));
    let pieces_of_body = body.stream(MAX_UPLOAD_BYTES, |bytes| {
        share.take(bytes).map_err(ReadFault::from)
    });
    send_pieces(pieces_of_body.map_err(LeadError::from), sender).await;
    Ok(HttpResponse::Ok().json(receiving.await??))
}

async fn receive(
    mut session: UploadSession,
    boundary: Result<String, FormDataFault>,
    pieces: Pieces<LeadError>,
) -> Result<Vec<LeadAttachment>, LeadError> {
    match add_files(&mut session, boundary, pieces).await {
        Ok(()) => session.finish().await,
        Err(fault) => Err(session.refuse(fault).await),
    }
}

async fn add_files(
    session: &mut UploadSession,
    boundary: Result<String, FormDataFault>,
    pieces: Pieces<LeadError>,
) -> Result<(), LeadError> {
    let mut parts = Parts::new(boundary.map_err(worded)?, pieces, worded);
    while let Some((head, content)) = parts.next().await? {
        let head = PartHead {
            name: head.name,
            file_name: head.file_name,
            content_type: head.content_type,
        };
        session.add_file(head, content).await?;
    }
    Ok(())
}

fn worded(fault: FormDataFault) -> LeadError {
    malformed(&fault.to_string())
}
