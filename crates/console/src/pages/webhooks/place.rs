//! Where pages of endpoints are: under a campaign, or under the settings for those of the organization.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use bidloop_domain::model::{ActivityKind, CampaignId, EndpointId};

use crate::page::{PageError, campaign_id};

/// Whose endpoints the page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    /// The campaign, with those of the organization; `None` for the organization's alone.
    pub(crate) campaign: Option<CampaignId>,
}

impl Scope {
    fn of(request: &HttpRequest) -> Result<Self, PageError> {
        let campaign = request.match_info().get("campaign");
        Ok(Self {
            campaign: campaign.map(campaign_id).transpose()?,
        })
    }

    /// The deliveries in Activity: the campaign's, or all.
    pub(crate) fn deliveries_in_activity(&self) -> String {
        let record = match &self.campaign {
            Some(campaign) => format!("/campaigns/{campaign}/activity"),
            None => "/activity".to_owned(),
        };
        format!("{record}?kind={}", ActivityKind::Delivery.as_str())
    }

    /// The path of the list.
    pub(crate) fn path(&self) -> String {
        match &self.campaign {
            Some(campaign) => format!("/campaigns/{campaign}/integrations"),
            None => "/settings/integrations/webhooks".to_owned(),
        }
    }
}

/// Where the deliveries of an endpoint are shown; `campaign` is its own, `None` for the organization's.
pub(crate) fn deliveries_path(campaign: Option<&CampaignId>, endpoint: &EndpointId) -> String {
    let scope = Scope {
        campaign: campaign.cloned(),
    };
    format!("{}?endpoint={endpoint}", scope.path())
}

impl FromRequest for Scope {
    type Error = PageError;
    type Future = Ready<Result<Self, PageError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::of(request))
    }
}

/// One endpoint of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndpointPlace {
    pub(crate) scope: Scope,
    pub(crate) endpoint: EndpointId,
}

impl FromRequest for EndpointPlace {
    type Error = PageError;
    type Future = Ready<Result<Self, PageError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let endpoint = request.match_info().get("endpoint").unwrap_or_default();
        ready(Scope::of(request).and_then(|scope| {
            let endpoint = EndpointId::parse(endpoint).map_err(|_| PageError::NotFound)?;
            Ok(Self { scope, endpoint })
        }))
    }
}
