//! Documents by score, as many as are asked for: to sort all of them would take longer than to score them.

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};

use crate::search::merge::Weighted;
use crate::search::scores::can_be_shown;

/// How many are sorted at first: a few more than are looked at closely. Then each time so many times as many.
const FIRST: usize = 128;
const MORE: usize = 4;
/// Lower than any score.
const NONE: f32 = f32::NEG_INFINITY;

/// Documents by score, the highest first; by path for equal scores. Only those that the caller sees and that have a text.
pub(crate) struct Ranked<'a> {
    index: &'a Index,
    /// By segment.
    scores: Vec<Weighted>,
    /// The lowest score among those that were sorted.
    least: f32,
    /// How many are sorted next.
    next: usize,
    /// Those sorted and not yet returned, the last first.
    sorted: Vec<(f32, DocumentRef)>,
    /// Documents with the same score, the last first.
    equal: Vec<(f32, DocumentRef)>,
}

impl<'a> Ranked<'a> {
    /// These documents.
    pub(crate) fn new(index: &'a Index, scores: Vec<(f32, DocumentRef)>) -> Self {
        let mut of_segments: Vec<Weighted> = index.segments().map(|_| Vec::new()).collect();
        for (score, DocumentRef { segment, document }) in scores {
            of_segments.get_mut(segment).into_iter().for_each(|own| own.push((document, score)));
        }
        Self::of_segments(index, of_segments)
    }

    /// The documents of each segment, with their scores.
    pub(crate) const fn of_segments(index: &'a Index, scores: Vec<Weighted>) -> Self {
        Self { index, scores, least: f32::INFINITY, next: FIRST, sorted: Vec::new(), equal: Vec::new() }
    }

    /// The next document, with its score.
    pub(crate) fn next(&mut self) -> Result<Option<(f32, DocumentRef)>, Error> {
        if let Some(equal) = self.equal.pop() {
            return Ok(Some(equal));
        }
        let Some((score, document)) = self.seen()? else { return Ok(None) };
        let is_equal = |next: Option<&(f32, DocumentRef)>| next.is_some_and(|(next, _)| *next == score);
        // Within one segment documents are in path order already.
        if self.scores.len() == 1 || !is_equal(self.sorted.last()) {
            return Ok(Some((score, document)));
        }
        self.equal.push((score, document));
        // All with one score are sorted together.
        while is_equal(self.sorted.last())
            && let Some((_, document)) = self.sorted.pop()
        {
            if can_be_shown(self.index, document)? {
                self.equal.push((score, document));
            }
        }
        self.index.sort_by_path(&mut self.equal, |(_, document)| *document);
        self.equal.reverse();
        Ok(self.equal.pop())
    }

    /// The next document that the caller sees.
    fn seen(&mut self) -> Result<Option<(f32, DocumentRef)>, Error> {
        loop {
            if self.sorted.is_empty() {
                self.sort_more();
            }
            let Some((score, document)) = self.sorted.pop() else { return Ok(None) };
            if can_be_shown(self.index, document)? {
                return Ok(Some((score, document)));
            }
        }
    }

    /// Sorts the best of those that are left, and all with the same score as the last of them.
    fn sort_more(&mut self) {
        let below = self.least;
        if below == NONE {
            return;
        }
        let scores = self.scores.iter().flatten().map(|(_, score)| *score);
        let least = highest(scores.filter(|score| *score < below), self.next);
        for (segment, scores) in self.scores.iter().enumerate() {
            for (document, score) in scores.iter().filter(|(_, score)| *score >= least && *score < below) {
                self.sorted.push((*score, DocumentRef { segment, document: *document }));
            }
        }
        self.sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then_with(|| other.1.cmp(&one.1)));
        self.least = least;
        self.next = self.next.saturating_mul(MORE);
    }
}

/// The one of `scores` that fewer than `count` of them exceed: [`NONE`], if there are not as many.
fn highest(scores: impl Iterator<Item = f32>, count: usize) -> f32 {
    let mut least = NONE;
    let mut kept: Vec<f32> = Vec::new();
    let cut = |kept: &mut Vec<f32>| {
        let (_, at, _) = kept.select_nth_unstable_by(count - 1, |one, other| other.total_cmp(one));
        let least = *at;
        kept.truncate(count);
        least
    };
    for score in scores {
        if score > least {
            kept.push(score);
            if kept.len() == 2 * count {
                least = cut(&mut kept);
            }
        }
    }
    if kept.len() < count { least } else { cut(&mut kept) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_highest_are_those_of_a_sorted_list(scores in prop::collection::vec(0u8..40, 0..200), count in 1usize..30) {
            let mut sorted = scores.clone();
            sorted.sort_unstable_by(|one, other| other.cmp(one));
            let expected = sorted.get(count - 1).map_or(NONE, |score| f32::from(*score));
            let found = highest(scores.iter().map(|score| f32::from(*score)), count);
            prop_assert!(found == expected, "{found} {expected}");
        }
    }
}
