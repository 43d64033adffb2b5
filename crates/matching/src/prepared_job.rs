//! A job prepared for matching: its words and its values.

use super::conditions::{FlagField, NumberField, TextField};
use super::job_text::{JobText, WordKey};
use super::{JobFacts, PaymentKind, list_key};

/// A job prepared for matching. It is built once and then matched against any number of filters.
#[derive(Debug, Clone)]
pub struct PreparedJob {
    text: JobText,
    skills: Option<Vec<String>>,
    skill_keys: Vec<WordKey>,
    texts: [Option<String>; TextField::COUNT],
    text_keys: [Option<WordKey>; TextField::COUNT],
    numbers: [Option<f64>; NumberField::COUNT],
    flags: [Option<bool>; FlagField::COUNT],
    payment_kind: Option<PaymentKind>,
    hourly_range: Option<(f64, f64)>,
    fixed_price: Option<f64>,
}

impl PreparedJob {
    /// Folds the job's texts and splits them into words.
    pub fn new(job: &JobFacts<'_>) -> Self {
        let skills = job.skills.as_ref().map(|skills| {
            let names = skills.iter().map(|skill| list_key(skill).into_owned());
            names.collect::<Vec<String>>()
        });
        let texts = TextField::ALL
            .map(|field| field.of(job))
            .map(|text| text.map(|text| list_key(text).into_owned()));
        Self {
            text: JobText::new(job),
            skill_keys: skills.iter().flatten().map(|skill| WordKey::of(skill)).collect(),
            skills,
            text_keys: texts.each_ref().map(|text| text.as_deref().map(WordKey::of)),
            texts,
            numbers: NumberField::ALL.map(|field| field.of(job)),
            flags: FlagField::ALL.map(|field| field.of(job)),
            payment_kind: job.payment_kind,
            hourly_range: job.hourly_range,
            fixed_price: job.fixed_price,
        }
    }

    /// The words of title, description and skills.
    pub const fn text(&self) -> &JobText {
        &self.text
    }

    /// The names of the skills, folded. `None` if the job does not carry the list.
    pub fn skills(&self) -> Option<&[String]> {
        self.skills.as_deref()
    }

    /// The text of the field, folded.
    pub fn text_field(&self, field: TextField) -> Option<&str> {
        self.texts[field as usize].as_deref()
    }

    /// The text of the field, folded, and its key.
    pub(super) fn keyed_text(&self, field: TextField) -> Option<(WordKey, &str)> {
        self.text_keys[field as usize].zip(self.text_field(field))
    }

    /// The names of the skills, folded, and their keys.
    pub(super) fn keyed_skills(&self) -> Option<impl Iterator<Item = (WordKey, &str)>> {
        let skills = self.skills.as_ref()?.iter().map(String::as_str);
        Some(self.skill_keys.iter().copied().zip(skills))
    }

    /// The value of the number.
    pub const fn number(&self, field: NumberField) -> Option<f64> {
        self.numbers[field as usize]
    }

    /// The value of the flag.
    pub const fn flag(&self, flag: FlagField) -> Option<bool> {
        self.flags[flag as usize]
    }

    /// How the job pays.
    pub const fn payment_kind(&self) -> Option<PaymentKind> {
        self.payment_kind
    }

    /// The range of rates in USD per hour. An unknown end is infinite.
    pub const fn hourly_range(&self) -> Option<(f64, f64)> {
        self.hourly_range
    }

    /// The fixed price in USD.
    pub const fn fixed_price(&self) -> Option<f64> {
        self.fixed_price
    }
}
