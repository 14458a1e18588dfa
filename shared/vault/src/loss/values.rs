//! The values of properties that a change removes.

use std::collections::HashSet;

use super::{Known, Loss, SHORT_WORDS, Share, hash, words};

/// A property, and the lines of its value.
#[derive(Clone, Copy)]
struct Property<'a> {
    name: &'a str,
    value: &'a str,
}

/// The loss by changing the YAML `before` to `after`.
pub(super) fn loss(before: &str, after: &str) -> Loss {
    let with_value = with_value(after);
    let mut there = Known::default();
    properties(after).flat_map(|property| value_words(property.value)).for_each(|word| there.add(word.hash));
    let mut loss = Loss::default();
    // Words of a renamed property are there under another name, unless a property that stayed has them.
    for stays in [true, false] {
        for property in properties(before).filter(|property| with_value.contains(property.name) == stays) {
            let (mut share, mut has_letters) = (Share::default(), false);
            for word in value_words(property.value) {
                has_letters |= word.has_letters;
                share.of += 1;
                share.gone += usize::from(!there.take(word.hash));
            }
            if share.of == 0 {
                continue;
            }
            loss.properties.add(Share { gone: usize::from(!stays && share.is_most()), of: 1 });
            loss.values.add(share);
            if share.of > SHORT_WORDS || (share.of > 1 && has_letters) {
                loss.texts.add(share);
            }
        }
    }
    loss
}

/// The names of the properties that have a value; of several with one name the last counts.
fn with_value(yaml: &str) -> HashSet<&str> {
    let mut names = HashSet::new();
    for Property { name, value } in properties(yaml) {
        if value_words(value).next().is_some() {
            names.insert(name);
        } else {
            names.remove(name);
        }
    }
    names
}

/// The properties, in their order. Lines before the first one count as one without a name.
fn properties(yaml: &str) -> impl Iterator<Item = Property<'_>> {
    let mut rest = yaml;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let first = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let mut end = first;
        let after = rest.get(first..).unwrap_or_default();
        for line in after.split_inclusive('\n').take_while(|line| property(line).is_none()) {
            end += line.len();
        }
        let (this, next) = rest.split_at_checked(end)?;
        rest = next;
        Some(property(this).unwrap_or(Property { name: "", value: this }))
    })
}

/// The property that begins at the start of this YAML, if one does.
fn property(yaml: &str) -> Option<Property<'_>> {
    let (line, _) = yaml.split_once('\n').unwrap_or((yaml, ""));
    let (name, _) = line.split_once(':')?;
    let value = yaml.get(name.len() + 1..)?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && !name.starts_with([' ', '\t', '-', '#', '{', '[']);
    is_name.then_some(Property { name, value })
}

/// A word of a value.
struct Word {
    hash: u64,
    /// Whether it begins with a letter: numbers and parts of dates do not.
    has_letters: bool,
}

/// The words of a value, without the names of properties within it.
fn value_words(value: &str) -> impl Iterator<Item = Word> + '_ {
    value.lines().enumerate().flat_map(|(at, line)| {
        let scalar = scalar(if at == 0 { line } else { without_name(line) });
        let mut words = words(scalar).peekable();
        let wordless = (words.peek().is_none() && !scalar.is_empty()).then_some(scalar);
        wordless
            .into_iter()
            .chain(words)
            .map(|word| Word { hash: hash(&word), has_letters: word.starts_with(char::is_alphabetic) })
    })
}

/// A line of a value without YAML's punctuation; empty if it says nothing.
fn scalar(line: &str) -> &str {
    let is_syntax = |one: char| one.is_whitespace() || "\"'[]{}|>~-+,".contains(one);
    let scalar = line.trim_matches(is_syntax);
    if scalar.eq_ignore_ascii_case("null") { "" } else { scalar }
}

/// A line of a nested value without the name before it.
fn without_name(line: &str) -> &str {
    let item = line.trim_start_matches([' ', '\t', '-']);
    match item.split_once(':') {
        Some((name, value))
            if !name.contains(char::is_whitespace) && !value.starts_with(|one: char| !one.is_whitespace()) =>
        {
            value
        }
        _ => item,
    }
}
