//! The list of organizations.

use bidloop_domain::use_case::ListOrganizations;
use bidloop_port_contracts::fixture::{campaign, organization};

use crate::service::Service;

#[tokio::test]
async fn all_organizations_are_listed_with_what_they_have() {
    let service = Service::new().await;
    let stores = service.stores.clone();
    for number in 0..401 {
        let new = organization(&format!("org_{number:03}")).limit(7);
        new.campaign(campaign("camp")).provision(&stores).await;
    }
    let organizations = ListOrganizations {
        store: service.store.clone(),
        clock: service.clock.clone(),
    };
    let listed = organizations.execute().await.unwrap();
    assert_eq!(listed.len(), 402);
    assert!(listed.is_sorted_by_key(|listed| listed.name.id.clone()));
    let last = listed
        .iter()
        .find(|listed| listed.name.id.as_str() == "org_400")
        .unwrap();
    let usage = last.usage.as_ref().unwrap();
    assert_eq!((usage.subscription.proposal_limit, usage.used), (Some(7), 0));
    assert_eq!(last.campaigns, 1);
}
