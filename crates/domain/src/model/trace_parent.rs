//! The trace that work belongs to, as services pass it on to each other.

use std::fmt;

/// The name of the header that carries it.
pub const TRACE_PARENT_HEADER: &str = "traceparent";

/// Flags with a meaning: sampled, and a random trace id. All others are not passed on.
const KNOWN_FLAGS: u8 = 0b11;
const SAMPLED: u8 = 0b01;

/// A header `traceparent` (W3C Trace Context): the trace, and the step of it that the work is a part of.
///
/// It is passed on in version 00, whatever version came.
///
/// ```
/// use bidloop_domain::model::TraceParent;
///
/// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let parent = TraceParent::parse(header).expect("a well-formed header");
/// assert_eq!(parent.trace_id(), 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
/// assert_eq!(parent.to_string(), header);
/// assert_eq!(TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace_id: u128,
    parent_id: u64,
    flags: u8,
}

impl TraceParent {
    /// `None` if one of the ids is zero, which stands for none.
    pub const fn new(trace_id: u128, parent_id: u64, is_sampled: bool) -> Option<Self> {
        Self::with_flags(trace_id, parent_id, if is_sampled { SAMPLED } else { 0 })
    }

    const fn with_flags(trace_id: u128, parent_id: u64, flags: u8) -> Option<Self> {
        if trace_id == 0 || parent_id == 0 {
            return None;
        }
        Some(Self {
            trace_id,
            parent_id,
            flags: flags & KNOWN_FLAGS,
        })
    }

    /// Reads the header. `None` if it is malformed: it is then to be treated as absent. Of a version after 00, what
    /// version 00 does not have is passed over.
    pub fn parse(header: &str) -> Option<Self> {
        let (version, rest) = header.split_at_checked(2)?;
        let version = lower_hex(version)?;
        let (fields, beyond) = rest.split_at_checked(53)?;
        let is_whole = match version {
            0 => beyond.is_empty(),
            0xff => false,
            _ => beyond.is_empty() || beyond.starts_with('-'),
        };
        if !is_whole {
            return None;
        }
        let mut fields = fields.split('-');
        let (before, trace_id, parent_id, flags) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        if !before.is_empty() || (trace_id.len(), parent_id.len(), flags.len()) != (32, 16, 2) {
            return None;
        }
        Self::with_flags(
            lower_hex(trace_id)?,
            u64::try_from(lower_hex(parent_id)?).ok()?,
            u8::try_from(lower_hex(flags)?).ok()?,
        )
    }

    /// The trace.
    pub const fn trace_id(self) -> u128 {
        self.trace_id
    }

    /// The step in it that the work is a part of.
    pub const fn parent_id(self) -> u64 {
        self.parent_id
    }

    /// Whether the sender records the trace.
    pub const fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// The header's value.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            parent_id,
            flags,
        } = self;
        write!(f, "00-{trace_id:032x}-{parent_id:016x}-{flags:02x}")
    }
}

/// The number that the digits are. Upper case is refused, as the recommendation demands.
fn lower_hex(digits: &str) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let number = u128::from_str_radix(digits, 16).ok();
    number.filter(|_| digits.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    #[test]
    fn what_version_00_writes_is_passed_on_as_it_is() {
        for flags in ["00", "01", "02", "03"] {
            let header = format!("00-{TRACE}-{PARENT}-{flags}");
            assert_eq!(TraceParent::parse(&header).unwrap().to_string(), header);
        }
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known_and_passed_on_as_version_00() {
        for later in [
            format!("01-{TRACE}-{PARENT}-01"),
            format!("cc-{TRACE}-{PARENT}-01-what-the-future-will-be-like"),
            format!("cc-{TRACE}-{PARENT}-01-"),
            format!("fe-{TRACE}-{PARENT}-fd"),
        ] {
            let parent = TraceParent::parse(&later).unwrap();
            assert_eq!(parent.to_string(), format!("00-{TRACE}-{PARENT}-01"), "{later}");
            assert!(parent.is_sampled());
        }
    }

    #[test]
    fn flags_without_a_meaning_are_not_passed_on() {
        let parent = TraceParent::parse(&format!("00-{TRACE}-{PARENT}-fc")).unwrap();
        assert_eq!(parent.to_string(), format!("00-{TRACE}-{PARENT}-00"));
        assert!(!parent.is_sampled());
    }

    #[test]
    fn a_malformed_header_is_none() {
        for malformed in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-{TRACE}-{PARENT}-01-"),
            format!("00-{TRACE}-{PARENT}-01-more"),
            format!("01-{TRACE}-{PARENT}-01.more"),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("0-{TRACE}-{PARENT}-01"),
            format!("0x-{TRACE}-{PARENT}-01"),
            format!("+0-{TRACE}-{PARENT}-01"),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", PARENT.to_uppercase()),
            format!("00-{TRACE}-{PARENT}-0A"),
            format!("00-{}-{PARENT}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}0-{}-01", &PARENT[1..]),
            format!("00-+{}-{PARENT}-01", &TRACE[1..]),
            format!("00_{TRACE}_{PARENT}_01"),
            format!(" 00-{TRACE}-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}-01,00-{TRACE}-{PARENT}-01"),
            "ä".repeat(40),
        ] {
            assert_eq!(TraceParent::parse(&malformed), None, "{malformed:?}");
        }
    }

    #[test]
    fn an_id_of_zero_is_none() {
        assert_eq!(TraceParent::new(0, 1, true), None);
        assert_eq!(TraceParent::new(1, 0, true), None);
        assert!(TraceParent::new(1, 1, true).unwrap().is_sampled());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_is_none(text in ".{0,80}") {
            let _read = TraceParent::parse(&text);
        }

        #[test]
        fn what_is_written_is_read_again(trace in 1..=u128::MAX, parent in 1..=u64::MAX, is_sampled: bool) {
            let written = TraceParent::new(trace, parent, is_sampled).unwrap();
            prop_assert_eq!(TraceParent::parse(&written.to_string()), Some(written));
        }
    }
}
