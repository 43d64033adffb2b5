//! `GET /v1/campaigns/{campaign_id}/leads` (specification, listCampaignLeads).

use std::sync::Arc;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse};
use bidloop_domain::model::OrganizationId;
use bidloop_domain::use_case::{ListedLeads, MAX_PAGE, Piece};
use bytes::Bytes;
use futures::stream;
use url::form_urlencoded;

use super::path_ids;
use bidloop_http_server::{
    Answer, BytePool, ByteShare, Coding, ContentTag, Holding, WORTH_COMPRESSING_BYTES, asks_for_gzip,
};

use crate::HttpApi;
use crate::bodies_in_flight::{BodiesInFlight, overloaded, share_of};
use crate::compressed_pages::length_of;
use crate::errors::Refusal;
use crate::routes::Ids;

/// The largest offset, which is beyond any list.
const MAX_OFFSET: i128 = i64::MAX as i128;

/// Lists a campaign's leads, newest first.
///
/// Every job on the returned page becomes a stored lead with a stable id.
pub(crate) async fn list_leads(
    request: &HttpRequest,
    ids: Ids<'_>,
    api: &HttpApi,
    bodies: &BodiesInFlight,
) -> HttpResponse {
    match page(request, ids, api, &bodies.pages).await {
        Ok(page) => page.answer(request, api, bodies).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Caches may keep a page for its caller, and ask each time whether it is still the same.
const REVALIDATED: &str = "private, no-cache";

/// `LeadPage` in pieces, so that the page as a whole is never copied.
struct Page {
    pieces: Vec<Piece>,
    organization: OrganizationId,
    /// What it holds until the caller has read it. A compressed page holds as much: it is shorter.
    share: ByteShare,
}

impl Page {
    async fn answer(self, request: &HttpRequest, api: &HttpApi, bodies: &BodiesInFlight) -> HttpResponse {
        let length = length_of(&self.pieces);
        let tag = ContentTag::of(self.pieces.iter().map(Piece::identity));
        let asks_for_gzip = length >= WORTH_COMPRESSING_BYTES && asks_for_gzip(request);
        if let Some(coding) = tag.known(request.headers(), asks_for_gzip) {
            return tag.begin_answer(Answer::Known(coding), REVALIDATED).finish();
        }
        let pages = &bodies.compressed_pages;
        let compressed = if asks_for_gzip {
            pages
                .page(&self.organization, tag, &self.pieces, api.runtime.handle())
                .await
        } else {
            None
        };
        let (coding, body) = match compressed {
            Some(page) => (Coding::Gzip, BoxBody::new(page)),
            None => (Coding::Identity, BoxBody::new(stream_of(self.pieces, length))),
        };
        tag.begin_answer(Answer::Content(coding), REVALIDATED)
            .content_type(ContentType::json())
            .body(Holding::new(self.share, body))
    }
}

async fn page(
    request: &HttpRequest,
    ids: Ids<'_>,
    api: &HttpApi,
    pages: &Arc<BytePool>,
) -> Result<Page, Refusal> {
    let caller = api.authenticate(request).await?;
    let mut share = share_of(pages, &caller);
    let (campaign, _) = path_ids::read(&caller, ids)?;
    let (offset, limit) = offset_and_limit(request.query_string());
    let organization = &caller.organization_id;
    let list = api.list_leads.execute(organization, &campaign, offset, limit);
    let listed = api.runtime.read(list).await??;
    share.take(length_of(&listed.data)).map_err(overloaded)?;
    Ok(Page {
        pieces: pieces_of(listed),
        organization: caller.organization_id,
        share,
    })
}

/// Reads the query, which is never refused (decision A4): a value out of bounds counts as the nearer bound, a value that
/// is not an integer as the default. Of a repeated parameter, the first counts.
fn offset_and_limit(query: &str) -> (u64, u32) {
    let parameter = |wanted: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == wanted)
            .and_then(|(_, value)| integer(&value))
    };
    let offset = parameter("offset").map_or(0, |offset| offset.clamp(0, MAX_OFFSET));
    let max = i128::from(MAX_PAGE);
    let limit = parameter("limit").map_or(max, |limit| limit.clamp(1, max));
    (
        u64::try_from(offset).unwrap_or(0),
        u32::try_from(limit).unwrap_or(MAX_PAGE),
    )
}

/// Reads an integer of any length; it saturates at the bounds of `i128`.
fn integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bound = if text.starts_with('-') {
        i128::MIN
    } else {
        i128::MAX
    };
    Some(text.parse().unwrap_or(bound))
}

fn pieces_of(page: ListedLeads) -> Vec<Piece> {
    let tail = format!(
        r#","total":{},"offset":{},"limit":{},"hasMore":{}}}"#,
        page.total,
        page.offset,
        page.limit,
        page.has_more()
    );
    let mut pieces = Vec::with_capacity(page.data.len() + 2);
    pieces.push(Piece::Own(Bytes::from_static(br#"{"data":"#)));
    pieces.extend(page.data);
    pieces.push(Piece::Own(Bytes::from(tail)));
    pieces
}

fn stream_of(
    pieces: Vec<Piece>,
    length: usize,
) -> SizedStream<impl futures::Stream<Item = Result<Bytes, std::convert::Infallible>>> {
    let pieces = pieces.into_iter().map(|piece| Ok(piece.into()));
    SizedStream::new(length as u64, stream::iter(pieces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_query_is_an_error() {
        assert_eq!(offset_and_limit(""), (0, 100));
        assert_eq!(offset_and_limit("offset=20&limit=10"), (20, 10));
        assert_eq!(
            offset_and_limit("offset=1&offset=2"),
            (1, 100),
            "the first counts"
        );
        assert_eq!(offset_and_limit("offset=%zz&limit=%ff"), (0, 100));
        assert_eq!(offset_and_limit("&&==&offset&limit="), (0, 100));
        assert_eq!(offset_and_limit("limit=0&offset=-1"), (0, 1));
        assert_eq!(offset_and_limit("limit=1e2&offset=2.0"), (0, 100));
        assert_eq!(offset_and_limit("%6Fffset=%35"), (5, 100), "percent-encoded");
    }
}
