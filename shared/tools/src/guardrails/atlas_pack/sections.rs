//! The sections of a note, and their relevance.

use std::collections::BTreeMap;
use std::ops::Range;

use atlas_vault::words::{Word, code_words, words};

use crate::guardrails::atlas_pack::LEFT_OUT;
use crate::guardrails::atlas_pack::room::Room;
use crate::search::snippet::SearchedWords;

/// Most sections of a note that are included.
const MAX_SECTIONS: usize = 8;

/// A note's text in sections.
pub(crate) struct Sections<'t> {
    text: &'t str,
    sections: Vec<Section>,
    /// The searched words in the note, with their numbers of occurrences.
    pub(crate) worths: BTreeMap<u8, u32>,
}

struct Section {
    range: Range<usize>,
    /// The heading at its beginning, as `#anchor`.
    anchor: Option<String>,
    score: f32,
}

impl<'t> Sections<'t> {
    /// The sections of `text`, whose headings are given by line (counted from 0) and text.
    pub(crate) fn of(
        text: &'t str,
        headings: impl Iterator<Item = (usize, impl AsRef<str>)>,
        wanted: &SearchedWords,
        is_code: bool,
    ) -> Self {
        let lines: Vec<usize> =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1)).collect();
        let mut sections = vec![Section { range: 0..text.len(), anchor: None, score: 0.0 }];
        for (line, heading) in headings {
            let Some(start) = lines.get(line).copied() else { continue };
            if let Some(last) = sections.last_mut() {
                last.range.end = start;
            }
            sections.push(Section {
                range: start..text.len(),
                anchor: Some(atlas_vault::anchor(heading.as_ref())),
                score: 0.0,
            });
        }
        let mut all = Self { text, sections, worths: BTreeMap::new() };
        if is_code {
            all.weigh(code_words(text), wanted)
        } else {
            all.weigh(words(text), wanted)
        }
        all
    }

    fn weigh<'w>(&mut self, words: impl Iterator<Item = Word<'w>>, wanted: &SearchedWords) {
        let (mut section, mut found) = (0, 0u64);
        for word in words {
            let Some(index) = wanted.index(&word.folded) else { continue };
            *self.worths.entry(index).or_insert(0) += 1;
            while self.sections.get(section).is_some_and(|section| section.range.end <= word.range.start) {
                (section, found) = (section + 1, 0);
            }
            if let Some((_, worth)) = wanted.word(index)
                && let Some(section) = self.sections.get_mut(section)
            {
                // A repetition counts little.
                section.score += if found & (1 << index) == 0 { worth } else { worth / 16.0 };
                found |= 1 << index;
            }
        }
    }

    /// The most relevant sections, in order, as many as there is `room` for, and their anchors.
    pub(crate) fn best(&self, mut room: Room) -> (String, Vec<String>) {
        let mut by_score: Vec<usize> = (0..self.sections.len()).collect();
        let score = |index: &usize| self.sections.get(*index).map_or(0.0, |section| section.score);
        by_score.sort_by(|one, other| score(other).total_cmp(&score(one)).then(one.cmp(other)));
        let mut taken: Vec<(usize, String)> = Vec::new();
        for index in by_score.into_iter().take(MAX_SECTIONS) {
            let Some(section) = self.sections.get(index).filter(|section| section.score > 0.0 || taken.is_empty())
            else {
                break;
            };
            // A mark may stand before each.
            let Some(left) = room.with(LEFT_OUT).filter(|left| left.chars > 1) else { break };
            let text = self.text.get(section.range.clone()).unwrap_or_default();
            let (fits, text) = (left.fits(text), left.cut(text));
            room = left.less(&text);
            taken.push((index, text));
            if !fits {
                break;
            }
        }
        taken.sort_unstable();
        let anchors = taken.iter().filter_map(|(index, _)| self.sections.get(*index)?.anchor.clone()).collect();
        let mut content = String::new();
        let mut before = None;
        for (index, text) in taken {
            if index > 0 && before != index.checked_sub(1) {
                content.push_str(if content.is_empty() { LEFT_OUT.trim_start() } else { LEFT_OUT });
            }
            content.push_str(&text);
            before = Some(index);
        }
        (content, anchors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::expression::Expression;

    #[test]
    fn the_sections_that_say_most_are_taken_in_order() {
        let text = "intro\n# A\ntide\n# B\nnothing\n# C\ntide and gauge\n# D\ngauge\n";
        let headings = [(1, "A"), (3, "B"), (5, "C"), (7, "D")];
        let mut wanted = SearchedWords::default();
        for token in Expression::of_task("tide gauge").words {
            wanted.push(token, 1.0, std::iter::empty());
        }
        let sections = Sections::of(text, headings.into_iter(), &wanted, false);
        assert_eq!(sections.worths, BTreeMap::from([(0, 2), (1, 2)]));
        let (content, anchors) = sections.best(Room { chars: 100, bytes: 400 });
        assert_eq!(content, "…\n# A\ntide\n\n…\n# C\ntide and gauge\n# D\ngauge\n");
        assert_eq!(anchors, ["#a", "#c", "#d"]);
        assert_eq!(sections.best(Room { chars: 16, bytes: 64 }), ("…\n# C\ntide …".to_owned(), vec!["#c".to_owned()]));
    }
}
