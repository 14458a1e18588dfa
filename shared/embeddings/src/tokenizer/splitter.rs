//! Cuts text into words.

use unicode_general_category::{GeneralCategory, get_general_category};

use super::specification::Split;

/// Calls `each` for the words of `text`, cut by all of `splitters`, one after the other. `is_first` says whether it is the beginning.
pub(super) fn split(splitters: &[Split], text: &str, is_first: bool, each: &mut dyn FnMut(&str)) {
    let Some((first, rest)) = splitters.split_first() else {
        if !text.is_empty() {
            each(text);
        }
        return;
    };
    let mut at_begin = is_first;
    let mut next = |word: &str| {
        split(rest, word, std::mem::take(&mut at_begin), each);
    };
    match first {
        Split::Bert => {
            pieces(text, |c| if c.is_whitespace() { Class::Space } else { alone(is_punctuation(c)) }, &mut next)
        }
        Split::WhitespaceSplit => {
            pieces(text, |c| if c.is_whitespace() { Class::Space } else { Class::Run(0) }, &mut next);
        }
        Split::Punctuation => pieces(text, |c| alone(is_punctuation(c)), &mut next),
        Split::Whitespace => {
            pieces(text, |c| if c.is_whitespace() { Class::Space } else { Class::Run(u8::from(is_word(c))) }, &mut next)
        }
        Split::Digits { individual_digits: true } => pieces(text, |c| alone(c.is_numeric()), &mut next),
        Split::Digits { individual_digits: false } => {
            pieces(text, |c| Class::Run(u8::from(c.is_numeric())), &mut next);
        }
        Split::Metaspace { replacement, prepend_scheme, split: is_cut } => {
            let mut marked = text.replace(' ', replacement.encode_utf8(&mut [0; 4]));
            let prepends = match prepend_scheme.as_str() {
                "always" => true,
                "first" => is_first,
                _ => false,
            };
            if prepends && !marked.starts_with(*replacement) {
                marked.insert(0, *replacement);
            }
            if !is_cut {
                next(&marked);
                return;
            }
            let mut begin = 0;
            for (at, _) in marked.match_indices(*replacement).filter(|(at, _)| *at > 0) {
                next(marked.get(begin..at).unwrap_or_default());
                begin = at;
            }
            next(marked.get(begin..).unwrap_or_default());
        }
    }
}

/// The effect of a character on the piece that it is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It ends one and is in none.
    Space,
    /// It is a piece.
    Alone,
    /// It is in one with neighbours of the same number.
    Run(u8),
}

const fn alone(is_alone: bool) -> Class {
    if is_alone { Class::Alone } else { Class::Run(0) }
}

fn pieces(text: &str, class: impl Fn(char) -> Class, each: &mut dyn FnMut(&str)) {
    let mut open: Option<(usize, u8)> = None;
    let mut give = |from: usize, to: usize| {
        if let Some(piece) = text.get(from..to).filter(|piece| !piece.is_empty()) {
            each(piece);
        }
    };
    for (at, c) in text.char_indices() {
        let class = class(c);
        let ends = match (open, class) {
            (Some((_, run)), Class::Run(same)) => run != same,
            (open, _) => open.is_some(),
        };
        if let Some((from, _)) = open.take_if(|_| ends) {
            give(from, at);
        }
        match class {
            Class::Space => {}
            Class::Alone => give(at, at + c.len_utf8()),
            Class::Run(run) => {
                open.get_or_insert((at, run));
            }
        }
    }
    if let Some((from, _)) = open {
        give(from, text.len());
    }
}

/// A punctuation mark, as BERT has it: also every mark of ASCII.
fn is_punctuation(c: char) -> bool {
    use GeneralCategory as G;
    c.is_ascii_punctuation()
        || matches!(
            get_general_category(c),
            G::ConnectorPunctuation
                | G::DashPunctuation
                | G::OpenPunctuation
                | G::ClosePunctuation
                | G::InitialPunctuation
                | G::FinalPunctuation
                | G::OtherPunctuation
        )
}

/// Whether `\w` matches it.
fn is_word(c: char) -> bool {
    use GeneralCategory as G;
    c.is_alphanumeric()
        || matches!(
            get_general_category(c),
            G::ConnectorPunctuation | G::NonspacingMark | G::SpacingMark | G::EnclosingMark
        )
}
