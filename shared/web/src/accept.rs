//! The media type that a client prefers, by its header `Accept` (RFC 9110, 12.5.1).

use std::cmp::Reverse;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// Most media ranges that are looked at.
const MAX_RANGES: usize = 64;
/// The weight of a range that names none, in thousandths.
const FULL: u16 = 1000;

/// The one of the `offered` media types, in lower case, that is preferred: of the highest weight; of several, the one that is named most exactly; of these, the
/// one named first, and the one offered first. [`None`] if the client accepts none of them, or does not say.
#[must_use]
pub fn preferred<T: Copy>(headers: &HeaderMap, offered: &[(&str, T)]) -> Option<T> {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<Range<'_>> =
        accepted.flat_map(|value| value.split(',')).take(MAX_RANGES).filter_map(Range::parse).collect();
    let weighed = offered.iter().enumerate().filter_map(|(index, (media_type, value))| {
        // The most exact range alone says the weight of a type.
        let matching = ranges.iter().enumerate().filter_map(|(place, range)| {
            let exactness = range.exactness(media_type)?;
            Some((exactness, range.weight, Reverse(place)))
        });
        let (exactness, weight, place) = matching.max()?;
        (weight > 0).then_some(((weight, exactness, place, Reverse(index)), *value))
    });
    weighed.max_by_key(|(rank, _)| *rank).map(|(_, value)| value)
}

/// A media range: a type, all of a kind, or all.
struct Range<'a> {
    media_type: &'a str,
    /// In thousandths; 0 is not acceptable.
    weight: u16,
}

impl<'a> Range<'a> {
    /// [`None`] if its weight is invalid. Other parameters do not count.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next()?;
        let mut parameters = parts.filter_map(|part| part.split_once('='));
        let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        let weight = match weight {
            Some((_, value)) => thousandths(value.trim())?,
            None => FULL,
        };
        Some(Self { media_type, weight })
    }

    /// How exactly it names `media_type`; [`None`] if it does not.
    fn exactness(&self, media_type: &str) -> Option<u8> {
        if self.media_type.eq_ignore_ascii_case(media_type) {
            return Some(2);
        }
        let (kind, _) = media_type.split_once('/')?;
        match self.media_type.split_once('/')? {
            ("*", "*") => Some(0),
            (range, "*") if range.eq_ignore_ascii_case(kind) => Some(1),
            _ => None,
        }
    }
}

/// A weight from `0` to `1` with at most three decimals, in thousandths.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !matches!(whole, "0" | "1") || decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let weight = format!("{whole}{decimals:0<3}").parse().ok()?;
    (weight <= FULL).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const OFFERED: [(&str, &str); 3] =
        [("application/json", "json"), ("text/markdown", "markdown"), ("text/csv", "csv")];

    fn preferred_of(values: &[&str]) -> Option<&'static str> {
        let pairs = values.iter().map(|value| (ACCEPT, HeaderValue::from_str(value).unwrap()));
        preferred(&pairs.collect::<HeaderMap>(), &OFFERED)
    }

    #[test]
    fn the_type_of_the_highest_weight_is_preferred() {
        for (value, expected) in [
            ("text/markdown", Some("markdown")),
            ("Text/Markdown; charset=utf-8", Some("markdown")),
            ("text/markdown;q=0, application/json", Some("json")),
            ("text/markdown;q=0.000, */*", Some("json")),
            ("application/json;q=0, */*", Some("markdown")),
            ("text/markdown;q=0.5, application/json", Some("json")),
            ("application/json;q=0.5, text/markdown;q=1", Some("markdown")),
            ("application/json ; Q=0.1 , text/csv ; q=0.12", Some("csv")),
            // The more exact range; then the first one; then the first that is offered.
            ("*/*, text/markdown", Some("markdown")),
            ("*/*, text/*", Some("markdown")),
            ("text/csv, text/markdown, application/json", Some("csv")),
            ("*/*", Some("json")),
            ("text/*;q=0.9, text/markdown;q=0.1", Some("csv")),
            ("text/html, application/xml;q=0.9, */*;q=0.8", Some("json")),
            ("text/html", None),
            ("text/markdown;q=0", None),
            ("*/*;q=0", None),
            ("", None),
            // Weights that are none.
            ("text/markdown;q=2, text/csv;q=0.1", Some("csv")),
            ("text/markdown;q=1.001", None),
            ("text/markdown;q=-1", None),
            ("text/markdown;q=0.1234", None),
            ("text/markdown;q=", None),
            (",;=,q=1,text,/,*,*/markdown", None),
        ] {
            assert_eq!(preferred_of(&[value]), expected, "{value}");
        }
        assert_eq!(preferred_of(&[]), None);
        assert_eq!(preferred_of(&["application/json;q=0.2", "text/csv;q=0.3"]), Some("csv"));
    }

    #[test]
    fn so_many_ranges_are_looked_at() {
        let many = |count: usize| "a/b,".repeat(count) + "text/csv";
        assert_eq!(preferred_of(&[&many(MAX_RANGES - 1)]), Some("csv"));
        assert_eq!(preferred_of(&[&many(MAX_RANGES)]), None);
    }
}
