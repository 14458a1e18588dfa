//! Notes built line by line, so that the expected result of an edit follows from lists of lines, without the parser.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Properties in several spellings. `N` is replaced by a number, so that names are unique.
const PROPERTIES: &[&[&str]] = &[
    &["pN: plain text"],
    &["pN:   'it''s'   # comment  "],
    &["\"p N\" : \"two\\nlines\""],
    &["pN: 2024-01-02", "", "# between"],
    &["pN:", "  - a # first", "  # inside", "  - 'b'"],
    &["pN:", "- a", "-   b: 1", "    c: 2"],
    &["pN:", "  a:", "    b: 1", "  # inside", "# after"],
    &["pN: {a: [1, 2],", "   b: c}  # flow"],
    &["pN: |", "  one", "", "    two # no comment"],
    &["pN: >-", "  folded", "  text", "", "# comment"],
    &["pN: |+", "  kept", ""],
    &["pN: plain", "  goes on"],
    &["pN:"],
    &["pN: # nothing"],
    &["pN: &xN [a]"],
    &["pN: !tag 1.50"],
    &["ключN: значение"],
];

/// Body lines that are not headings and do not turn others into headings.
const LINES: &[&str] = &[
    "",
    "",
    "text",
    "trailing spaces  ",
    "- item",
    "  - nested ^id",
    "> quote",
    "日本 🗂️",
    "\ttab",
    "#tag",
    "**bold**",
    "| a | b |",
    "%% comment %%",
    "[[link]] $x$",
];

/// A note as its lines.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    /// The lines of each property.
    pub(super) properties: Option<Vec<Vec<String>>>,
    pub(super) body: Vec<String>,
    /// The lines of the body that are headings, with their levels. The text of each is `Heading` and its line number.
    pub(super) headings: Vec<(usize, usize)>,
    pub(super) line_break: &'static str,
    pub(super) ended: bool,
}

impl Lines {
    pub(super) fn frontmatter(&self) -> Vec<String> {
        let lines = self.properties.iter().flat_map(|all| {
            let fence = || std::iter::once("---".to_owned());
            fence().chain(all.iter().flatten().cloned()).chain(fence())
        });
        lines.collect()
    }

    pub(super) fn text(&self) -> String {
        self.with_body(self.body.clone())
    }

    pub(super) fn with_body(&self, body: Vec<String>) -> String {
        self.join(&[self.frontmatter(), body].concat())
    }

    pub(super) fn with_properties(&self, properties: Vec<Vec<String>>) -> String {
        Self { properties: Some(properties), ..self.clone() }.text()
    }

    pub(super) fn join(&self, lines: &[String]) -> String {
        let text = lines.join(self.line_break);
        if self.ended && !lines.is_empty() { text + self.line_break } else { text }
    }

    /// The lines below a heading up to the next heading that is not deeper; and the same lines without the blank ones around them.
    pub(super) fn section(&self, heading: usize) -> (Range<usize>, Range<usize>) {
        let (line, level) = self.headings[heading];
        let next = self.headings[heading + 1..].iter().find(|(_, next)| *next <= level);
        let all = line + 1..next.map_or(self.body.len(), |(line, _)| *line);
        let blank = |line: &usize| self.body[*line].trim().is_empty();
        let start = all.clone().find(|line| !blank(line)).unwrap_or(all.start);
        let end = all.clone().rev().find(|line| !blank(line)).map_or(start, |line| line + 1);
        (all, start..end)
    }
}

pub(super) fn any_lines() -> impl Strategy<Value = Lines> {
    let property = select(PROPERTIES).prop_map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
    let piece = prop_oneof![
        6 => select(LINES).prop_map(|line| (0, vec![line.to_owned()])),
        3 => (1_usize..4).prop_map(|level| (level, vec![])),
        1 => Just((0, ["```", "# in code", "```"].map(str::to_owned).to_vec())),
    ];
    let properties = proptest::option::weighted(0.7, vec(property, 0..6));
    (properties, vec(piece, 0..20), any::<bool>(), any::<bool>()).prop_map(|(mut properties, pieces, crlf, ended)| {
        let lines = properties.iter_mut().flatten().enumerate();
        lines.for_each(|(number, lines): (usize, &mut Vec<String>)| {
            lines[0] = lines[0].replace('N', &number.to_string());
        });
        let (mut body, mut headings) = (Vec::new(), Vec::new());
        for (level, lines) in pieces {
            if level > 0 {
                headings.push((body.len(), level));
                body.push(format!("{} Heading {}", "#".repeat(level), body.len()));
            }
            body.extend(lines);
        }
        // A blank last line without a line break would not count as a line.
        while body.last().is_some_and(String::is_empty) {
            body.pop();
        }
        let ended = ended && (properties.is_some() || !body.is_empty());
        let broken = ended || properties.is_some() || body.len() > 1;
        Lines { properties, body, headings, line_break: if crlf && broken { "\r\n" } else { "\n" }, ended }
    })
}
