//! `atlas_find_duplicates` of Atlas Guardrails: existing content that matches an intent: notes and headings by their
//! names, symbols in code, and notes by their text.

mod coded;
mod similarity;

use std::collections::{HashMap, HashSet};

use atlas_ops::arguments::Exact;
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::code::Symbols;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_vault::fold;
use futures::future::try_join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::guardrails::atlas_find_duplicates::similarity::Intent;
use crate::search::{self, Mode, Search, SearchResult};

/// Finds existing content of the vault that matches an intent, so that it is not written twice.
pub struct AtlasFindDuplicates;

/// The intent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The content to be written: the name of a symbol (`UuidGenerator`) or note, or a few words.
    intent: Exact<500>,
}

/// Existing content.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The most similar first; at most 20.
    candidates: Vec<Candidate>,
}

/// Existing content that may match the intent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Candidate {
    /// Its kind.
    kind: Kind,
    /// Its name: of a note without the extension, of a heading its text, of a symbol its identifier.
    name: String,
    /// The path of its file.
    path: String,
    /// The number of its line, counted from 1.
    line: u64,
    /// How similar it is, from 0 to 1.
    score: f64,
    /// Of a symbol in a file of source code, if it was parsed: what it is, as `function`, `method`, `type` or `member`.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'static str>,
    /// The type or module that it is a member of.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    /// Its parameters and what it returns, or the types that it extends.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    /// The candidate with the same parameters and body, as `path:line`.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_as: Option<String>,
    /// How little it is what a name stands for: its definition comes before its uses.
    #[serde(skip)]
    rank: u8,
}

impl Candidate {
    const fn new(kind: Kind, name: String, path: String, line: u64, score: f64) -> Self {
        let (symbol, container, signature, same_as) = (None, None, None, None);
        Self { kind, name, path, line, score, symbol, container, signature, same_as, rank: RANK }
    }
}

/// The rank of what was not parsed.
const RANK: u8 = 10;

/// A kind of candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A note or other file of text.
    Note,
    /// A heading.
    Heading,
    /// A symbol that fenced code, or a file of source code, defines.
    Symbol,
}

/// Most candidates in an answer.
const MAX_CANDIDATES: usize = 20;
/// Most names and headings that are compared.
const MAX_COMPARED: usize = 5_000;
/// A name that more definitions have may be just a word.
const MAX_OF_NAME: usize = 5;
/// The least similarity of a duplicate.
const LEAST_SCORE: f64 = 0.3;
/// The similarity of the most relevant note by words, whatever its name.
const TEXT_SCORE: f64 = 0.5;

impl Operation for AtlasFindDuplicates {
    const INFO: Info = Info {
        name: "atlas_find_duplicates",
        title: "Find duplicates",
        description: "Finds what the vault has already that matches an intent, so that it is not written twice: functions, types, members and constants with the same or similar names, functions with the same parameters and body as those, notes and headings with similar names, and notes that say much about it. Example: {\"intent\": \"parse a date\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let intent = Intent::of(arguments.intent.as_str());
        if intent.is_empty() {
            let message = "intent: describe what is to be written in a word or more";
            return Err(Error::bad_request(Reason::QueryInvalid, message).with("field", "intent"));
        }
        let named = |view: View| {
            let (intent, text) = (&intent, arguments.intent.as_str());
            async move {
                let want = Want { names: true, headings: true, ..Want::default() };
                let facts = Facts::fetch_with(context, view.clone(), &[SectionName::Symbols], want);
                let (facts, symbols) = try_join(facts, Symbols::fetch(&view)).await?;
                let mut candidates = named(facts.index(), intent)?;
                candidates.extend(defined(&facts, &symbols, intent)?);
                candidates.extend(coded::candidates(facts.index(), &symbols, intent, text)?);
                Ok(candidates)
            }
        };
        let Answer { value: mut candidates, generation } = context.read(named).await?;
        candidates.extend(by_text(context, &intent).await?);
        candidates.retain(|candidate| candidate.score >= LEAST_SCORE);
        candidates.sort_by(|one, other| {
            let place =
                |candidate: &Candidate| (candidate.rank, candidate.path.clone(), candidate.line, candidate.kind);
            other.score.total_cmp(&one.score).then_with(|| place(one).cmp(&place(other)))
        });
        let mut seen = HashSet::new();
        candidates.retain(|candidate| {
            let line = if candidate.kind == Kind::Note { 0 } else { candidate.line };
            seen.insert((candidate.kind, candidate.path.clone(), line))
        });
        candidates.truncate(MAX_CANDIDATES);
        Ok(Answer { value: Output { candidates }, generation })
    }
}

/// The notes and headings with names similar to the intent.
fn named(index: &Index, intent: &Intent) -> Result<Vec<Candidate>, Error> {
    let mut found = Vec::new();
    let mut compared = 0;
    for segment in index.segments() {
        let mut documents = HashSet::new();
        for stem in intent.stems() {
            documents.extend(index.names(segment)?.holding(stem.as_bytes()));
        }
        let mut documents: Vec<u32> = documents.into_iter().collect();
        documents.sort_unstable();
        for document in documents {
            let document = DocumentRef { segment, document };
            if compared >= MAX_COMPARED || !index.shows(document) || index.span(document)?.length == 0 {
                continue;
            }
            compared += 1;
            let path = index.path(document)?;
            let name = path.rsplit('/').next().unwrap_or(&path);
            let name = name.rsplit_once('.').map_or(name, |(name, _)| name).to_owned();
            let score = intent.score(&name, false);
            found.push(Candidate::new(Kind::Note, name, path, 1, score));
        }
        for stem in intent.stems() {
            for heading in index.headings(segment)?.holding(stem.as_bytes()) {
                let document = DocumentRef { segment, document: heading.document };
                if compared >= MAX_COMPARED || !index.shows(document) {
                    continue;
                }
                compared += 1;
                let score = intent.score(&heading.text, false);
                if score >= LEAST_SCORE {
                    let (path, line) = (index.path(document)?, u64::from(heading.line) + 1);
                    found.push(Candidate::new(Kind::Heading, heading.text.into_owned(), path, line, score));
                }
            }
        }
    }
    Ok(found)
}

/// The symbols whose names are like the intent, but for those of files that were parsed.
fn defined(facts: &Facts, symbols: &Symbols, intent: &Intent) -> Result<Vec<Candidate>, Error> {
    let stems: Vec<String> = intent.stems().collect();
    let mut places = Vec::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    'segments: for segment in facts.index().segments() {
        for (document, symbol) in facts.symbols(segment)?.iter() {
            let folded = fold(&symbol.name);
            let document = DocumentRef { segment, document };
            if !stems.iter().any(|stem| folded.contains(stem.as_str()))
                || symbols.file(document).is_some()
                || !facts.shows(segment, document.document)
            {
                continue;
            }
            if places.len() >= MAX_COMPARED {
                break 'segments;
            }
            *counts.entry(symbol.name.as_str()).or_default() += 1;
            places.push((document, symbol));
        }
    }
    let mut found = Vec::new();
    for (document, symbol) in places {
        let is_rare = counts.get(symbol.name.as_str()).is_some_and(|count| *count <= MAX_OF_NAME);
        let score = intent.score(&symbol.name, is_rare);
        if score >= LEAST_SCORE {
            let (path, line) = (facts.index().path(document)?, u64::from(symbol.line) + 1);
            found.push(Candidate::new(Kind::Symbol, symbol.name.clone(), path, line, score));
        }
    }
    Ok(found)
}

/// The most relevant notes for the words of the intent.
async fn by_text(context: &Context<'_>, intent: &Intent) -> Result<Vec<Candidate>, Error> {
    let Some(query) = intent.query() else { return Ok(Vec::new()) };
    let found = Search::run(context, search::Arguments::of(query, Some(Mode::Text), None, None)).await?.value.results;
    let mut best = None;
    let mut candidates = Vec::new();
    for found in found {
        let SearchResult::Note(search::Note { path, title, score, line, .. }) = found else { continue };
        let best = *best.get_or_insert(score);
        let score = if best > 0.0 { rounded(TEXT_SCORE * score / best) } else { 0.0 };
        candidates.push(Candidate::new(Kind::Note, title, path, line, score));
    }
    Ok(candidates)
}

/// Rounded to the digits that distinguish candidates.
fn rounded(score: f64) -> f64 {
    (score * 1e3).round() / 1e3
}
