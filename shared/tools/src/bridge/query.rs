//! `query`: answers two kinds of questions from the architecture notes, by the Atlas Local Bridge specification: the
//! components and responsibilities, and the place of a definition. Other questions get no answer, unless the deployment lets it answer them
//! with passages.

use atlas_ops::arguments::Text;
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::excerpt::{TextLines, first_line_holding};
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::view::View;
use atlas_vault::{Note, fold};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bridge::passages::{self, Passage};
use crate::bridge::paths::BridgePaths;

/// Answers two kinds of question from the architecture notes, with citations.
pub struct Query;

/// The question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The question, for example `What are the components?` or `Where is "lease" defined?`.
    question: Text<2048>,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// A sentence.
    answer: String,
    /// Its sources.
    citations: Vec<Citation>,
}

/// A quote from a note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Citation {
    /// The note's path.
    #[schemars(length(min = 1))]
    path: String,
    /// The heading, as `#anchor`; `#` if there is none.
    #[schemars(length(min = 1))]
    anchor: String,
    /// The quoted text.
    #[schemars(length(min = 1, max = 5000))]
    quote: String,
}

const ARCHITECTURE: &str = "vault/architecture/ARCHITECTURE.md";
const DECISIONS: &str = "vault/architecture/DECISIONS.md";
/// Most bytes of the components section that are quoted.
const SECTION_BYTES: usize = 1_200;
/// The number of closest headings that are named when nothing is found.
const SUGGESTIONS: usize = 3;

impl Operation for Query {
    const INFO: Info = Info {
        name: "query",
        title: "Query the architecture",
        description: "Answers two kinds of question from the architecture notes, with citations: what the components and responsibilities are, and where something is defined. For any other question take search. Example: {\"question\": \"What are the components?\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search", "context"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let question = arguments.question.as_str();
        let kind = Kind::of(question);
        if context.atlas.query_passages && matches!(kind, Kind::Other) {
            return Ok(passages::of(context, question).await?.map(by_passages));
        }
        let kind = &kind;
        context.read(|view| async move { Ok(answer(&Sources::fetch(view).await?, kind)) }).await
    }
}

/// The notes that can answer questions; at least one.
struct Sources {
    notes: Vec<QuotedNote>,
    architecture: String,
}

struct QuotedNote {
    path: String,
    text: Bytes,
    note: Note,
}

impl Sources {
    async fn fetch(view: View) -> Result<Self, Error> {
        let index = Index::fetch(view, Want::default()).await?;
        let paths = BridgePaths::of(&index)?;
        let (mut found, mut found_paths) = (Vec::new(), Vec::new());
        for path in [ARCHITECTURE, DECISIONS].map(|path| paths.resolve(path)) {
            if let Some(document) = index.find(path)? {
                found.push(document);
                found_paths.push(path.to_owned());
            }
        }
        if found.is_empty() {
            let (architecture, decisions) = (paths.resolve(ARCHITECTURE), paths.resolve(DECISIONS));
            let message =
                format!("neither {architecture} nor {decisions} is in the vault: questions are answered from them");
            return Err(Error::not_found(Reason::NoteNotFound, message).with("path", architecture));
        }
        let texts = index.texts(&found).await?;
        let notes = found_paths
            .into_iter()
            .zip(texts)
            .map(|(path, text)| QuotedNote { path, note: atlas_vault::parse(&String::from_utf8_lossy(&text)), text })
            .collect();
        Ok(Self { notes, architecture: paths.resolve(ARCHITECTURE).to_owned() })
    }

    fn headings(&self) -> impl Iterator<Item = (&QuotedNote, &atlas_vault::Heading)> {
        self.notes.iter().flat_map(|source| source.note.headings.iter().map(move |heading| (source, heading)))
    }
}

/// The kind of a question.
enum Kind {
    /// What the components and responsibilities are.
    Components,
    /// Where this term is defined.
    Definition(String),
    /// Another.
    Other,
}

impl Kind {
    fn of(question: &str) -> Self {
        let folded = fold::fold(question);
        if folded.contains("component") || folded.contains("responsibilit") {
            return Self::Components;
        }
        let signs = ["where is", "where are", WHERE_IS[0], WHERE_IS[1], "defined"];
        let is_definition = signs.iter().any(|sign| folded.contains(sign));
        term_of(question).filter(|_| is_definition).map_or(Self::Other, Self::Definition)
    }
}

fn answer(sources: &Sources, kind: &Kind) -> Output {
    match kind {
        Kind::Components => components(sources),
        Kind::Definition(term) => definition(sources, term),
        Kind::Other => Output {
            answer: "Unsupported query intent. Allowed: components/responsibilities, or where-is/defined lookups."
                .to_owned(),
            citations: Vec::new(),
        },
    }
}

/// The answer by the passages that say most about a question.
fn by_passages(passages: Vec<Passage>) -> Output {
    let paths: Vec<&str> = passages.iter().map(|passage| passage.path.as_str()).collect();
    let answer = match paths.as_slice() {
        [] => "Not found: no note says something about it. Or try /find.".to_owned(),
        paths => format!("The passages that say most about it are in {}.", paths.join("; ")),
    };
    let citation = |Passage { path, anchor, quote }| Citation { path, anchor, quote };
    Output { answer, citations: passages.into_iter().map(citation).collect() }
}

fn components(sources: &Sources) -> Output {
    let architecture = sources.notes.iter().find(|source| source.path == sources.architecture);
    let section = architecture.and_then(|source| {
        let headings = &source.note.headings;
        let is_components = |heading: &&atlas_vault::Heading| fold::fold(heading.text.trim()) == "components";
        let at = headings
            .iter()
            .position(|heading| is_components(&heading))
            .or_else(|| headings.iter().position(|heading| fold::fold(&heading.text).contains("component")))?;
        Some((source, headings.get(at)?, headings.get(at + 1..)?))
    });
    let Some((source, heading, after)) = section else {
        return not_found(sources, "components", &format!("Components section missing in {}", sources.architecture));
    };
    let within: Vec<&atlas_vault::Heading> = after.iter().take_while(|next| next.level > heading.level).collect();
    let lines = TextLines::new(&source.text);
    let end = after.get(within.len()).map_or(lines.count(), |next| next.line as usize);
    let mut answer = format!("Components and responsibilities are defined in {} under '{}'", source.path, heading.text);
    let names: Vec<&str> =
        within.iter().filter(|inner| inner.level == heading.level + 1).map(|inner| inner.text.as_str()).collect();
    if names.is_empty() {
        answer.push('.');
    } else {
        answer.push_str(&format!(": {}.", names.join("; ")));
    }
    let quote = lines.range(heading.line as usize, end, SECTION_BYTES);
    Output { answer, citations: vec![Citation { path: source.path.clone(), anchor: heading.anchor(), quote }] }
}

fn definition(sources: &Sources, term: &str) -> Output {
    let folded = fold::fold(term);
    let by_heading = sources.headings().find(|(_, heading)| fold::fold(&heading.text).contains(&folded));
    if let Some((source, heading)) = by_heading {
        return found(term, source, heading.line as usize, Some(heading));
    }
    let mut buffer = Vec::new();
    for source in &sources.notes {
        if let Some(line) = first_line_holding(&source.text, folded.as_bytes(), &mut buffer) {
            let nearest = source.note.headings.iter().take_while(|heading| heading.line as usize <= line).last();
            return found(term, source, line, nearest);
        }
    }
    not_found(sources, term, &format!("'{term}'"))
}

fn found(term: &str, source: &QuotedNote, line: usize, heading: Option<&atlas_vault::Heading>) -> Output {
    let under = heading.map(|heading| format!(" under '{}'", heading.text)).unwrap_or_default();
    let quote = TextLines::new(&source.text).around(line, fold::fold(term).as_bytes());
    let anchor = heading.map_or_else(|| "#".to_owned(), atlas_vault::Heading::anchor);
    Output {
        answer: format!("Found '{term}' in {}{under}.", source.path),
        citations: vec![Citation { path: source.path.clone(), anchor, quote }],
    }
}

/// The answer that `what` was not found, with the headings closest to `term`.
fn not_found(sources: &Sources, term: &str, what: &str) -> Output {
    let term = fold::fold(term);
    let mut closest: Vec<(f64, &QuotedNote, &atlas_vault::Heading)> = sources
        .headings()
        .map(|(source, heading)| (closeness(&term, &fold::fold(&heading.text)), source, heading))
        .collect();
    closest.sort_by(|a, b| b.0.total_cmp(&a.0));
    closest.truncate(SUGGESTIONS);
    let mut answer = format!("Not found: {what}.");
    if closest.is_empty() {
        answer.push_str(" Try /find.");
    } else {
        let names: Vec<String> =
            closest.iter().map(|(_, source, heading)| format!("'{}' ({})", heading.text, source.path)).collect();
        answer.push_str(&format!(" Closest headings: {}. Or try /find.", names.join(", ")));
    }
    let citations = closest
        .into_iter()
        .map(|(_, source, heading)| Citation {
            path: source.path.clone(),
            anchor: heading.anchor(),
            quote: TextLines::new(&source.text).around(heading.line as usize, &[]),
        })
        .filter(|citation| !citation.quote.is_empty())
        .collect();
    Output { answer, citations }
}

/// The similarity of two folded texts, from 0 to 1: the best of the whole and of any word.
fn closeness(term: &str, heading: &str) -> f64 {
    let words = heading
        .split_whitespace()
        .flat_map(|word| term.split_whitespace().map(move |of| strsim::jaro_winkler(of, word)));
    words.fold(strsim::sorensen_dice(term, heading), f64::max)
}

/// Both ways to write it, folded.
const WHERE_IS: [&str; 2] = ["where's", "where’s"];
/// Words at the ends of a term that are of the question.
const ASKING: [&str; 11] = ["where", WHERE_IS[0], WHERE_IS[1], "is", "are", "was", "defined", "the", "a", "an", "in"];

/// A word of a question, and the same folded.
type Word<'a> = (&'a str, String);

/// The term in a question: the quoted text, or the words between those of the question.
fn term_of(question: &str) -> Option<String> {
    if let Some(term) = quoted(question) {
        return Some(term.to_owned());
    }
    let words: Vec<Word<'_>> = question.split_whitespace().filter_map(word).collect();
    let place = |start: usize, signs: &[&str]| {
        let place = words.iter().skip(start).position(|(_, word)| signs.contains(&word.as_str()));
        place.map(|place| start + place)
    };
    // As in "can you tell me where", and "which file has".
    let begin = place(0, &["where", WHERE_IS[0], WHERE_IS[1]])
        .or_else(|| Some(place(place(0, &["which", "what"])?, &["has", "have", "is", "are"])? + 1));
    let asked = words.get(begin.unwrap_or_default()..).unwrap_or_default();
    // As in "defined in that file", but not as in "user defined field".
    let is_end = |(at, (_, word)): &(usize, &Word<'_>)| {
        word == "defined" && asked.get(at + 1).is_none_or(|(_, next)| ["in", "at", "by", "as"].contains(&next.as_str()))
    };
    let (before, after) = match asked.iter().enumerate().rfind(is_end).map(|(at, _)| at) {
        Some(at) => (asked.get(..at).unwrap_or_default(), asked.get(at + 1..).unwrap_or_default()),
        None => (asked, &[][..]),
    };
    term_in(before).or_else(|| term_in(after))
}

/// The first text in quotes.
fn quoted(question: &str) -> Option<&str> {
    // Beside a letter, an apostrophe is no quote.
    let is_letter = |sign: char, beside: Option<char>| sign == '\'' && beside.is_some_and(char::is_alphanumeric);
    [('"', '"'), ('“', '”'), ('`', '`'), ('\'', '\'')].into_iter().find_map(|(open, close)| {
        let opens = |(at, _): &(usize, &str)| !is_letter(open, question.split_at(*at).0.chars().next_back());
        let begin = question.match_indices(open).find(opens)?.0 + open.len_utf8();
        let (_, rest) = question.split_at(begin);
        let closes = |(at, _): &(usize, &str)| !is_letter(close, rest.split_at(*at).1.chars().nth(1));
        let term = rest.split_at(rest.match_indices(close).find(closes)?.0).0.trim();
        (!term.is_empty()).then_some(term)
    })
}

/// A word without the punctuation around it, and without the brackets of a call.
fn word(text: &str) -> Option<Word<'_>> {
    let text = text.trim_matches(['?', '!', '.', ',', ':', ';', '"', '“', '”', '`']);
    let text = text.strip_suffix("()").unwrap_or(text);
    (!text.is_empty()).then(|| (text, fold::fold(text)))
}

/// `words` without those of the question at both ends; [`None`] if no other is left.
fn term_in(words: &[Word<'_>]) -> Option<String> {
    let asks = |(_, word): &&Word<'_>| ASKING.contains(&word.as_str());
    let from = words.iter().take_while(asks).count();
    let rest = words.get(from..).unwrap_or_default();
    let to = rest.len() - rest.iter().rev().take_while(asks).count();
    let term: Vec<&str> = rest.get(..to).unwrap_or_default().iter().map(|(word, _)| *word).collect();
    (!term.is_empty()).then(|| term.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_term_is_what_the_question_asks_after() {
        for (question, term) in [
            ("Where is \"tide window\" defined?", Some("tide window")),
            ("where is the Berth Ledger defined?", Some("Berth Ledger")),
            ("Where is the sync job?", Some("sync job")),
            ("Where are leases defined", Some("leases")),
            ("where is `apply_lease` defined", Some("apply_lease")),
            ("where is “潮汐” defined?", Some("潮汐")),
            ("Where is it's twin?", Some("it's twin")),
            ("Where is 'Ann's lease' defined?", Some("Ann's lease")),
            ("Where is Ann's lease and Bob's cache defined?", Some("Ann's lease and Bob's cache")),
            ("Can you tell me where is the lease defined?", Some("lease")),
            ("Where is lease defined in DECISIONS.md?", Some("lease")),
            ("Where is a user defined field defined?", Some("user defined field")),
            ("Where is a user defined field?", Some("user defined field")),
            ("Which file has apply_lease defined", Some("apply_lease")),
            ("In which note is the lease defined?", Some("lease")),
            ("Where is apply_lease() defined?", Some("apply_lease")),
            ("Where's apply_lease?", Some("apply_lease")),
            ("where’s the lease", Some("lease")),
            ("Where is the file?", Some("file")),
            ("where is \"\" defined?", None),
            ("defined?", None),
        ] {
            assert_eq!(term_of(question).as_deref(), term, "{question}");
        }
    }
}
