//! What open pages are told of (contract section 6, `/events`).

use bidloop_domain::model::OrganizationId;
use bidloop_domain::use_case::{NoticeChanges, NoticedChange};

use crate::service::{Service, job};

#[tokio::test]
async fn an_open_page_is_told_of_matches_and_records_since_the_last_look() {
    let service = Service::new().await;
    let mut notice = NoticeChanges::new(service.store.clone());
    let organization = Service::organization();
    let watched = [organization.clone()];
    notice.look(&watched).await.unwrap();
    assert_eq!(notice.look(&watched).await.unwrap(), []);
    let lead = service.lead(&job("1")).await;
    let matches = NoticedChange::Matches(Service::campaign());
    assert_eq!(
        notice.look(&watched).await.unwrap(),
        [(organization.clone(), matches)]
    );
    assert_eq!(notice.look(&watched).await.unwrap(), []);
    service.reject(&lead).await;
    let told = notice.look(&watched).await.unwrap();
    assert_eq!(told, [(organization, NoticedChange::Activity)]);
}

#[tokio::test]
async fn anything_may_have_happened_before_the_first_look() {
    let service = Service::new().await;
    let mut notice = NoticeChanges::new(service.store.clone());
    let watched = [Service::organization()];
    let all = [
        NoticedChange::Matches(Service::campaign()),
        NoticedChange::Activity,
    ];
    let all = all.map(|change| (Service::organization(), change));
    assert_eq!(notice.look(&watched).await.unwrap(), all);
    let other = OrganizationId::parse("org_other").unwrap();
    assert_eq!(notice.look(&[other]).await.unwrap(), []);
    assert_eq!(
        notice.look(&watched).await.unwrap(),
        all,
        "nobody watched meanwhile"
    );
}
