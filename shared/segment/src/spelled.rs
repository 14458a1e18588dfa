//! Lines that are searched as folded, and shown as they are spelled. Most differ only in capital letters, so that a bit for each byte says enough.

use std::borrow::Cow;
use std::collections::HashMap;

use atlas_vault::fold;

use crate::error::FormatError;
use crate::lines::LineStrings;
use crate::section::SectionName;

/// Lines in both forms.
#[derive(Debug)]
pub(crate) struct SpelledLines {
    folded: LineStrings,
    /// A bit for each byte of `folded`, set where a capital letter of ASCII is spelled.
    capitals: Vec<u64>,
    /// The spelling of lines that differ in more than that.
    others: HashMap<u32, Box<str>>,
}

impl SpelledLines {
    /// The lines of `texts`, each of which ends in a line feed.
    pub(crate) fn new(texts: &str, section: SectionName) -> Result<Self, FormatError> {
        let folded = LineStrings::new(fold::fold(texts).into_bytes(), section)?;
        if texts.matches('\n').count() != folded.len() {
            return Err(FormatError::damaged(section, "its lines differ from those that are searched"));
        }
        let mut capitals = vec![0; folded.bytes().len().div_ceil(64)];
        let mut others = HashMap::new();
        for (index, line) in (0..).zip(texts.split_terminator('\n')) {
            let Some(range) = folded.range(index) else { break };
            let lower = folded.bytes().get(range.clone()).unwrap_or_default();
            if lower.eq_ignore_ascii_case(line.as_bytes()) && !lower.iter().any(u8::is_ascii_uppercase) {
                let set = line.bytes().zip(range).filter(|(byte, _)| byte.is_ascii_uppercase());
                set.for_each(|(_, at)| set_bit(&mut capitals, at));
            } else {
                others.insert(index, line.into());
            }
        }
        Ok(Self { folded, capitals, others })
    }

    pub(crate) fn len(&self) -> usize {
        self.folded.len()
    }

    /// The indexes of the lines whose folded form contains `folded`, ascending.
    pub(crate) fn holding<'a>(&'a self, folded: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        self.folded.holding(folded)
    }

    /// A line as it is spelled.
    pub(crate) fn get(&self, index: u32) -> Option<Cow<'_, str>> {
        if let Some(other) = self.others.get(&index) {
            return Some(Cow::Borrowed(other));
        }
        let (range, lower) = (self.folded.range(index)?, self.folded(index)?);
        if !range.clone().any(|at| self.is_capital(at)) {
            return Some(Cow::Borrowed(lower));
        }
        let spelled = lower.char_indices().map(|(at, character)| match self.is_capital(range.start + at) {
            true => character.to_ascii_uppercase(),
            false => character,
        });
        Some(Cow::Owned(spelled.collect()))
    }

    /// A line, folded.
    pub(crate) fn folded(&self, index: u32) -> Option<&str> {
        std::str::from_utf8(self.folded.get(index)?).ok()
    }

    fn is_capital(&self, at: usize) -> bool {
        self.capitals.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }

    pub(crate) fn weight(&self) -> usize {
        let others = self.others.values().map(|other| other.len() + size_of::<(u32, Box<str>)>() * 2);
        self.folded.weight() + self.capitals.len() * 8 + others.sum::<usize>()
    }
}

fn set_bit(bits: &mut [u64], at: usize) {
    if let Some(word) = bits.get_mut(at / 64) {
        *word |= 1 << (at % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_shown_as_they_are_spelled(lines in prop::collection::vec("[aBÄßK\u{130}ﬁ ]{0,8}|[^\n]{0,9}", 0..20)) {
            let texts: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            let spelled = SpelledLines::new(&texts, SectionName::Headings).unwrap();
            prop_assert_eq!(spelled.len(), lines.len());
            for (index, line) in (0..).zip(&lines) {
                prop_assert_eq!(spelled.get(index).unwrap(), line.as_str());
            }
        }
    }

    #[test]
    fn english_takes_little_more_than_its_folded_form() {
        let texts = "The Quick Brown Fox\n".repeat(1000);
        let spelled = SpelledLines::new(&texts, SectionName::Headings).unwrap();
        assert!(spelled.weight() < texts.len() * 3 / 2, "{}", spelled.weight());
        assert_eq!(spelled.get(7).unwrap(), "The Quick Brown Fox");
    }
}
