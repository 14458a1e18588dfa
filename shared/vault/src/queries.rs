//! The queries in a note: blocks of Dataview and Bases, inline queries, and embedded bases.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use crate::lines::Lines;
use crate::markdown::Events;
use crate::mask::mask;
use crate::note::{MAX_BODY_BYTES, Note};

/// Most queries of a note that are found.
pub const MAX_QUERIES: usize = 200;

/// A query, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The part of the text that its result stands for: the block with its fences, without its last line break.
    pub range: Range<usize>,
    /// The line that it begins on, from 0.
    pub line: u32,
    /// The query.
    pub asked: Asked,
}

/// The kind of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A block ` ```dataview `.
    Dataview(String),
    /// A block ` ```dataviewjs `, which is a program.
    DataviewJs,
    /// An expression in the text: `` `= this.file.name` ``.
    Inline(String),
    /// A program in the text: `` `$= …` ``.
    InlineJs,
    /// A block ` ```base `.
    Base(String),
    /// `![[file.base#View]]`
    Embedded {
        /// The file, as it is linked.
        target: String,
        /// The view; the first if none is named.
        view: Option<String>,
    },
}

/// Whether a note may have queries: most have none, and need not be parsed.
#[must_use]
pub fn may_be_in(text: &str) -> bool {
    let begins = |rest: &str, word: &str| rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let in_code = text.match_indices(['`', '~']).any(|(at, sign)| {
        let rest = text.get(at + sign.len()..).unwrap_or_default();
        // A quote may break the code.
        let rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '>');
        rest.starts_with('=') || ["$=", "dataview", "base"].iter().any(|word| begins(rest, word))
    });
    in_code || text.match_indices('.').any(|(at, _)| begins(text.get(at + 1..).unwrap_or_default(), "base"))
}

/// The queries of a note in the order of its text; `note` is what [`parse`](crate::parse) found in it.
#[must_use]
pub fn queries(text: &str, note: &Note) -> Vec<Query> {
    let mark = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let start = note.frontmatter.as_ref().map_or(mark, |frontmatter| frontmatter.body_start);
    let end = text.floor_char_boundary(start.saturating_add(MAX_BODY_BYTES));
    let body = text.get(start..end).unwrap_or_default();
    let lines = Lines::new(text);
    let mut found: Vec<Query> = note.links.iter().filter_map(embedded).collect();
    if body.contains('`') || body.contains("~~~") {
        found.extend(in_code(body, start, &lines));
    }
    found.sort_by_key(|query| query.range.start);
    found.truncate(MAX_QUERIES);
    found
}

fn embedded(link: &crate::note::Link) -> Option<Query> {
    let is_base = link.target.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("base"));
    (link.is_embed() && is_base).then(|| Query {
        range: link.range.clone(),
        line: link.line,
        asked: Asked::Embedded { target: link.target.clone(), view: link.subpath.clone() },
    })
}

/// The queries in fenced code and in code within lines.
fn in_code(body: &str, start: usize, lines: &Lines) -> Vec<Query> {
    let masked = mask(body);
    let mut found = Vec::new();
    let mut block: Option<(String, String)> = None;
    for (event, range) in Events::of(&masked) {
        let asked = match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let language = info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
                block = matches!(language.as_str(), "dataview" | "dataviewjs" | "base")
                    .then_some((language, String::new()));
                continue;
            }
            Event::Text(text) => {
                if let Some((_, inside)) = &mut block {
                    inside.push_str(&text);
                }
                continue;
            }
            Event::End(TagEnd::CodeBlock) => match block.take() {
                Some((language, inside)) if language == "dataview" => Asked::Dataview(inside),
                Some((language, inside)) if language == "base" => Asked::Base(inside),
                Some(_) => Asked::DataviewJs,
                None => continue,
            },
            Event::Code(code) => match code.trim() {
                code if code.starts_with("$=") => Asked::InlineJs,
                code if code.starts_with('=') && !code.starts_with("==") && code.trim() != "=" => {
                    Asked::Inline(code.trim_start_matches('=').trim().to_owned())
                }
                _ => continue,
            },
            _ => continue,
        };
        let written = body.get(range.clone()).unwrap_or_default();
        let end = range.start + written.trim_end_matches(['\n', '\r']).len();
        let line = lines.at(start + range.start);
        found.push(Query { range: start + range.start..start + end, line, asked });
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parse;

    fn found(text: &str) -> Vec<(&str, u32, Asked)> {
        let queries = queries(text, &parse(text));
        assert!(queries.is_empty() || may_be_in(text), "{text}");
        queries.into_iter().map(|query| (text.get(query.range).unwrap(), query.line, query.asked)).collect()
    }

    #[test]
    fn blocks_inline_queries_and_embeds_are_found_in_order() {
        let text = "---\na: '```dataview'\n---\nToday `= this.file.name` and `$= dv.x`, `==no==`, `=`.\n\n\
            ```dataview\nLIST\nFROM #a\n```\n> ~~~base\n> views: []\n> ~~~\n\n![[all.base#By day|x]] [[all.base]]\n\n\
            ```js\nLIST\n```\n```dataviewjs\ndv.list()\n```\n%%\n```dataview\nTASK\n```\n%%\n- item\n  ```DATAVIEW\n  TASK\n";
        let asked = |text: &str| Asked::Dataview(text.to_owned());
        let view = Some("By day".to_owned());
        assert_eq!(
            found(text),
            [
                ("`= this.file.name`", 3, Asked::Inline("this.file.name".to_owned())),
                ("`$= dv.x`", 3, Asked::InlineJs),
                ("```dataview\nLIST\nFROM #a\n```", 5, asked("LIST\nFROM #a\n")),
                ("~~~base\n> views: []\n> ~~~", 9, Asked::Base("views: []\n".to_owned())),
                ("![[all.base#By day|x]]", 13, Asked::Embedded { target: "all.base".to_owned(), view }),
                ("```dataviewjs\ndv.list()\n```", 18, Asked::DataviewJs),
                ("```DATAVIEW\n  TASK", 27, asked("TASK\n")),
            ]
        );
    }

    proptest! {
        #[test]
        fn queries_of_any_note_are_apart_and_in_order(text in "(```dataview\n|```\n|> |- |`= a`|!\\[\\[a.base\\]\\]|%%|\n|[a-z ]){0,30}") {
            let mut at = 0;
            for query in queries(&text, &parse(&text)) {
                prop_assert!(query.range.start >= at && text.get(query.range.clone()).is_some(), "{:?}", text);
                at = query.range.end;
            }
        }
    }
}
