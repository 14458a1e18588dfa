//! The line stage: a three-way merge as `diff3` and `git merge-file` define it. A line keeps its line break, so texts with other line
//! breaks differ in every line.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

use super::{Changed, Overlap, Piece};

/// Merges the lines of `ours` and `theirs`, both made from `base`. Changes that touch each other overlap, unless both sides made the same
/// change.
///
/// # Errors
/// The overlaps, in order.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Vec<Overlap>> {
    let pieces = pieces(base, ours, theirs);
    let overlaps: Vec<Overlap> = pieces
        .iter()
        .filter(|piece| piece.changed == Changed::Differently)
        .map(|piece| Overlap { ours: piece.lines.0.clone(), theirs: piece.lines.1.clone() })
        .collect();
    if overlaps.is_empty() { Ok(pieces.iter().map(|piece| piece.merged()).collect()) } else { Err(overlaps) }
}

/// The parts of `ours` and `theirs`, both made from `base`, in order.
pub(super) fn pieces<'a>(base: &'a str, ours: &'a str, theirs: &'a str) -> Vec<Piece<'a>> {
    let (base_lines, our, their) = (Lines::of(base), Side::of(base, ours), Side::of(base, theirs));
    let mut pieces = Vec::new();
    let mut at = 0;
    let same = |pieces: &mut Vec<Piece<'a>>, lines: Range<u32>| {
        let text = base_lines.get(&lines);
        if !text.is_empty() {
            let lines = (lines.clone(), lines);
            pieces.push(Piece { changed: Changed::Nowhere, base: text, ours: text, theirs: text, lines });
        }
    };
    for Region { base, ours, theirs } in regions(&our.hunks, &their.hunks) {
        same(&mut pieces, at..base.start);
        at = base.end;
        let lines = (our.lines_of(&base, &ours), their.lines_of(&base, &theirs));
        let (our_text, their_text) = (our.lines.get(&lines.0), their.lines.get(&lines.1));
        let changed = match (ours.is_empty(), theirs.is_empty()) {
            (true, _) => Changed::InTheirs,
            (_, true) => Changed::InOurs,
            _ if our_text == their_text => Changed::Alike,
            _ => Changed::Differently,
        };
        pieces.push(Piece { changed, base: base_lines.get(&base), ours: our_text, theirs: their_text, lines });
    }
    same(&mut pieces, at..u32::MAX);
    pieces
}

/// Lines of the base that a run of touching hunks replaces, and which hunks of each side these are.
#[derive(Debug)]
struct Region {
    base: Range<u32>,
    ours: Range<usize>,
    theirs: Range<usize>,
}

/// The regions that changed, in order. Between two of them is at least one line that neither side changed.
fn regions(ours: &[Hunk], theirs: &[Hunk]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let (mut our, mut their) = (0, 0);
    loop {
        let is_ours = match (ours.get(our), theirs.get(their)) {
            (Some(mine), Some(other)) => mine.before.start <= other.before.start,
            (mine, other) if mine.is_none() && other.is_none() => return regions,
            (mine, _) => mine.is_some(),
        };
        let Some(hunk) = (if is_ours { ours.get(our) } else { theirs.get(their) }) else { return regions };
        let base = hunk.before.clone();
        match regions.last_mut().filter(|last| base.start <= last.base.end) {
            Some(last) => last.base.end = last.base.end.max(base.end),
            None => regions.push(Region { base, ours: our..our, theirs: their..their }),
        }
        if is_ours {
            our += 1
        } else {
            their += 1
        }
        if let Some(last) = regions.last_mut() {
            (last.ours.end, last.theirs.end) = (our, their);
        }
    }
}

/// One side: its lines, and how the base differs from it.
struct Side<'a> {
    lines: Lines<'a>,
    hunks: Vec<Hunk>,
}

impl<'a> Side<'a> {
    /// As `git merge-file` compares: by Myers' algorithm, with changes that can stand at several places as far down as they can.
    fn of(base: &str, text: &'a str) -> Self {
        let input = InternedInput::new(base, text);
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_no_heuristic(&input);
        Self { lines: Lines::of(text), hunks: diff.hunks().collect() }
    }

    /// The lines that this side has where the base has those of a region; `hunks` are this side's in it.
    fn lines_of(&self, base: &Range<u32>, hunks: &Range<usize>) -> Range<u32> {
        let get = |index: Option<usize>| index.and_then(|index| self.hunks.get(index));
        let before = get(hunks.start.checked_sub(1)).map_or((0, 0), |hunk| (hunk.before.end, hunk.after.end));
        let last = get(hunks.end.checked_sub(1)).map_or((0, 0), |hunk| (hunk.before.end, hunk.after.end));
        let after = |(of_base, of_side): (u32, u32), line: u32| of_side.saturating_add(line.saturating_sub(of_base));
        after(before, base.start)..after(last, base.end)
    }
}

/// Where each line of a text begins.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let starts = text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start)
        });
        Self { text, starts: starts.collect() }
    }

    /// The text of the lines in `range`.
    fn get(&self, range: &Range<u32>) -> &'a str {
        let start = |line: u32| self.starts.get(line as usize).copied().unwrap_or(self.text.len());
        self.text.get(start(range.start)..start(range.end)).unwrap_or_default()
    }
}
