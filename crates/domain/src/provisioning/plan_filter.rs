//! From patches to changes: saved filters.

use serde_json::{Map, Value};

use super::document::{CampaignPatch, FilterPatch};
use super::faults::path_to;
use super::plan::Planner;
use super::plan_campaign::Owner;
use super::report::EntityKind;
use crate::model::{CampaignId, SavedFilter, merge_patch};
use crate::port::{FilterRecord, ProvisioningChange};

impl Planner<'_> {
    /// Plans the campaign's filters; whether it will have one.
    pub(super) fn filters(
        &mut self,
        owner: &Owner<'_>,
        campaign: &CampaignId,
        patch: &CampaignPatch,
    ) -> bool {
        let Owner {
            id: organization,
            standing,
            leaving,
            ..
        } = *owner;
        let mut before = standing
            .campaigns
            .get(campaign)
            .into_iter()
            .flat_map(|record| &record.filters);
        let stays = before.any(|filter| !leaving.filters.contains(&filter.id));
        let mut has_filter = stays || !patch.filters.whole;
        for filter in &patch.filters.entries {
            has_filter |= !filter.absent;
            let Some(id) = &filter.id else {
                self.judge_filter_body(filter, None);
                continue;
            };
            let known = standing.filters.get(id).copied();
            if filter.absent {
                if known.is_some_and(|(holder, _)| holder == campaign) {
                    let change =
                        ProvisioningChange::RemoveFilter(organization.clone(), campaign.clone(), id.clone());
                    self.remove(organization, EntityKind::Filter, id.as_str(), change);
                } else {
                    self.report.unchanged += 1;
                }
                continue;
            }
            let before = known.filter(|_| !leaving.filters.contains(id));
            if let Some((other, _)) = before.filter(|(other, _)| *other != campaign) {
                let message = format!(
                    "\"{id}\" is a filter of campaign \"{other}\" already: ids are unique within the organization"
                );
                self.faults.push(&path_to(&filter.path, "id"), message);
                continue;
            }
            let before = before.map(|(_, record)| record);
            let Some(body) = self.judge_filter_body(filter, before.map(|record| &record.body)) else {
                continue;
            };
            let after = FilterRecord {
                id: id.clone(),
                name: filter
                    .name
                    .over(before.map(|record| record.name.clone()), id.to_string()),
                body,
            };
            if self.settle(organization, EntityKind::Filter, id.as_str(), before, &after) {
                let change = ProvisioningChange::PutFilter(organization.clone(), campaign.clone(), after);
                self.puts.push(change);
            }
        }
        has_filter
    }

    /// The filter's body over what stands; `None` with its faults.
    pub(super) fn judge_filter_body(
        &mut self,
        patch: &FilterPatch,
        standing: Option<&Value>,
    ) -> Option<Value> {
        let nothing = Value::Object(Map::new());
        let body = merge_patch(standing.unwrap_or(&nothing), &Value::Object(patch.body.clone()));
        match SavedFilter::from_value(&body) {
            Ok(_) => Some(body),
            Err(faults) => {
                for fault in faults {
                    let fault = fault.under(&patch.path);
                    self.faults.push(&fault.path, fault.message);
                }
                None
            }
        }
    }
}
