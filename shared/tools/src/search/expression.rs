//! Expressions: the syntax of searches for words. `harbour "high tide" -storm tag:log path:2026 [status:open] boat*`

use atlas_ops::error::{Error, Reason};
use atlas_vault::fold;
use atlas_vault::words::{code_words, is_unspaced, words};

use crate::search::common_words::is_common;
use crate::search::properties::{self, PropertyTerm};

/// Most parts of an expression.
const MAX_PARTS: usize = 32;

/// A parsed expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expression {
    /// Words of which a note must contain at least one, if there are any; the more the better.
    pub(crate) words: Vec<Token>,
    /// Sequences of words that must occur.
    pub(crate) phrases: Vec<Vec<Token>>,
    /// Sequences of words that must not occur; often of one word.
    pub(crate) excluded: Vec<Vec<Token>>,
    /// Folded tags that a note must have, or one below each.
    pub(crate) tags: Vec<String>,
    /// Folded tags that it must not have.
    pub(crate) excluded_tags: Vec<String>,
    /// Folded texts that its path must contain.
    pub(crate) paths: Vec<String>,
    /// Folded texts that it must not contain.
    pub(crate) excluded_paths: Vec<String>,
    /// Conditions on its properties.
    pub(crate) properties: Vec<PropertyTerm>,
    /// Whether words that follow each other here were written so.
    pub(crate) is_as_written: bool,
}

/// A word to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The word, folded.
    pub(crate) word: String,
    /// Whether it also matches longer words that begin with it.
    pub(crate) is_prefix: bool,
}

impl Token {
    /// Whether it matches `word` of a text.
    pub(crate) fn is(&self, word: &str) -> bool {
        if self.is_prefix { word.starts_with(&self.word) } else { word == self.word }
    }

    /// Whether similar words may match instead: not for parts of words, whose meaning changes with each character.
    pub(crate) fn may_be_misspelt(&self) -> bool {
        !self.is_prefix && self.word.chars().count() > 2 && !self.word.contains(is_unspaced)
    }
}

/// The words of `text` as tokens; with `is_prefix` the last is a prefix.
fn tokens(text: &str, is_prefix: bool) -> Vec<Token> {
    let mut tokens: Vec<Token> = words(text)
        .filter(|word| !word.is_tail)
        .map(|word| {
            // A character of a script without spaces is only found at the beginning of its pairs.
            let mut characters = word.folded.chars();
            let is_alone = characters.next().is_some_and(is_unspaced) && characters.next().is_none();
            Token { word: word.folded.into_owned(), is_prefix: is_alone }
        })
        .collect();
    if let Some(last) = tokens.last_mut() {
        last.is_prefix |= is_prefix;
    }
    tokens
}

/// The key of parts in brackets.
const PROPERTY: &str = "[";

/// A raw part of an expression.
struct Part<'a> {
    is_excluded: bool,
    /// The text before a colon, or [`PROPERTY`].
    key: Option<&'a str>,
    is_quoted: bool,
    value: &'a str,
}

/// The first part of `text`, and the rest.
fn part(text: &str) -> Option<(Part<'_>, &str)> {
    let text = text.trim_start();
    let (is_excluded, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None if text.is_empty() => return None,
        None => (false, text),
    };
    if let Some((value, after)) = properties::begun(rest) {
        return Some((Part { is_excluded, key: Some(PROPERTY), is_quoted: true, value }, after));
    }
    let key = ["tag", "path"].into_iter().find_map(|key| {
        let value = rest.get(key.len()..)?.strip_prefix(':')?;
        rest.get(..key.len()).filter(|found| found.eq_ignore_ascii_case(key)).map(|_| (key, value))
    });
    let rest = key.map_or(rest, |(_, value)| value);
    let key = key.map(|(key, _)| key);
    if let Some(quoted) = rest.strip_prefix('"') {
        let (value, after) = quoted.split_once('"').unwrap_or((quoted, ""));
        return Some((Part { is_excluded, key, is_quoted: true, value }, after));
    }
    let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
    let (value, after) = rest.split_at_checked(end)?;
    Some((Part { is_excluded, key, is_quoted: false, value }, after))
}

impl Expression {
    /// Parses `text`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let mut expression = Self { is_as_written: true, ..Self::default() };
        let mut rest = text;
        let mut count = 0;
        while let Some((part, after)) = part(rest) {
            rest = after;
            count += 1;
            if count > MAX_PARTS {
                let message =
                    format!("query: it has too many parts; at most {MAX_PARTS} words, phrases and filters are taken");
                return Err(Error::bad_request(Reason::QueryInvalid, message));
            }
            expression.add(&part)?;
        }
        let is_empty = expression.words.is_empty()
            && expression.phrases.is_empty()
            && expression.tags.is_empty()
            && expression.paths.is_empty()
            && expression.properties.is_empty();
        if is_empty {
            return Err(Error::bad_request(
                Reason::QueryInvalid,
                "query: name a word, a \"phrase\", a tag:name or a path:text to look for; for punctuation use the mode literal",
            ));
        }
        Ok(expression)
    }

    /// The words of a text in plain language, each once, up to the limit of an expression. Identifiers of code are
    /// included with their parts; common words only if there are no others.
    pub(crate) fn of_task(text: &str) -> Self {
        let mut tokens = tokens(text, false);
        for word in code_words(text) {
            tokens.extend((!word.is_tail).then(|| Token { word: word.folded.into_owned(), is_prefix: false }));
        }
        // A prefix already covers a part of a script without spaces.
        tokens
            .retain(|token| token.is_prefix || !(token.word.chars().count() == 1 && token.word.contains(is_unspaced)));
        let rare: Vec<Token> = tokens.iter().filter(|token| !is_common(&token.word)).cloned().collect();
        Self::of_tokens(if rare.is_empty() { tokens } else { rare })
    }

    /// Whether it says more of a note than its words, phrases and path, which the index alone tells.
    pub(crate) fn has_conditions(&self) -> bool {
        let excludes_words = self.excluded.iter().any(|phrase| phrase.len() == 1);
        excludes_words || !(self.tags.is_empty() && self.excluded_tags.is_empty() && self.properties.is_empty())
    }

    /// It without the words of which a note must have one.
    pub(crate) fn without_words(&self) -> Self {
        Self { words: Vec::new(), ..self.clone() }
    }

    fn of_tokens(tokens: Vec<Token>) -> Self {
        let mut words: Vec<Token> = Vec::new();
        for token in tokens {
            if words.len() < MAX_PARTS && !words.contains(&token) {
                words.push(token);
            }
        }
        Self { words, ..Self::default() }
    }

    fn add(&mut self, part: &Part<'_>) -> Result<(), Error> {
        let value = part.value;
        match part.key {
            Some(PROPERTY) => self.properties.push(PropertyTerm::of(value, part.is_excluded)),
            Some(key) => {
                let value = if key == "tag" { value.trim_start_matches('#') } else { value };
                let folded = fold::fold(value.trim().trim_matches(if key == "tag" { '/' } else { '\0' }));
                if folded.is_empty() {
                    let message = format!("query: write the text for {key}: right after the colon");
                    return Err(Error::bad_request(Reason::QueryInvalid, message));
                }
                match (key, part.is_excluded) {
                    ("tag", false) => self.tags.push(folded),
                    ("tag", true) => self.excluded_tags.push(folded),
                    (_, false) => self.paths.push(folded),
                    (_, true) => self.excluded_paths.push(folded),
                }
            }
            None => {
                let tokens = tokens(value, !part.is_quoted && value.ends_with('*'));
                if tokens.is_empty() {
                    return Ok(());
                }
                match (part.is_excluded, part.is_quoted) {
                    (true, _) => self.excluded.push(tokens),
                    (false, true) => self.phrases.push(tokens),
                    (false, false) => self.words.extend(tokens),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(word: &str) -> Token {
        Token { word: word.trim_end_matches('*').to_owned(), is_prefix: word.ends_with('*') }
    }

    fn tokens(words: &str) -> Vec<Token> {
        words.split(' ').map(token).collect()
    }

    fn parsed(text: &str) -> Expression {
        Expression::parse(text).unwrap()
    }

    #[test]
    fn an_expression_says_what_to_look_for() {
        assert_eq!(
            parsed("Harbour \"High  Tide\" -storm tag:#Log/Sea path:\"My Notes\" -path:old -tag:x boat*"),
            Expression {
                words: tokens("harbour boat*"),
                phrases: vec![tokens("high tide")],
                excluded: vec![tokens("storm")],
                tags: vec!["log/sea".to_owned()],
                excluded_tags: vec!["x".to_owned()],
                paths: vec!["my notes".to_owned()],
                excluded_paths: vec!["old".to_owned()],
                properties: Vec::new(),
                is_as_written: true,
            }
        );
        let with_property = parsed("boat [Status: In port] -[week:7] -x");
        let properties = [("status:in port", false), ("week:7", true)].map(|(text, is)| PropertyTerm::of(text, is));
        assert_eq!((with_property.words, with_property.properties), (tokens("boat"), properties.to_vec()));
        assert_eq!(parsed("日本の潮 潮").words, tokens("日本 本の の潮 潮*"));
        assert_eq!(parsed("e-mail -example.com \"open end").excluded, [tokens("example com")]);
        assert_eq!(parsed("e-mail -example.com \"open end").words, tokens("e mail"));
        assert_eq!(parsed("a\"b c\"").phrases, [tokens("b c")]);
        assert_eq!(parsed("note:this").words, tokens("note this"));
    }

    #[test]
    fn what_says_nothing_is_refused() {
        for text in ["-only", "🎉 --- *", "\"\"", "tag:", "path:\"\"", "-tag:x", &"word ".repeat(33)] {
            assert_eq!(Expression::parse(text).unwrap_err().reason(), "query_invalid", "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([a-c\"*: \\[\\]-]|tag:|path:|[日本é#/]|\\PC){0,30}") {
            if let Ok(expression) = Expression::parse(&text) {
                let phrases = expression.phrases.iter().chain(&expression.excluded);
                prop_assert!(phrases.clone().all(|phrase| !phrase.is_empty()));
                prop_assert!(expression.words.iter().chain(phrases.flatten()).all(|token| !token.word.is_empty()));
            }
        }
    }
}
