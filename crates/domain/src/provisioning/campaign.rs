//! A campaign's own fields. Its filters and webhooks are entities of their own.

use std::collections::HashSet;

use bidloop_matching::json::{Field, Fields, Null};
use serde_json::Value;

use super::attachments::read_attachments;
use super::reconcile::{Current, Entity, Entry, Owner, Planner};
use super::records::{CampaignRecord, ProvisioningChange};
use super::report::EntityKind;
use super::values;
use crate::model::{
    AccountId, AnswerTemplate, BiddingConfig, CampaignId, CampaignMode, CampaignState, OrganizationId,
    ProposalFile, ProposalTemplate, effective,
};

impl Entity for CampaignRecord {
    type Id = CampaignId;
    const KIND: EntityKind = EntityKind::Campaign;

    fn read_id(value: &Value) -> Result<CampaignId, String> {
        values::id(value)
    }

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn read_state(_: &mut Fields<'_, '_>) {}

    fn merge(entry: &mut Entry<'_, '_, '_, Self, Self::Id>, planner: &mut Planner<'_>) -> Option<Self> {
        let name = entry.required("name", values::words, |campaign| &campaign.name);
        let modes = values::words_of::<CampaignMode>();
        let mode = entry.required("mode", values::word(&modes), |campaign| &campaign.mode);
        let state = state(entry, mode);
        let account_id = account(entry, planner);
        let bidding_config = bidding_config(entry);
        let attachments = attachments(entry, planner);
        let proposal = proposal(entry, planner.provided.check_template);
        Some(Self {
            id: entry.target.take()?.id.clone(),
            name: name?,
            mode: mode?,
            state: state?,
            account_id,
            bidding_config: bidding_config?,
            proposal,
            attachments,
            filters: Vec::new(),
        })
    }

    fn put(self, organization: OrganizationId) -> ProvisioningChange {
        ProvisioningChange::PutCampaign(organization, Box::new(self))
    }

    fn remove(owner: Owner<'_>, id: CampaignId) -> Option<ProvisioningChange> {
        Some(ProvisioningChange::RemoveCampaign(owner.organization.clone(), id))
    }
}

type CampaignEntry<'r, 'v, 'f> = Entry<'r, 'v, 'f, CampaignRecord, CampaignId>;

fn state(entry: &mut CampaignEntry<'_, '_, '_>, mode: Option<CampaignMode>) -> Option<CampaignState> {
    let states = [
        ("active", Some(CampaignState::Active)),
        ("paused", Some(CampaignState::Paused)),
        ("absent", None),
    ];
    match entry.fields.field("state", Null::Allowed, values::word(&states)) {
        Field::Given(state) => state,
        Field::Null => Some(CampaignState::Paused),
        Field::Faulty => None,
        Field::Absent => Some(match entry.current.known() {
            Some(before) => state_after_switch((before.mode, before.state), mode?),
            None => CampaignState::Paused,
        }),
    }
}

/// The state of a campaign whose state the file does not name. A switch to External pauses the campaign.
fn state_after_switch(before: (CampaignMode, CampaignState), after: CampaignMode) -> CampaignState {
    let switches = before.0 != CampaignMode::External && after == CampaignMode::External;
    if switches { CampaignState::Paused } else { before.1 }
}

/// The account to bid with, which the organization must have after the changes.
fn account(entry: &mut CampaignEntry<'_, '_, '_>, planner: &Planner<'_>) -> Option<AccountId> {
    let stays = |account: &&AccountId| {
        planner.accounts.contains(account.as_str())
            || planner.unread.contains(&(EntityKind::BidderAccount, None))
    };
    let field = entry
        .fields
        .field("bidderAccountId", Null::Allowed, values::id::<AccountId>);
    let is_planned = matches!(entry.current, Current::Known(_) | Current::New);
    if let Field::Given(account) = &field
        && is_planned
        && !stays(&account)
    {
        let message =
            format!("the organization has no bidder account \"{account}\": add it to \"bidderAccounts\"");
        entry.fields.fault("bidderAccountId", message);
    }
    let before = entry
        .current
        .known()
        .and_then(|campaign| campaign.account_id.as_ref());
    field.over(before.filter(stays).cloned())
}

fn bidding_config(entry: &mut CampaignEntry<'_, '_, '_>) -> Option<BiddingConfig> {
    let change = entry.fields.raw("biddingConfig");
    if matches!(entry.current, Current::Irrelevant) {
        return None;
    }
    let before = entry
        .current
        .known()
        .map(|campaign| campaign.bidding_config.clone());
    let before = before.unwrap_or_default();
    let change = match change {
        None => return Some(before),
        Some(Value::Null) => return Some(BiddingConfig::default()),
        Some(change) => change,
    };
    match before.merge_patch(change, &["biddingConfig"]) {
        Ok(config) => {
            let unset = BiddingConfig::default();
            let in_file = |field: &str| change.get(field).is_some_and(|value| !value.is_null());
            entry
                .fields
                .report(effective(&unset, &unset, &config).shape_fault(in_file));
            Some(config)
        }
        Err(faults) => {
            entry.fields.report(faults);
            None
        }
    }
}

/// The campaign's files. The list replaces the current one as a whole; files with a reported fault are left out.
fn attachments(entry: &mut CampaignEntry<'_, '_, '_>, planner: &Planner<'_>) -> Vec<ProposalFile> {
    match read_attachments(entry.fields) {
        Field::Given(files) => {
            let files = files.into_iter().filter_map(|file| {
                Some(ProposalFile {
                    blob: planner.provided.blobs.get(&file.path)?.clone(),
                    name: file.name.as_str().to_owned(),
                    content_type: file.content_type.as_str().to_owned(),
                })
            });
            files.collect()
        }
        Field::Null => Vec::new(),
        Field::Absent | Field::Faulty => entry
            .current
            .known()
            .map(|campaign| campaign.attachments.clone())
            .unwrap_or_default(),
    }
}

fn proposal(
    entry: &mut CampaignEntry<'_, '_, '_>,
    check_template: &dyn Fn(&str) -> Result<(), String>,
) -> ProposalTemplate {
    let before = entry.current.known().map(|campaign| campaign.proposal.clone());
    let before = before.unwrap_or_default();
    let change = entry.fields.object("proposal", Null::Allowed, |fields| {
        let template = |value: &Value| {
            let text = values::words(value)?;
            check_template(&text).map_err(|fault| format!("is not a valid template: {fault}"))?;
            Ok(text)
        };
        let cover_letter = fields.field("coverLetter", Null::Allowed, template);
        let answers = answers(fields, template);
        ProposalTemplate {
            cover_letter: cover_letter.over(before.cover_letter.clone()),
            answers: answers.over(Some(before.answers.clone())).unwrap_or_default(),
        }
    });
    change.over(Some(before)).unwrap_or_default()
}

/// The template's answers. The list replaces the current one as a whole.
fn answers(
    fields: &mut Fields<'_, '_>,
    template: impl Fn(&Value) -> Result<String, String>,
) -> Field<Vec<AnswerTemplate>> {
    let mut questions = HashSet::new();
    let entries = fields.objects("answers", Null::Allowed, |fields| {
        let question = fields.required("question", values::words);
        let answer = fields.required("answer", &template);
        if let Some(question) = &question
            && !questions.insert(question.clone())
        {
            fields.fault("question", "is answered by another entry above");
        }
        Some(AnswerTemplate {
            question: question?,
            answer: answer?,
        })
    });
    entries.map(|entries| entries.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switching_to_external_pauses_and_nothing_else_does() {
        use CampaignMode::{Automatic, External};
        use CampaignState::{Active, Paused};
        for (mode, state, after, expected) in [
            (Automatic, Active, External, Paused),
            (Automatic, Paused, External, Paused),
            (External, Active, External, Active),
            (External, Active, Automatic, Active),
            (Automatic, Active, Automatic, Active),
        ] {
            assert_eq!(
                state_after_switch((mode, state), after),
                expected,
                "{mode:?} {state:?} → {after:?}"
            );
        }
    }
}
