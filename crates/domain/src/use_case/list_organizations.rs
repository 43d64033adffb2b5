//! List organizations: each with its subscription and its campaigns, for operators. Tests:
//! `tests/use_case/list_organizations.rs`.

use std::sync::Arc;

use crate::port::{Clock, OrganizationName, OrganizationSummary, OverviewStore, StoreError};

/// Organizations that are read at a time.
const PAGE: u32 = 200;

/// Lists the installation's organizations.
#[derive(Debug)]
pub struct ListOrganizations {
    /// Organizations.
    pub store: Arc<dyn OverviewStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ListOrganizations {
    /// By id.
    pub async fn execute(&self) -> Result<Vec<OrganizationSummary>, StoreError> {
        let now = self.clock.now();
        let mut listed: Vec<OrganizationSummary> = Vec::new();
        loop {
            let last = listed.last().map(|last| &last.name.id);
            let page = self.store.summaries(last, PAGE, now).await?;
            if page.is_empty() {
                return Ok(listed);
            }
            listed.extend(page);
        }
    }

    /// Ids and names alone, by id.
    pub async fn names(&self) -> Result<Vec<OrganizationName>, StoreError> {
        let mut names: Vec<OrganizationName> = Vec::new();
        loop {
            let page = self
                .store
                .organizations(names.last().map(|last| &last.id), PAGE)
                .await?;
            if page.is_empty() {
                return Ok(names);
            }
            names.extend(page);
        }
    }
}
