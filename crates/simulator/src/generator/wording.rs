//! Title, description and questions of a post, filled in so that they fit together and match its skills.

use super::market_data::{Domain, Knowledge};
use super::pay::Pay;
use super::random::Random;

/// The topic of a post: the values of the words in braces.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) domain: &'a Domain,
    pub(super) skills: Vec<String>,
    role: &'a str,
    product: &'a str,
    word: &'a str,
    hours: &'a str,
    duration: &'a str,
}

impl<'a> Subject<'a> {
    pub(super) fn draw(
        knowledge: &'a Knowledge,
        domain: &'a Domain,
        pay: &'a Pay,
        random: &mut Random,
    ) -> Self {
        Self {
            domain,
            skills: draw_skills(knowledge, domain, random),
            role: random.text(&domain.roles),
            product: random.text(&domain.products),
            word: random.text(&knowledge.phrases.words),
            hours: match pay.hours.as_deref() {
                Some("Less than 30 hrs/week") => "less than 30 hours a week",
                Some("More than 30 hrs/week") => "more than 30 hours a week",
                _ => "hours to be agreed",
            },
            duration: match pay.duration.as_deref() {
                Some("Less than 1 month") => "less than a month",
                Some("1 to 3 months") => "one to three months",
                Some("3 to 6 months") => "three to six months",
                Some("More than 6 months") => "more than six months",
                _ => "as long as it takes",
            },
        }
    }

    pub(super) fn occupation(&self, random: &mut Random) -> &'a str {
        let implied = self
            .skills
            .first()
            .and_then(|anchor| self.domain.occupation_of.get(anchor));
        implied.map_or_else(|| random.text(&self.domain.occupations), String::as_str)
    }

    pub(super) fn title(&self, random: &mut Random) -> String {
        capitalized(&self.fill(random.text(&self.domain.titles)))
    }

    /// The value of a word in braces. `None`: the word is unknown, and the braces stay.
    fn value(&self, word: &str) -> Option<String> {
        if let Some(word) = word.strip_prefix("a ") {
            let value = self.value(word)?;
            return Some(format!("{} {value}", article(&value)));
        }
        let skill = |index: usize| {
            self.skills
                .get(index)
                .or(self.skills.first())
                .cloned()
                .unwrap_or_default()
        };
        Some(match word {
            "skill" => skill(0),
            "skill2" => skill(1),
            "role" => self.role.to_owned(),
            "Role" => capitalized(self.role),
            "product" => self.product.to_owned(),
            "word" => self.word.to_owned(),
            "hours" => self.hours.to_owned(),
            "duration" => self.duration.to_owned(),
            _ => return None,
        })
    }

    fn fill(&self, sentence: &str) -> String {
        let mut filled = String::with_capacity(sentence.len() + 48);
        let mut rest = sentence;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let (word, following) = after.split_once('}').unwrap_or((after, ""));
            if let Some(value) = self.value(word) {
                filled.push_str(&value);
            } else {
                filled.push('{');
                filled.push_str(word);
                filled.push('}');
            }
            rest = following;
        }
        filled.push_str(rest);
        filled
    }

    fn sentence(&self, sentence: &str) -> String {
        capitalized(&self.fill(sentence))
    }

    /// A fifth of the posts has a few sentences. The others list tasks and requirements, some at length.
    pub(super) fn description(&self, knowledge: &Knowledge, pay: &Pay, random: &mut Random) -> String {
        let phrases = &knowledge.phrases;
        let mut opening = self.sentence(random.text(&self.domain.openings));
        if random.chance(0.7) {
            opening = format!("{opening} {}", random.text(&phrases.contexts));
        }
        let mut paragraphs = vec![opening];
        let length = random.weighted([0.2, 0.5, 0.3].into_iter());
        if length == 0 {
            let tasks = random.some(&self.domain.tasks, 3);
            paragraphs.push(format!("You would {}, {} and {}.", tasks[0], tasks[1], tasks[2]));
        } else {
            let (fewest, most) = if length == 1 { (3, 5) } else { (5, 9) };
            let count = fewest + random.index(most - fewest + 1);
            let mark = *random.pick(&["- ", "• ", "* ", "– "]);
            let tasks = random.some(&self.domain.tasks, count);
            paragraphs.push(listed(
                random.text(&phrases.list_heads),
                mark,
                tasks.into_iter().map(|task| capitalized(task)),
            ));
            let count = 2 + random.index(3);
            let wants = random.some(&self.domain.wants, count);
            paragraphs.push(listed(
                random.text(&phrases.want_heads),
                mark,
                wants.into_iter().map(|want| self.sentence(want)),
            ));
        }
        if length == 2 {
            let others: Vec<&str> = self.skills.iter().map(String::as_str).collect();
            paragraphs.push(format!("In short: {}.", others.join(", ")));
        }
        if random.chance(0.75) {
            let terms = if pay.is_hourly() {
                &phrases.hourly
            } else {
                &phrases.fixed
            };
            paragraphs.push(self.sentence(random.text(terms)));
        }
        if random.chance(0.85) {
            paragraphs.push(self.sentence(random.text(&phrases.closings)));
        }
        paragraphs.join("\n\n")
    }

    /// No questions in six of ten posts, else one to five different ones.
    pub(super) fn questions(&self, knowledge: &Knowledge, random: &mut Random) -> Vec<String> {
        let count = random.weighted([0.6, 0.08, 0.12, 0.1, 0.06, 0.04].into_iter());
        let own = count.div_ceil(2);
        let mut questions: Vec<String> = random
            .some(&self.domain.questions, own)
            .into_iter()
            .map(|question| self.sentence(question))
            .collect();
        let general = random.some(&knowledge.phrases.questions, count - questions.len());
        questions.extend(general.into_iter().map(|question| self.sentence(question)));
        questions
    }
}

/// A group of related skills, and others that often occur with them.
fn draw_skills(knowledge: &Knowledge, domain: &Domain, random: &mut Random) -> Vec<String> {
    let group = random.pick(&domain.groups);
    let from_group = 2 + random.index(group.len() - 1);
    let mut skills: Vec<String> = group.iter().take(from_group).cloned().collect();
    for _ in 0..random.weighted([0.1, 0.14, 0.16, 0.16, 0.14, 0.12, 0.1, 0.05, 0.03].into_iter()) {
        let weight = |skill: &String| {
            if skills.contains(skill) {
                0.0
            } else {
                knowledge.affinity(skill, &skills)
            }
        };
        let weights: Vec<f64> = domain.more.iter().map(weight).collect();
        if weights.iter().all(|weight| *weight <= 0.0) {
            break;
        }
        skills.push(domain.more[random.weighted(weights.into_iter())].clone());
    }
    skills
}

fn listed(head: &str, mark: &str, items: impl Iterator<Item = String>) -> String {
    items.fold(head.to_owned(), |text, item| format!("{text}\n{mark}{item}"))
}

/// `an` before a vowel sound, for the words of the data folder.
fn article(word: &str) -> &'static str {
    let lower = word.to_lowercase();
    let spelled = ["hr ", "seo", "sql", "etl", "llm", "ux", "ui "]
        .iter()
        .find(|start| lower.starts_with(**start));
    match spelled {
        Some(&"ux" | &"ui ") => "a",
        Some(_) => "an",
        None if lower.starts_with("user") || lower.starts_with("university") => "a",
        None if lower.starts_with(['a', 'e', 'i', 'o', 'u']) => "an",
        None => "a",
    }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_follow_the_sound() {
        for (word, wanted) in [
            ("booking platform", "a"),
            ("API engineer", "an"),
            ("HR dashboard", "an"),
            ("UX designer", "a"),
            ("UI engineer", "a"),
            ("user manual", "a"),
            ("university department", "a"),
            ("LLM developer", "an"),
            ("SEO consultant", "an"),
            ("architecture firm", "an"),
            ("hiring tool", "a"),
        ] {
            assert_eq!(article(word), wanted, "{word}");
        }
    }

    #[test]
    fn every_word_in_braces_means_something() {
        let knowledge = Knowledge::get();
        let mut random = Random::new(1);
        for domain in &knowledge.domains {
            let pay = Pay::draw(
                knowledge,
                &knowledge.market.categories[0],
                domain.pay,
                &mut random,
            );
            let subject = Subject::draw(knowledge, domain, &pay, &mut random);
            let phrases = &knowledge.phrases;
            let lists = [
                &domain.titles,
                &domain.openings,
                &domain.tasks,
                &domain.wants,
                &domain.questions,
                &phrases.closings,
                &phrases.hourly,
                &phrases.fixed,
                &phrases.questions,
            ];
            for sentence in lists.into_iter().flatten() {
                let filled = subject.fill(sentence);
                assert!(!filled.contains(['{', '}']), "{}: {filled}", domain.name);
            }
        }
        assert!(
            knowledge
                .domains
                .iter()
                .flat_map(|domain| &domain.tasks)
                .all(|task| !task.contains('{'))
        );
    }
}
