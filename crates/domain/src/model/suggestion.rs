//! "Did you mean": the known name that a mistyped one is closest to.

/// The candidate that `name` is most likely meant to be, if one is close enough to be worth naming.
///
/// Close is: the same but for case and `_` or `-`, at most two typing errors away (one in short names), or the
/// plural of it.
pub(crate) fn closest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = plain(name);
    if wanted.chars().count() > 64 {
        return None;
    }
    let allowed = if wanted.chars().count() < 5 { 1 } else { 2 };
    candidates
        .iter()
        .map(|candidate| (distance(&wanted, &plain(candidate)), *candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
