//! Testing an endpoint (decision E6).

use actix_web::HttpResponse;
use bidloop_domain::use_case::{TestWith, TryEndpointsError};

use super::list::{Above, ListQuery, Offer, integrations, page};
use super::place::EndpointPlace;
use crate::page::{PageError, go_to};
use crate::tries;
use crate::visit::Posted;

/// `POST …/{endpoint}/test`.
pub(crate) async fn test(
    Posted { visit, fields }: Posted,
    place: EndpointPlace,
) -> Result<HttpResponse, PageError> {
    let EndpointPlace { scope, endpoint } = place;
    let known = integrations(&visit, &scope).await?;
    if known.endpoints.iter().all(|known| known.endpoint.id != endpoint) {
        return Err(PageError::NotFound);
    }
    let with = TestWith {
        event: fields.text("event").parse().ok(),
        make_lead: fields.text("make") == "lead",
    };
    let (try_endpoints, requester, wanted) = (
        visit.console.try_endpoints.clone(),
        visit.signed_in.requester(),
        endpoint.clone(),
    );
    let tried = visit
        .console
        .runtime
        .run(async move { try_endpoints.test(&requester, &wanted, with).await });
    match tried.await? {
        Ok(tried) => {
            let (path, tried) = (scope.path(), tries::query([tried.id]));
            Ok(go_to(&visit, &format!("{path}?endpoint={endpoint}&{tried}")))
        }
        Err(TryEndpointsError::NoLead { can_make }) => {
            let offer = Offer {
                endpoint,
                event: with.event,
                can_make,
            };
            let above = Above {
                offer: Some(offer),
                ..Above::default()
            };
            page(&visit, &scope, &ListQuery::default(), &[], above).await
        }
        Err(error) => Err(tries::page_error(error, visit.now)),
    }
}
