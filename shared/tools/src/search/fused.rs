//! Notes by their words and by their meaning: the normalised scores of both, added (convex fusion).

use std::collections::{HashMap, HashSet, VecDeque};

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};

use crate::search::closer::{Close, sort};
use crate::search::merge::Weighted;
use crate::search::near::Near;

/// The weight of meaning in a score if one passage has all words of the query.
const MEANING: f32 = 0.35;
/// The weight added if no passage has any of them: then the notes use other words than the query, and only meaning finds them.
const UNCOVERED: f32 = 0.4;

/// Notes, best first: some that were looked at closely, before or among the rest.
pub(crate) struct Fused {
    best: VecDeque<Close>,
    /// Those of them that may come again in the rest.
    seen: HashSet<DocumentRef>,
    /// The factor of the scores of the rest; [`None`] if they come after all of the best.
    factor: Option<f32>,
    /// The next of the rest.
    held: Option<Close>,
}

impl Fused {
    /// Notes by their words.
    pub(crate) fn by_words(best: Vec<Close>) -> Self {
        Self { best: best.into(), seen: HashSet::new(), factor: None, held: None }
    }

    /// Notes by their meaning alone.
    pub(crate) fn by_meaning(nearest: &[Near]) -> Self {
        let mut best = Vec::new();
        let mut known = HashSet::new();
        for near in nearest {
            if known.insert(near.document) {
                let close = Close::new(near.similarity, near.document);
                best.push(Close { by_meaning: near.similarity, lines: Some(near.lines), ..close });
            }
        }
        Self::by_words(best)
    }

    /// Notes by both: `best` by their words, in which `words` has the scores of all, by segment; and the nearest by meaning. With
    /// `only_words` a note without the words is left out.
    pub(crate) fn new(index: &Index, best: Vec<Close>, words: &[Weighted], nearest: &[Near], only_words: bool) -> Self {
        let most = best.iter().map(|close| close.score).fold(0.0f32, f32::max);
        let covered = best.iter().map(|close| close.covered).fold(0.0f32, f32::max).min(1.0);
        let meaning = MEANING + UNCOVERED * (1.0 - covered);
        let factor = if most > 0.0 { (1.0 - meaning) / most } else { 0.0 };
        let top = nearest.first().map_or(0.0, |near| near.similarity);
        let bottom = nearest.iter().map(|near| near.similarity).fold(top, f32::min);
        // Of what is between the least near and an equal text. Were the nearest always counted whole, notes would be brought before those
        // with the words even where nothing is near.
        let share = |similarity: f32| if bottom < 1.0 { (similarity - bottom) / (1.0 - bottom) } else { 1.0 };
        let mut by_document: HashMap<DocumentRef, &Near> = HashMap::new();
        for near in nearest {
            by_document.entry(near.document).or_insert(near);
        }
        let mut all = best;
        let mut seen: HashSet<DocumentRef> = all.iter().map(|close| close.document).collect();
        for near in nearest {
            if !seen.contains(&near.document) {
                let DocumentRef { segment, document } = near.document;
                let of_segment = words.get(segment).map(Vec::as_slice).unwrap_or_default();
                let at = of_segment.binary_search_by_key(&document, |(scored, _)| *scored);
                let score = at.ok().and_then(|at| of_segment.get(at)).map(|(_, score)| *score);
                if let Some(score) = score.or((!only_words).then_some(0.0)) {
                    seen.insert(near.document);
                    all.push(Close::new(score, near.document));
                }
            }
        }
        for close in &mut all {
            for part in [&mut close.score, &mut close.by_passage, &mut close.by_name, &mut close.by_links] {
                *part *= factor;
            }
            if let Some(near) = by_document.get(&close.document) {
                close.by_meaning = meaning * share(near.similarity);
                close.lines = Some(near.lines);
                close.score += close.by_meaning;
            }
        }
        sort(index, &mut all);
        Self { best: all.into(), seen, factor: Some(factor), held: None }
    }

    /// The next note, of which `rest` gives those that were not looked at, best first.
    pub(crate) fn next(
        &mut self,
        rest: &mut impl FnMut() -> Result<Option<Close>, Error>,
    ) -> Result<Option<Close>, Error> {
        let Some(factor) = self.factor else {
            return self.best.pop_front().map_or_else(rest, |close| Ok(Some(close)));
        };
        while self.held.is_none()
            && let Some(close) = rest()?
        {
            if !self.seen.contains(&close.document) {
                self.held = Some(Close { score: close.score * factor, ..close });
            }
        }
        let takes_best = match (self.best.front(), &self.held) {
            (Some(best), Some(held)) => best.score >= held.score,
            (best, _) => best.is_some(),
        };
        Ok(if takes_best { self.best.pop_front() } else { self.held.take() })
    }
}
