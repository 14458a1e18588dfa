//! Errors of edits.

use std::fmt;

use crate::note::FrontmatterError;
use crate::task::ChangeError;

use super::MAX_EDITS;

/// Most candidates that an error lists.
pub(super) const MAX_CANDIDATES: usize = 20;
/// Most characters of a text that an error repeats.
const MAX_ECHO_CHARS: usize = 120;

/// Why [`apply`](super::apply) changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Too many edits in one call.
    #[error("there are {count} edits; at most {MAX_EDITS} can be made at once")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// One edit cannot be made.
    #[error("edit {edit}: {problem}")]
    Refused {
        /// The number of the edit, counted from 1.
        edit: usize,
        /// Why.
        problem: Box<Problem>,
    },
}

impl EditError {
    /// The same where the number of a text's occurrences is in `argument`, if anywhere.
    #[must_use]
    pub fn counted_by(mut self, argument: Option<&'static str>) -> Self {
        if let Self::Refused { problem, .. } = &mut self
            && let Problem::TextCount { counted_by, .. } = &mut **problem
        {
            *counted_by = argument;
        }
        self
    }
}

/// Why one edit is impossible. Each message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields mean; lines are counted from 1")]
pub enum Problem {
    #[error("the note would have {bytes} bytes; at most {max_bytes} are allowed")]
    TooLong { bytes: usize, max_bytes: usize },
    #[error("the note is too long to look for headings and block ids in it; name lines instead")]
    TooLongForTargets,
    #[error(
        "the edits before it already search as many bytes for headings and block ids as one call may; make this edit and the next ones in another call, or name lines instead"
    )]
    TooManyTargets,
    #[error(
        "the note is so long that one call makes fewer edits of it; make this edit and the next ones in another call, or several of them as one"
    )]
    TooManyPasses,
    #[error(
        "the replacements would make the note {bytes} bytes longer; one call may add at most {max_bytes} this way: replace fewer at once"
    )]
    AddsTooMuch { bytes: usize, max_bytes: usize },
    #[error("no heading is named; write a heading's text")]
    NoHeadingNamed,
    #[error("there is no heading {heading}; {}", choice(candidates))]
    HeadingMissing { heading: String, candidates: Vec<Candidate> },
    #[error(
        "there is more than one heading {heading}; write the headings above it too, or its lines: {}",
        list(candidates)
    )]
    HeadingAmbiguous { heading: String, candidates: Vec<Candidate> },
    #[error("there is no block id ^{id}; {}", choice(candidates))]
    BlockMissing { id: String, candidates: Vec<Candidate> },
    #[error("more than one block has ^{id}; write the lines of one instead: {}", list(candidates))]
    BlockAmbiguous { id: String, candidates: Vec<Candidate> },
    #[error("there are no lines {from} to {to}; the note has {count}, and the first is line 1")]
    NoSuchLines { from: u32, to: u32, count: usize },
    #[error("the text to find is empty; write the text that is to be replaced")]
    NothingToFind,
    #[error("the text to find is not in the note; write it exactly{}", like(candidates))]
    TextMissing { candidates: Vec<Candidate> },
    #[error(
        "the text to find is in the note with other line breaks; end its lines in {}",
        if *crlf { r"\r\n" } else { r"\n" }
    )]
    OtherLineBreaks { crlf: bool },
    #[error(
        "the text to find is in the note {found} times, and not {expected}; write more of the text around it{}: {}",
        counted_by.map_or_else(String::new, |argument| format!(", or set {argument}")),
        list(candidates)
    )]
    TextCount {
        found: usize,
        expected: u32,
        /// The argument that says how often the text must occur, if the caller may set it.
        counted_by: Option<&'static str>,
        candidates: Vec<Candidate>,
    },
    #[error("{0}; put it right with replace_text first")]
    Frontmatter(#[from] FrontmatterError),
    #[error("the frontmatter is written with {0}, which cannot be changed safely; use replace_text")]
    FrontmatterStyle(&'static str),
    #[error("there is no property {name}; {}", choice(candidates))]
    PropertyMissing { name: String, candidates: Vec<Candidate> },
    #[error("a property's name must have 1 to {max} bytes")]
    PropertyName { max: usize },
    #[error(
        "the frontmatter could not be read back: {0}; write a plainer value, or change the frontmatter with replace_text"
    )]
    Unreadable(String),
    #[error("a tag there would not be read as a tag, because of the text around it; choose another place")]
    TagHidden,
    #[error("without the tag the text around it would mean something else; change it with replace_text")]
    TagNeeded,
    #[error("the frontmatter's tags are neither a list nor text; set the property instead")]
    TagsStyle,
    #[error("line {line} is not a task{}", tasks(candidates))]
    NoTask { line: u32, candidates: Vec<Candidate> },
    #[error(transparent)]
    Task(#[from] ChangeError),
    #[error("to change {names} would change other properties too; change the frontmatter with replace_text")]
    Entangled { names: String },
}

impl Problem {
    /// The parts of the note that may have been meant, in the order of the note.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        match self {
            Self::HeadingMissing { candidates, .. }
            | Self::HeadingAmbiguous { candidates, .. }
            | Self::BlockMissing { candidates, .. }
            | Self::BlockAmbiguous { candidates, .. }
            | Self::TextMissing { candidates }
            | Self::TextCount { candidates, .. }
            | Self::NoTask { candidates, .. }
            | Self::PropertyMissing { candidates, .. } => candidates,
            _ => &[],
        }
    }
}

/// Something in the note that may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The line it begins on, from 1.
    pub line: u32,
    /// The text to write in order to refer to it, or the line's text; long texts are cut.
    pub text: String,
}

impl Candidate {
    /// `line` counts from 0, as everywhere in a [`Note`](crate::Note).
    pub(super) fn new(line: u32, text: &str) -> Self {
        Self { line: line.saturating_add(1), text: echo(text) }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.text, self.line)
    }
}

/// `text`, shortened and escaped for one line of a message.
pub(super) fn echo(text: &str) -> String {
    let visible = |c: char| if c.is_control() { '\u{FFFD}' } else { c };
    let mut chars = text.trim().chars().map(visible);
    let mut shown: String = chars.by_ref().take(MAX_ECHO_CHARS).collect();
    if chars.next().is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

fn list(candidates: &[Candidate]) -> String {
    candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn choice(candidates: &[Candidate]) -> String {
    if candidates.is_empty() { "the note has none".to_owned() } else { format!("write one of {}", list(candidates)) }
}

fn tasks(candidates: &[Candidate]) -> String {
    if candidates.is_empty() {
        ", and the note has none".to_owned()
    } else {
        format!("; write one of {}", list(candidates))
    }
}

fn like(candidates: &[Candidate]) -> String {
    if candidates.is_empty() { String::new() } else { format!(", as in {}", list(candidates)) }
}
