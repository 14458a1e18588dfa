//! Ascending lists of documents, merged window by window, so that what is summed stays in the processor's cache, and a list of few
//! documents costs little however many the segment has.

/// Ascending documents of a segment, with their weights or scores.
pub(crate) type Weighted = Vec<(u32, f32)>;

/// Documents of a window.
const WINDOW: usize = 2048;

/// Each document of `lists` once, ascending. `add` adds to its sum what a list has, in the order of the lists; `done` makes its value of it.
pub(crate) fn merge<T: Copy, S: Copy + Default>(
    lists: &[&[(u32, T)]],
    mut add: impl FnMut(&mut S, usize, u32, T),
    done: impl Fn(S) -> f32,
) -> Weighted {
    let longest = lists.iter().map(|list| list.len()).max().unwrap_or_default();
    let mut merged = Vec::with_capacity(longest);
    let mut rests = lists.to_vec();
    // Arrays, so that no place in a window is outside.
    let mut sums = Box::new([S::default(); WINDOW]);
    let mut known = [0u64; WINDOW / 64];
    while let Some(first) = rests.iter().filter_map(|rest| rest.first()).map(|(document, _)| *document).min() {
        let begin = first - first % WINDOW as u32;
        for (list, rest) in rests.iter_mut().enumerate() {
            let mut count = 0;
            for (document, value) in rest.iter().take_while(|(one, _)| one.wrapping_sub(begin) < WINDOW as u32) {
                let at = *document as usize % WINDOW;
                if let (Some(sum), Some(bits)) = (sums.get_mut(at), known.get_mut(at / 64)) {
                    add(sum, list, *document, *value);
                    *bits |= 1 << (at % 64);
                }
                count += 1;
            }
            *rest = rest.get(count..).unwrap_or_default();
        }
        for (place, bits) in (begin..).step_by(64).zip(&mut known) {
            while *bits != 0 {
                let document = place + bits.trailing_zeros();
                *bits &= *bits - 1;
                if let Some(sum) = sums.get_mut(document as usize % WINDOW) {
                    merged.push((document, done(std::mem::take(sum))));
                }
            }
        }
    }
    merged
}

/// Keeps those of `scores` that are in `documents`, or if these are not wanted all others.
pub(crate) fn keep(scores: &mut Weighted, documents: &[(u32, f32)], is_wanted: bool) {
    let mut rest = documents.iter().peekable();
    scores.retain(|(scored, _)| {
        while rest.next_if(|(document, _)| document < scored).is_some() {}
        rest.peek().is_some_and(|(document, _)| document == scored) == is_wanted
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn lists() -> impl Strategy<Value = Vec<Vec<(u32, f32)>>> {
        let list = prop::collection::btree_map(0u32..10_000, 1u8..9, 0..60);
        let of_numbers =
            |list: BTreeMap<u32, u8>| list.into_iter().map(|(at, weight)| (at, f32::from(weight))).collect();
        prop::collection::vec(list.prop_map(of_numbers), 0..5)
    }

    proptest! {
        #[test]
        fn each_document_has_the_sum_of_its_weights(lists in lists()) {
            let mut expected: BTreeMap<u32, f32> = BTreeMap::new();
            for (document, weight) in lists.iter().flatten() {
                *expected.entry(*document).or_default() += weight;
            }
            let slices: Vec<_> = lists.iter().map(Vec::as_slice).collect();
            let merged = merge(&slices, |sum: &mut f32, _, _, weight| *sum += weight, |sum| sum);
            prop_assert_eq!(&merged, &expected.into_iter().collect::<Vec<_>>());
            for list in &lists {
                for is_wanted in [true, false] {
                    let mut kept = merged.clone();
                    keep(&mut kept, list, is_wanted);
                    let has = |document: &u32| list.iter().any(|(own, _)| own == document);
                    let expected: Vec<_> = merged.iter().copied().filter(|(one, _)| has(one) == is_wanted).collect();
                    prop_assert_eq!(kept, expected);
                }
            }
        }
    }
}
