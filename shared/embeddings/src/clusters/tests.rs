use super::*;
use crate::estimate::Estimate;
use proptest::prelude::*;

const DIMENSIONS: usize = 64;

/// Numbers that look random, the same each time.
struct Drawn(u64);

impl Drawn {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| self.next() + self.next() + self.next()).collect()
    }

    /// Vectors around `middles` others.
    fn clustered(&mut self, count: usize, middles: usize) -> Vec<Vector> {
        let middles: Vec<Vec<f32>> = (0..middles).map(|_| self.vector()).collect();
        let near = |at: usize| -> Vec<f32> {
            let noise = self.vector();
            middles[at * 7 % middles.len()].iter().zip(noise).map(|(middle, noise)| middle + 0.7 * noise).collect()
        };
        (0..count).map(near).map(|values| Vector::normalised(values).unwrap()).collect()
    }
}

fn rows(vectors: &[Vector]) -> Vec<Vec<u8>> {
    let row = |vector: &Vector| {
        let mut bytes = Vec::new();
        vector.row().write(&mut bytes);
        bytes
    };
    vectors.iter().map(row).collect()
}

fn trained(rows: &[Vec<u8>], count: usize) -> Centroids {
    Centroids::of(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), DIMENSIONS, count).unwrap()
}

#[test]
fn few_clusters_have_what_is_near() {
    let vectors = Drawn(1).clustered(2_400, 150);
    let rows = rows(&vectors);
    let centroids = trained(&rows[..1_600], count_of(2_400));
    assert!(centroids.groups.is_some(), "so many are compared in groups");
    let clusters: Vec<u32> = rows.iter().map(|row| centroids.nearest(row)).collect();
    let (mut found, mut wanted, mut read) = (0, 0, 0);
    for query in vectors.iter().step_by(47) {
        let mut near: Vec<(f32, u32)> =
            rows.iter().zip(&clusters).map(|(row, cluster)| (query.similarity(row), *cluster)).collect();
        near.sort_by(|one, other| other.0.total_cmp(&one.0));
        let probed = &centroids.by_similarity(query)[..10];
        found += near[..10].iter().filter(|(_, cluster)| probed.contains(cluster)).count();
        wanted += 10;
        read += clusters.iter().filter(|cluster| probed.contains(cluster)).count();
    }
    assert!(found * 100 >= wanted * 97, "{found} of {wanted}");
    assert!(read * 5 < rows.len() * wanted / 10, "{read} codes were read");
}

#[test]
fn an_estimate_is_nearer_to_the_angle_than_signs_are() {
    let vectors = Drawn(2).clustered(1_000, 50);
    let rows = rows(&vectors);
    let (mut by_estimate, mut by_signs) = (0, 0);
    for query in vectors.iter().step_by(31) {
        let (estimate, code) = (Estimate::of(query), query.code());
        let first = |distance: &dyn Fn(&Vector) -> u32| {
            let mut order: Vec<usize> = (0..vectors.len()).collect();
            order.sort_by_key(|at| (distance(&vectors[*at]), *at));
            order.truncate(20);
            order
        };
        let mut exact: Vec<usize> = (0..rows.len()).collect();
        exact.sort_by(|one, other| query.similarity(&rows[*other]).total_cmp(&query.similarity(&rows[*one])));
        let hits = |found: Vec<usize>| exact[..10].iter().filter(|at| found.contains(at)).count();
        by_estimate += hits(first(&|vector| estimate.distance(vector.code().bytes())));
        by_signs += hits(first(&|vector| code.distance(vector.code().bytes())));
    }
    assert!(by_estimate > by_signs, "{by_estimate} and {by_signs}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn equal_rows_make_equal_centroids_which_are_read_as_they_were_written(seed in any::<u64>(), count in 1usize..90) {
        let rows = rows(&Drawn(seed).clustered(200, 20));
        let made = trained(&rows, count);
        prop_assert_eq!(made.len(), count);
        prop_assert_eq!(made.bytes(), trained(&rows, count).bytes());
        let read = Centroids::read(&made.bytes(), DIMENSIONS);
        prop_assert_eq!(read.bytes(), made.bytes());
        for vector in Drawn(seed).clustered(9, 3) {
            let order = read.by_similarity(&vector);
            prop_assert_eq!(&order, &made.by_similarity(&vector));
            let mut all = order;
            all.sort_unstable();
            prop_assert_eq!(all, (0..count as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn foreign_rows_are_left_out_or_belong_somewhere(rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..40)) {
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        if let Some(made) = Centroids::of(&rows, 3, 8) {
            prop_assert!(rows.iter().all(|row| (made.nearest(row) as usize) < made.len()));
        }
    }
}
