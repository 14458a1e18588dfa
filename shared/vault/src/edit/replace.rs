//! Replaces exact text.

use std::num::NonZeroU32;

use memchr::memmem;

use super::error::{Candidate, MAX_CANDIDATES, Problem};
use super::splice;
use crate::fold::fold;
use crate::lines::Lines;

/// `text` with every `wanted` replaced by `new`. `wanted` must occur `count` times, once by default.
pub(super) fn replace(
    text: &str,
    wanted: &str,
    new: &str,
    count: Option<NonZeroU32>,
    max_bytes: usize,
) -> Result<String, Problem> {
    if wanted.is_empty() {
        return Err(Problem::NothingToFind);
    }
    let expected = count.map_or(1, NonZeroU32::get);
    let found = memmem::find_iter(text.as_bytes(), wanted).count();
    if found == 0 {
        return Err(missing(text, wanted));
    }
    if u32::try_from(found) != Ok(expected) {
        let lines = Lines::new(text);
        let places = memmem::find_iter(text.as_bytes(), wanted).take(MAX_CANDIDATES);
        let candidates = places.map(|at| Candidate::new(lines.at(at), line_at(text, at))).collect();
        return Err(Problem::TextCount { found, expected, counted_by: Some("count"), candidates });
    }
    let new = splice::fit(text, new);
    // Checked before the replacement is made: many short texts replaced by long ones could fill the memory.
    let bytes = (text.len() - found * wanted.len()).saturating_add(found.saturating_mul(new.len()));
    if bytes > max_bytes {
        return Err(Problem::TooLong { bytes, max_bytes });
    }
    Ok(text.replace(wanted, &new))
}

/// The problem that `wanted` is not in `text`. Lists the lines that contain its first line, ignoring case and
/// surrounding white space.
fn missing(text: &str, wanted: &str) -> Problem {
    let other = splice::fit(text, wanted);
    if memmem::find(text.as_bytes(), other.as_bytes()).is_some() {
        return Problem::OtherLineBreaks { crlf: splice::line_break(text) == Some("\r\n") };
    }
    let first = wanted.lines().map(str::trim).find(|line| !line.is_empty()).map(fold).unwrap_or_default();
    let holding = text.lines().enumerate().filter(|(_, line)| !first.is_empty() && fold(line).contains(&*first));
    let candidates = holding
        .take(MAX_CANDIDATES)
        .map(|(number, line)| Candidate::new(u32::try_from(number).unwrap_or(u32::MAX), line))
        .collect();
    Problem::TextMissing { candidates }
}

fn line_at(text: &str, offset: usize) -> &str {
    let start = splice::line_start(text, offset);
    text.get(start..crate::lines::line_end(text, start)).unwrap_or_default()
}
