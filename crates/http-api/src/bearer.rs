//! The bearer credential of a request (specification, Authentication, rules 1 and 4).

use actix_web::http::header::{AUTHORIZATION, HeaderMap};

/// The credential in the `Authorization` header. `None` if there is no such header or more than one, if the scheme is
/// not `Bearer`, or if the header is not visible ASCII.
pub(crate) fn presented_key(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION);
    let only = values.next()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, credential) = only.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| credential.trim_matches(' '))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn presented(values: &[&[u8]]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        presented_key(&headers).map(str::to_owned)
    }

    #[test]
    fn the_scheme_is_read_without_regard_to_case() {
        for scheme in ["Bearer", "bearer", "BEARER"] {
            assert_eq!(
                presented(&[format!("{scheme} lk_1").as_bytes()]).as_deref(),
                Some("lk_1")
            );
        }
    }

    #[test]
    fn anything_but_one_bearer_header_presents_nothing() {
        assert_eq!(presented(&[]), None);
        assert_eq!(presented(&[b"Bearer lk_1", b"Bearer lk_1"]), None);
        assert_eq!(presented(&[b"Basic lk_1"]), None);
        assert_eq!(presented(&[b"Bearer"]), None);
        assert_eq!(presented(&[b"lk_1"]), None);
        assert_eq!(presented(&[b"Bearer lk_\xff\xfe"]), None);
    }
}
