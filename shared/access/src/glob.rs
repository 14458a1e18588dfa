//! Globs over vault paths, as in obsidian-tc's access lists: `*` is any text within a name, `**` any text, `?` one
//! character of a name; all other characters, including brackets, are literal.

use std::iter::Peekable;
use std::str::Chars;

use atlas_vault::fold;
use unicode_normalization::UnicodeNormalization as _;

use crate::acl::error::AclError;

/// Longest glob, in bytes.
const MAX_GLOB: usize = 512;

/// A glob. It matches paths as written, or in any case.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    text: String,
    folded: Pattern,
    exact: Pattern,
}

/// A path, prepared to be matched in both ways.
pub(crate) struct Matched<'a> {
    exact: &'a str,
    folded: String,
}

impl<'a> Matched<'a> {
    /// Prepares `path`, which is in NFC.
    pub(crate) fn new(path: &'a str) -> Self {
        Self { exact: path, folded: folded(path) }
    }

    pub(crate) fn folded(&self) -> &str {
        &self.folded
    }
}

/// `path` as file systems read it that ignore case, or drop dots and spaces at the end of a name.
fn folded(path: &str) -> String {
    let mut folded = String::with_capacity(path.len());
    for (index, name) in path.split('/').enumerate() {
        if index > 0 {
            folded.push('/');
        }
        let kept = name.trim_end_matches(['.', ' ']);
        fold::fold_into(if kept.is_empty() { name } else { kept }, &mut folded);
    }
    folded
}

impl Glob {
    /// Parses the glob `text`; `name` is its place in the configuration.
    pub(crate) fn new(name: &'static str, text: &str) -> Result<Self, AclError> {
        let refused = |remedy| AclError { name, text: text.chars().take(100).collect(), remedy };
        if text.is_empty() || text.len() > MAX_GLOB {
            return Err(refused("write a glob of 1 to 512 bytes, such as Projects/**"));
        }
        if text.starts_with('/') || text.starts_with("./") || text.contains('\\') || text.chars().any(char::is_control)
        {
            return Err(refused("write it relative to the vault's root, with / between names"));
        }
        if text.ends_with('/') {
            return Err(refused("write /** after a folder to mean what is in it"));
        }
        let text: String = text.nfc().collect();
        Ok(Self { folded: Pattern::new(&fold::fold(&text)), exact: Pattern::new(&text), text })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is `**`, which all paths match.
    pub(crate) fn is_everything(&self) -> bool {
        self.exact.head.is_empty() && self.exact.rest == [Token::All]
    }

    pub(crate) fn is_match(&self, path: &Matched<'_>) -> bool {
        self.exact.is_match(path.exact)
    }

    pub(crate) fn is_folded_match(&self, path: &Matched<'_>) -> bool {
        self.folded.is_match(&path.folded)
    }
}

#[derive(Clone, Debug)]
struct Pattern {
    /// The text that every match begins with.
    head: String,
    rest: Vec<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Character(char),
    /// `?`
    One,
    /// `*`
    Some,
    /// `**`
    All,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let at = text.find(['*', '?']).unwrap_or(text.len());
        let (head, rest) = text.split_at(at);
        let mut tokens = Vec::new();
        let mut characters: Peekable<Chars<'_>> = rest.chars().peekable();
        while let Some(character) = characters.next() {
            let token = match character {
                '?' => Token::One,
                '*' if characters.next_if_eq(&'*').is_some() => Token::All,
                '*' => Token::Some,
                character => Token::Character(character),
            };
            tokens.push(token);
        }
        Self { head: head.to_owned(), rest: tokens }
    }

    fn is_match(&self, path: &str) -> bool {
        let Some(path) = path.strip_prefix(self.head.as_str()) else { return false };
        match self.rest.as_slice() {
            [] => path.is_empty(),
            [Token::All] => true,
            tokens => is_match(tokens, path),
        }
    }
}

/// Whether all of `path` matches. A wildcard takes as little text as possible. When the rest does not match, the last `*` takes one more character,
/// or else the last `**`; earlier wildcards need not be tried again.
fn is_match(tokens: &[Token], path: &str) -> bool {
    let (mut token, mut rest) = (0, path);
    let mut again: Option<(usize, &str)> = None;
    let mut far_again: Option<(usize, &str)> = None;
    loop {
        let mut next = rest.chars();
        let character = next.next();
        let fits = match (tokens.get(token), character) {
            (None, None) => return true,
            (Some(Token::Some), _) => {
                token += 1;
                again = Some((token, rest));
                continue;
            }
            (Some(Token::All), _) => {
                token += 1;
                (again, far_again) = (None, Some((token, rest)));
                continue;
            }
            (Some(Token::One), Some(character)) => character != '/',
            (Some(Token::Character(wanted)), Some(character)) => *wanted == character,
            (None, Some(_)) | (Some(Token::One | Token::Character(_)), None) => false,
        };
        if fits {
            (token, rest) = (token + 1, next.as_str());
            continue;
        }
        let longer = |(token, from): (usize, &'_ str), may_cross: bool| {
            let mut characters = from.chars();
            let taken = characters.next()?;
            (may_cross || taken != '/').then(|| (token, from.len() - characters.as_str().len()))
        };
        if let Some((index, from)) = again
            && let Some((_, by)) = longer((index, from), false)
        {
            let from = from.get(by..).unwrap_or_default();
            (token, rest, again) = (index, from, Some((index, from)));
        } else if let Some((index, from)) = far_again
            && let Some((_, by)) = longer((index, from), true)
        {
            let from = from.get(by..).unwrap_or_default();
            (token, rest, again, far_again) = (index, from, None, Some((index, from)));
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(glob: &str, path: &str) -> bool {
        Glob::new("readPaths", glob).unwrap().is_match(&Matched::new(path))
    }

    #[test]
    fn globs_mean_what_people_expect_of_them() {
        for (glob, path, expected) in [
            ("Private/**", "Private/a.md", true),
            ("Private/**", "Private/deep/a.md", true),
            ("Private/**", "Private.md", false),
            ("Private/**", "private/a.md", false),
            ("Private/*", "Private/deep/a.md", false),
            ("**", "a/b.md", true),
            ("*", "a/b.md", false),
            ("*.md", "a.md", true),
            ("**/*.secret.md", "a/b/c.secret.md", true),
            ("**/*.secret.md", "c.secret.md", false),
            ("**secret**", "a/my secret note.md", true),
            ("a/**/z.md", "a/b/c/z.md", true),
            ("Notes [2024]/**", "Notes [2024]/a.md", true),
            ("Notes [2024]/**", "Notes 2/a.md", false),
            ("日記/?.md", "日記/月.md", true),
            ("日記/?.md", "日記/あい.md", false),
            ("e\u{301}/**", "é/a.md", true),
            ("a.md", "a.md", true),
            ("a.md", "a.mdx", false),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn what_is_no_glob_is_refused_with_a_remedy() {
        for text in ["", "/a/**", "./a", "a\\b", "a/", &"x".repeat(513)] {
            let refused = Glob::new("readPaths", text).unwrap_err().to_string();
            assert!(refused.starts_with("readPaths: ") && refused.contains("write"), "{refused}");
        }
    }

    #[test]
    fn what_file_systems_take_for_the_same_folds_alike() {
        for path in ["PRIVATE/A.md", "private./a.md", "Private /A.MD", "priva\u{74}e/a.md"] {
            assert_eq!(folded(path), "private/a.md", "{path:?}");
        }
        assert_eq!(folded("K/ſ"), "k/s");
        assert_eq!(folded(".../a"), ".../a");
    }

    fn regex(glob: &str) -> regex::Regex {
        let escaped = regex::escape(glob).replace(r"\*\*", ".*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]");
        regex::Regex::new(&format!("(?s)^{escaped}$")).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn a_glob_matches_as_its_regular_expression(glob in "[ab*?/é]{1,10}", path in "[ab/é]{0,12}") {
            let glob = glob.trim_matches('/');
            if let Ok(built) = Glob::new("readPaths", glob) {
                prop_assert_eq!(built.is_match(&Matched::new(&path)), regex(glob).is_match(&path), "{} {}", glob, path);
            }
        }
    }
}
