//! The block of a note with the drawing.

use std::borrow::Cow;
use std::ops::Range;

use super::{DrawingError, Form, MAX_BYTES};
use crate::lines::{line_end, next_line};
use crate::{frontmatter, lz_string};

/// The property that marks the note of a drawing.
pub(super) const MARK: &str = "excalidraw-plugin";
/// Headings of the drawing in a note.
pub(super) const HEADINGS: [&str; 2] = ["## Drawing", "# Drawing"];
/// The marks of the block with the drawing.
pub(super) const PLAIN: &str = "```json";
pub(super) const COMPRESSED: &str = "```compressed-json";
pub(super) const BLOCK_END: &str = "```";
/// Digits of base 64 on a line.
const LINE_DIGITS: usize = 256;

/// The block with the drawing.
pub(super) struct Block {
    /// Where its heading begins.
    pub heading: usize,
    pub form: Form,
    /// Where the JSON stands, plain or compressed.
    pub range: Range<usize>,
}

/// The block with the drawing of a note.
pub(super) fn block(text: &str) -> Result<Block, DrawingError> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let start = text.len() - body.len();
    let yaml = frontmatter::fences(text, start).and_then(|(yaml, _)| text.get(yaml)).unwrap_or_default();
    if !yaml.lines().any(|line| line.split_once(':').is_some_and(|(name, _)| name.trim() == MARK)) {
        return Err(DrawingError::NoDrawing);
    }
    let mut heading = None;
    let mut at = start;
    while at < text.len() {
        let after = line_end(text, at);
        let next = next_line(text, after);
        let line = text.get(at..after).unwrap_or_default().trim_end();
        if HEADINGS.contains(&line) {
            heading = Some(at);
        } else if let Some(heading) = heading {
            let form = match line {
                PLAIN => Some(Form::Json),
                COMPRESSED => Some(Form::CompressedJson),
                _ => None,
            };
            if let Some(form) = form {
                let end = text.get(next..).and_then(|rest| rest.find("\n```")).map_or(text.len(), |end| next + end);
                return range(text, next..end, form).map(|range| Block { heading, form, range });
            }
            // Before there were blocks, the JSON was a line.
            if line.starts_with('{') {
                return range(text, at..after, Form::Json).map(|range| Block { heading, form: Form::Json, range });
            }
        }
        at = next;
    }
    Err(DrawingError::NoBlock)
}

/// The part of a block that is the drawing. Where two versions were merged, more may follow its end.
fn range(text: &str, block: Range<usize>, form: Form) -> Result<Range<usize>, DrawingError> {
    let written = text.get(block.clone()).unwrap_or_default();
    let start = block.start + written.len() - written.trim_start().len();
    let end = match form {
        Form::CompressedJson => written.trim_end().len(),
        _ => written.rfind('}').ok_or(DrawingError::NoBlock)? + 1,
    };
    let end = block.start + end;
    if start < end { Ok(start..end) } else { Err(DrawingError::NoBlock) }
}

/// Compresses JSON, and breaks the lines as the plugin does.
pub(super) fn compressed(json: &str) -> String {
    let digits = lz_string::compress_to_base64(json);
    let mut out = String::with_capacity(digits.len() + digits.len() / 100);
    let mut rest = digits.as_str();
    while let Some((line, more)) = rest.split_at_checked(LINE_DIGITS).filter(|(_, more)| !more.is_empty()) {
        out.push_str(line);
        out.push_str("\n\n");
        rest = more;
    }
    out.push_str(rest);
    out
}

/// The note of a drawing with its JSON as such, so that two versions can be compared; any other text as it is.
#[must_use]
pub fn unpacked(text: &str) -> Cow<'_, str> {
    if memchr::memmem::find(text.as_bytes(), COMPRESSED.as_bytes()).is_none() {
        return text.into();
    }
    let Ok(Block { form: Form::CompressedJson, range, .. }) = block(text) else { return text.into() };
    let (Some(before), Some(written), Some(after)) =
        (text.get(..range.start), text.get(range.clone()), text.get(range.end..))
    else {
        return text.into();
    };
    match lz_string::decompress_from_base64(written, MAX_BYTES) {
        Ok(json) => format!("{before}{json}{after}").into(),
        Err(_) => text.into(),
    }
}

/// The note of a drawing without the drawing, whose texts stand above it; any other text as it is.
#[must_use]
pub fn without_drawing(text: &str) -> Cow<'_, str> {
    if memchr::memmem::find(text.as_bytes(), MARK.as_bytes()).is_none() {
        return text.into();
    }
    let Ok(Block { range, .. }) = block(text) else { return text.into() };
    match (text.get(..range.start), text.get(range.end..)) {
        (Some(before), Some(after)) => format!("{before}{after}").into(),
        _ => text.into(),
    }
}
