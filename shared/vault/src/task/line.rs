//! Finds the fields of a task. As in the Tasks plugin, fields are read backwards from the end of the text, with tags among them, up to
//! the first word that is neither.

use std::ops::Range;

use super::symbols::{Field, Format, Priority, is_of_value};
use crate::block_id;

/// Most fields and tags that are read.
const MAX_TOKENS: usize = 100;
/// The variation selector after a character that is shown as an emoji.
const SHOWN_AS_EMOJI: char = '\u{FE0F}';

/// A task's text, split into its parts.
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// The end of the description, not counting tags among the fields.
    pub(super) head: usize,
    /// The fields and tags after it, in the order of the text.
    pub(super) tokens: Vec<Token>,
    /// The end of the fields and tags.
    pub(super) end: usize,
    /// The block id, without its `^`.
    pub(super) block_id: Option<&'a str>,
}

/// A field or tag.
pub(super) struct Token {
    /// `None` for a tag.
    pub(super) field: Option<Field>,
    pub(super) format: Format,
    pub(super) range: Range<usize>,
    pub(super) value: Range<usize>,
}

impl<'a> Line<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        Self::read_in(text, None)
    }

    /// Reads fields in this format only, if one is given.
    pub(super) fn read_in(text: &'a str, format: Option<Format>) -> Self {
        let is_read = |token: &Token| token.field.is_none() || format.is_none_or(|format| format == token.format);
        let block = memchr::memrchr(b'^', text.as_bytes()).and_then(|at| Some((at, block_id::read(text, at)?)));
        let end = block.map_or(text.len(), |(at, _)| at);
        let mut head = trimmed(text, end);
        let end = head;
        let mut tokens = Vec::new();
        while tokens.len() < MAX_TOKENS
            && let Some(token) = text.get(..head).and_then(last).filter(is_read)
        {
            head = trimmed(text, token.range.start);
            tokens.push(token);
        }
        tokens.reverse();
        Self { text, head, tokens, end, block_id: block.and_then(|(at, end)| text.get(at + 1..end)) }
    }

    /// The token of `field`. If the field occurs several times, the first one counts.
    pub(super) fn find(&self, field: Field) -> Option<&Token> {
        self.tokens.iter().find(|token| token.field == Some(field))
    }

    /// The value of `field`.
    pub(super) fn value(&self, field: Field) -> Option<&'a str> {
        self.text.get(self.find(field)?.value.clone())
    }
}

/// `end`, moved back over the white space of `text` before it.
pub(super) fn trimmed(text: &str, end: usize) -> usize {
    text.get(..end).unwrap_or_default().trim_end().len()
}

/// The field or tag at the end of `text`.
fn last(text: &str) -> Option<Token> {
    tag(text).or_else(|| bracketed(text)).or_else(|| priority(text)).or_else(|| symbol(text))
}

fn tag(text: &str) -> Option<Token> {
    let start = text.rfind(char::is_whitespace).map_or(0, |at| at + text.get(at..).map_or(0, first_len));
    let name = text.get(start..)?.strip_prefix('#')?;
    let is_tag = !name.is_empty() && !name.contains(|c: char| "!@#$%^&*(),.?\":{}|<>".contains(c));
    let range = start..text.len();
    is_tag.then_some(Token { field: None, format: Format::Emoji, value: start + 1..text.len(), range })
}

fn first_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// `[key:: value]`, or with round brackets, and an optional comma after it.
fn bracketed(text: &str) -> Option<Token> {
    let closed = text.strip_suffix(',').map_or(text, |text| text.trim_end_matches(' '));
    let (inner, open) = match closed.strip_suffix(']') {
        Some(inner) => (inner, '['),
        None => (closed.strip_suffix(')')?, '('),
    };
    let start = inner.rfind(open)?;
    let (key, value) = inner.get(start + 1..)?.split_once("::")?;
    let field = Field::of_key(key.trim_start_matches(' '))?;
    let value_start = inner.len() - value.trim_start_matches(' ').len();
    let value = value.trim_matches(' ');
    let is_value = field.accepts(value) && value.is_ascii();
    let range = start..text.len();
    let value = value_start..value_start + value.len();
    is_value.then_some(Token { field: Some(field), format: Format::Dataview, range, value })
}

fn priority(text: &str) -> Option<Token> {
    let shown = text.strip_suffix(SHOWN_AS_EMOJI).unwrap_or(text);
    let symbol = shown.chars().next_back()?;
    Priority::of_symbol(symbol)?;
    let start = shown.len() - symbol.len_utf8();
    let range = start..text.len();
    Some(Token { field: Some(Field::Priority), format: Format::Emoji, range, value: start..shown.len() })
}

/// A symbol and its value.
fn symbol(text: &str) -> Option<Token> {
    let value = text.bytes().rev().take_while(|byte| is_of_value(*byte)).count();
    let before = text.get(..text.len() - value)?;
    let shown = before.strip_suffix(SHOWN_AS_EMOJI).unwrap_or(before);
    let symbol = shown.chars().next_back()?;
    let field = Field::of_symbol(symbol)?;
    let value = text.get(before.len()..)?.trim_start_matches(' ');
    let range = shown.len() - symbol.len_utf8()..text.len();
    let value_range = text.len() - value.len()..text.len();
    field.accepts(value).then_some(Token { field: Some(field), format: Format::Emoji, range, value: value_range })
}
