//! Block ids: `^name` at the end of a line. Links point to a block by its id.

use crate::lines::is_break;

/// The end of the block id whose `^` is at `at`, or `None` if there is none. An id follows white space or starts a
/// line, consists of ASCII letters, digits and `-`, and is followed only by white space.
pub(crate) fn read(text: &str, at: usize) -> Option<usize> {
    let (before, rest) = text.split_at_checked(at)?;
    let name = rest.strip_prefix('^')?;
    let after = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
    let next = after.trim_start_matches([' ', '\t']).bytes().next();
    let spaced = before.bytes().next_back().is_none_or(|byte| byte.is_ascii_whitespace());
    let named = after.len() < name.len();
    (spaced && named && next.is_none_or(is_break)).then_some(text.len() - after.len())
}
