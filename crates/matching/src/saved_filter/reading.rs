//! Reads a saved filter from JSON field by field, so that one faulty field does not hide the next.

use serde_json::{Map, Value};

use super::{
    Bounds, ClientConditions, FilterFile, IncludeExclude, SavedFilter, SkillLists, VendorConditions,
    WhenUnknown,
};
use crate::PaymentKind;
use crate::json::{FieldError, closest};

pub(super) fn read_body(value: &Value) -> Result<SavedFilter, Vec<FieldError>> {
    let mut faults = Vec::new();
    let filter = Fields::of(value, &mut faults).map(|mut fields| {
        let filter = body(&mut fields);
        fields.refuse_others();
        filter
    });
    finish(filter, faults)
}

pub(super) fn read_file(value: &Value) -> Result<FilterFile, Vec<FieldError>> {
    let mut faults = Vec::new();
    let mut names = (None, None);
    let filter = Fields::of(value, &mut faults).map(|mut fields| {
        names = (fields.text("id"), fields.text("name"));
        let filter = body(&mut fields);
        fields.refuse_others();
        filter
    });
    finish(filter, faults).map(|filter| FilterFile {
        id: names.0,
        name: names.1,
        filter,
    })
}

/// Adds the faults that only whole fields can have to those of their shape.
fn finish(filter: Option<SavedFilter>, mut faults: Vec<FieldError>) -> Result<SavedFilter, Vec<FieldError>> {
    let Some(filter) = filter else {
        return Err(faults);
    };
    if let Err(others) = filter.check() {
        faults.extend(others);
    }
    if faults.is_empty() {
        Ok(filter)
    } else {
        Err(faults)
    }
}

fn body(fields: &mut Fields<'_, '_>) -> SavedFilter {
    SavedFilter {
        keywords: fields.text("keywords"),
        skills: fields.object("skills", |skills| SkillLists {
            any: skills.texts("any"),
            all: skills.texts("all"),
            none: skills.texts("none"),
        }),
        categories: fields.texts("categories"),
        occupations: fields.texts("occupations"),
        project_types: fields.texts("projectTypes"),
        project_durations: fields.texts("projectDurations"),
        experience_levels: fields.texts("experienceLevels"),
        regions: fields.texts("regions"),
        weekly_hours: fields.texts("weeklyHours"),
        payment_types: fields.payment_kinds("paymentTypes"),
        hourly_rate: fields.bounds("hourlyRate"),
        fixed_price: fields.bounds("fixedPrice"),
        client: fields.object("client", client),
        vendor: fields.object("vendor", |vendor| VendorConditions {
            talent_types: vendor.texts("talentTypes"),
            english_levels: vendor.texts("englishLevels"),
            max_job_success_score: vendor.number("maxJobSuccessScore"),
            max_minimum_earnings: vendor.number("maxMinimumEarnings"),
        }),
        max_questions: fields.number("maxQuestions"),
        featured: fields.flag("featured"),
        max_open_jobs: fields.number("maxOpenJobs"),
        when_unknown: fields.when_unknown("whenUnknown"),
    }
}

fn client(client: &mut Fields<'_, '_>) -> ClientConditions {
    ClientConditions {
        payment_verified: client.flag("paymentVerified"),
        phone_verified: client.flag("phoneVerified"),
        enterprise: client.flag("enterprise"),
        countries: client.include_exclude("countries"),
        industries: client.include_exclude("industries"),
        company_sizes: client.texts("companySizes"),
        min_rating: client.number("minRating"),
        min_reviews: client.number("minReviews"),
        min_total_spent: client.number("minTotalSpent"),
        max_total_spent: client.number("maxTotalSpent"),
        min_hires: client.number("minHires"),
        max_hires: client.number("maxHires"),
        min_hire_rate: client.number("minHireRate"),
        min_jobs_posted: client.number("minJobsPosted"),
        min_avg_hourly_rate_paid: client.number("minAvgHourlyRatePaid"),
        max_avg_hourly_rate_paid: client.number("maxAvgHourlyRatePaid"),
    }
}

/// The fields of one JSON object while they are read: what has been asked for is known, the rest is refused.
struct Fields<'v, 'f> {
    object: &'v Map<String, Value>,
    path: Vec<String>,
    known: Vec<&'static str>,
    faults: &'f mut Vec<FieldError>,
}

impl<'v, 'f> Fields<'v, 'f> {
    fn of(value: &'v Value, faults: &'f mut Vec<FieldError>) -> Option<Self> {
        let Value::Object(object) = value else {
            let message = format!("must be an object, not {}", kind_of(value));
            faults.push(FieldError {
                path: Vec::new(),
                message,
            });
            return None;
        };
        Some(Self {
            object,
            path: Vec::new(),
            known: Vec::new(),
            faults,
        })
    }

    /// The field's value; null is the same as absent.
    fn value(&mut self, name: &'static str) -> Option<&'v Value> {
        self.known.push(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn fault(&mut self, steps: &[&str], message: String) {
        let mut path = self.path.clone();
        path.extend(steps.iter().map(|step| (*step).to_owned()));
        self.faults.push(FieldError { path, message });
    }

    fn wrong_type(&mut self, steps: &[&str], wanted: &str, found: &Value) {
        self.fault(steps, format!("must be {wanted}, not {}", kind_of(found)));
    }

    fn text(&mut self, name: &'static str) -> Option<String> {
        let value = self.value(name)?;
        if let Value::String(text) = value {
            return Some(text.clone());
        }
        self.wrong_type(&[name], "a string", value);
        None
    }

    fn number(&mut self, name: &'static str) -> Option<f64> {
        let value = self.value(name)?;
        if let Some(number) = value.as_f64() {
            return Some(number);
        }
        self.wrong_type(&[name], "a number", value);
        None
    }

    fn flag(&mut self, name: &'static str) -> Option<bool> {
        let value = self.value(name)?;
        if let Value::Bool(flag) = value {
            return Some(*flag);
        }
        self.wrong_type(&[name], "true or false", value);
        None
    }

    /// The list's good entries; a list that loses entries to faults is not judged as empty later.
    fn list<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Self, &str, &'v Value) -> Option<T>,
    ) -> Option<Vec<T>> {
        let value = self.value(name)?;
        let Value::Array(entries) = value else {
            self.wrong_type(&[name], "a list", value);
            return None;
        };
        let good: Vec<T> = entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| read(self, &index.to_string(), entry))
            .collect();
        (good.len() == entries.len()).then_some(good)
    }

    fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.list(name, |this, index, entry| {
            if let Value::String(text) = entry {
                return Some(text.clone());
            }
            this.wrong_type(&[name, index], "a string", entry);
            None
        })
    }

    fn payment_kinds(&mut self, name: &'static str) -> Option<Vec<PaymentKind>> {
        self.list(name, |this, index, entry| {
            let kind = entry.as_str().and_then(PaymentKind::from_text);
            match entry {
                Value::String(_) if kind.is_some() => {}
                Value::String(_) => this.fault(&[name, index], "must be `hourly` or `fixed`".to_owned()),
                other => this.wrong_type(&[name, index], "a string", other),
            }
            kind
        })
    }

    fn when_unknown(&mut self, name: &'static str) -> Option<WhenUnknown> {
        match self.text(name)?.as_str() {
            "match" => Some(WhenUnknown::Match),
            "reject" => Some(WhenUnknown::Reject),
            _ => {
                self.fault(&[name], "must be `match` or `reject`".to_owned());
                None
            }
        }
    }

    fn object<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Fields<'v, '_>) -> T) -> Option<T> {
        let value = self.value(name)?;
        let Value::Object(object) = value else {
            self.wrong_type(&[name], "an object", value);
            return None;
        };
        let mut path = self.path.clone();
        path.push(name.to_owned());
        let mut fields = Fields {
            object,
            path,
            known: Vec::new(),
            faults: &mut *self.faults,
        };
        let inner = read(&mut fields);
        fields.refuse_others();
        Some(inner)
    }

    fn bounds(&mut self, name: &'static str) -> Option<Bounds> {
        self.object(name, |bounds| Bounds {
            min: bounds.number("min"),
            max: bounds.number("max"),
        })
    }

    fn include_exclude(&mut self, name: &'static str) -> Option<IncludeExclude> {
        self.object(name, |lists| IncludeExclude {
            include: lists.texts("include"),
            exclude: lists.texts("exclude"),
        })
    }

    fn refuse_others(&mut self) {
        for name in self.object.keys() {
            if self.known.contains(&name.as_str()) {
                continue;
            }
            let message = match closest(name, &self.known) {
                Some(meant) => format!("unknown field; did you mean `{meant}`?"),
                None => "unknown field".to_owned(),
            };
            self.fault(&[name.as_str()], message);
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
