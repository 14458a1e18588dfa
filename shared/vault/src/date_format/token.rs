//! The tokens of a date format.

use std::borrow::Cow;

use super::Locale;

/// A token of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Literal text.
    Literal(&'a str),
    /// A part of a date or time, such as `YYYY`.
    Part(&'static str),
}

/// All names of date and time parts. Among parts with the same beginning, the one that Moment.js prefers comes first.
const PARTS: &[&str] = &[
    "Hmmss",
    "Hmm",
    "hmmss",
    "hmm",
    "Mo",
    "MMMM",
    "MMM",
    "MM",
    "M",
    "Do",
    "DDDo",
    "DDDD",
    "DDD",
    "DD",
    "D",
    "dddd",
    "ddd",
    "dd",
    "do",
    "d",
    "wo",
    "ww",
    "w",
    "Wo",
    "WW",
    "W",
    "Qo",
    "Q",
    "NNNNN",
    "NNNN",
    "NNN",
    "NN",
    "N",
    "YYYYYY",
    "YYYYY",
    "YYYY",
    "YY",
    "Y",
    "yyyy",
    "yyy",
    "yy",
    "yo",
    "y",
    "ggggg",
    "gggg",
    "gg",
    "GGGGG",
    "GGGG",
    "GG",
    "e",
    "E",
    "a",
    "A",
    "hh",
    "h",
    "HH",
    "H",
    "kk",
    "k",
    "mm",
    "m",
    "ss",
    "s",
    "SSSSSSSSS",
    "SSSSSSSS",
    "SSSSSSS",
    "SSSSSS",
    "SSSSS",
    "SSSS",
    "SSS",
    "SS",
    "S",
    "x",
    "X",
    "zz",
    "z",
    "ZZ",
    "Z",
];

/// The names of localized formats, in the order of those of a locale.
const LOCALIZED: &[&str] = &["LTS", "LT", "LLLL", "LLL", "LL", "L", "llll", "lll", "ll", "l"];

/// The tokens of `format`, which is [`expanded`], in order.
pub(super) fn tokens(format: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = format;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (token, length) = if let Some(literal) = literal(rest) {
            (Token::Literal(literal), literal.len() + 2)
        } else if let Some(escaped) = rest.strip_prefix('\\') {
            let length = part(escaped).map_or_else(|| escaped.chars().next().map_or(0, char::len_utf8), str::len);
            // Two backslashes are none.
            (Token::Literal(escaped.get(..length)?.trim_start_matches('\\')), length + 1)
        } else if let Some(part) = part(rest) {
            (Token::Part(part), part.len())
        } else {
            (Token::Literal(rest.get(..first.len_utf8())?), first.len_utf8())
        };
        rest = rest.get(length..)?;
        Some(token)
    })
}

/// `format` with the locale's own formats in place of `L` and the like.
pub(super) fn expanded(format: &str, locale: Locale) -> Cow<'_, str> {
    if !format.contains(['L', 'l']) {
        return Cow::Borrowed(format);
    }
    let mut out = String::with_capacity(format.len());
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let escape = usize::from(first == '\\');
        let behind = rest.get(escape..).unwrap_or_default();
        let localized = LOCALIZED.iter().zip(&locale.table.formats).find(|(name, _)| behind.starts_with(**name));
        let length = match (literal(rest), localized) {
            (Some(literal), _) => literal.len() + 2,
            (None, Some((name, format))) if escape == 0 => {
                out.push_str(format);
                rest = rest.get(name.len()..).unwrap_or_default();
                continue;
            }
            (None, Some((name, _))) => name.len() + 1,
            (None, None) => first.len_utf8(),
        };
        out.push_str(rest.get(..length).unwrap_or_default());
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(out)
}

/// The text inside the brackets at the start of `text`: up to the last `]` before another `[`.
fn literal(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let inner = inner.split('[').next()?;
    inner.rsplit_once(']').map(|(literal, _)| literal)
}

fn part(text: &str) -> Option<&'static str> {
    PARTS.iter().copied().find(|part| text.starts_with(part))
}
