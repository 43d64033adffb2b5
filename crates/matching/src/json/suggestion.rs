//! Suggests a known name for a mistyped one.

/// Returns the candidate that is closest to `name`, if it is close enough to suggest it.
///
/// Case, `_` and `-` are ignored. A close name differs by at most two characters, in names with less than five characters
/// by one.
///
/// ```
/// use bidloop_matching::json::closest;
///
/// let names = ["keywords", "minRating", "skills"];
/// assert_eq!(closest("min_rating", &names), Some("minRating"));
/// assert_eq!(closest("keyword", &names), Some("keywords"));
/// assert_eq!(closest("budget", &names), None);
/// ```
pub fn closest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = plain(name);
    let length = wanted.chars().count();
    if length > 64 {
        return None;
    }
    let allowed = if length < 5 { 1 } else { 2 };
    candidates
        .iter()
        .map(|candidate| (strsim::levenshtein(&wanted, &plain(candidate)), *candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_known_name_is_suggested() {
        let names = ["keywords", "minRating", "skills", "title"];
        assert_eq!(closest("min_rating", &names), Some("minRating"));
        assert_eq!(closest("keyword", &names), Some("keywords"));
        assert_eq!(closest("Title", &names), Some("title"));
        assert_eq!(closest("budget", &names), None);
        assert_eq!(closest("x", &names), None);
    }
}
