//! The conditions of a saved filter in the order of the form (contract section 4), and how each is typed.

/// How a condition is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// A keyword expression.
    Expression,
    /// Some of these words, each with its label.
    Choices(&'static [(&'static str, &'static str)]),
    /// Any values, one a line.
    Lines(&'static str),
    /// A lower and an upper bound, `min` and `max`; before it stands its unit.
    Range(&'static str),
    /// A number; after it stands its unit.
    Number(&'static str),
    /// Yes, no, or either.
    Flag,
    /// So many of the values of a list: `count` and `of`.
    AtLeast,
}

/// A condition in the form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition {
    /// Its path in the filter.
    pub(crate) path: &'static str,
    pub(crate) label: &'static str,
    pub(crate) input: Input,
}

const fn condition(path: &'static str, label: &'static str, input: Input) -> Condition {
    Condition { path, label, input }
}

/// The conditions by their heading, in the order of the form. The first group has none; the last is folded unless it is
/// used.
pub(crate) const GROUPS: [(&str, &[Condition]); 4] = [
    (
        "",
        &[
            condition("keywords", "Keywords", Input::Expression),
            condition(
                "paymentTypes",
                "Payment",
                Input::Choices(&[("hourly", "Hourly"), ("fixed", "Fixed price")]),
            ),
            condition(
                "experienceLevels",
                "Experience",
                Input::Choices(&[
                    ("Entry Level", "Entry level"),
                    ("Intermediate", "Intermediate"),
                    ("Expert", "Expert"),
                ]),
            ),
            condition("hourlyRate", "Hourly rate", Input::Range("$")),
            condition("fixedPrice", "Fixed price", Input::Range("$")),
            condition("maxQuestions", "Questions, at most", Input::Number("")),
        ],
    ),
    (
        "Client",
        &[
            condition("client.minRating", "Rating, at least", Input::Number("of 5")),
            condition("client.minTotalSpent", "Spent, at least", Input::Number("$")),
            condition(
                "client.minAvgHourlyRatePaid",
                "Pays on average",
                Input::Number("$/h"),
            ),
            condition("client.paymentVerified", "Payment verified", Input::Flag),
            condition(
                "client.countries.exclude",
                "Not from these countries",
                Input::Lines("a country on each line"),
            ),
            condition(
                "client.countries.include",
                "Only from these countries",
                Input::Lines("a country on each line"),
            ),
        ],
    ),
    (
        "Skills and kind of work",
        &[
            condition(
                "skills.any",
                "Skills, any of",
                Input::Lines("a skill on each line"),
            ),
            condition(
                "skills.all",
                "Skills, all of",
                Input::Lines("a skill on each line"),
            ),
            condition(
                "skills.none",
                "Skills, none of",
                Input::Lines("a skill on each line"),
            ),
            condition("skills.atLeast", "Skills, at least so many of", Input::AtLeast),
            condition(
                "categories",
                "Categories",
                Input::Lines("a category on each line"),
            ),
            condition(
                "occupations",
                "Occupations",
                Input::Lines("an occupation on each line"),
            ),
        ],
    ),
    (
        "More conditions: duration, weekly hours, region, industry, talent, history",
        &[
            condition(
                "projectTypes",
                "Project types",
                Input::Lines("a type on each line"),
            ),
            condition(
                "projectDurations",
                "Durations",
                Input::Lines("such as: 1 to 3 months"),
            ),
            condition(
                "weeklyHours",
                "Weekly hours",
                Input::Lines("such as: Less than 30 hrs/week"),
            ),
            condition(
                "regions",
                "Who may apply",
                Input::Choices(&[
                    ("Worldwide", "Worldwide"),
                    ("USOnly", "US only"),
                    ("UKOnly", "UK only"),
                ]),
            ),
            condition("featured", "Featured", Input::Flag),
            condition(
                "maxOpenJobs",
                "Client’s other open jobs, at most",
                Input::Number(""),
            ),
            condition("client.phoneVerified", "Phone verified", Input::Flag),
            condition("client.enterprise", "Enterprise client", Input::Flag),
            condition(
                "client.industries.include",
                "Only these industries",
                Input::Lines("an industry on each line"),
            ),
            condition(
                "client.industries.exclude",
                "Not these industries",
                Input::Lines("an industry on each line"),
            ),
            condition(
                "client.companySizes",
                "Company sizes",
                Input::Lines("a size on each line"),
            ),
            condition("client.minReviews", "Reviews, at least", Input::Number("")),
            condition("client.maxTotalSpent", "Spent, at most", Input::Number("$")),
            condition("client.minHires", "Hires, at least", Input::Number("")),
            condition("client.maxHires", "Hires, at most", Input::Number("")),
            condition("client.minHireRate", "Hire rate, at least", Input::Number("%")),
            condition("client.minJobsPosted", "Jobs posted, at least", Input::Number("")),
            condition(
                "client.minMemberDays",
                "Days as a member, at least",
                Input::Number(""),
            ),
            condition(
                "client.maxAvgHourlyRatePaid",
                "Pays on average, at most",
                Input::Number("$/h"),
            ),
            condition(
                "vendor.talentTypes",
                "Talent asked for",
                Input::Choices(&[
                    ("ANY", "Any"),
                    ("Independent", "Independent"),
                    ("Agency", "Agency"),
                ]),
            ),
            condition(
                "vendor.englishLevels",
                "English asked for",
                Input::Choices(&[
                    ("BASIC", "Basic"),
                    ("CONVERSATIONAL", "Conversational"),
                    ("FLUENT", "Fluent"),
                    ("NATIVE_OR_BILINGUAL", "Native or bilingual"),
                ]),
            ),
            condition(
                "vendor.maxJobSuccessScore",
                "Job success asked for, at most",
                Input::Number("%"),
            ),
            condition(
                "vendor.maxMinimumEarnings",
                "Earnings asked for, at most",
                Input::Number("$"),
            ),
        ],
    ),
];
