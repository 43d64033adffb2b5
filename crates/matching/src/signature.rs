//! A stored job's signature: a few bits that tell of nearly every job that a filter cannot match it, so that its JSON
//! is neither read nor parsed.
//!
//! A signature is a Bloom filter over what a job has: its words, its values, and the values that it does not carry.
//! Each sets three of 1,024 bits. [`SignatureSieve`] asks for what a filter surely requires; where one of its bits is
//! missing, so is what it stands for. The other way round nothing follows: a job that passes is read and matched.
//!
//! Why 1,024 and three (`docs/adr/0011-job-signatures.md` has the table): a post of 150 words has some 115 of these
//! things, and a word that it does not have passes in 2.3 % of such posts; one bit a thing would let 11 % pass.
//!
//! The hash has no secret, so whoever writes posts can make one that passes every sieve. That costs reading this very
//! post, as a post with a few thousand words does as well; what matches is decided by the post itself.

use super::condition::Condition;
use super::job_values::{Attributed, JobValue};
use super::keywords::Expression;
use super::{PreparedJob, SavedFilter};

/// Raised by whoever changes what a word or a list key is, what sets bits, or which: signatures stored before then
/// count as missing, and their jobs are read.
const VERSION: u8 = 1;

const BITS: u16 = 1_024;
const WORDS: usize = BITS as usize / 64;

/// What a job has, in 1,024 bits.
///
/// ```
/// use bidloop_matching::{JobFacts, JobSignature, PreparedJob, SavedFilter, SignatureSieve};
///
/// let job = JobFacts { title: "Rust, Actix", ..JobFacts::default() };
/// let signature = JobSignature::of(&PreparedJob::new(&job));
/// assert_eq!(JobSignature::from_bytes(&signature.to_bytes()), Some(signature.clone()));
///
/// let sieve = |keywords: &str| {
///     let filter = SavedFilter::parse(&serde_json::json!({ "keywords": keywords }).to_string());
///     SignatureSieve::of(&filter.unwrap())
/// };
/// assert!(sieve("rust (actix OR axum)").may_match(&signature));
/// assert!(!sieve("rust tokio").may_match(&signature));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSignature([u64; WORDS]);

impl JobSignature {
    /// The bytes of a stored signature: its version, then its bits.
    pub const LENGTH: usize = 1 + WORDS * 8;

    /// The signature that says nothing: it passes every sieve that some job can pass.
    pub const UNTELLING: Self = Self([u64::MAX; WORDS]);

    /// The signature of a job.
    pub fn of(job: &PreparedJob) -> Self {
        let mut signature = Self([0; WORDS]);
        for (word, _) in job.text().distinct_words() {
            signature.set(Mark::of_word(word));
        }
        Attributed::of_job(job, |attributed, value| {
            signature.set(Mark::of_value(attributed, value.text()));
        });
        signature
    }

    /// The form in which it is stored, the same on every machine.
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [VERSION; Self::LENGTH];
        for (bytes, word) in bytes[1..].chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a stored signature; none if it is of another version, or no signature.
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

    fn set(&mut self, mark: Mark) {
        for bit in mark.0 {
            self.0[usize::from(bit >> 6)] |= 1 << (bit & 63);
        }
    }

    #[inline]
    fn has(&self, mark: Mark) -> bool {
        mark.0
            .iter()
            .all(|bit| self.0[usize::from(bit >> 6)] >> (bit & 63) & 1 == 1)
    }
}

/// What a filter surely requires of a job, as far as signatures tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureSieve(Need);

impl SignatureSieve {
    /// The sieve of a filter: words and phrases outside negations, lists of what a job is to have, wanted flags. What
    /// is excluded, numbers and prefixes require nothing that a signature tells.
    pub fn of(filter: &SavedFilter) -> Self {
        let unknown_holds = filter.unknown_holds();
        let needs = filter.conditions().iter();
        Self(Need::all(
            needs.map(|condition| Need::of_condition(condition, unknown_holds)),
        ))
    }

    /// Whether it lets every job pass.
    pub fn passes_all(&self) -> bool {
        self.0.is_nothing()
    }

    /// False if the filter surely does not match the signature's job.
    pub fn may_match(&self, signature: &JobSignature) -> bool {
        self.0.is_met(signature)
    }
}

/// What must be in a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Need {
    Mark(Mark),
    /// At least so many of these.
    AtLeast(usize, Vec<Need>),
}

impl Need {
    const NOTHING: Self = Self::AtLeast(0, Vec::new());

    fn is_nothing(&self) -> bool {
        matches!(self, Self::AtLeast(0, _))
    }

    fn all(needs: impl Iterator<Item = Self>) -> Self {
        let mut needs: Vec<Self> = needs.filter(|need| !need.is_nothing()).collect();
        match needs.pop() {
            Some(only) if needs.is_empty() => only,
            last => {
                needs.extend(last);
                Self::AtLeast(needs.len(), needs)
            }
        }
    }

    fn any(needs: impl Iterator<Item = Self>) -> Self {
        let needs: Vec<Self> = needs.collect();
        if needs.iter().any(Self::is_nothing) {
            return Self::NOTHING;
        }
        Self::AtLeast(1, needs)
    }

    fn of_condition(condition: &Condition, unknown_holds: bool) -> Self {
        let mark = |attributed, value: Option<&str>| Self::Mark(Mark::of_value(attributed, value));
        // Without the value the condition is unknown, whatever it asks.
        let or_unknown = |attributed, needs: Vec<Self>| {
            let unknown = unknown_holds.then(|| mark(attributed, None));
            Self::any(needs.into_iter().chain(unknown))
        };
        let one_of = |attributed, values: &[String]| {
            let values = values
                .iter()
                .map(|listed| mark(attributed, Some(listed.as_str())));
            or_unknown(attributed, values.collect())
        };
        match condition {
            Condition::Keywords(expression) => Self::of_expression(expression, true),
            Condition::SkillsAtLeast { count, names, .. } => {
                let named = names.iter().map(|name| mark(Attributed::Skill, Some(name)));
                let named = Self::AtLeast(*count, named.collect());
                or_unknown(Attributed::Skill, vec![named])
            }
            Condition::OneOf { field, values, .. } => one_of(Attributed::Text(*field), values),
            Condition::PaymentTypes(kinds) => {
                let kinds = kinds
                    .iter()
                    .map(|kind| mark(Attributed::PaymentKind, JobValue::of_payment_kind(*kind).text()));
                or_unknown(Attributed::PaymentKind, kinds.collect())
            }
            Condition::Is { flag, wanted, .. } => {
                let flag = Attributed::Flag(*flag);
                or_unknown(flag, vec![mark(flag, JobValue::of_flag(*wanted).text())])
            }
            Condition::NoSkill(_)
            | Condition::NoneOf { .. }
            | Condition::HourlyRate { .. }
            | Condition::FixedPrice { .. }
            | Condition::Within { .. } => Self::NOTHING,
        }
    }

    /// What the expression requires where it `holds`, or where it does not.
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
                Self::all(term.whole_words().map(|word| Self::Mark(Mark::of_word(word))))
            }
            Expression::Term(_) => Self::NOTHING,
        }
    }

    fn is_met(&self, signature: &JobSignature) -> bool {
        match self {
            Self::Mark(mark) => signature.has(*mark),
            Self::AtLeast(count, needs) => {
                let met = needs.iter().filter(|need| need.is_met(signature));
                met.take(*count).count() == *count
            }
        }
    }
}

/// The number in a stored signature of what a value is the value of: distinct for each, below 127.
const fn stored_number(attributed: Attributed) -> u8 {
    match attributed {
        Attributed::Skill => 1,
        Attributed::PaymentKind => 2,
        Attributed::Text(attribute) => 16 + attribute as u8,
        Attributed::Flag(flag) => 64 + flag as u8,
    }
}

/// The bits that stand for one thing; one of them may occur twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark([u16; 3]);

impl Mark {
    fn of_word(word: &str) -> Self {
        Self::of(0, word)
    }

    /// A value, or that the job does not carry one.
    fn of_value(attributed: Attributed, value: Option<&str>) -> Self {
        match value {
            Some(value) => Self::of(stored_number(attributed) << 1, value),
            None => Self::of(stored_number(attributed) << 1 | 1, ""),
        }
    }

    /// By FNV-1a with 64 bits over the kind and the text, mixed by the last steps of `MurmurHash3`, since of FNV's own
    /// bits the higher ones know little of the last letters.
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
