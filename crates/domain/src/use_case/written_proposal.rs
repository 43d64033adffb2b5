//! What a campaign's templates write for a lead: the letter and the answers of an automatic bid (decision D3), and their
//! preview.

use serde_json::Value;

use crate::model::{AnswerTemplate, CoverLetter, LeadForm, LeadWithJob, Links, lead_document};
use crate::port::ProposalWriter;

/// Writes for one lead.
pub(super) struct WrittenProposal<'w> {
    writer: &'w dyn ProposalWriter,
    fields: Value,
}

impl<'w> WrittenProposal<'w> {
    /// Over the lead's fields. An error is why it cannot be written for.
    pub(super) fn of(
        writer: &'w dyn ProposalWriter,
        lead: &LeadWithJob,
        campaign_name: &str,
        links: &Links,
    ) -> Result<Self, String> {
        let document = lead_document(lead, Some(campaign_name), links, LeadForm::Pushed)
            .map_err(|error| error.to_string())?;
        let fields = serde_json::from_str(document.get()).map_err(|error| error.to_string())?;
        Ok(Self { writer, fields })
    }

    /// The letter. An error is why the lead stays parked, as the end of a sentence.
    pub(super) fn letter(&self, template: Option<&str>) -> Result<CoverLetter, String> {
        let template = template.ok_or("the campaign has no cover letter template")?;
        let letter = self.writer.render(template, &self.fields).map_err(|error| {
            format!("the cover letter template cannot be rendered for this lead: {error}")
        })?;
        CoverLetter::parse(letter)
            .ok_or_else(|| "the cover letter template renders as an empty letter".to_owned())
    }

    /// The answer to a question. An error is why the lead stays parked, as the end of a sentence.
    pub(super) fn answer(&self, answers: &[AnswerTemplate], question: &str) -> Result<String, String> {
        let answer = answers
            .iter()
            .find(|answer| answer.question == question)
            .ok_or_else(|| format!("the campaign has no answer for the question “{question}”"))?;
        self.writer
            .render(&answer.answer, &self.fields)
            .map_err(|error| format!("the answer to “{question}” cannot be rendered for this lead: {error}"))
    }
}
