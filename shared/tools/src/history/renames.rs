//! Files that one commit moved, by their content: equal, or with most of their lines.

use std::collections::{BTreeMap, HashMap};

use atlas_ops::read::notes::Found;

use crate::changed_file::text;

/// The least part of two texts that is in both, if one is the other's earlier version.
const SIMILAR: f64 = 0.5;
/// Most files of one commit that are compared with others that have not the same content.
const MAX_COMPARED: usize = 50;

/// A file with its path.
type Located<'p, 'f> = (&'p str, &'f Found);

/// The earlier paths of files that moved, by their new paths. `was` and `now` are the files at `paths` before and after,
/// with their texts.
pub(super) fn renames<'p>(
    paths: &[&'p str],
    was: &[Option<Found>],
    now: &[Option<Found>],
) -> BTreeMap<&'p str, &'p str> {
    let all = || paths.iter().copied().zip(was).zip(now);
    let gone = all().filter_map(|((path, was), now)| Some((path, was.as_ref().filter(|_| now.is_none())?)));
    let come = all().filter_map(|((path, was), now)| Some((path, now.as_ref().filter(|_| was.is_none())?)));
    let (mut gone, come): (Vec<Located<'_, '_>>, Vec<Located<'_, '_>>) = (gone.collect(), come.collect());
    let mut renames = BTreeMap::new();
    let mut equal: HashMap<[u8; 32], Vec<&str>> = HashMap::new();
    for (path, found) in gone.iter().rev() {
        equal.entry(found.record.sha256).or_default().push(path);
    }
    for (path, found) in &come {
        if let Some(from) = equal.get_mut(&found.record.sha256).and_then(Vec::pop) {
            renames.insert(*path, from);
        }
    }
    gone.retain(|(path, _)| !renames.values().any(|from| from == path));
    let come: Vec<_> = come.into_iter().filter(|(path, _)| !renames.contains_key(path)).collect();
    if gone.len().max(come.len()) <= MAX_COMPARED {
        similar(&gone, &come, &mut renames);
    }
    renames
}

/// Adds the pairs that have most of their lines in common, the most similar first.
fn similar<'p: 'f, 'f>(gone: &[Located<'p, 'f>], come: &[Located<'p, 'f>], renames: &mut BTreeMap<&'p str, &'p str>) {
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
    let mut taken: Vec<&str> = Vec::new();
    for (_, to, from) in pairs {
        if !renames.contains_key(to) && !taken.contains(&from) {
            renames.insert(to, from);
            taken.push(from);
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
