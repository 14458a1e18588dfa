//! Clusters of quantised vectors: spherical k-means over rows, in whole numbers and in a fixed order, so that equal rows make equal centroids.

use crate::vector::{Row, Vector};

/// Rounds of k-means.
const ROUNDS: usize = 6;
/// Rows of a sample for each cluster.
pub const SAMPLE: usize = 32;
/// Most clusters.
const MOST: u64 = 8192;
/// Clusters that are few enough to be compared one by one.
const FEW: usize = 64;
/// Groups of clusters that a row is compared with.
const GROUPS: usize = 6;

/// The number of clusters of so many rows: twice the square root.
#[must_use]
pub const fn count_of(rows: u64) -> usize {
    let count = 2 * rows.isqrt();
    if count > MOST { MOST as usize } else { count as usize }
}

/// The middles of clusters.
#[derive(Clone, Debug)]
pub struct Centroids {
    dimensions: usize,
    /// The numbers of all, one after the other.
    values: Vec<i8>,
    /// The inverse lengths.
    scales: Vec<f32>,
    /// Of many: groups of near ones, each by its middle, and its members.
    groups: Option<Box<(Centroids, Vec<Vec<u32>>)>>,
}

impl Centroids {
    /// About `count` centroids of the rows in `sample`, each in bytes as [`Row::write`] writes them; [`None`] without a row.
    #[must_use]
    pub fn of(sample: &[&[u8]], dimensions: usize, count: usize) -> Option<Self> {
        let rows: Vec<&[u8]> =
            sample.iter().filter(|row| row.len() == Row::size(dimensions)).filter_map(|row| row.get(4..)).collect();
        Self::trained(&rows, dimensions, count, true)
    }

    fn trained(rows: &[&[u8]], dimensions: usize, count: usize, grouped: bool) -> Option<Self> {
        let count = count.min(rows.len());
        if count == 0 || dimensions == 0 {
            return None;
        }
        let mut made = Self { dimensions, values: Vec::new(), scales: Vec::new(), groups: None };
        for at in 0..count {
            let values: Vec<i64> =
                rows.get(at * rows.len() / count)?.iter().map(|value| i64::from(value.cast_signed())).collect();
            made.push(&values);
        }
        for _ in 0..ROUNDS {
            made = made.grouped(grouped);
            let mut sums = vec![0i64; count * dimensions];
            for row in rows {
                let at = made.nearest_to(row) as usize * dimensions;
                let sum = sums.iter_mut().skip(at).take(dimensions);
                sum.zip(*row).for_each(|(sum, value)| *sum += i64::from(value.cast_signed()));
            }
            let mut next = Self { values: Vec::new(), scales: Vec::new(), groups: None, ..made };
            for (at, sum) in sums.chunks(dimensions).enumerate() {
                match sum.iter().any(|value| *value != 0) {
                    true => next.push(sum),
                    // Of an empty cluster the middle stays.
                    false => next.push(&made.numbers(at).iter().map(|value| i64::from(*value)).collect::<Vec<_>>()),
                }
            }
            made = next;
        }
        Some(made.grouped(grouped))
    }

    /// Adds a centroid in this direction.
    fn push(&mut self, direction: &[i64]) {
        let most = direction.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
        let begin = self.values.len();
        let scaled = |value: &i64| if most > 0 { (*value as f64 / most as f64 * 127.0).round() as i8 } else { 0 };
        self.values.extend(direction.iter().map(scaled));
        self.scales.push(scale(self.values.get(begin..).unwrap_or_default()));
    }

    fn grouped(mut self, grouped: bool) -> Self {
        self.groups = None;
        if !grouped || self.len() <= FEW {
            return self;
        }
        let bytes: Vec<Vec<u8>> =
            self.each().map(|(values, _)| values.iter().map(|one| one.cast_unsigned()).collect()).collect();
        let rows: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        if let Some(middles) = Self::trained(&rows, self.dimensions, self.len().isqrt(), false) {
            let mut members = vec![Vec::new(); middles.len()];
            for (at, row) in (0..).zip(&rows) {
                if let Some(group) = members.get_mut(middles.nearest_to(row) as usize) {
                    group.push(at);
                }
            }
            self.groups = Some(Box::new((middles, members)));
        }
        self
    }

    /// The number of centroids.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    fn numbers(&self, at: usize) -> &[i8] {
        self.values.get(at * self.dimensions..(at + 1) * self.dimensions).unwrap_or_default()
    }

    fn each(&self) -> impl Iterator<Item = (&[i8], f32)> {
        self.values.chunks(self.dimensions.max(1)).zip(self.scales.iter().copied())
    }

    /// The cluster of a row, in bytes as [`Row::write`] writes them.
    #[must_use]
    pub fn nearest(&self, row: &[u8]) -> u32 {
        self.nearest_to(row.get(4..).unwrap_or_default())
    }

    fn similarity(&self, at: usize, row: &[u8]) -> f32 {
        dot(self.numbers(at), row) as f32 * self.scales.get(at).copied().unwrap_or(0.0)
    }

    fn nearest_to(&self, row: &[u8]) -> u32 {
        let Some((middles, members)) = self.groups.as_deref() else {
            return best(self.each().map(|(values, scale)| dot(values, row) as f32 * scale).zip(0..));
        };
        let mut groups: Vec<(f32, usize)> = (0..middles.len()).map(|at| (middles.similarity(at, row), at)).collect();
        let taken = GROUPS.min(groups.len());
        if taken > 0 && taken < groups.len() {
            groups.select_nth_unstable_by(taken - 1, |one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        }
        let near = groups.iter().take(taken).filter_map(|(_, group)| members.get(*group)).flatten();
        best(near.map(|at| (self.similarity(*at as usize, row), *at)))
    }

    /// The clusters by their similarity to `vector`, the most similar first.
    #[must_use]
    pub fn by_similarity(&self, vector: &Vector) -> Vec<u32> {
        let similarity = |(values, scale): (&[i8], f32)| {
            values.iter().zip(vector.values()).map(|(one, other)| f32::from(*one) * other).sum::<f32>() * scale
        };
        let mut all: Vec<(f32, u32)> = self.each().map(similarity).zip(0..).collect();
        all.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        all.into_iter().map(|(_, at)| at).collect()
    }

    /// Their bytes: each is a row of length 1.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() * Row::size(self.dimensions));
        for (values, scale) in self.each() {
            bytes.extend_from_slice(&scale.to_le_bytes());
            bytes.extend(values.iter().map(|value| value.cast_unsigned()));
        }
        bytes
    }

    /// The centroids that these bytes are of.
    #[must_use]
    pub fn read(bytes: &[u8], dimensions: usize) -> Self {
        let mut made = Self { dimensions, values: Vec::new(), scales: Vec::new(), groups: None };
        for (scale, values) in bytes.chunks_exact(Row::size(dimensions)).filter_map(|row| row.split_first_chunk::<4>())
        {
            let scale = f32::from_le_bytes(*scale);
            made.scales.push(if scale.is_finite() { scale } else { 0.0 });
            made.values.extend(values.iter().map(|value| value.cast_signed()));
        }
        made
    }
}

/// The first of the greatest.
fn best(all: impl Iterator<Item = (f32, u32)>) -> u32 {
    let first = (f32::NEG_INFINITY, 0);
    all.fold(first, |best, one| if one.0 > best.0 || (one.0 >= best.0 && one.1 < best.1) { one } else { best }).1
}

fn dot(one: &[i8], other: &[u8]) -> i32 {
    one.iter().zip(other).map(|(one, other)| i32::from(*one) * i32::from(other.cast_signed())).sum()
}

fn scale(values: &[i8]) -> f32 {
    let length = dot(values, &values.iter().map(|value| value.cast_unsigned()).collect::<Vec<_>>());
    if length > 0 { 1.0 / (length as f32).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests;
