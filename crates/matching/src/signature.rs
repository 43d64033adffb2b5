//! The signature of a stored job: 1,024 bits that rule out nearly every job that a filter cannot match, without reading
//! or parsing the job.
//!
//! A signature is a Bloom filter over what a job has: its words, its values, and the fields without a value. Each of them
//! sets three bits. A [`SignatureQuery`] holds what a filter requires. If a bit of a requirement is not set, the job does
//! not meet it. If all bits are set, the job may match: it is read and matched.
//!
//! A post of 150 words sets the bits of some 115 things. A word that it does not have then passes by chance in 2.3 % of
//! such posts. With one bit a thing it would be 11 % (`docs/adr/0011-job-signatures.md` has the table).
//!
//! The hash has no secret, so an author can write a post that passes every query. This costs one read of the post, as for
//! a post with a few thousand words. Matching itself reads the post, not the signature.

use super::condition::Condition;
use super::job_values::{JobValue, ValueField};
use super::keywords::Expression;
use super::{PreparedJob, SavedFilter};

/// The version of stored signatures. Raise it when words, list keys or their bits change: signatures of other versions
/// count as missing, and their jobs are read.
const VERSION: u8 = 1;

const BITS: u16 = 1_024;
const WORDS: usize = BITS as usize / 64;

/// The signature of a job: a Bloom filter over its words and values.
///
/// ```
/// use bidloop_matching::{JobFacts, JobSignature, PreparedJob, SavedFilter, SignatureQuery};
///
/// let job = JobFacts { title: "Rust, Actix", ..JobFacts::default() };
/// let signature = JobSignature::of(&PreparedJob::new(&job));
/// assert_eq!(JobSignature::from_bytes(&signature.to_bytes()), Some(signature.clone()));
///
/// let query = |keywords: &str| {
///     let filter = SavedFilter::from_value(&serde_json::json!({ "keywords": keywords }));
///     SignatureQuery::of(&filter.expect("no fault"))
/// };
/// assert!(query("rust (actix OR axum)").may_match(&signature));
/// assert!(!query("rust tokio").may_match(&signature));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSignature([u64; WORDS]);

impl JobSignature {
    /// The number of bytes of a stored signature: its version, then its bits.
    pub const LENGTH: usize = 1 + WORDS * 8;

    /// All bits set: never rules a job out.
    pub const ALL_SET: Self = Self([u64::MAX; WORDS]);

    /// The signature of a job.
    pub fn of(job: &PreparedJob) -> Self {
        let mut signature = Self([0; WORDS]);
        for (word, _) in job.text().distinct_words() {
            signature.set(BloomKey::of_word(word));
        }
        ValueField::of_job(job, |field, value| {
            signature.set(BloomKey::of_value(field, value.text()));
        });
        signature
    }

    /// The stored form, the same on every machine.
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [VERSION; Self::LENGTH];
        for (bytes, word) in bytes[1..].chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a stored signature. Returns `None` for bytes of another version or length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, bits) = bytes.split_first()?;
        if *version != VERSION || bytes.len() != Self::LENGTH {
            return None;
        }
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bits.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(Self(words))
    }

    fn set(&mut self, key: BloomKey) {
        for bit in key.0 {
            self.0[usize::from(bit >> 6)] |= 1 << (bit & 63);
        }
    }

    #[inline]
    fn has(&self, key: BloomKey) -> bool {
        key.0
            .iter()
            .all(|bit| self.0[usize::from(bit >> 6)] >> (bit & 63) & 1 == 1)
    }
}

/// What a filter requires of a job's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureQuery(Requirement);

impl SignatureQuery {
    /// The query of a filter. It holds the words and phrases outside negations, the lists of which the job must have a
    /// value, and the flags. Exclusions, numbers and prefixes are not in signatures.
    pub fn of(filter: &SavedFilter) -> Self {
        let unknown_holds = filter.unknown_holds();
        let conditions = filter.conditions().iter();
        Self(Requirement::all(conditions.map(|condition| {
            Requirement::of_condition(condition, unknown_holds)
        })))
    }

    /// Whether the query rules out no job.
    pub fn passes_all(&self) -> bool {
        self.0.is_nothing()
    }

    /// False if the filter does not match the signature's job; true if it may match.
    pub fn may_match(&self, signature: &JobSignature) -> bool {
        self.0.is_met(signature)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    Has(BloomKey),
    /// At least this number of the requirements is met.
    AtLeast(usize, Vec<Requirement>),
}

impl Requirement {
    const NOTHING: Self = Self::AtLeast(0, Vec::new());

    fn is_nothing(&self) -> bool {
        matches!(self, Self::AtLeast(0, _))
    }

    fn all(parts: impl Iterator<Item = Self>) -> Self {
        let mut parts: Vec<Self> = parts.filter(|part| !part.is_nothing()).collect();
        match parts.len() {
            1 => parts.remove(0),
            count => Self::AtLeast(count, parts),
        }
    }

    fn any(parts: impl Iterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.collect();
        if parts.iter().any(Self::is_nothing) {
            return Self::NOTHING;
        }
        Self::AtLeast(1, parts)
    }

    fn of_condition(condition: &Condition, unknown_holds: bool) -> Self {
        let has = |field, value: Option<&str>| Self::Has(BloomKey::of_value(field, value));
        // Without the value every condition on it is unknown.
        let or_unknown = |field, values: Vec<Self>| {
            let unknown = unknown_holds.then(|| has(field, None));
            Self::any(values.into_iter().chain(unknown))
        };
        let each = |field, values: &[String]| values.iter().map(|value| has(field, Some(value))).collect();
        match condition {
            Condition::Keywords(expression) => Self::of_expression(expression, true),
            Condition::SkillsAtLeast { count, names, .. } => {
                let named = Self::AtLeast(*count, each(ValueField::Skill, names));
                or_unknown(ValueField::Skill, vec![named])
            }
            Condition::OneOf { field, values, .. } => {
                let field = ValueField::Text(*field);
                or_unknown(field, each(field, values))
            }
            Condition::PaymentTypes(kinds) => {
                let field = ValueField::PaymentKind;
                let kinds = kinds.iter().map(|kind| JobValue::of_payment_kind(*kind));
                or_unknown(field, kinds.map(|kind| has(field, kind.text())).collect())
            }
            Condition::Is { flag, wanted, .. } => {
                let flag = ValueField::Flag(*flag);
                or_unknown(flag, vec![has(flag, JobValue::of_flag(*wanted).text())])
            }
            Condition::NoSkill(_)
            | Condition::NoneOf { .. }
            | Condition::HourlyRate { .. }
            | Condition::FixedPrice { .. }
            | Condition::Within { .. } => Self::NOTHING,
        }
    }

    /// What follows if the expression holds, or, with `holds` false, if it does not hold.
    fn of_expression(expression: &Expression, holds: bool) -> Self {
        match expression {
            Expression::Not(inner) => Self::of_expression(inner, !holds),
            Expression::Within(_, inner) => Self::of_expression(inner, holds),
            Expression::And(parts) if holds => {
                Self::all(parts.iter().map(|part| Self::of_expression(part, true)))
            }
            Expression::Or(parts) if !holds => {
                Self::all(parts.iter().map(|part| Self::of_expression(part, false)))
            }
            Expression::And(parts) | Expression::Or(parts) => {
                Self::any(parts.iter().map(|part| Self::of_expression(part, holds)))
            }
            Expression::Term(term) if holds => {
                Self::all(term.whole_words().map(|word| Self::Has(BloomKey::of_word(word))))
            }
            Expression::Term(_) => Self::NOTHING,
        }
    }

    fn is_met(&self, signature: &JobSignature) -> bool {
        match self {
            Self::Has(key) => signature.has(*key),
            Self::AtLeast(count, parts) => {
                let met = parts.iter().filter(|part| part.is_met(signature));
                met.take(*count).count() == *count
            }
        }
    }
}

/// The field's number in stored signatures: distinct for each field, below 127.
const fn stored_number(field: ValueField) -> u8 {
    match field {
        ValueField::Skill => 1,
        ValueField::PaymentKind => 2,
        ValueField::Text(text) => 16 + text as u8,
        ValueField::Flag(flag) => 64 + flag as u8,
    }
}

/// The three bits of one word or value. Two of them may be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BloomKey([u16; 3]);

impl BloomKey {
    fn of_word(word: &str) -> Self {
        Self::of(0, word)
    }

    /// The key of a value, or of the absence of one.
    fn of_value(field: ValueField, value: Option<&str>) -> Self {
        match value {
            Some(value) => Self::of(stored_number(field) << 1, value),
            None => Self::of(stored_number(field) << 1 | 1, ""),
        }
    }

    /// Hashes kind and text: 64-bit FNV-1a, then the last steps of `MurmurHash3`, since the last letters hardly change the
    /// higher bits of FNV.
    fn of(kind: u8, text: &str) -> Self {
        const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01B3;
        let mut hash = OFFSET_BASIS;
        for byte in std::iter::once(kind).chain(text.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        hash = (hash ^ hash >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        hash = (hash ^ hash >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        hash ^= hash >> 33;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of bits")]
        Self([0, 21, 42].map(|shift| (hash >> shift) as u16 % BITS))
    }
}
