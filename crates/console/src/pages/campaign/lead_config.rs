//! A lead's own bidding: the values that bids on this lead have, whoever makes them (decision A7).

use actix_web::{HttpResponse, web};
use askama::Template;
use bidloop_domain::model::{BiddingConfig, FieldError, effective};
use bidloop_domain::use_case::ManageLeadError;
use serde_json::Value;

use super::lead_actions::page_error;
use super::lead_place::{JobQuery, LeadPlace};
use crate::bidding_fields::{self, Override};
use crate::form::Fields;
use crate::page::{PageError, Refusal, go_to};
use crate::sheet;
use crate::shell::Shell;
use crate::visit::{Posted, Visit};

#[derive(Template)]
#[template(path = "lead_config_form.html")]
struct ConfigForm {
    path: String,
    job: Option<String>,
    /// The lead's page.
    lead: String,
    csrf: String,
    fields: Vec<Override>,
    faults: Vec<FieldError>,
    /// Why it was not taken, whatever is typed.
    refusal: Option<Refusal>,
}

impl ConfigForm {
    fn fault(&self, field: &str) -> Option<&str> {
        let of_field = |fault: &&FieldError| fault.path.last().is_some_and(|name| name == field);
        self.faults
            .iter()
            .find(of_field)
            .map(|fault| fault.message.as_str())
    }
}

/// `GET …/leads/{l}/configure`.
pub(crate) async fn ask(
    visit: Visit,
    path: web::Path<(String, String)>,
    query: web::Query<JobQuery>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of_query(&path, &query)?;
    show(&visit, &place, None, Vec::new(), None).await
}

/// The form with what was typed or, without it, with what the lead has.
async fn show(
    visit: &Visit,
    place: &LeadPlace,
    typed: Option<&Fields>,
    faults: Vec<FieldError>,
    refusal: Option<Refusal>,
) -> Result<HttpResponse, PageError> {
    let status = Refusal::status(refusal.as_ref());
    let view = place.view(visit).await?;
    let none = BiddingConfig::default();
    let otherwise = effective(&none, &none, &view.campaign.bidding_config);
    let own = own_fields(&view.lead.bidding_config);
    let form = ConfigForm {
        path: place.path(),
        job: place.job(),
        lead: place.address_of(""),
        csrf: visit.csrf.clone(),
        fields: Override::all(typed.unwrap_or(&own), &otherwise),
        faults,
        refusal,
    };
    let shell = Shell::within(visit, &place.campaign);
    sheet::show_with(visit, status, "Own bidding of this lead", &form, shell).await
}

/// The form of a configuration.
fn own_fields(config: &BiddingConfig) -> Fields {
    let values = serde_json::to_value(config).unwrap_or_default();
    let mut fields = Fields::default();
    for field in &bidding_fields::FIELDS {
        match &values[field.name] {
            Value::Null => {}
            Value::String(word) => fields.push(field.name.to_owned(), word.clone()),
            value => fields.push(field.name.to_owned(), value.to_string()),
        }
    }
    fields
}

/// `POST …/leads/{l}/configure`.
pub(crate) async fn set(
    Posted { visit, fields }: Posted,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let place = LeadPlace::of(&path, fields.text("job"))?;
    let config = match bidding_fields::overrides(&fields) {
        Ok(config) => config,
        Err(faults) => return show(&visit, &place, Some(&fields), faults, None).await,
    };
    let place = place.located(&visit).await?;
    let (manage, requester, wanted) = (
        visit.console.manage_lead.clone(),
        visit.signed_in.requester(),
        place.clone(),
    );
    let configured = visit.console.runtime.run(async move {
        manage
            .configure(&requester, &wanted.campaign, &wanted.address, &config)
            .await
    });
    match configured.await? {
        Ok(()) => Ok(go_to(&visit, &format!("{}?done=saved", place.path()))),
        Err(ManageLeadError::Faulty(faults)) => show(&visit, &place, Some(&fields), faults, None).await,
        Err(error) => {
            let refusal = page_error(error).above_form()?;
            show(&visit, &place, Some(&fields), Vec::new(), Some(refusal)).await
        }
    }
}

#[cfg(test)]
mod tests {
    use bidloop_domain::model::BIDDING_CONFIG_FIELDS;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_lead_has_is_typed_in_its_form() {
        let config = json!({
            "bidWithWarning": "bid", "biddingHourlyRateStrategy": "fixed_rate", "biddingHourlyRatePercentage": 90,
            "biddingFixedHourlyRate": 72.5, "biddingMinHourlyRate": 40, "boostingEnabled": true,
            "boostDownToNthPlace": 2, "connectsAbovePrevious": 1, "minBoost": 3, "maximumBoost": 25,
            "insufficientBoostConnectsAction": "skip", "alreadyHiredAction": "bid"
        });
        let config = BiddingConfig::from_value(&config, &[""; 0]).unwrap();
        let fields = own_fields(&config);
        assert_eq!(fields.len(), BIDDING_CONFIG_FIELDS.len());
        assert_eq!(bidding_fields::overrides(&fields), Ok(config));
        assert_eq!(own_fields(&BiddingConfig::default()).len(), 0);
    }
}
