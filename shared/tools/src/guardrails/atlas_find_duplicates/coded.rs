//! Candidates among the symbols of source code: of the same name, of a similar one, and of the same parameters and body.

use std::collections::{HashMap, HashSet};

use atlas_ops::error::Error;
use atlas_ops::read::code::{SymbolRef, Symbols};
use atlas_ops::read::index::Index;
use atlas_segment::code::SymbolKind;
use atlas_vault::fold;

use crate::guardrails::atlas_find_duplicates::similarity::Intent;
use crate::guardrails::atlas_find_duplicates::{Candidate, Kind, LEAST_SCORE, MAX_OF_NAME, rounded};

/// Most names that are compared, …
const MAX_NAMES: usize = 20_000;
/// … of those that are alike, …
const MAX_ALIKE: usize = 100;
/// … and definitions of one name.
const MAX_PLACES: usize = 50;
/// Copies are looked for of what is so similar.
const COPIED: f64 = 0.6;
/// How much less alike a copy is than what it is a copy of.
const COPY: f64 = 0.9;

/// The symbols that are like the intent, which is `text`.
pub(super) fn candidates(
    index: &Index,
    symbols: &Symbols,
    intent: &Intent,
    text: &str,
) -> Result<Vec<Candidate>, Error> {
    if symbols.is_empty() {
        return Ok(Vec::new());
    }
    let exact = text.trim().trim_matches('`').trim_end_matches("()");
    let last = exact.rsplit([':', '.', '#']).next().unwrap_or(exact);
    let mut found = Vec::new();
    for name in names(symbols, intent, last) {
        let is_exact = name == last;
        let places: Vec<SymbolRef<'_>> = symbols.named(index, name).take(MAX_PLACES).collect();
        let is_whole = |place: &SymbolRef<'_>| rank(place, true) == 0;
        let is_rare = places.iter().filter(|place| is_whole(place)).count() <= MAX_OF_NAME;
        for place in places {
            let score = if is_exact { 1.0 } else { intent.score(name, is_rare && is_whole(&place)) };
            found.push((place, score, is_exact));
        }
    }
    let mut told: HashMap<u64, String> = HashMap::new();
    let mut candidates = Vec::new();
    found.sort_by(|one, other| other.1.total_cmp(&one.1).then(rank(&one.0, one.2).cmp(&rank(&other.0, other.2))));
    let mut known = HashSet::new();
    for (place, score, is_exact) in found {
        let mut candidate = candidate(index, &place, score, is_exact)?;
        let shape = place.defined.shape;
        if shape != 0 && score >= COPIED {
            let here = format!("{}:{}", candidate.path, candidate.line);
            candidate.same_as = told.get(&shape).cloned();
            told.entry(shape).or_insert(here);
        }
        known.insert(place.key());
        candidates.push(candidate);
    }
    let shapes: Vec<u64> = told.keys().copied().take(MAX_PLACES).collect();
    for place in symbols.shaped(index, &shapes).filter(|place| !known.contains(&place.key())).take(MAX_PLACES) {
        let same_as = told.get(&place.defined.shape).cloned();
        let of = candidates.iter().find(|one| same_as == Some(format!("{}:{}", one.path, one.line)));
        let score = rounded(COPY * of.map_or(COPIED, |of| of.score));
        candidates.push(Candidate { same_as, ..candidate(index, &place, score, false)? });
    }
    Ok(candidates)
}

/// The names that are most like the intent, `exact` first.
fn names<'s>(symbols: &'s Symbols, intent: &Intent, exact: &'s str) -> Vec<&'s str> {
    let stems: Vec<String> = intent.stems().collect();
    let mut seen = HashSet::from([exact]);
    let mut alike: Vec<(f64, &str)> = Vec::new();
    let mut compared = 0;
    for name in symbols.names() {
        let has_stem = |name: &str| stems.iter().any(|stem| name.contains(stem.as_str()));
        let is_alike = || compared < MAX_NAMES && has_stem(&fold(name));
        if !(intent.names(name) || is_alike()) || !seen.insert(name) {
            continue;
        }
        compared += 1;
        let score = intent.score(name, true);
        if score >= LEAST_SCORE {
            alike.push((score, name));
        }
    }
    alike.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    std::iter::once(exact).chain(alike.into_iter().map(|(_, name)| name)).take(MAX_ALIKE).collect()
}

fn candidate(index: &Index, place: &SymbolRef<'_>, score: f64, is_exact: bool) -> Result<Candidate, Error> {
    let defined = place.defined;
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let (path, line) = (index.path(place.document())?, u64::from(defined.line) + 1);
    Ok(Candidate {
        symbol: Some(defined.kind.as_str()),
        container: given(defined.container),
        signature: given(defined.signature),
        rank: rank(place, is_exact),
        ..Candidate::new(Kind::Symbol, defined.name.to_owned(), path, line, score)
    })
}

/// How little a place is what a name stands for: those of the very name come first, and of them what has a body.
const fn rank(place: &SymbolRef<'_>, is_exact: bool) -> u8 {
    let rank = match place.defined.kind {
        SymbolKind::Module => 3,
        SymbolKind::Prototype => 2,
        SymbolKind::Member | SymbolKind::Variable => 1,
        _ => 0,
    };
    if is_exact { rank } else { rank + 5 }
}
