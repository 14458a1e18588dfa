//! The marks (`>`) of quotes before the text of a line.

/// How many marks a line has.
pub(super) fn depth(line: &str) -> usize {
    marks(line).count()
}

/// The start of a line as far as this many marks.
pub(super) fn prefix(line: &str, depth: usize) -> &str {
    let end = depth.checked_sub(1).and_then(|last| marks(line).nth(last)).map_or(0, |mark| mark + 1);
    line.get(..end).unwrap_or_default()
}

/// The line without this many marks and the space after each. A tab after the last leaves the spaces that it stands for beyond the first.
pub(super) fn inner(line: &str, depth: usize) -> String {
    let prefix = prefix(line, depth);
    let rest = line.get(prefix.len()..).unwrap_or_default();
    if prefix.is_empty() {
        return rest.to_owned();
    }
    let columns = prefix.bytes().fold(0, |column, byte| if byte == b'\t' { column / 4 * 4 + 4 } else { column + 1 });
    match rest.as_bytes().first() {
        Some(b' ') => rest.get(1..).unwrap_or_default().to_owned(),
        Some(b'\t') => " ".repeat(3 - columns % 4) + rest.get(1..).unwrap_or_default(),
        _ => rest.to_owned(),
    }
}

/// The offsets of the marks of a line. Up to three spaces may stand before each, besides the one after the mark before it.
fn marks(line: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = line.as_bytes().get(at..).unwrap_or_default();
        let most = if at == 0 { 3 } else { 4 };
        let blank = rest.iter().take(most).take_while(|byte| **byte == b' ').count();
        let found = at + blank;
        at = found + 1;
        (rest.get(blank) == Some(&b'>')).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_counted_and_taken_off() {
        for (line, depths, inners) in [
            ("text", 0, ["text", "text"]),
            ("    > code", 0, ["    > code", "    > code"]),
            (">", 1, [">", ""]),
            ("> a > b", 1, ["> a > b", "a > b"]),
            ("  >  a", 1, ["  >  a", " a"]),
            (">\t- a", 1, [">\t- a", "  - a"]),
            ("   >\ta", 1, ["   >\ta", "   a"]),
            ("> >a", 2, ["> >a", ">a"]),
        ] {
            assert_eq!(depth(line), depths, "{line:?}");
            assert_eq!([inner(line, 0), inner(line, 1)], inners, "{line:?}");
        }
        assert_eq!((prefix("> > a", 2), prefix("> > a", 1), prefix("a", 0)), ("> >", ">", ""));
    }
}
