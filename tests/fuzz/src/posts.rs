//! Job posts of the marketplace's feed.

use bidloop_domain::matching::{PreparedJob, SavedFilter};
use bidloop_domain::model::JobPost;

use crate::case::Case;
use crate::cost::bounded;

/// Parses the input as a post. A valid one can be matched, and its JSON is a post with the same texts.
pub fn posts(data: &[u8]) {
    let Some((_, text)) = Case::text(data) else {
        return;
    };
    let parsed = bounded(text.len(), || JobPost::parse(&text));
    let post = match parsed {
        Ok(post) => post,
        Err(fault) => {
            let message = fault.to_string();
            assert!(message.len() < 4096, "{} bytes of message", message.len());
            return;
        }
    };
    bounded(text.len(), || {
        let job = PreparedJob::new(&post.facts());
        let filter = SavedFilter::parse("{}").expect("a filter without conditions");
        assert!(filter.matches(&job));
    });
    let json = serde_json::to_string(&post).expect("a post has a JSON form");
    let again = JobPost::parse(&json).expect("a post's JSON is a post");
    // Not the numbers: reading one may differ from it in the last digit.
    assert_eq!(
        (
            again.id,
            again.title,
            again.description,
            again.skills,
            again.questions
        ),
        (post.id, post.title, post.description, post.skills, post.questions)
    );
}
