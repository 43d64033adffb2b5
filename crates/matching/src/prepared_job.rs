//! A job made ready for matching: its words, and the values that filters ask for.

use super::condition::{Attribute, Figure, Flag};
use super::job_text::{JobText, WordKey};
use super::{JobFacts, PaymentKind, list_key};

/// A job as the filters see it, built once and then held against any number of them.
#[derive(Debug, Clone)]
pub struct PreparedJob {
    text: JobText,
    skills: Option<Vec<String>>,
    skill_keys: Vec<WordKey>,
    attributes: [Option<String>; Attribute::COUNT],
    attribute_keys: [Option<WordKey>; Attribute::COUNT],
    figures: [Option<f64>; Figure::COUNT],
    flags: [Option<bool>; Flag::COUNT],
    payment_kind: Option<PaymentKind>,
    hourly_range: Option<(f64, f64)>,
    fixed_price: Option<f64>,
}

impl PreparedJob {
    /// Folds and splits everything that a filter may ask about.
    pub fn new(job: &JobFacts<'_>) -> Self {
        let skills = job.skills.as_ref().map(|skills| {
            let names = skills.iter().map(|skill| list_key(skill).into_owned());
            names.collect::<Vec<String>>()
        });
        let attributes = attributes(job).map(|text| text.map(|text| list_key(text).into_owned()));
        Self {
            text: JobText::new(job),
            skill_keys: skills.iter().flatten().map(|skill| WordKey::of(skill)).collect(),
            skills,
            attribute_keys: attributes.each_ref().map(|text| text.as_deref().map(WordKey::of)),
            attributes,
            figures: figures(job),
            flags: flags(job),
            payment_kind: job.payment_kind,
            hourly_range: job.hourly_range,
            fixed_price: job.fixed_price,
        }
    }

    /// The words of title, description and skills; a job without skills has none to search.
    pub const fn text(&self) -> &JobText {
        &self.text
    }

    /// The skill names, folded; none if the job does not carry the list.
    pub fn skills(&self) -> Option<&[String]> {
        self.skills.as_deref()
    }

    /// The attribute's text, folded.
    pub fn attribute(&self, attribute: Attribute) -> Option<&str> {
        self.attributes[attribute as usize].as_deref()
    }

    /// The attribute's text, folded, with its key.
    pub(super) fn keyed_attribute(&self, attribute: Attribute) -> Option<(WordKey, &str)> {
        self.attribute_keys[attribute as usize].zip(self.attribute(attribute))
    }

    /// The skill names, folded, with their keys; none if the job does not carry the list.
    pub(super) fn keyed_skills(&self) -> Option<impl Iterator<Item = (WordKey, &str)>> {
        let skills = self.skills.as_ref()?.iter().map(String::as_str);
        Some(self.skill_keys.iter().copied().zip(skills))
    }

    /// The figure's value.
    pub const fn figure(&self, figure: Figure) -> Option<f64> {
        self.figures[figure as usize]
    }

    /// The flag's value.
    pub const fn flag(&self, flag: Flag) -> Option<bool> {
        self.flags[flag as usize]
    }

    /// What the job's `paymentType` says.
    pub const fn payment_kind(&self) -> Option<PaymentKind> {
        self.payment_kind
    }

    /// The range in USD per hour; an end that is not known is open, at infinity.
    pub const fn hourly_range(&self) -> Option<(f64, f64)> {
        self.hourly_range
    }

    /// USD.
    pub const fn fixed_price(&self) -> Option<f64> {
        self.fixed_price
    }
}

fn attributes<'a>(job: &JobFacts<'a>) -> [Option<&'a str>; Attribute::COUNT] {
    Attribute::ALL.map(|attribute| match attribute {
        Attribute::Category => job.category,
        Attribute::Occupation => job.occupation,
        Attribute::ProjectType => job.project_type,
        Attribute::ProjectDuration => job.project_duration,
        Attribute::ExperienceLevel => job.experience_level,
        Attribute::Region => job.region,
        Attribute::WeeklyHours => job.weekly_hours,
        Attribute::Country => job.client_country,
        Attribute::Industry => job.client_industry,
        Attribute::CompanySize => job.client_company_size,
        Attribute::TalentType => job.talent_type,
        Attribute::EnglishLevel => job.english_level,
    })
}

fn figures(job: &JobFacts<'_>) -> [Option<f64>; Figure::COUNT] {
    Figure::ALL.map(|figure| match figure {
        Figure::Rating => job.client_rating,
        Figure::Reviews => job.client_reviews,
        Figure::TotalSpent => job.client_total_spent,
        Figure::Hires => job.client_hires,
        Figure::HireRate => job.client_hire_rate,
        Figure::JobsPosted => job.client_jobs_posted,
        Figure::AvgHourlyRatePaid => job.client_avg_hourly_rate_paid,
        Figure::JobSuccessScore => job.job_success_score,
        Figure::MinimumEarnings => job.minimum_earnings,
        Figure::Questions => job.questions,
        Figure::OpenJobs => job.open_jobs,
    })
}

fn flags(job: &JobFacts<'_>) -> [Option<bool>; Flag::COUNT] {
    Flag::ALL.map(|flag| match flag {
        Flag::PaymentVerified => job.is_payment_verified,
        Flag::PhoneVerified => job.is_phone_verified,
        Flag::Enterprise => job.is_enterprise,
        Flag::Featured => job.is_featured,
    })
}
