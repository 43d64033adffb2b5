//! From JSON to patches: campaigns with their filters, attachments and templates.

use std::collections::HashSet;

use serde_json::Value;

use super::document::{AttachmentPatch, CampaignPatch, FilterPatch, ProposalPatch, StatedState};
use super::faults::path_to;
use super::fields::{Field, Fields, Null, wrong_type};
use super::reading::{absent, webhook};
use super::values;
use crate::attachment_rules::{ContentType, FileFault, FileName, MAX_FILES};
use crate::model::{AccountId, AnswerTemplate, CampaignId, CampaignMode, CampaignState, FilterId};
use crate::port::ProposalWriter;

pub(super) fn campaign(fields: &mut Fields<'_, '_>, templates: &dyn ProposalWriter) -> CampaignPatch {
    let modes = [CampaignMode::Automatic, CampaignMode::External].map(|mode| (mode.as_str(), mode));
    let states = [
        ("active", StatedState::Is(CampaignState::Active)),
        ("paused", StatedState::Is(CampaignState::Paused)),
        ("absent", StatedState::Absent),
    ];
    CampaignPatch {
        path: fields.path.clone(),
        id: fields.indispensable("id", values::id(CampaignId::parse)),
        name: fields.field("name", Null::Refused, values::words),
        mode: fields.field("mode", Null::Refused, values::word(&modes)),
        state: fields.field("state", Null::Unsets, values::word(&states)),
        account_id: fields.field("bidderAccountId", Null::Unsets, values::id(AccountId::parse)),
        filters: fields.entities("filters", filter),
        webhooks: fields.entities("webhooks", webhook),
        bidding_config: fields.raw("biddingConfig").cloned(),
        attachments: attachments(fields),
        proposal: fields.object("proposal", Null::Unsets, |fields| proposal(fields, templates)),
    }
}

fn filter(fields: &mut Fields<'_, '_>) -> FilterPatch {
    FilterPatch {
        path: fields.path.clone(),
        id: fields.indispensable("id", values::id(FilterId::parse)),
        name: fields.field("name", Null::Unsets, values::words),
        absent: absent(fields),
        body: fields.take_others(),
    }
}

fn proposal(fields: &mut Fields<'_, '_>, templates: &dyn ProposalWriter) -> ProposalPatch {
    let template = |value: &Value| {
        let text = values::words(value)?;
        templates
            .check(&text)
            .map_err(|fault| format!("is no valid template: {fault}"))?;
        Ok(text)
    };
    let cover_letter = fields.field("coverLetter", Null::Unsets, template);
    let answers = replaced_list(fields, "answers", |fields| {
        let question = fields.indispensable("question", values::words);
        let answer = fields.indispensable("answer", template);
        Some(AnswerTemplate {
            question: question?,
            answer: answer?,
        })
    });
    if let Field::Given(answers) = &answers {
        let mut questions = HashSet::new();
        for (index, answer) in answers.iter().enumerate() {
            if !questions.insert(answer.question.as_str()) {
                let path = path_to(&path_to(&fields.path, "answers"), &index.to_string());
                fields.faults.push(
                    &path_to(&path, "question"),
                    "is answered by an entry above already",
                );
            }
        }
    }
    ProposalPatch {
        cover_letter,
        answers,
    }
}

/// The rules of decision A9, content apart.
fn attachments(fields: &mut Fields<'_, '_>) -> Field<Vec<AttachmentPatch>> {
    let mut names = HashSet::new();
    let attachments = replaced_list(fields, "attachments", |fields| {
        let name = fields.indispensable("name", |value| {
            FileName::parse(&values::text(value)?).map_err(|fault| fault.to_string())
        });
        if let Some(name) = &name
            && !names.insert(name.comparison_key())
        {
            fields.fault(
                "name",
                "is the name of a file above already: names are compared without regard to case",
            );
        }
        let declared = fields.indispensable("contentType", values::words);
        let source = fields.indispensable("path", values::words);
        let (name, declared) = (name?, declared?);
        match ContentType::declared(&name, &declared) {
            Ok(content_type) => Some(AttachmentPatch {
                path: fields.path.clone(),
                name,
                content_type,
                source: source?,
                blob: None,
            }),
            Err(fault) => {
                let of_type = matches!(
                    fault,
                    FileFault::UnsupportedType { .. } | FileFault::ExtensionMismatch { .. }
                );
                fields.fault(if of_type { "contentType" } else { "name" }, fault.to_string());
                None
            }
        }
    });
    if let Field::Given(files) = &attachments
        && files.len() > MAX_FILES
    {
        fields.fault(
            "attachments",
            format!("has {} files: a campaign has at most {MAX_FILES}", files.len()),
        );
        return Field::Faulty;
    }
    attachments
}

/// A list that the file replaces as a whole: its good entries. Where one is faulty, so is the file, and nothing
/// comes of them.
fn replaced_list<'v, T>(
    fields: &mut Fields<'v, '_>,
    name: &'static str,
    mut read: impl FnMut(&mut Fields<'v, '_>) -> Option<T>,
) -> Field<Vec<T>> {
    let list = fields.field(name, Null::Unsets, |value| match value {
        Value::Array(entries) => Ok(entries),
        other => Err(wrong_type("a list", other)),
    });
    let entries = match list {
        Field::Given(entries) => entries,
        Field::Unmentioned => return Field::Unmentioned,
        Field::Unset => return Field::Unset,
        Field::Faulty => return Field::Faulty,
    };
    let path = path_to(&fields.path, name);
    let mut good = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let fields = Fields::of(entry, path_to(&path, &index.to_string()), fields.faults);
        good.extend(fields.and_then(|mut fields| fields.read_all(&mut read)));
    }
    Field::Given(good)
}
