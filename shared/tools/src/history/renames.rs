//! Files that one commit moved, by their content: equal, or with most of their lines.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use atlas_mirror::Snapshot;
use atlas_ops::error::Error;
use atlas_ops::read::notes::{self, Found};
use atlas_segment::Record;
use futures::future::try_join;

use crate::changed_file::{MAX_COMPARED as MAX_TEXT, text};

/// The least part of two texts that is in both, if one is the other's earlier version; and if that is sure.
const SIMILAR: f64 = 0.5;
const SURE: f64 = 0.7;
/// Most files of one commit that are compared with others that have not the same content.
pub(super) const MAX_COMPARED: usize = 50;
/// Files of fewer bytes say nothing of where they came from.
const TELLING_BYTES: u64 = 4;

/// A file with its path.
type Located<'p, 'f> = (&'p str, &'f Found);

/// The moves of a commit.
#[derive(Debug, Default)]
pub(crate) struct Renames<'p> {
    /// The earlier paths of the files, by their new paths.
    pub(crate) from: BTreeMap<&'p str, &'p str>,
    /// The new paths of files that may have come from elsewhere: others are as similar, or it is hardly similar.
    unsure: BTreeSet<&'p str>,
}

impl<'p> Renames<'p> {
    /// The old and new paths that no other pair competes with.
    pub(crate) fn sure(&self) -> impl Iterator<Item = (&'p str, &'p str)> {
        self.from.iter().filter(|(to, _)| !self.unsure.contains(*to)).map(|(to, from)| (*from, *to))
    }

    fn add(&mut self, from: &'p str, to: &'p str, is_sure: bool) {
        self.from.insert(to, from);
        if !is_sure {
            self.unsure.insert(to);
        }
    }
}

/// The moves between two states. `was` and `now` are the files at `paths` before and after, with their texts.
pub(super) fn renames<'p>(paths: &[&'p str], was: &[Option<Found>], now: &[Option<Found>]) -> Renames<'p> {
    let mut renames = Renames::default();
    let (gone, come) = unpaired(paths, was, now, &mut renames);
    if gone.len().max(come.len()) <= MAX_COMPARED {
        similar(&gone, &come, &mut renames);
    }
    renames
}

/// The moves that the commit `after` made of the files at `paths`, with few requests. `before` is the generation before it.
pub(crate) async fn moved<'p>(before: &Snapshot, after: &Snapshot, paths: &[&'p str]) -> Result<Renames<'p>, Error> {
    let mut renames = Renames::default();
    let (was, now) =
        try_join(notes::find_all(before, paths, |_| false), notes::find_all(after, paths, |_| false)).await?;
    let (gone, come) = unpaired(paths, &was, &now, &mut renames);
    if gone.is_empty() || come.is_empty() || gone.len().max(come.len()) > MAX_COMPARED {
        return Ok(renames);
    }
    let wants = |record: &Record| record.blob.is_none() && record.bytes <= MAX_TEXT;
    let path = |(path, _): &Located<'p, '_>| *path;
    let (gone, come): (Vec<&str>, Vec<&str>) = (gone.iter().map(path).collect(), come.iter().map(path).collect());
    let texts = try_join(notes::find_all(before, &gone, wants), notes::find_all(after, &come, wants)).await?;
    similar(&located(&gone, &texts.0), &located(&come, &texts.1), &mut renames);
    Ok(renames)
}

fn located<'p, 'f>(paths: &[&'p str], found: &'f [Option<Found>]) -> Vec<Located<'p, 'f>> {
    paths.iter().zip(found).filter_map(|(path, found)| Some((*path, found.as_ref()?))).collect()
}

/// Adds the moves of files whose content did not change to `renames`; returns the other removed and added files.
fn unpaired<'p, 'f>(
    paths: &[&'p str],
    was: &'f [Option<Found>],
    now: &'f [Option<Found>],
    renames: &mut Renames<'p>,
) -> (Vec<Located<'p, 'f>>, Vec<Located<'p, 'f>>) {
    let all = || paths.iter().copied().zip(was).zip(now);
    let gone = all().filter_map(|((path, was), now)| Some((path, was.as_ref().filter(|_| now.is_none())?)));
    let come = all().filter_map(|((path, was), now)| Some((path, now.as_ref().filter(|_| was.is_none())?)));
    let (mut gone, mut come): (Vec<Located<'_, '_>>, Vec<Located<'_, '_>>) = (gone.collect(), come.collect());
    let mut equal: BTreeMap<[u8; 32], Equal<'_>> = BTreeMap::new();
    for (path, found) in &gone {
        equal.entry(found.record.sha256).or_default().gone.push(path);
    }
    for (path, found) in &come {
        if let Some(equal) = equal.get_mut(&found.record.sha256) {
            equal.come.push(path);
            equal.bytes = found.record.bytes;
        }
    }
    equal.into_values().for_each(|equal| equal.pair(renames));
    let left: HashSet<&str> = renames.from.values().copied().collect();
    gone.retain(|(path, _)| !left.contains(path));
    come.retain(|(path, _)| !renames.from.contains_key(path));
    (gone, come)
}

/// Removed and added files with one content.
#[derive(Default)]
struct Equal<'p> {
    bytes: u64,
    gone: Vec<&'p str>,
    come: Vec<&'p str>,
}

impl<'p> Equal<'p> {
    fn pair(mut self, renames: &mut Renames<'p>) {
        if let ([from], [to]) = (self.gone.as_slice(), self.come.as_slice()) {
            return renames.add(from, to, self.bytes >= TELLING_BYTES || common_end(from, to) > 0);
        }
        // Files of a renamed folder keep the rest of their paths.
        if self.gone.len().max(self.come.len()) <= MAX_COMPARED {
            let nearest = |path: &str, others: &[&'p str]| {
                let ends: Vec<usize> = others.iter().map(|other| common_end(path, other)).collect();
                let most = ends.iter().copied().max().filter(|most| *most > 0)?;
                let mut nearest = others.iter().zip(&ends).filter(|(_, end)| **end == most).map(|(other, _)| *other);
                nearest.next().filter(|_| nearest.next().is_none())
            };
            let pairs = self.come.iter().filter_map(|to| {
                let from = nearest(to, &self.gone)?;
                (nearest(from, &self.come) == Some(*to)).then_some((from, *to))
            });
            pairs.collect::<Vec<_>>().into_iter().for_each(|(from, to)| renames.add(from, to, true));
            self.gone.retain(|from| !renames.from.values().any(|known| known == from));
            self.come.retain(|to| !renames.from.contains_key(to));
        }
        self.gone.into_iter().zip(self.come).for_each(|(from, to)| renames.add(from, to, false));
    }
}

/// The number of names that two paths have in common at their ends.
fn common_end(one: &str, other: &str) -> usize {
    one.rsplit('/').zip(other.rsplit('/')).take_while(|(one, other)| one == other).count()
}

/// Adds the pairs that have most of their lines in common, the most similar first.
fn similar<'p>(gone: &[Located<'p, '_>], come: &[Located<'p, '_>], renames: &mut Renames<'p>) {
    let (before, after) = (lines_of(gone), lines_of(come));
    let mut pairs: Vec<(f64, &'p str, &'p str)> = Vec::new();
    for ((from, _), before) in gone.iter().zip(&before) {
        for ((to, _), after) in come.iter().zip(&after) {
            let (Some(before), Some(after)) = (before, after) else { continue };
            pairs.push((before.similarity(after), to, from));
        }
    }
    pairs.retain(|(similarity, ..)| *similarity >= SIMILAR);
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut taken: HashSet<&str> = HashSet::new();
    for (similarity, to, from) in &pairs {
        if !renames.from.contains_key(to) && taken.insert(from) {
            let rivals = pairs.iter().filter(|(_, other_to, other_from)| other_to == to || other_from == from).count();
            renames.add(from, to, *similarity >= SURE && rivals == 1);
        }
    }
}

fn lines_of<'a>(files: &[Located<'a, 'a>]) -> Vec<Option<Lines<'a>>> {
    files.iter().map(|(path, found)| Lines::of(extension(path), text(found)?)).collect()
}

fn extension(path: &str) -> &str {
    path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, extension)| extension)
}

/// How often a text has each line.
struct Lines<'a> {
    extension: &'a str,
    count: HashMap<&'a str, usize>,
    bytes: usize,
}

impl<'a> Lines<'a> {
    /// [`None`] for a text without words, which is similar to nothing.
    fn of(extension: &'a str, text: &'a str) -> Option<Self> {
        let mut lines = Self { extension, count: HashMap::new(), bytes: 0 };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            *lines.count.entry(line).or_default() += 1;
            lines.bytes += line.len();
        }
        (lines.bytes > 0).then_some(lines)
    }

    /// The part of the bytes of both that is in lines of both, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "texts have less than 2^52 bytes")]
    fn similarity(&self, other: &Self) -> f64 {
        if self.extension != other.extension {
            return 0.0;
        }
        let common =
            |(line, count): (&&str, &usize)| line.len() * other.count.get(line).map_or(0, |there| *there.min(count));
        let common: usize = self.count.iter().map(common).sum();
        2.0 * common as f64 / (self.bytes + other.bytes) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(one: &str, other: &str) -> f64 {
        Lines::of("md", one).unwrap().similarity(&Lines::of("md", other).unwrap())
    }

    #[test]
    fn texts_are_as_similar_as_the_part_of_them_that_both_have() {
        assert!((similarity("a\nb\n", "b\n\na\n") - 1.0).abs() < 1e-9);
        assert!((similarity("aa\nbb\n", "aa\ncc\n") - 0.5).abs() < 1e-9);
        // A line counts as often as both have it.
        assert!((similarity("a\na\na\na\n", "a\nb\nc\nd\n") - 0.25).abs() < 1e-9);
        assert_eq!(similarity("a", "b"), 0.0);
        assert!(Lines::of("md", " \n\n").is_none());
        assert_eq!(Lines::of("md", "a").unwrap().similarity(&Lines::of("canvas", "a").unwrap()), 0.0);
    }
}
