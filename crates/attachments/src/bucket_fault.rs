//! What a bucket's refusal means, and what an operator can do about it.

use bidloop_domain::port::BlobError;

/// The bucket answers so if there is no such object. Any other answer with 404, as for a missing bucket, says nothing about
/// the object.
const NO_OBJECT: &str = "NoSuchKey";

/// Ends of the storage's answers and of `object_store`'s messages, and what to do.
const REMEDIES: [(&[&str], &str); 8] = [
    (
        &["<Code>NoSuchBucket</Code>"],
        "there is no such bucket: create it, or correct attachments.url, AWS_REGION or AWS_ENDPOINT_URL",
    ),
    (
        &["<Code>InvalidAccessKeyId</Code>"],
        "the storage does not know the access key: correct AWS_ACCESS_KEY_ID",
    ),
    (
        &["<Code>SignatureDoesNotMatch</Code>"],
        "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID: correct one of them",
    ),
    (
        &["<Code>AccessDenied</Code>"],
        "the access key lacks a permission, or the bucket is another's: give the key the policy in docs/operations.md, or \
         correct attachments.url",
    ),
    (
        &["<Code>ExpiredToken</Code>", "<Code>InvalidToken</Code>"],
        "AWS_SESSION_TOKEN is not valid or has expired: set a new one",
    ),
    (
        &[
            "<Code>AuthorizationHeaderMalformed</Code>",
            "<Code>PermanentRedirect</Code>",
            "redirect without LOCATION",
        ],
        "the bucket is in another region: set AWS_REGION to it",
    ),
    (
        &["<Code>RequestTimeTooSkewed</Code>"],
        "this machine's clock differs from the storage's: set it",
    ),
    (
        &["client error (Connect)"],
        "the storage cannot be reached: check AWS_ENDPOINT_URL, and whether it runs",
    ),
];

/// An answer of the bucket to a request for one object or a list.
#[expect(clippy::needless_pass_by_value, reason = "map_err hands the error over")]
pub(crate) fn blob_error(error: object_store::Error) -> BlobError {
    let text = error.to_string();
    if text.contains(&format!("<Code>{NO_OBJECT}</Code>")) {
        return BlobError::NotFound;
    }
    unavailable(&text)
}

/// The text for the log: what to do first, then everything that the storage said.
pub(crate) fn unavailable(text: &str) -> BlobError {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_meant = |(signs, _): &&(&[&str], &str)| signs.iter().any(|sign| text.contains(sign));
    BlobError::Unavailable(match REMEDIES.iter().find(is_meant) {
        Some((_, remedy)) => format!("{remedy} ({text})"),
        None => text,
    })
}
