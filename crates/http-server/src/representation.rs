//! Representations of content: plain or compressed, each with its entity tag (RFC 9110, sections 8.8, 12.5.3 and 13.1.2).
//!
//! Compression is gzip, which every client knows; its encoder is pure Rust and is part of the program anyway. A caller that
//! does not ask for it costs nothing. Content is compressed as a whole, in one go: whoever serves it decides where.
//!
//! What holds a secret beside something that the request chose is not to be compressed: the length would tell how much
//! they have in common.

use std::io::Write as _;
use std::sync::OnceLock;

use actix_web::http::header::{self, AcceptEncoding, ContentEncoding, Encoding, HeaderMap};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, HttpResponseBuilder};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use twox_hash::XxHash3_128;

/// Content below this length is sent as it is: it fits into a packet or two.
pub const WORTH_COMPRESSING_BYTES: usize = 1_400;

/// How an answer's body is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// Not at all.
    Identity,
    /// As `Content-Encoding: gzip`.
    Gzip,
}

/// What a request for content gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The caller has this representation.
    Known(Coding),
    /// This representation.
    Content(Coding),
}

/// Says that an answer depends on what codings the caller accepts.
fn vary(response: &mut HttpResponseBuilder) {
    response.insert_header((header::VARY, "accept-encoding"));
}

/// Answers 200 with content that has no tag, compressed if the caller asks for it. It is compressed here and now, so it
/// must not be long.
pub fn answer_short(request: &HttpRequest, content_type: &'static str, content: Bytes) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.content_type(content_type);
    vary(&mut response);
    if content.len() < WORTH_COMPRESSING_BYTES || !asks_for_gzip(request) {
        return response.body(content);
    }
    response.insert_header(ContentEncoding::Gzip);
    response.body(gzip([&*content]))
}

/// Whether the caller asks for gzip, and does not prefer the plain content.
pub fn asks_for_gzip(request: &HttpRequest) -> bool {
    if !request.headers().contains_key(header::ACCEPT_ENCODING) {
        return false;
    }
    let Some(accepted) = request.get_header::<AcceptEncoding>() else {
        return false;
    };
    let offered = [Encoding::gzip(), Encoding::identity()];
    accepted.negotiate(offered.iter()) == Some(Encoding::gzip())
}

/// Compresses content that is sent once: fast, to a third or less for pages of leads.
pub fn gzip<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Bytes {
    compress(pieces, Compression::fast())
}

fn compress<'p>(pieces: impl IntoIterator<Item = &'p [u8]>, level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let written = pieces.into_iter().try_for_each(|piece| encoder.write_all(piece));
    // Writing to memory does not fail.
    written.and_then(|()| encoder.finish()).unwrap_or_default().into()
}

/// Tells content apart: another byte anywhere, another tag.
///
/// It is an XXH3 hash of 128 bits, which reads some gigabytes a second. Equal content has the same tag in every process. It
/// resists chance and not malice: whoever can choose the content could make two of the same tag, and would hide a change of
/// their own content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentTag(u128);

impl ContentTag {
    /// The tag of content in pieces. A digest may stand for a piece, if it always does.
    pub fn of<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut hash = XxHash3_128::new();
        for piece in pieces {
            hash.write(piece);
        }
        Self(hash.finish_128())
    }

    /// The entity tag of a representation. Each coding has its own, since their bytes differ.
    fn entity_tag(self, coding: Coding) -> String {
        match coding {
            Coding::Identity => format!("\"{:032x}\"", self.0),
            Coding::Gzip => format!("\"{:032x}-gzip\"", self.0),
        }
    }

    /// Begins the answer to a request for this content: 200 with a representation, or 304 if the caller has it already. It
    /// has no `Content-Type` yet.
    pub fn begin_answer(self, answer: Answer, cache_control: &'static str) -> HttpResponseBuilder {
        let mut response = match answer {
            Answer::Known(_) => HttpResponse::NotModified(),
            Answer::Content(_) => HttpResponse::Ok(),
        };
        let (Answer::Known(coding) | Answer::Content(coding)) = answer;
        response.insert_header((header::ETAG, self.entity_tag(coding)));
        response.insert_header((header::CACHE_CONTROL, cache_control));
        vary(&mut response);
        if answer == Answer::Content(Coding::Gzip) {
            response.insert_header(ContentEncoding::Gzip);
        }
        response
    }

    /// The representation that the caller has already, by its `If-None-Match`: a plain one, or a compressed one if it
    /// `asks_for_gzip`.
    pub fn known(self, headers: &HeaderMap, asks_for_gzip: bool) -> Option<Coding> {
        if !headers.contains_key(header::IF_NONE_MATCH) {
            return None;
        }
        let compressed = asks_for_gzip.then_some(Coding::Gzip);
        let mut acceptable = compressed.into_iter().chain([Coding::Identity]);
        acceptable.find(|coding| names(headers, &self.entity_tag(*coding)))
    }
}

/// Whether `If-None-Match` names an entity tag, by weak comparison.
fn names(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH);
    let mut named = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    named.any(|named| {
        let named = named.trim();
        named == "*" || named.strip_prefix("W/").unwrap_or(named) == tag
    })
}

/// Content that stays the same while the process runs.
#[derive(Debug)]
pub struct StaticContent {
    content_type: &'static str,
    cache_control: &'static str,
    plain: Bytes,
    tag: ContentTag,
    /// Made when it is first asked for, as small as it gets.
    compressed: OnceLock<Bytes>,
}

impl StaticContent {
    /// This content, with its media type and what caches may do with it.
    pub fn new(content_type: &'static str, cache_control: &'static str, content: impl Into<Bytes>) -> Self {
        let plain = content.into();
        Self {
            content_type,
            cache_control,
            tag: ContentTag::of([&*plain]),
            plain,
            compressed: OnceLock::new(),
        }
    }

    /// How many bytes it has, uncompressed.
    pub fn length(&self) -> usize {
        self.plain.len()
    }

    /// Answers 200, or 304 if the caller has it.
    pub fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let asks_for_gzip = asks_for_gzip(request) && self.plain.len() >= WORTH_COMPRESSING_BYTES;
        let preferred = if asks_for_gzip {
            Coding::Gzip
        } else {
            Coding::Identity
        };
        let known = self.tag.known(request.headers(), asks_for_gzip);
        let answer = known.map_or(Answer::Content(preferred), Answer::Known);
        let mut response = self.tag.begin_answer(answer, self.cache_control);
        let body = match answer {
            Answer::Known(_) => return response.finish(),
            Answer::Content(Coding::Identity) => &self.plain,
            Answer::Content(Coding::Gzip) => self.compressed(),
        };
        response.content_type(self.content_type).body(body.clone())
    }

    fn compressed(&self) -> &Bytes {
        self.compressed
            .get_or_init(|| compress([&*self.plain], Compression::best()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use actix_web::test::TestRequest;
    use flate2::read::GzDecoder;

    use super::*;

    fn asking(accept_encoding: &str) -> HttpRequest {
        TestRequest::default()
            .insert_header((header::ACCEPT_ENCODING, accept_encoding))
            .to_http_request()
    }

    fn naming(if_none_match: &[&str]) -> HttpRequest {
        let mut request = TestRequest::default();
        for value in if_none_match {
            request = request.append_header((header::IF_NONE_MATCH, *value));
        }
        request.to_http_request()
    }

    #[test]
    fn gzip_is_for_callers_that_ask_for_it_and_do_not_prefer_plain_content() {
        assert!(!asks_for_gzip(&TestRequest::default().to_http_request()));
        for accepted in [
            "gzip",
            "GZIP",
            "deflate, gzip;q=1.0, *;q=0.5",
            "br, zstd, gzip",
            "gzip;q=0.1",
        ] {
            assert!(asks_for_gzip(&asking(accepted)), "{accepted}");
        }
        for refused in [
            "",
            "identity",
            "gzip;q=0",
            "br",
            "gzip;q=0.5, identity;q=0.9",
            "*;q=0",
            "\u{fc}",
            "gzip;q=x",
        ] {
            assert!(!asks_for_gzip(&asking(refused)), "{refused}");
        }
    }

    #[test]
    fn content_in_pieces_has_the_tag_and_the_compressed_form_of_the_whole() {
        let (pieces, whole) = ([&b"a lead, "[..], b"", b"another lead"], b"a lead, another lead");
        assert_eq!(ContentTag::of(pieces), ContentTag::of([&whole[..]]));
        let mut read = Vec::new();
        let compressed = gzip(pieces);
        GzDecoder::new(&*compressed).read_to_end(&mut read).unwrap();
        assert_eq!(read, whole);
    }

    #[test]
    fn another_byte_anywhere_is_another_tag() {
        let content = vec![b'x'; 5_000];
        let tag = ContentTag::of([&*content]);
        for place in 0..content.len() {
            let mut other = content.clone();
            other[place] ^= 1;
            assert_ne!(ContentTag::of([&*other]), tag, "{place}");
        }
        assert_ne!(ContentTag::of([&content[1..]]), tag);
    }

    #[test]
    fn the_tag_is_the_same_in_every_process() {
        let tag = ContentTag::of([&b"a page"[..]]).entity_tag(Coding::Identity);
        assert_eq!(tag, "\"20d408ffafbb135f66a3ef0757377cd9\"");
    }

    #[test]
    fn if_none_match_is_a_list_or_a_star_and_compared_weakly() {
        let tag = ContentTag::of([&b"content"[..]]);
        let plain = tag.entity_tag(Coding::Identity);
        let known = |values: &[&str]| tag.known(naming(values).headers(), false);
        assert_eq!(known(&[]), None);
        for named in [
            "*",
            &plain,
            &format!("W/{plain}"),
            &format!("\"a,b\" , {plain},\"c\""),
        ] {
            assert_eq!(known(&[named]), Some(Coding::Identity), "{named}");
        }
        assert_eq!(known(&["\"a\"", &plain]), Some(Coding::Identity), "on two lines");
        for other in ["", "\"\"", "W/", plain.trim_matches('"'), "\"*\"", "\u{fc}"] {
            assert_eq!(known(&[other]), None, "{other}");
        }
    }

    #[test]
    fn a_compressed_representation_is_known_to_those_who_ask_for_it_alone() {
        let tag = ContentTag::of([&b"content"[..]]);
        let compressed = naming(&[&tag.entity_tag(Coding::Gzip)]);
        assert_eq!(tag.known(compressed.headers(), true), Some(Coding::Gzip));
        assert_eq!(tag.known(compressed.headers(), false), None);
        let plain = naming(&[&tag.entity_tag(Coding::Identity)]);
        assert_eq!(tag.known(plain.headers(), true), Some(Coding::Identity));
    }
}
