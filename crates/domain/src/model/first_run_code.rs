//! The code that the first sign-in asks for (decision E3).

use super::Secret;
use super::digest::digests;

/// 32 digits and letters, without those that look like others. Those are read as what they look like.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// How many characters a code has: 40 bits.
const LENGTH: usize = 8;

/// A one-time code such as `F7QK-2M9D`, which the service writes into its log.
///
/// ```
/// use bidloop_domain::model::FirstRunCode;
///
/// let code = FirstRunCode::from_random([0x7b, 0xae, 0x31, 0x51, 0x2d]);
/// assert_eq!(code.expose(), "FEQ3-2M9D");
/// let typed = FirstRunCode::parse(" feq32m9d ").unwrap();
/// assert_eq!(typed.hash(), code.hash());
/// assert!(FirstRunCode::parse("F7QK").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstRunCode(Secret<String>);

digests! {
    /// The digest under which a code is stored.
    pub struct FirstRunCodeHash;
}

impl FirstRunCode {
    /// The code made of 40 random bits.
    pub fn from_random(bytes: [u8; 5]) -> Self {
        let bits = bytes
            .iter()
            .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let digits = (0..LENGTH).rev().map(|place| {
            let digit = usize::try_from(bits >> (5 * place) & 31).unwrap_or(0);
            char::from(ALPHABET[digit])
        });
        Self::grouped(digits)
    }

    /// Reads a code as people type it: in any case, with or without the hyphen, an O for a 0, an I or L for a 1.
    pub fn parse(text: &str) -> Option<Self> {
        let mut digits = Vec::with_capacity(LENGTH);
        for typed in text.chars().filter(|c| !c.is_whitespace() && *c != '-') {
            let digit = match typed.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            };
            if digits.len() == LENGTH || !u8::try_from(digit).is_ok_and(|byte| ALPHABET.contains(&byte)) {
                return None;
            }
            digits.push(digit);
        }
        (digits.len() == LENGTH).then(|| Self::grouped(digits.into_iter()))
    }

    fn grouped(digits: impl Iterator<Item = char>) -> Self {
        let mut code = String::with_capacity(LENGTH + 1);
        for (place, digit) in digits.enumerate() {
            if place == LENGTH / 2 {
                code.push('-');
            }
            code.push(digit);
        }
        Self(Secret::new(code))
    }

    /// The code in the clear, for the log.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The digest under which it is stored.
    pub fn hash(&self) -> FirstRunCodeHash {
        FirstRunCodeHash::of(self.expose())
    }
}
