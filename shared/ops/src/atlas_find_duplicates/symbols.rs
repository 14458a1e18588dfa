//! Symbols that code defines: in fenced blocks of notes, and in files of source code.

use std::collections::HashMap;

use atlas_segment::text::decoded;

use crate::arguments::{Bounded, Exact};
use crate::atlas_find_duplicates::similarity::Intent;
use crate::atlas_find_duplicates::{Candidate, Kind};
use crate::error::Error;
use crate::index::{Index, Want};
use crate::operation::{Context, Operation as _};
use crate::search::{self, Found, Mode, Search};
use crate::view::View;

/// What stands right before an identifier where it is defined, …
const DEFINES: [&str; 20] = [
    "fn",
    "def",
    "class",
    "func",
    "function",
    "function*",
    "const",
    "let",
    "var",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "module",
    "mod",
    "macro_rules!",
    "union",
    "protocol",
    "object",
];
/// … and what may stand before that.
const QUALIFIES: [&str; 15] = [
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "abstract",
    "final",
    "unsafe",
    "extern",
    "const",
    "data",
    "sealed",
];
/// Most lines that are looked at.
const MAX_LINES: u32 = 200;

/// Those whose names are like the intent.
pub(super) async fn like(context: &Context<'_>, intent: &Intent) -> Result<Vec<Candidate>, Error> {
    let stems: Vec<String> = intent.stems().map(|stem| regex_syntax::escape(&stem)).collect();
    // Lines that may define one; what they define is looked at then.
    let keywords = DEFINES.map(regex_syntax::escape).join("|");
    let pattern = format!(r"(?i)^\s*(?:\S+\s+){{0,4}}(?:{keywords})\s+[\w$]*(?:{})", stems.join("|"));
    // An intent that makes no pattern has no symbols.
    let Ok(pattern) = Exact::new(&pattern) else { return Ok(Vec::new()) };
    let wanted = search::Arguments::of(pattern, Mode::Regex, None, Some(Bounded::nearest(MAX_LINES)));
    let mut candidates = Vec::new();
    for found in Search::run(context, wanted).await?.value.results {
        let Found::Line(search::Line { path, line, text, .. }) = found else { continue };
        if let Some(name) = defined(&text).map(str::to_owned) {
            candidates.push(Candidate { kind: Kind::Symbol, score: intent.score(&name), name, path, line });
        }
    }
    in_code(context, candidates).await
}

/// The identifier that a line of code defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut is_qualified = true;
    while is_qualified {
        let word = words.next()?;
        let next = words.clone().next()?;
        if DEFINES.contains(&word) && !DEFINES.contains(&next) {
            let end = next.find(|one: char| !one.is_alphanumeric() && one != '_' && one != '$').unwrap_or(next.len());
            return next.get(..end).filter(|name| !name.is_empty());
        }
        is_qualified = QUALIFIES.contains(&word) || word.starts_with("pub(") || word.starts_with('"');
    }
    None
}

/// Those that stand in code: in a note only between fences.
async fn in_code(context: &Context<'_>, candidates: Vec<Candidate>) -> Result<Vec<Candidate>, Error> {
    let mut notes: Vec<String> =
        candidates.iter().map(|candidate| candidate.path.clone()).filter(|path| is_note(path)).collect();
    notes.dedup();
    if notes.is_empty() {
        return Ok(candidates);
    }
    let fenced = |view: View| {
        let notes = &notes;
        async move {
            let index = Index::fetch(view, Want::default()).await?;
            let mut documents = Vec::new();
            for path in notes {
                documents.extend(index.find(path)?.map(|document| (path.clone(), document)));
            }
            let found: Vec<_> = documents.iter().map(|(_, document)| *document).collect();
            let texts = index.texts(&found).await?;
            let lines = documents.into_iter().zip(texts).map(|((path, _), text)| (path, fenced_lines(&decoded(&text))));
            Ok(lines.collect::<HashMap<String, Vec<bool>>>())
        }
    };
    let fenced = context.read(fenced).await?.value;
    let is_fenced = |candidate: &Candidate| {
        let line = usize::try_from(candidate.line).ok()?.checked_sub(1)?;
        fenced.get(&candidate.path)?.get(line).copied()
    };
    let stands = |candidate: &Candidate| !is_note(&candidate.path) || is_fenced(candidate) == Some(true);
    Ok(candidates.into_iter().filter(stands).collect())
}

fn is_note(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".md")
}

/// For each line of a note whether it stands between the fences of a block of code.
fn fenced_lines(text: &str) -> Vec<bool> {
    let mut open: Option<(char, usize)> = None;
    let is_fenced = |line: &str| {
        let line = line.trim();
        let Some(sign) = line.chars().next().filter(|sign| matches!(sign, '`' | '~')) else { return open.is_some() };
        let length = line.chars().take_while(|one| *one == sign).count();
        match open {
            None if length >= 3 => open = Some((sign, length)),
            Some((of, least)) if of == sign && length >= least && line.len() == length => open = None,
            _ => return open.is_some(),
        }
        false
    };
    text.split('\n').map(is_fenced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_fences() {
        let text = "fn a\n```rust\nfn b\n~~~\n```\nfn c\n~~~~\n```\nfn d\n~~~\n~~~~\nx";
        let inside: Vec<usize> =
            fenced_lines(text).into_iter().enumerate().filter(|(_, inside)| *inside).map(|(line, _)| line).collect();
        assert_eq!(inside, [2, 3, 7, 8, 9]);
    }

    #[test]
    fn definitions_of_many_languages_are_known() {
        for (line, name) in [
            ("pub(crate) async fn make_uuid<T>(", Some("make_uuid")),
            ("export default class UuidGenerator {", Some("UuidGenerator")),
            ("    def uuid(self):", Some("uuid")),
            ("const UUID = 1", Some("UUID")),
            ("func Uuid() {", Some("Uuid")),
            ("pub const fn uuid() {", Some("uuid")),
            ("const", None),
            ("a class of its own", None),
            ("uuid()", None),
        ] {
            assert_eq!(defined(line), name, "{line}");
        }
    }
}
