//! 100,000 saved filters: 10 each of 10 campaigns each of 1,000 organizations. The campaigns are active and push each
//! match to their organization's endpoint.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::workload::{Filters, Kind};
use crate::world::subscription;

const ORGANIZATIONS: usize = 1_000;
const CAMPAIGNS: usize = 10;
const FILTERS: usize = 10;
/// Organizations of one document.
const ORGANIZATIONS_AT_ONCE: usize = 50;
/// The number of filters.
pub(super) const COUNT: usize = ORGANIZATIONS * CAMPAIGNS * FILTERS;
/// One in this many is taken of the workload's filters with two groups, which match the most jobs. A job then matches
/// some 10 of all campaigns.
const TWO_GROUPS_ONE_IN: usize = 4;

/// The ids of the organization, the campaign and the filter that are edited.
pub(super) const EDITED: [&str; 3] = ["organization_0", "edited", "edited"];

/// The provisioning documents, to be applied one after the other. While one is applied, no other process can write.
pub(super) fn documents(receiver: SocketAddr) -> Vec<Value> {
    let mut filters = wanted();
    let mut organizations = Vec::with_capacity(ORGANIZATIONS);
    for number in 0..ORGANIZATIONS {
        let mut campaigns = Vec::with_capacity(CAMPAIGNS + 1);
        for campaign in 0..CAMPAIGNS {
            let filters = filters
                .by_ref()
                .take(FILTERS)
                .enumerate()
                .map(|(place, mut filter)| {
                    filter["id"] = json!(format!("filter_{campaign}_{place}"));
                    filter["name"] = json!("A filter");
                    filter
                });
            let filters: Vec<Value> = filters.collect();
            campaigns.push(active(&format!("campaign_{campaign}"), &filters));
        }
        if number == 0 {
            campaigns.push(active(EDITED[1], &[edition(0)]));
        }
        organizations.push(json!({
            "id": format!("organization_{number}"), "name": "Benchmark", "subscription": subscription(),
            "webhooks": [{
                "id": "endpoint", "url": format!("http://{receiver}/{number}"), "events": ["job.new"], "active": true,
            }],
            "campaigns": campaigns,
        }));
    }
    let together = organizations.chunks(ORGANIZATIONS_AT_ONCE);
    together
        .map(|organizations| json!({"organizations": organizations}))
        .collect()
}

/// A provisioning document that changes the edited filter: it then asks for this word.
pub(super) fn edit(number: usize) -> Value {
    let [organization, campaign, _] = EDITED;
    json!({"organizations": [{
        "id": organization, "campaigns": [{"id": campaign, "filters": [edition(number)]}],
    }]})
}

/// A word that no other filter asks for and no other job has.
pub(super) fn word(number: usize) -> String {
    format!("edition{number}")
}

fn edition(number: usize) -> Value {
    json!({"id": EDITED[2], "name": "Edited", "keywords": word(number)})
}

fn active(id: &str, filters: &[Value]) -> Value {
    json!({"id": id, "name": id, "mode": "external", "state": "active", "filters": filters})
}

fn wanted() -> impl Iterator<Item = Value> {
    let mut two_groups = 0;
    Filters::new(Kind::Selective, 22, &[]).filter(move |filter| {
        let groups = filter["keywords"]
            .as_str()
            .map_or(0, |keywords| keywords.matches('(').count());
        two_groups += usize::from(groups == 2);
        groups > 2 || two_groups % TWO_GROUPS_ONE_IN == 0
    })
}
