//! ripgrep's searcher over texts in memory, on one thread.

use std::fs;

use atlas_testkit::notes::contents;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use crate::queries::Query;
use crate::vault::Folder;
use crate::world::World;

/// The texts that `search` reads, by path.
pub(crate) struct Resident(Vec<(String, String)>);

/// A line that matches.
pub(crate) struct Line<'a> {
    pub(crate) path: &'a str,
    pub(crate) number: u64,
    /// Without its line break.
    pub(crate) text: String,
}

impl Resident {
    /// The mirror's texts.
    pub(crate) fn of(world: &World) -> Self {
        let texts = world.runtime.block_on(contents(&world.snapshot())).unwrap().into_iter();
        Self(texts.filter(|(path, text)| !text.is_empty() && !path.starts_with(".obsidian/")).collect())
    }

    /// The texts of a folder's notes that are not repetitions.
    #[allow(dead_code, reason = "of one of the benchmarks")]
    pub(crate) fn of_folder(folder: &Folder) -> Self {
        let text =
            |path: &String| String::from_utf8_lossy(&fs::read(folder.root.path().join(path)).unwrap()).into_owned();
        Self(folder.notes.iter().map(|path| (path.clone(), text(path))).filter(|(_, text)| !text.is_empty()).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// By path.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(other, _)| other.as_str().cmp(path)).ok()?;
        Some(&self.0[at].1)
    }

    /// The first `limit` lines that match, by path and line.
    pub(crate) fn search(&self, query: &Query, limit: usize) -> Vec<Line<'_>> {
        let (matcher, mut searcher) = (matcher(query), searcher());
        let mut lines = Vec::new();
        for (path, text) in self.iter() {
            let add = |number, line: &str| {
                let text = line.strip_suffix('\n').unwrap_or(line);
                lines.push(Line { path, number, text: text.strip_suffix('\r').unwrap_or(text).to_owned() });
                Ok(lines.len() < limit)
            };
            searcher.search_slice(&matcher, text.as_bytes(), Lossy(add)).unwrap();
            if lines.len() >= limit {
                break;
            }
        }
        lines
    }

    /// The number of matching texts, counted up to `limit`.
    pub(crate) fn matching(&self, query: &Query, limit: usize) -> usize {
        let (matcher, mut searcher) = (matcher(query), searcher());
        let mut is_matching = |text: &str| {
            let mut found = false;
            let stop = |_, _: &str| {
                found = true;
                Ok(false)
            };
            searcher.search_slice(&matcher, text.as_bytes(), Lossy(stop)).unwrap();
            found
        };
        self.iter().filter(|(_, text)| is_matching(text)).take(limit).count()
    }
}

/// As ripgrep builds it.
fn matcher(query: &Query) -> RegexMatcher {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .ban_byte(Some(0))
        .fixed_strings(query.mode == "literal")
        .build(&query.text)
        .unwrap()
}

fn searcher() -> Searcher {
    SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::quit(0)).build()
}
