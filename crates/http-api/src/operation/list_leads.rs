//! `GET /v1/campaigns/{campaign_id}/leads` (specification, listCampaignLeads).

use actix_web::body::SizedStream;
use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::use_case::{ListedLeads, PageRequest};
use bytes::Bytes;
use futures::stream;
use url::form_urlencoded;

use super::path_ids;
use crate::HttpApi;
use crate::errors::Refusal;
use crate::openapi::schemas;

/// List a campaign's leads, newest first.
///
/// Every job on the returned page becomes a stored lead with a stable id.
#[utoipa::path(
    get,
    path = "/v1/campaigns/{campaign_id}/leads",
    operation_id = "listCampaignLeads",
    tag = "leads",
    params(schemas::CampaignPath, schemas::PageQuery),
    responses(
        (status = 200, description = "The page.", body = schemas::LeadPage),
        schemas::Unauthorized,
        schemas::NotFound,
        schemas::Unforeseen,
        schemas::Unavailable,
    ),
)]
pub(crate) async fn list_leads(request: HttpRequest, api: web::Data<HttpApi>) -> HttpResponse {
    match page(&request, &api).await {
        Ok(listed) => HttpResponse::Ok()
            .content_type(ContentType::json())
            .body(page_body(listed)),
        Err(refusal) => refusal.into_response(),
    }
}

async fn page(request: &HttpRequest, api: &HttpApi) -> Result<ListedLeads, Refusal> {
    let caller = api.authenticate(request).await?;
    let campaign = path_ids::campaign(request).ok_or_else(Refusal::campaign_unknown)?;
    let page = page_request(request.query_string());
    let list = api.list_leads.clone();
    let listed = api
        .run(async move { list.execute(&caller, &campaign, page).await })
        .await?;
    Ok(listed?)
}

/// Reads the query without ever failing (decision A4); of a parameter that is repeated, the first counts.
fn page_request(query: &str) -> PageRequest {
    let parameter = |wanted: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value)
    };
    PageRequest::from_query(parameter("offset").as_deref(), parameter("limit").as_deref())
}

/// `LeadPage`: the leads' bytes as they are, one after the other, without a copy of the page as a whole.
fn page_body(
    page: ListedLeads,
) -> SizedStream<impl futures::Stream<Item = Result<Bytes, std::convert::Infallible>>> {
    let tail = format!(
        r#"],"total":{},"offset":{},"limit":{},"hasMore":{}}}"#,
        page.total,
        page.offset,
        page.limit,
        page.has_more()
    );
    let mut pieces = Vec::with_capacity(page.data.len() * 2 + 2);
    pieces.push(Bytes::from_static(br#"{"data":["#));
    for (index, lead) in page.data.into_iter().enumerate() {
        if index > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(Bytes::from(String::from(Box::<str>::from(lead))));
    }
    pieces.push(Bytes::from(tail));
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    SizedStream::new(length, stream::iter(pieces.into_iter().map(Ok)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(query: &str) -> (u64, u32) {
        let page = page_request(query);
        (page.offset(), page.limit())
    }

    #[test]
    fn no_query_is_an_error() {
        assert_eq!(used(""), (0, 100));
        assert_eq!(used("offset=20&limit=10"), (20, 10));
        assert_eq!(used("offset=1&offset=2"), (1, 100), "the first counts");
        assert_eq!(used("offset=%zz&limit=%ff"), (0, 100));
        assert_eq!(used("&&==&offset&limit="), (0, 100));
        assert_eq!(used("limit=0&offset=-1"), (0, 1));
        assert_eq!(used("limit=1e2&offset=2.0"), (0, 100));
        assert_eq!(used("%6Fffset=%35"), (5, 100), "percent-encoded is as good");
    }
}
