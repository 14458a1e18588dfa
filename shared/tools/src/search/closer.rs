//! A closer look at the notes that score best: how much of the query stands in one of their passages, how similar it is to their
//! names, and how many others link to them. It only adds to scores, so that no other note comes before these.

use std::collections::HashMap;
use std::ops::Range;

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_vault::words::{words, words_where};

use crate::search::anchors::linking;
use crate::search::expression::Expression;
use crate::search::lists::{Check, Lists, Term, Word};
use crate::search::scores::{Scores, halves};
use crate::search::sieve::Sieve;

/// Most notes that are looked at.
pub(crate) const MAX_CLOSER: usize = 64;
/// The weight of the best passage, compared with the whole note.
const PASSAGE: f32 = 0.7;
/// How fast a word in a passage saturates, how much the passage's length counts, and a length that counts neither way.
const K1: f32 = 0.8;
const B: f32 = 0.3;
const PASSAGE_WORDS: f32 = 150.0;
/// The weight of a word in the text of a passage, and what it has besides in the passage's heading.
const IN_TEXT: f32 = 1.0;
const IN_HEADING: f32 = 0.5;
/// The weight of a name equal to the query, compared with the best score.
const NAME: f32 = 0.3;
/// The share that a hundred links to a note add to its score; fewer add less, by the logarithm.
const LINKS: f32 = 0.05;
const MANY_LINKS: f32 = 101.0;

/// A note that scores well.
#[derive(Debug)]
pub(crate) struct Close {
    pub(crate) score: f32,
    pub(crate) document: DocumentRef,
    /// The share of the query's words, by what they are worth, that stand together in one of its passages.
    pub(crate) covered: f32,
    /// Its best passage, counted from 0, if it has several, and what that adds to the score.
    pub(crate) passage: Option<usize>,
    pub(crate) by_passage: f32,
    /// The score by its name.
    pub(crate) by_name: f32,
    /// How many others link to it, and what that adds.
    pub(crate) linking: usize,
    pub(crate) by_links: f32,
    /// The score that its meaning adds, and the nearest lines: the first, counted from 0, and their number.
    pub(crate) by_meaning: f32,
    pub(crate) lines: Option<(u32, u32)>,
}

impl Close {
    pub(crate) const fn new(score: f32, document: DocumentRef) -> Self {
        Self {
            score,
            document,
            covered: 0.0,
            passage: None,
            by_passage: 0.0,
            by_name: 0.0,
            linking: 0,
            by_links: 0.0,
            by_meaning: 0.0,
            lines: None,
        }
    }
}

/// Sorts notes by their scores, the best first; by path for equal scores.
pub(crate) fn sort(index: &Index, notes: &mut [Close]) {
    notes.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.document.cmp(&other.document)));
    for equal in notes.chunk_by_mut(|one, other| one.score == other.score).filter(|equal| equal.len() > 1) {
        index.sort_by_path(equal, |note| note.document);
    }
}

/// Scores notes anew, and sorts them, the best first.
pub(crate) fn look(
    index: &Index,
    lists: &Lists,
    scores: &Scores<'_>,
    expression: &Expression,
    mut notes: Vec<Close>,
    check: Check<'_>,
) -> Result<Vec<Close>, Error> {
    let mut passages = Passages::of(index, lists, &notes, check)?;
    passages.add_headings(index, lists, &notes)?;
    let mut worth = 0.0;
    for (at, word) in lists.words.iter().enumerate().filter(|(_, word)| !word.is_common) {
        passages.add(at, scores.worths(at));
        // What no note has, such as a word of another language, says nothing of how well the others cover the rest.
        let known = halves(word).into_iter().zip(scores.worths(at)).filter(|((_, terms), _)| !terms.is_empty());
        worth += known.map(|(_, worth)| worth).sum::<f32>();
    }
    for (note, of_note) in notes.iter_mut().zip(&passages.of) {
        let covered = passages.covered.get(of_note.clone()).unwrap_or_default().iter().copied().fold(0.0, f32::max);
        note.covered = if worth > 0.0 { covered / worth } else { 1.0 };
        let own = passages.scores.get(of_note.clone()).unwrap_or_default();
        let mut best: Option<(usize, f32)> = None;
        for (passage, score) in own.iter().copied().enumerate() {
            if score > best.map_or(0.0, |(_, most)| most) {
                best = Some((passage, score));
            }
        }
        if let Some((passage, score)) = best {
            note.passage = (own.len() > 1).then_some(passage);
            note.by_passage = PASSAGE * score;
            note.score += note.by_passage;
        }
    }
    let asked = trigrams(expression.words.iter().map(|token| token.word.as_str()), |at| {
        lists.words.get(at).is_some_and(|word| word.is_common)
    });
    let best = notes.iter().map(|note| note.score).fold(0.0, f32::max);
    for note in &mut notes {
        let DocumentRef { segment, document } = note.document;
        let name =
            index.names(segment)?.get(document).map(std::str::from_utf8).and_then(Result::ok).unwrap_or_default();
        note.by_name = NAME * best * similarity(&asked, bare_name(name));
        note.score += note.by_name;
        note.linking = linking(index, note.document, name)?;
        note.by_links = note.score * LINKS * (note.linking as f32).ln_1p() / MANY_LINKS.ln();
        note.score += note.by_links;
    }
    sort(index, &mut notes);
    Ok(notes)
}

/// The passages of notes, one after the other, and their scores.
struct Passages {
    /// By note: its passages.
    of: Vec<Range<usize>>,
    /// By segment: the documents of the notes, ascending, with their passages.
    by_segment: Vec<Vec<(u32, Range<usize>)>>,
    scores: Vec<f32>,
    /// What the words are worth that each has.
    covered: Vec<f32>,
    /// The half-saturation of each.
    norms: Vec<f32>,
    /// By word and kind of terms: for each passage where it is.
    having: Vec<[Vec<Having>; 2]>,
}

/// Where a word is in a passage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Having {
    Nowhere,
    Text,
    Heading,
}

impl Passages {
    /// The passages of notes, with the words in their texts.
    fn of(index: &Index, lists: &Lists, notes: &[Close], check: Check<'_>) -> Result<Self, Error> {
        let mut all = Self {
            of: Vec::with_capacity(notes.len()),
            by_segment: vec![Vec::new(); index.segments().len()],
            scores: Vec::new(),
            covered: Vec::new(),
            norms: Vec::new(),
            having: Vec::new(),
        };
        for note in notes {
            let DocumentRef { segment, document } = note.document;
            let begin = all.norms.len();
            let norm = |words: u32| K1 * (1.0 - B + B * words as f32 / PASSAGE_WORDS);
            let several = index.passages(segment)?.map(|passages| passages.of(document)).unwrap_or_default();
            if several.is_empty() {
                let words = index.terms(segment)?.lengths().get(document as usize).copied();
                all.norms.push(norm(words.unwrap_or_default()));
            } else {
                all.norms.extend(several.iter().map(|words| norm(*words)));
            }
            all.of.push(begin..all.norms.len());
            if let Some(of_segment) = all.by_segment.get_mut(segment) {
                of_segment.push((document, begin..all.norms.len()));
            }
        }
        all.by_segment.iter_mut().for_each(|of_segment| of_segment.sort_unstable_by_key(|(document, _)| *document));
        all.scores = vec![0.0; all.norms.len()];
        all.covered = all.scores.clone();
        for word in &lists.words {
            check()?;
            let having = if word.is_common { [Vec::new(), Vec::new()] } else { all.having(index, word)? };
            all.having.push(having);
        }
        Ok(all)
    }

    /// Finds the searched words in the headings of passages.
    fn add_headings(&mut self, index: &Index, lists: &Lists, notes: &[Close]) -> Result<(), Error> {
        let mut spellings: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        for (at, word) in lists.words.iter().enumerate().filter(|(_, word)| !word.is_common) {
            for (half, (_, terms)) in halves(word).into_iter().enumerate() {
                for term in terms {
                    let kinds = spellings.entry(&term.word).or_default();
                    if !kinds.contains(&(at, half)) {
                        kinds.push((at, half));
                    }
                }
            }
        }
        let mut sieve = Sieve::default();
        spellings.keys().for_each(|word| sieve.add(word, false));
        let has = |having: &[Having], passage: usize| having.get(passage).is_some_and(|has| *has != Having::Nowhere);
        for (note, range) in notes.iter().zip(&self.of) {
            let headings = index.headings(note.document.segment)?.folded_of(note.document.document);
            // Where passages are not known, no heading begins one.
            for (passage, heading) in range.clone().skip(1).zip(headings) {
                // A passage has the words of its heading.
                if !self.having.iter().flatten().any(|having| has(having, passage)) {
                    continue;
                }
                for word in words_where(heading, |written| sieve.may_pass(written)) {
                    for (at, half) in spellings.get(&*word.folded).into_iter().flatten() {
                        let having = self.having.get_mut(*at).and_then(|halves| halves.get_mut(*half));
                        let having = having.and_then(|having| having.get_mut(passage));
                        having.filter(|has| **has == Having::Text).into_iter().for_each(|has| *has = Having::Heading);
                    }
                }
            }
        }
        Ok(())
    }

    /// The passages that have a word, by kind of terms.
    fn having(&self, index: &Index, word: &Word) -> Result<[Vec<Having>; 2], Error> {
        // Those of the stem include the word's own, so that each is read once.
        let terms = if word.stem.is_empty() { &word.own } else { &word.stem };
        let is_own = |term: &Term| word.own.iter().any(|own| own.segment == term.segment && own.word == term.word);
        let mut having = [vec![Having::Nowhere; self.norms.len()], vec![Having::Nowhere; self.norms.len()]];
        let [own, stem] = &mut having;
        for term in terms {
            let (is_own, is_stem) = (is_own(term), !word.stem.is_empty());
            self.each_having(index, term, |passage| {
                for (having, is_of_kind) in [(&mut *own, is_own), (&mut *stem, is_stem)] {
                    if let Some(having) = having.get_mut(passage).filter(|_| is_of_kind) {
                        *having = Having::Text;
                    }
                }
            })?;
        }
        Ok(having)
    }

    /// Adds the score of a word.
    fn add(&mut self, at: usize, worths: [f32; 2]) {
        for (having, worth) in self.having.get(at).into_iter().flatten().zip(worths) {
            let passages = self.scores.iter_mut().zip(&mut self.covered).zip(&self.norms).zip(having);
            for (((score, covered), norm), having) in passages {
                let weight = match having {
                    Having::Nowhere => continue,
                    Having::Text => IN_TEXT,
                    Having::Heading => IN_TEXT + IN_HEADING,
                };
                *score += worth * weight * (K1 + 1.0) / (weight + norm);
                *covered += worth;
            }
        }
    }

    /// Calls `each` for the passages that have a term.
    fn each_having(&self, index: &Index, term: &Term, mut each: impl FnMut(usize)) -> Result<(), Error> {
        let notes = self.by_segment.get(term.segment).map(Vec::as_slice).unwrap_or_default();
        if notes.is_empty() {
            return Ok(());
        }
        let table = index.passages(term.segment)?.zip(term.passages.as_deref());
        let is_one = |document| table.is_none_or(|(table, _)| table.of(document).is_empty());
        // The page has the passages of hidden notes too.
        let documents = term.all_postings(index)?;
        for (document, range) in notes.iter().filter(|(document, _)| is_one(*document)) {
            if documents.binary_search_by_key(document, |(document, _)| *document).is_ok() {
                each(range.start);
            }
        }
        if let Some((table, page)) = table {
            let mut notes = notes.iter().filter(|(document, _)| !is_one(*document)).peekable();
            let wanted = notes.clone().map(|(document, _)| *document);
            page.passage_page()?.each_of(term.list, &documents, wanted, table, |document, found| {
                while notes.next_if(|(note, _)| *note < document).is_some() {}
                if let Some((_, range)) = notes.peek() {
                    let all = found.iter().map(|passage| range.start + *passage as usize);
                    all.filter(|passage| *passage < range.end).for_each(&mut each);
                }
            });
        }
        Ok(())
    }
}

type Trigram = [char; 3];

/// The trigrams of words, in order, each with spaces around it (two before, so that beginnings count more), but of those that are left out.
fn trigrams<'a>(words: impl Iterator<Item = &'a str>, is_left_out: impl Fn(usize) -> bool) -> Vec<Trigram> {
    let mut found = Vec::new();
    for (_, word) in words.enumerate().filter(|(at, _)| !is_left_out(*at)) {
        let mut last = [' '; 3];
        for c in word.chars().chain([' ']) {
            last = [last[1], last[2], c];
            found.push(last);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// How similar a name is to what is asked for: the trigrams that both have, as a share of those that each has (Dice's coefficient).
fn similarity(asked: &[Trigram], name: &str) -> f32 {
    let folded: Vec<_> = words(name).map(|word| word.folded).collect();
    let named = trigrams(folded.iter().map(|word| &**word), |_| false);
    let both = named.iter().filter(|trigram| asked.binary_search(trigram).is_ok()).count();
    2.0 * both as f32 / (asked.len() + named.len()).max(1) as f32
}

/// The name of a file without its folder and extension.
pub(crate) fn bare_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(query: &str, name: &str) -> f32 {
        similarity(&trigrams(query.split(' '), |_| false), name)
    }

    #[test]
    fn a_name_is_like_a_query_by_its_trigrams() {
        assert!((likeness("high tide", "High tide") - 1.0).abs() < f32::EPSILON);
        assert!(likeness("high tides", "High tide") > likeness("high water", "High tide"));
        assert!(likeness("templatr", "Templater") > 0.5 && likeness("x", "High tide") < 0.1);
        assert!(similarity(&[], "").abs() < f32::EPSILON);
        assert!(trigrams(["the", "tide"].into_iter(), |at| at == 0).iter().all(|trigram| trigram[2] != 'h'));
    }
}
