//! Counts as one text, those of a transaction or those of many put together: JSON such as `[["org_acme","bid","camp","",0,1]]`.

use std::borrow::Cow;

use bidloop_domain::model::{CampaignId, OrganizationId, Tally};
use serde::{Deserialize, Serialize};

use crate::columns::{Attempt, Encoded, stored};

/// What is counted: organization, measure, campaign, subject and bucket; and its count. The organization and the campaign are
/// empty where there is none.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ListedCount<'l>(
    #[serde(borrow)] pub(crate) Cow<'l, str>,
    #[serde(borrow)] pub(crate) Cow<'l, str>,
    #[serde(borrow)] pub(crate) Cow<'l, str>,
    #[serde(borrow)] pub(crate) Cow<'l, str>,
    pub(crate) i64,
    pub(crate) i64,
);

/// The character that PostgreSQL has in no text, as JSON writes it.
const NUL: &str = "\\u0000";
/// No count is as large, and a thousand of them can be added.
const LARGEST_COUNT: i64 = 1 << 53;

/// The list of what was counted; `None` if that is nothing.
pub(crate) fn listed(tally: &Tally) -> Result<Option<Encoded>, serde_json::Error> {
    let counts = tally.counts().map(|(of, count)| {
        let organization = of.organization_id.as_ref().map_or("", OrganizationId::as_str);
        let campaign = of.campaign_id.as_ref().map_or("", CampaignId::as_str);
        ListedCount(
            organization.into(),
            of.measure.as_str().into(),
            campaign.into(),
            of.subject.as_str().into(),
            of.bucket.0.into(),
            stored(count),
        )
    });
    let counts: Vec<_> = counts.collect();
    if counts.is_empty() {
        return Ok(None);
    }
    list_of(counts.iter()).map(Some)
}

/// These counts as a list.
pub(crate) fn list_of<'c, 'l: 'c>(
    counts: impl Iterator<Item = &'c ListedCount<'l>>,
) -> Result<Encoded, serde_json::Error> {
    let counts: Vec<&ListedCount<'_>> = counts.collect();
    serde_json::to_string(&counts).map(Encoded)
}

/// The counts of a list. Of one that cannot be read there are none: it is one of thousands. Nor are there those that a database
/// could not store or add up, which would hold up the others.
pub(crate) fn counts(list: &Attempt<Encoded>) -> Vec<ListedCount<'_>> {
    let list = list.0.as_ref().ok().filter(|list| !list.0.contains(NUL));
    let counts = list.and_then(|list| serde_json::from_str(&list.0).ok());
    let mut counts: Vec<ListedCount<'_>> = counts.unwrap_or_default();
    counts.retain(|ListedCount(.., count)| (0..=LARGEST_COUNT).contains(count));
    counts
}

/// What a list contains if, and only if, one of its counts is the organization's.
pub(crate) fn mark_of(organization: &str) -> String {
    format!("[\"{organization}\",")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bidloop_domain::model::EndpointId;

    use super::*;

    fn acme() -> OrganizationId {
        OrganizationId::parse("org_acme").unwrap()
    }

    #[test]
    fn what_was_counted_is_read_as_it_was_written() {
        let mut tally = Tally::default();
        assert!(listed(&tally).unwrap().is_none());
        tally.jobs_seen(2);
        tally.matched(&acme(), &CampaignId::parse("camp").unwrap(), false);
        let endpoint = EndpointId::parse("wh").unwrap();
        tally.endpoint_sent(&acme(), &endpoint, true, Some(Duration::from_millis(80)));
        let list = listed(&tally).unwrap().unwrap();
        let expected = [
            r#"["","jobs_seen","","",0,2]"#,
            r#"["org_acme","endpoint_time","","wh",46,1]"#,
            r#"["org_acme","matched","camp","",0,1]"#,
        ];
        let expected = format!("[{}]", expected.join(","));
        assert_eq!(list.0, expected);
        let list = Attempt(Ok(list));
        let counts = counts(&list);
        let [seen, time, matched] = &counts[..] else {
            panic!("{counts:?}");
        };
        let texts =
            |count: &ListedCount<'_>| [&count.0, &count.1, &count.2, &count.3].map(ToString::to_string);
        assert_eq!(texts(seen), ["", "jobs_seen", "", ""]);
        assert_eq!(texts(time), ["org_acme", "endpoint_time", "", "wh"]);
        assert_eq!(texts(matched), ["org_acme", "matched", "camp", ""]);
        assert_eq!((seen.4, seen.5, time.4, time.5), (0, 2, 46, 1));
    }

    #[test]
    fn a_list_with_spaces_is_read_and_a_damaged_one_is_not() {
        let list = |text: &str| counts(&Attempt(Ok(Encoded(text.to_owned())))).len();
        assert_eq!(list(r#"[["org_acme", "bid", "camp", "", 0, 1]]"#), 1);
        assert_eq!(list(r#"[["org_acme", "bid", "camp", "\"", 0, 1]]"#), 1);
        for damaged in [
            "",
            "[[",
            "{}",
            r#"[["org_acme"]]"#,
            r#"[["a","b","c","d",0,"1"]]"#,
            r#"[["a","b","c\u0000","d",0,1]]"#,
            r#"[["a","b","c","d",0,-1]]"#,
            r#"[["a","b","c","d",0,9223372036854775807]]"#,
        ] {
            assert_eq!(list(damaged), 0, "{damaged}");
        }
    }

    #[test]
    fn an_organizations_mark_is_in_no_other_count() {
        let mark = mark_of(acme().as_str());
        assert!(r#"[["org_a","bid","","",0,1],["org_acme","bid","","",0,1]]"#.contains(&mark));
        for other in ["org_acme_2", "not_org_acme", ""] {
            let list = format!(r#"[["{other}","ended","org_acme","org_acme",0,1]]"#);
            assert!(!list.contains(&mark), "{list}");
        }
    }
}
