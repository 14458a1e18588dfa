//! The values of a YAML text that are neither lists nor maps, as the parser sees them.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle};

use crate::string_text::Notation;

/// A text, a number and the like.
pub(crate) struct Scalar<'t> {
    /// As it is meant.
    pub(crate) text: Cow<'t, str>,
    /// Where it is written, including quotes.
    pub(crate) range: Range<usize>,
    /// How it is written.
    pub(crate) notation: Notation,
}

/// The values in the YAML at `range` of `text`, in their order, without the names of maps and what aliases repeat. The YAML was
/// [read](super::read) before, which bounds it.
pub(crate) fn values<'t>(text: &'t str, range: &Range<usize>) -> impl Iterator<Item = Scalar<'t>> + use<'t> {
    let start = range.start;
    let yaml = text.get(range.clone()).unwrap_or_default();
    // Of each map around it whether a name comes next; none of a list.
    let mut open: Vec<Option<bool>> = Vec::new();
    Parser::new_from_str(yaml).map_while(Result::ok).filter_map(move |(event, span)| {
        let is_name = |open: &mut Vec<Option<bool>>| {
            open.last_mut().and_then(Option::as_mut).is_some_and(|next| mem::replace(next, !*next))
        };
        match event {
            Event::MappingStart(..) => {
                is_name(&mut open);
                open.push(Some(true));
            }
            Event::SequenceStart(..) => {
                is_name(&mut open);
                open.push(None);
            }
            Event::MappingEnd | Event::SequenceEnd => drop(open.pop()),
            Event::Alias(_) => drop(is_name(&mut open)),
            Event::Scalar(text, style, ..) if !is_name(&mut open) => {
                // Where nothing is written, the parser sees a text.
                let span = span.byte_range().filter(|span| !span.is_empty())?;
                let notation = match style {
                    ScalarStyle::SingleQuoted => Notation::SingleQuoted,
                    ScalarStyle::DoubleQuoted => Notation::DoubleQuoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Notation::Block,
                    _ => Notation::Plain,
                };
                return Some(Scalar { text, range: start + span.start..start + span.end, notation });
            }
            _ => {}
        }
        None
    })
}
