//! The names of symbols that a task may mean.

use std::collections::BTreeMap;

use atlas_vault::words::MAX_WORD_BYTES;

use crate::search::common_words::is_common;

/// Most words of a task that are looked at.
const MAX_WORDS: usize = 200;
/// Most words that one name joins.
const MAX_JOINED: usize = 4;
/// Fewer letters than this are a name only where they are written as one.
const LEAST_CHARS: usize = 3;

/// How sure it is that a task means a symbol of a name: it writes the name as code is written, …
const WRITTEN: f32 = 1.0;
/// … it has the words of the name one after the other, …
const JOINED: f32 = 0.8;
/// … or the name is one of its words.
pub(crate) const PLAIN: f32 = 0.5;

/// The names that `task` may mean, each with how sure that is.
pub(crate) fn named(task: &str) -> BTreeMap<String, f32> {
    let mut names = BTreeMap::new();
    let mut add = |name: String, worth: f32| {
        let known = names.entry(name).or_insert(worth);
        *known = f32::max(*known, worth);
    };
    let mut plain: Vec<&str> = Vec::new();
    for (token, before, after) in tokens(task).take(MAX_WORDS) {
        let is_written = before == Some('`') || after == Some('(') || is_identifier(token);
        if is_written {
            add(token.to_owned(), WRITTEN);
        } else if token.chars().count() >= LEAST_CHARS && !is_common(&token.to_lowercase()) {
            add(token.to_owned(), PLAIN);
        }
        plain.push(token);
    }
    for first in 0..plain.len() {
        for count in 2..=MAX_JOINED {
            let Some(words) = plain.get(first..first + count) else { break };
            let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
            // A name does not begin with an article.
            if words.first().is_some_and(|word| is_common(word)) {
                break;
            }
            let pascal: String = words.iter().map(|word| capital(word)).collect();
            let camel = words.first().map(String::as_str).unwrap_or_default().to_owned()
                + &words.iter().skip(1).map(|word| capital(word)).collect::<String>();
            for name in [words.join("_"), words.join("_").to_uppercase(), pascal, camel] {
                add(name, JOINED);
            }
        }
    }
    names
}

fn capital(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

/// Whether a word is written as only names are: with an underscore or a digit, or with a capital within.
fn is_identifier(token: &str) -> bool {
    let inner = token.get(1..).unwrap_or_default();
    let is_shouted = token.chars().all(|one| !one.is_lowercase());
    token.contains('_') || !is_shouted && inner.contains(|one: char| one.is_uppercase() || one.is_ascii_digit())
}

/// The words of a text that may be names, each with what stands before and after it.
fn tokens(text: &str) -> impl Iterator<Item = (&str, Option<char>, Option<char>)> {
    let is_part = |one: char| one.is_alphanumeric() || one == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let from = rest + text.get(rest..)?.find(is_part)?;
            let end = text.get(from..)?.find(|one| !is_part(one)).map_or(text.len(), |end| from + end);
            rest = end;
            let token = text.get(from..end)?;
            if token.len() <= MAX_WORD_BYTES && token.contains(char::is_alphabetic) {
                return Some((token, text.get(..from)?.chars().next_back(), text.get(end..)?.chars().next()));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_names_symbols_in_several_ways() {
        let names = named("Fix `login` in the UuidGenerator: check login calls parse() and MAX_SIZE");
        for (name, worth) in [
            ("login", WRITTEN),
            ("UuidGenerator", WRITTEN),
            ("parse", WRITTEN),
            ("MAX_SIZE", WRITTEN),
            ("check_login", JOINED),
            ("checkLogin", JOINED),
            ("CheckLogin", JOINED),
            ("CHECK_LOGIN", JOINED),
            ("calls", PLAIN),
        ] {
            assert_eq!(names.get(name), Some(&worth), "{name} in {names:?}");
        }
        assert!(!names.contains_key("the") && !names.contains_key("TheUuidgenerator"), "{names:?}");
        assert!(named("…").is_empty());
    }
}
