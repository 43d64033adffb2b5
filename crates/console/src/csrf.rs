//! The token of a session's changes as pages carry it: masked anew on each page, so that the length of a compressed page
//! tells nothing about it.

use bidloop_domain::model::CsrfToken;

const BYTES: usize = 32;

/// The token of a page: `pad`, and the token combined with it.
pub(crate) fn masked(token: &CsrfToken, pad: [u8; BYTES]) -> String {
    let token = hex::decode(token.expose()).unwrap_or_default();
    let masked: Vec<u8> = token.iter().zip(pad).map(|(byte, pad)| byte ^ pad).collect();
    hex::encode(pad) + &hex::encode(masked)
}

/// Whether a form presents the session's token, as some page of the session carried it.
pub(crate) fn is_presented(token: &CsrfToken, presented: &str) -> bool {
    let Ok(bytes) = hex::decode(presented) else {
        return false;
    };
    let Some((pad, masked)) = bytes.split_at_checked(BYTES) else {
        return false;
    };
    let unmasked: Vec<u8> = masked.iter().zip(pad).map(|(byte, pad)| byte ^ pad).collect();
    masked.len() == BYTES && token.matches(&hex::encode(unmasked))
}

#[cfg(test)]
mod tests {
    use bidloop_domain::model::{OrganizationId, SessionToken};

    use super::*;

    fn token_of(session: u8) -> CsrfToken {
        let organization = OrganizationId::parse("acme").unwrap();
        SessionToken::from_random([session; 32]).csrf(&organization)
    }

    #[test]
    fn a_token_is_another_on_each_page_and_each_is_taken() {
        let token = token_of(1);
        let (one, two) = (masked(&token, [7; 32]), masked(&token, [9; 32]));
        assert_ne!(one[64..], two[64..]);
        assert!(is_presented(&token, &one) && is_presented(&token, &two));
    }

    #[test]
    fn another_sessions_token_and_other_texts_are_not_taken() {
        let token = token_of(1);
        let other = masked(&token_of(2), [7; 32]);
        let short = masked(&token, [7; 32])[..126].to_owned();
        for presented in ["", "zz", &other, &short, token.expose()] {
            assert!(!is_presented(&token, presented), "{presented}");
        }
    }
}
