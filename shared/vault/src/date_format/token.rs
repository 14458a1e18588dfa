//! The tokens of a date format.

/// A token of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Literal text.
    Literal(&'a str),
    /// A part of a date or time, such as `YYYY`.
    Part(&'a str),
}

/// All names of date and time parts. Among parts with the same beginning, the longest comes first.
const PARTS: &[&str] = &[
    "YYYY", "YY", "Y", "Qo", "Q", "MMMM", "MMM", "MM", "Mo", "M", "DDDD", "DDDo", "DDD", "DD", "Do", "D", "dddd",
    "ddd", "dd", "do", "d", "gggg", "gg", "GGGG", "GG", "ww", "wo", "w", "WW", "Wo", "W", "e", "E", "HH", "H", "hh",
    "h", "kk", "k", "mm", "m", "ss", "s", "SSS", "SS", "S", "A", "a", "X", "x", "ZZ", "Z", "LTS", "LT", "LLLL", "LLL",
    "LL", "L",
];

/// The tokens of `format`, in order.
pub(super) fn tokens(format: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = format;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (token, length) = if let Some(literal) = literal(rest) {
            (Token::Literal(literal), literal.len() + 2)
        } else if let Some(escaped) = rest.strip_prefix('\\').filter(|rest| !rest.is_empty()) {
            let length = part(escaped).map_or_else(|| escaped.chars().next().map_or(0, char::len_utf8), str::len);
            (Token::Literal(escaped.get(..length)?), length + 1)
        } else if let Some(part) = part(rest) {
            (Token::Part(part), part.len())
        } else {
            (Token::Literal(rest.get(..first.len_utf8())?), first.len_utf8())
        };
        rest = rest.get(length..)?;
        Some(token)
    })
}

/// The text inside the brackets at the start of `text`.
fn literal(text: &str) -> Option<&str> {
    let (literal, _) = text.strip_prefix('[')?.split_once(']')?;
    (!literal.contains('[')).then_some(literal)
}

fn part(text: &str) -> Option<&'static str> {
    PARTS.iter().copied().find(|part| text.starts_with(part))
}
