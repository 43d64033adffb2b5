//! The edited index against one built anew, and what it is asked.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::CampaignFilters;
use crate::matching::index::Frequencies;
use crate::matching::{MatchScratch, PreparedJob};
use crate::model::{CampaignId, FilterId, JobPost, OrganizationId};
use crate::port::{CallingThread, FilterChanges, Quarantine, Revision, StoredFilter};

const WORDS: [&str; 5] = ["rust", "go", "java", "axum", "qt"];

fn organization(number: u8) -> OrganizationId {
    OrganizationId::parse(&format!("org_{number}")).unwrap()
}

fn campaign(number: u8) -> CampaignId {
    CampaignId::parse(&format!("camp_{number}")).unwrap()
}

fn id(number: u8) -> FilterId {
    FilterId::parse(&format!("f_{number}")).unwrap()
}

fn filter(of: u8, in_campaign: u8, number: u8, keywords: &str) -> StoredFilter {
    StoredFilter {
        organization_id: organization(of),
        campaign_id: campaign(in_campaign),
        id: id(number),
        body: format!(r#"{{"keywords": "{keywords}"}}"#),
    }
}

fn changes(put: &[StoredFilter], removed: &[(OrganizationId, FilterId)]) -> FilterChanges {
    FilterChanges::Known {
        revision: Revision(1),
        put: put.to_vec(),
        removed: removed.to_vec(),
    }
}

fn job(title: &str) -> PreparedJob {
    let json = format!(
        r#"{{"id": "1", "ciphertext": "~1", "title": "{title}", "description": "", "url": "/1", "postedAt": 1,
            "metadata": {{}}}}"#
    );
    PreparedJob::new(&JobPost::parse(&json).unwrap().facts())
}

fn matched_by(filters: &mut CampaignFilters, title: &str) -> Vec<(OrganizationId, CampaignId)> {
    filters.matched_by(&job(title), &mut MatchScratch::default())
}

fn built_of(filters: &[StoredFilter]) -> CampaignFilters {
    let mut built = CampaignFilters::new(Frequencies::new(), Quarantine::default());
    built.add(filters, &CallingThread).unwrap();
    built
}

#[derive(Debug, Clone)]
enum Edit {
    Put {
        of: u8,
        in_campaign: u8,
        number: u8,
        word: usize,
    },
    Remove {
        of: u8,
        number: u8,
    },
    Observe(usize),
}

fn edits() -> impl Strategy<Value = Vec<Vec<Edit>>> {
    let edit = prop_oneof![
        5 => (0..2_u8, 0..3_u8, 0..6_u8, 0..WORDS.len())
            .prop_map(|(of, in_campaign, number, word)| Edit::Put { of, in_campaign, number, word }),
        2 => (0..2_u8, 0..6_u8).prop_map(|(of, number)| Edit::Remove { of, number }),
        1 => (0..WORDS.len()).prop_map(Edit::Observe),
    ];
    prop::collection::vec(prop::collection::vec(edit, 0..6), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Changes come as the store tells them: each filter once, as it is at the end.
    #[test]
    fn after_any_edits_the_index_answers_as_one_built_anew(rounds in edits()) {
        let mut edited = CampaignFilters::new(Frequencies::new(), Quarantine::default());
        let mut stored: BTreeMap<(OrganizationId, FilterId), StoredFilter> = BTreeMap::new();
        for edits in rounds {
            let mut changed = BTreeSet::new();
            for edit in edits {
                match edit {
                    Edit::Put { of, in_campaign, number, word } => {
                        let key = (organization(of), id(number));
                        stored.insert(key.clone(), filter(of, in_campaign, number, WORDS[word]));
                        changed.insert(key);
                    }
                    Edit::Remove { of, number } => {
                        let key = (organization(of), id(number));
                        stored.remove(&key);
                        changed.insert(key);
                    }
                    Edit::Observe(word) => edited.observe(&job(WORDS[word]), &mut MatchScratch::default()),
                }
            }
            let put: Vec<_> = changed.iter().filter_map(|key| stored.get(key).cloned()).collect();
            let removed: Vec<_> = changed.into_iter().filter(|key| !stored.contains_key(key)).collect();
            edited.apply(changes(&put, &removed), &CallingThread).unwrap();
            // What was applied in part is applied again.
            edited.apply(changes(&put, &removed), &CallingThread).unwrap();

            let all: Vec<_> = stored.values().cloned().collect();
            let mut anew = built_of(&all);
            prop_assert_eq!(edited.len(), anew.len());
            for title in WORDS.iter().chain(&["rust axum", "go java qt", "cobol"]) {
                prop_assert_eq!(matched_by(&mut edited, title), matched_by(&mut anew, title));
            }
        }
    }
}

#[test]
fn a_campaign_of_several_matching_filters_is_told_once_and_campaigns_are_in_order() {
    let mut filters = built_of(&[
        filter(2, 1, 1, "rust"),
        filter(1, 2, 1, "rust"),
        filter(1, 1, 2, "rust"),
        filter(1, 1, 3, "rust OR go"),
        filter(1, 3, 4, "java"),
    ]);
    let expected = [
        (organization(1), campaign(1)),
        (organization(1), campaign(2)),
        (organization(2), campaign(1)),
    ];
    assert_eq!(matched_by(&mut filters, "rust"), expected);
}

#[test]
fn filters_of_two_organizations_may_have_one_id() {
    let mut filters = built_of(&[filter(1, 1, 1, "rust"), filter(2, 1, 1, "rust")]);
    filters
        .apply(changes(&[], &[(organization(1), id(1))]), &CallingThread)
        .unwrap();
    assert_eq!(matched_by(&mut filters, "rust"), [(organization(2), campaign(1))]);
}

#[test]
fn a_filter_that_moved_to_another_campaign_matches_for_that_one() {
    let mut filters = built_of(&[filter(1, 1, 1, "rust")]);
    filters
        .apply(changes(&[filter(1, 2, 1, "rust")], &[]), &CallingThread)
        .unwrap();
    assert_eq!(matched_by(&mut filters, "rust"), [(organization(1), campaign(2))]);
}

#[test]
fn a_stored_filter_that_cannot_be_read_is_set_aside_and_the_others_match() {
    let quarantine = Quarantine::default();
    let mut filters = CampaignFilters::new(Frequencies::new(), quarantine.clone());
    let broken = StoredFilter {
        body: r#"{"keywords": 5}"#.to_owned(),
        ..filter(1, 1, 7, "")
    };
    filters
        .put(&[broken, filter(1, 1, 1, "rust")], &CallingThread)
        .unwrap();
    assert_eq!(matched_by(&mut filters, "rust"), [(organization(1), campaign(1))]);
    assert!(
        quarantine.holds("filters", organization(1), "f_7"),
        "{quarantine:?}"
    );
}
