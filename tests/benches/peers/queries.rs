//! Queries for benchmarks, drawn at random from a vault, with a fixed seed.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::random::{Random, words};
use crate::scan::Resident;
use crate::vault::Folder;

/// Queries of each kind, and of words to rank by, which are quick.
const QUERIES: usize = 30;
const RANKED: usize = 100;
/// Most files that match a selective query.
const SELECTIVE: usize = 20;
/// Most draws for one suitable query.
const TRIES: usize = 10_000;

/// A query as `search` takes it.
pub(crate) struct Query {
    pub(crate) mode: &'static str,
    pub(crate) text: String,
}

impl Query {
    pub(crate) fn arguments(&self, limit: usize) -> Value {
        json!({ "query": self.text, "mode": self.mode, "limit": limit })
    }
}

/// Queries of one kind.
pub(crate) struct Kind {
    pub(crate) what: &'static str,
    pub(crate) queries: Vec<Query>,
}

/// The queries drawn from one vault.
pub(crate) struct Drawn {
    /// Patterns that match in few files.
    pub(crate) selective: Vec<Kind>,
    /// Patterns that the index hardly narrows.
    pub(crate) broad: Vec<Kind>,
    /// Words to rank by.
    pub(crate) words: Vec<Kind>,
}

impl Drawn {
    pub(crate) fn of(folder: &Folder, resident: &Resident) -> Self {
        let source = Source::of(folder, resident);
        let mut random = Random(20_261_122);
        let literal = |text: String| Some(Query { mode: "literal", text });
        let regex = |text: String| Some(Query { mode: "regex", text });

        let is_selective = |query: &Query| (1..=SELECTIVE).contains(&resident.matching(query, SELECTIVE + 1));
        let mut draw =
            |what, one: &dyn Fn(&mut Random) -> Option<Query>| kind(what, &mut random, QUERIES, is_selective, one);
        let selective = vec![
            draw("literal, one word", &|random| literal(source.rare(random)?.to_owned())),
            draw("literal, words as they stand", &|random| literal(source.phrase(random, |_| true)?)),
            draw("literal, part of a word", &|random| literal(part(source.rare(random)?, random)?)),
            draw(r"regex, `\bword\b`", &|random| regex(format!(r"\b{}\b", source.rare(random)?))),
            draw("regex, `(?i)word`", &|random| regex(format!("(?i){}", source.rare(random)?))),
            draw("regex, a class in a word", &|random| regex(with_class(source.rare(random)?, random)?)),
            draw(r"regex, `word\|word`", &|random| regex(format!("{}|{}", source.rare(random)?, source.rare(random)?))),
            draw("regex, `word.*word`", &|random| regex(source.pair(random)?)),
        ];

        let mut draw =
            |what, one: &dyn Fn(&mut Random) -> Option<Query>| kind(what, &mut random, QUERIES, |_| true, one);
        let broad = vec![
            draw("common words as they stand", &|random| {
                literal(source.phrase(random, |word| source.is_common(word))?)
            }),
            draw("end of a word", &|random| regex(ending(source.word(random)?, random))),
            draw("dots", &|random| regex(dots(source.word(random)?, source.word(random)?, random)?)),
            draw("digits and classes", &|random| regex(classes(random))),
            draw("a word and any letters", &|random| regex(letters(source.word(random)?, random))),
        ];
        let mut draw =
            |what, one: &dyn Fn(&mut Random) -> Option<Query>| kind(what, &mut random, RANKED, |_| true, one);
        let text = |random: &mut Random, count| source.words(random, count).map(|text| Query { mode: "text", text });
        let words = vec![
            draw("text, one word", &|random| text(random, 1)),
            draw("text, two words", &|random| text(random, 2)),
            draw("text, three words", &|random| text(random, 3)),
        ];
        Self { selective, broad, words }
    }
}

fn kind(
    what: &'static str,
    random: &mut Random,
    count: usize,
    accepted: impl Fn(&Query) -> bool,
    one: &dyn Fn(&mut Random) -> Option<Query>,
) -> Kind {
    let mut tries = (0..count * TRIES).filter_map(|_| one(random)).filter(accepted);
    let queries: Vec<Query> = tries.by_ref().take(count).collect();
    assert_eq!(queries.len(), count, "{what}: the vault has too few");
    Kind { what, queries }
}

/// The material of queries.
struct Source<'a> {
    /// The notes that are not repetitions.
    notes: Vec<&'a str>,
    /// The number of notes with each word.
    frequencies: HashMap<&'a str, usize>,
    /// The greatest such number of words in selective queries.
    rare: usize,
}

impl<'a> Source<'a> {
    fn of(folder: &Folder, resident: &'a Resident) -> Self {
        let notes: Vec<&str> = folder.notes.iter().filter_map(|path| resident.text(path)).collect();
        let mut frequencies: HashMap<&str, usize> = HashMap::new();
        for note in &notes {
            let words: HashSet<&str> = words(note).collect();
            for word in words {
                *frequencies.entry(word).or_default() += 1;
            }
        }
        let copies = resident.len().div_ceil(notes.len());
        Self { notes, frequencies, rare: (SELECTIVE / copies).max(1) }
    }

    fn is_common(&self, word: &str) -> bool {
        self.frequencies.get(word).is_some_and(|notes| notes * 20 >= self.notes.len())
    }

    fn note(&self, random: &mut Random) -> &'a str {
        random.of::<&str>(&self.notes)
    }

    fn word(&self, random: &mut Random) -> Option<&'a str> {
        let words: Vec<&str> = words(self.note(random)).collect();
        (!words.is_empty()).then(|| *random.of(&words))
    }

    fn rare(&self, random: &mut Random) -> Option<&'a str> {
        self.word(random).filter(|word| self.frequencies.get(word).is_some_and(|notes| *notes <= self.rare))
    }

    fn line(&self, random: &mut Random) -> Option<&'a str> {
        let lines: Vec<&str> = self.note(random).lines().collect();
        (!lines.is_empty()).then(|| *random.of(&lines))
    }

    /// Two or three adjacent words of a line, all of which pass `test`.
    fn phrase(&self, random: &mut Random, test: impl Fn(&str) -> bool) -> Option<String> {
        let words: Vec<&str> = self.line(random)?.split(' ').collect();
        let count = 2 + random.below(2);
        let first = random.below(words.len());
        let words = words.get(first..first + count)?;
        let phrase = words.join(" ");
        let is_wanted = words.iter().all(|word| !word.trim().is_empty() && test(word)) && phrase.len() < 100;
        is_wanted.then_some(phrase)
    }

    /// A word, anything, and another word of the same line.
    fn pair(&self, random: &mut Random) -> Option<String> {
        let words: Vec<&str> = words(self.line(random)?).collect();
        let last = words.len().checked_sub(1).filter(|last| *last > 0)?;
        let first = random.below(last);
        let second = first + 1 + random.below(last - first);
        Some(format!("{}.*{}", words[first], words[second]))
    }

    /// Words of one note.
    fn words(&self, random: &mut Random, count: usize) -> Option<String> {
        let words: Vec<&str> = words(self.note(random)).collect();
        let drawn: Vec<&str> = (0..count).filter(|_| !words.is_empty()).map(|_| *random.of(&words)).collect();
        let distinct: HashSet<&&str> = drawn.iter().collect();
        (distinct.len() == count).then(|| drawn.join(" "))
    }
}

/// Four letters or more of a word, but not all.
fn part(word: &str, random: &mut Random) -> Option<String> {
    let letters = word.chars().count();
    let most = letters.checked_sub(1).filter(|most| *most >= 4)?;
    let count = 4 + random.below(most - 3);
    let first = random.below(letters - count + 1);
    Some(word.chars().skip(first).take(count).collect())
}

/// `word` with one letter replaced by a class.
fn with_class(word: &str, random: &mut Random) -> Option<String> {
    let letters: Vec<char> = word.chars().collect();
    let at = (letters.len() >= 4).then(|| random.below(letters.len()))?;
    let class = match letters[at] {
        'a'..='z' => "[a-z]",
        'A'..='Z' => "[A-Z]",
        _ => r"\w",
    };
    let text = |letters: &[char]| letters.iter().collect::<String>();
    Some(format!("{}{class}{}", text(&letters[..at]), text(&letters[at + 1..])))
}

/// Words with the ending of `word`.
fn ending(word: &str, random: &mut Random) -> String {
    let (letters, count) = (word.chars().count(), 2 + random.below(2));
    format!(r"\w+{}\b", word.chars().skip(letters - count).collect::<String>())
}

/// Mostly dots.
fn dots(one: &str, other: &str, random: &mut Random) -> Option<String> {
    let (a, b) = (one.chars().next()?, other.chars().next()?);
    let count = 1 + random.below(30);
    Some(match random.below(4) {
        0 => format!("^.{{{count},{}}}$", count + 5),
        1 => format!("{a}.{{{count}}}{b}"),
        2 => format!("{a}..{b}.*{a}"),
        _ => format!("^.{{{count}}}{a}.*{b}$"),
    })
}

/// A class with hundreds of ranges, without limit.
fn letters(word: &str, random: &mut Random) -> String {
    match random.below(3) {
        0 => format!(r"{word}\w*"),
        1 => format!(r"(?i){word}\p{{L}}*"),
        _ => r"\p{L}*".to_owned(),
    }
}

/// No literal letter.
fn classes(random: &mut Random) -> String {
    let count = 2 + random.below(6);
    match random.below(4) {
        0 => format!("[0-9]{{{count}}}"),
        1 => format!(r"\b[A-Z]{{{count}}}\b"),
        2 => format!(r"\d+[.,:/-]\d{{1,{count}}}"),
        _ => format!(r"^\W*\w+ \w{{{count}}}$"),
    }
}
