//! List organizations: each with its subscription and its campaigns, for operators. Tests:
//! `tests/use_case/list_organizations.rs`.

use std::sync::Arc;

use crate::port::{Clock, OrganizationName, OverviewStore, ShellFacts, StoreError};

/// Organizations that are read at a time.
const PAGE: u32 = 200;

/// An organization in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedOrganization {
    /// Id and name.
    pub name: OrganizationName,
    /// Campaigns, subscription and quota; `None` if they cannot be read.
    pub facts: Option<ShellFacts>,
}

/// Lists the installation's organizations.
#[derive(Debug)]
pub struct ListOrganizations {
    /// Organizations.
    pub store: Arc<dyn OverviewStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ListOrganizations {
    /// By id. One that is removed meanwhile has no facts.
    pub async fn execute(&self) -> Result<Vec<ListedOrganization>, StoreError> {
        let now = self.clock.now();
        let mut listed = Vec::new();
        for name in self.names().await? {
            let facts = self.store.shell(&name.id, now).await?;
            listed.push(ListedOrganization { name, facts });
        }
        Ok(listed)
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
