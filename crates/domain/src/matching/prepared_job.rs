//! A job made ready for matching: its words, and the values that filters ask for.

use super::condition::{Attribute, Figure, Flag};
use super::job_text::{JobText, WordKey};
use super::list_key;
use crate::model::{JobPost, PaymentKind};

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
    /// Reads everything that a filter may ask from the post.
    pub fn new(job: &JobPost) -> Self {
        let key = |text: &Option<String>| text.as_deref().map(|text| list_key(text).into_owned());
        let skills = job.skills.as_ref().map(|skills| {
            let names = skills.iter().map(|skill| list_key(&skill.name).into_owned());
            names.collect::<Vec<String>>()
        });
        let attributes = attributes(job, key);
        Self {
            text: JobText::new(job),
            skill_keys: skills.iter().flatten().map(|skill| WordKey::of(skill)).collect(),
            skills,
            attribute_keys: attributes.each_ref().map(|text| text.as_deref().map(WordKey::of)),
            attributes,
            figures: figures(job),
            flags: flags(job),
            payment_kind: job.payment_kind(),
            hourly_range: job.hourly_range().map(|range| {
                (
                    range.min.unwrap_or(f64::NEG_INFINITY),
                    range.max.unwrap_or(f64::INFINITY),
                )
            }),
            fixed_price: job.fixed_price(),
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

fn attributes(
    job: &JobPost,
    key: impl Fn(&Option<String>) -> Option<String>,
) -> [Option<String>; Attribute::COUNT] {
    let mut attributes = [const { None }; Attribute::COUNT];
    let mut set = |attribute: Attribute, value| attributes[attribute as usize] = value;
    set(Attribute::Category, key(&job.category));
    set(Attribute::Occupation, key(&job.occupation));
    set(Attribute::ProjectType, key(&job.project_type));
    set(Attribute::ProjectDuration, key(&job.project_duration));
    set(Attribute::Region, key(&job.region));
    set(
        Attribute::WeeklyHours,
        job.weekly_hours().map(|hours| list_key(hours).into_owned()),
    );
    if let Some(metadata) = &job.metadata {
        set(Attribute::ExperienceLevel, key(&metadata.experience_level));
    }
    if let Some(client) = &job.client_info {
        set(Attribute::Country, key(&client.country));
        set(Attribute::Industry, key(&client.company_industry));
        set(Attribute::CompanySize, key(&client.company_size));
    }
    if let Some(vendor) = &job.vendor_qualifications {
        set(Attribute::TalentType, key(&vendor.talent_type));
        set(Attribute::EnglishLevel, key(&vendor.english_level));
    }
    attributes
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts are compared as doubles, exact up to 2⁵³"
)]
fn figures(job: &JobPost) -> [Option<f64>; Figure::COUNT] {
    let mut figures = [None; Figure::COUNT];
    let mut set = |figure: Figure, value| figures[figure as usize] = value;
    if let Some(client) = &job.client_info {
        set(Figure::Rating, client.rating);
        set(
            Figure::Reviews,
            client.number_of_reviews.map(|count| count as f64),
        );
        set(Figure::TotalSpent, client.total_spent);
        set(Figure::Hires, client.number_of_hires.map(|count| count as f64));
        set(Figure::HireRate, client.hire_rate);
        set(Figure::JobsPosted, client.jobs_posted.map(|count| count as f64));
        set(Figure::AvgHourlyRatePaid, client.avg_hourly_rate_paid);
    }
    if let Some(vendor) = &job.vendor_qualifications {
        set(Figure::JobSuccessScore, vendor.job_success_score);
        // Null says that nothing is demanded; only a job without qualifications leaves it open.
        set(
            Figure::MinimumEarnings,
            Some(vendor.minimum_earnings.unwrap_or(0.0)),
        );
    }
    set(
        Figure::Questions,
        job.questions.as_ref().map(|questions| questions.len() as f64),
    );
    set(Figure::OpenJobs, job.client_open_jobs().map(|count| count as f64));
    figures
}

fn flags(job: &JobPost) -> [Option<bool>; Flag::COUNT] {
    let mut flags = [None; Flag::COUNT];
    flags[Flag::Featured as usize] = job.is_featured;
    if let Some(client) = &job.client_info {
        flags[Flag::PaymentVerified as usize] = client.is_payment_verified;
        flags[Flag::PhoneVerified as usize] = client.is_phone_verified;
        flags[Flag::Enterprise as usize] = client.enterprise_client;
    }
    flags
}
