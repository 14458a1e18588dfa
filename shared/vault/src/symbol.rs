//! Symbols that code defines: in fenced blocks of notes, and in files of source code.

/// Keywords right before the identifier that they define, …
const DEFINES: [&str; 20] = [
    "fn",
    "def",
    "class",
    "func",
    "function",
    "function*",
    "const",
    "let",
    "var",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "module",
    "mod",
    "macro_rules!",
    "union",
    "protocol",
    "object",
];
/// … and words that may precede such a keyword.
const QUALIFIES: [&str; 15] = [
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "abstract",
    "final",
    "unsafe",
    "extern",
    "const",
    "data",
    "sealed",
];
/// Longest line of code that is read, in bytes, …
const MAX_LINE_BYTES: usize = 1000;
/// … and most symbols stored of one text.
const MAX_SYMBOLS: usize = 10_000;

/// A symbol at its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its line, counted from 0.
    pub line: u32,
    /// Its name.
    pub name: &'a str,
}

/// The symbols that the fenced code of a note defines, in order.
pub fn of_note(text: &str) -> impl Iterator<Item = Symbol<'_>> {
    let mut fence = Fence::default();
    symbols(text).filter(move |(line, _)| fence.holds(line)).filter_map(|(_, symbol)| symbol).take(MAX_SYMBOLS)
}

/// The symbols that a file of source code defines, in order.
pub fn of_code(text: &str) -> impl Iterator<Item = Symbol<'_>> {
    symbols(text).filter_map(|(_, symbol)| symbol).take(MAX_SYMBOLS)
}

/// Each line, with the symbol that it defines if it is code.
fn symbols(text: &str) -> impl Iterator<Item = (&str, Option<Symbol<'_>>)> {
    (0..).zip(text.split('\n')).map(|(line, code)| {
        let name = Some(code).filter(|code| code.len() <= MAX_LINE_BYTES).and_then(defined);
        (code, name.map(|name| Symbol { line, name }))
    })
}

/// The identifier that a line of code defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut is_qualified = true;
    while is_qualified {
        let word = words.next()?;
        let next = words.clone().next()?;
        if DEFINES.contains(&word) && !DEFINES.contains(&next) {
            let end = next.find(|one: char| !one.is_alphanumeric() && one != '_' && one != '$').unwrap_or(next.len());
            return next.get(..end).filter(|name| !name.is_empty());
        }
        is_qualified = QUALIFIES.contains(&word) || word.starts_with("pub(") || word.starts_with('"');
    }
    None
}

/// The open fence, by its character and length.
#[derive(Default)]
struct Fence(Option<(char, usize)>);

impl Fence {
    /// Whether the next line is inside a fence.
    fn holds(&mut self, line: &str) -> bool {
        let line = line.trim();
        let Some(sign) = line.chars().next().filter(|sign| matches!(sign, '`' | '~')) else { return self.0.is_some() };
        let length = line.chars().take_while(|one| *one == sign).count();
        match self.0 {
            None if length >= 3 => self.0 = Some((sign, length)),
            Some((of, least)) if of == sign && length >= least && line.len() == length => self.0 = None,
            _ => return self.0.is_some(),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn code_stands_between_fences() {
        let text = "fn a\n```rust\nfn b\n~~~\n```\nfn c\n~~~~\n```\nfn d\n~~~\n~~~~\nfn e";
        let inside: Vec<_> = of_note(text).map(|symbol| (symbol.line, symbol.name)).collect();
        assert_eq!(inside, [(2, "b"), (8, "d")]);
        assert_eq!(of_code(text).count(), 5);
    }

    #[test]
    fn definitions_of_many_languages_are_known() {
        for (line, name) in [
            ("pub(crate) async fn make_uuid<T>(", Some("make_uuid")),
            ("export default class UuidGenerator {", Some("UuidGenerator")),
            ("    def uuid(self):", Some("uuid")),
            ("const UUID = 1", Some("UUID")),
            ("func Uuid() {", Some("Uuid")),
            ("pub const fn uuid() {", Some("uuid")),
            ("const", None),
            ("a class of its own", None),
            ("uuid()", None),
        ] {
            assert_eq!(defined(line), name, "{line}");
        }
    }

    proptest! {
        #[test]
        fn symbols_stand_on_their_lines(text in "(fn |class |```|[a-z]|\n){0,40}") {
            let lines: Vec<&str> = text.split('\n').collect();
            for symbol in of_code(&text) {
                prop_assert!(lines[symbol.line as usize].contains(symbol.name));
            }
            prop_assert!(of_note(&text).all(|symbol| of_code(&text).any(|other| other == symbol)));
        }
    }
}
