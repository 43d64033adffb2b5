//! Ids that people can read: made from a name, and not in use.

use unicode_normalization::UnicodeNormalization;

/// The most characters of a name that an id repeats. An id has 64 at most.
const NAME_CHARS: usize = 40;

/// The ids that a thing with this name may have, the nicest first: `camp_rust_backend`, `camp_rust_backend_2` and so on.
pub(super) fn candidates(prefix: &str, name: &str) -> impl Iterator<Item = String> + use<> {
    let words = slug(name);
    let base = if words.is_empty() {
        prefix.to_owned()
    } else {
        format!("{prefix}_{words}")
    };
    (1_u32..).map(move |number| match number {
        1 if !words.is_empty() => base.clone(),
        number => format!("{base}_{number}"),
    })
}

/// The letters and digits of a name that an id may have; one underscore for whatever separates them.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.nfkd().flat_map(char::to_lowercase) {
        if slug.len() == NAME_CHARS {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('_') && !is_mark(character) {
            slug.push('_');
        }
    }
    slug.trim_end_matches('_').to_owned()
}

/// Whether it is an accent that stands behind its letter.
fn is_mark(character: char) -> bool {
    unicode_normalization::char::is_combining_mark(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_repeats_the_words_of_the_name() {
        let first = |name: &str| candidates("camp", name).next().unwrap();
        assert_eq!(first("Rust backend"), "camp_rust_backend");
        assert_eq!(first("  Café & Büro — 2nd "), "camp_cafe_buro_2nd");
        assert_eq!(first("日本語"), "camp_1");
        let long = first(&"word ".repeat(50));
        assert!(long.len() <= 45 && crate::model::CampaignId::parse(&long).is_ok());
    }

    #[test]
    fn further_ids_are_numbered() {
        let some: Vec<String> = candidates("camp", "Rust").take(3).collect();
        assert_eq!(some, ["camp_rust", "camp_rust_2", "camp_rust_3"]);
    }
}
