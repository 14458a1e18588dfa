//! A set of document ids in few bits: Rice-coded gaps, of the ids or, when more than half of all
//! documents are in the set, of the ids that are not.

/// Encodes the ascending ids of a set drawn from `0..universe`.
pub(crate) fn encode(ids: impl ExactSizeIterator<Item = u32>, universe: u32) -> Vec<u8> {
    let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let mut writer = BitWriter::default();
    if is_complement(count, universe) {
        let parameter = rice_parameter(universe - count, universe);
        let mut next = 0;
        let mut previous = 0;
        for id in ids {
            for missing in next..id {
                writer.rice(missing - previous, parameter);
                previous = missing + 1;
            }
            next = id + 1;
        }
        for missing in next..universe {
            writer.rice(missing - previous, parameter);
            previous = missing + 1;
        }
    } else {
        let parameter = rice_parameter(count, universe);
        let mut previous = 0;
        for id in ids {
            writer.rice(id - previous, parameter);
            previous = id + 1;
        }
    }
    writer.bytes
}

/// An encoded set.
#[derive(Clone, Copy, Debug)]
pub struct Postings<'a> {
    bits: &'a [u8],
    count: u32,
    universe: u32,
}

impl<'a> Postings<'a> {
    pub(crate) const fn new(bits: &'a [u8], count: u32, universe: u32) -> Self {
        Self { bits, count, universe }
    }

    /// Number of ids in the set.
    pub const fn count(&self) -> u32 {
        self.count
    }

    fn gaps(&self) -> Gaps<'a> {
        let coded = if self.complemented() { self.universe.saturating_sub(self.count) } else { self.count };
        Gaps {
            reader: BitReader { bytes: self.bits, at: 0 },
            parameter: rice_parameter(coded, self.universe),
            left: coded,
            next: 0,
            universe: self.universe,
        }
    }

    const fn complemented(&self) -> bool {
        is_complement(self.count, self.universe)
    }

    /// The ids, ascending. Damaged bits end the list early; they never yield an id outside the universe.
    pub fn ids(&self) -> Vec<u32> {
        if !self.complemented() {
            return self.gaps().collect();
        }
        let mut ids = Vec::with_capacity(self.count.min(self.universe) as usize);
        let mut next = 0;
        for missing in self.gaps() {
            ids.extend(next..missing);
            next = missing + 1;
        }
        ids.extend(next..self.universe);
        ids
    }

    /// Keeps of the ascending `ids` those that are in the set.
    pub fn retain(&self, ids: &mut Vec<u32>) {
        let mut coded = self.gaps().peekable();
        let keep_coded = !self.complemented();
        ids.retain(|id| {
            while coded.next_if(|other| other < id).is_some() {}
            (coded.peek() == Some(id)) == keep_coded
        });
    }
}

const fn is_complement(count: u32, universe: u32) -> bool {
    count > universe / 2
}

/// The power of two nearest to what is best for gaps of mean `universe / count`.
fn rice_parameter(count: u32, universe: u32) -> u32 {
    let mean = universe / count.max(1);
    // ln 2 of the mean, in integers so that every machine computes the same.
    (mean.saturating_mul(7) / 10).max(1).ilog2()
}

/// Longest run of ones in a Rice code before the gap is written in full instead.
const ESCAPE: u32 = 24;

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    used: u32,
}

impl BitWriter {
    fn bits(&mut self, value: u32, count: u32) {
        let mut value = u64::from(value);
        let mut count = count;
        while count > 0 {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let offset = self.used % 8;
            let take = (8 - offset).min(count);
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((value & ((1 << take) - 1)) << offset) as u8;
            }
            value >>= take;
            count -= take;
            self.used += take;
        }
    }

    fn rice(&mut self, gap: u32, parameter: u32) {
        let quotient = gap >> parameter;
        if quotient >= ESCAPE {
            self.bits((1 << ESCAPE) - 1, ESCAPE);
            self.bits(gap, 32);
        } else {
            self.bits((1 << quotient) - 1, quotient + 1);
            self.bits(gap & ((1 << parameter) - 1), parameter);
        }
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The next 64 bits, zero past the end; at least 57 of them are valid.
    fn peek(&self) -> u64 {
        let byte = self.at / 8;
        let window = match self.bytes.get(byte..).and_then(<[u8]>::first_chunk::<8>) {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => {
                let mut chunk = [0; 8];
                let rest = self.bytes.get(byte..).unwrap_or_default();
                for (to, from) in chunk.iter_mut().zip(rest) {
                    *to = *from;
                }
                u64::from_le_bytes(chunk)
            }
        };
        window >> (self.at % 8)
    }

    fn rice(&mut self, parameter: u32) -> Option<u32> {
        let window = self.peek();
        let ones = window.trailing_ones();
        let (value, used) = if ones >= ESCAPE {
            ((window >> ESCAPE) as u32, ESCAPE + 32)
        } else {
            let low = (window >> (ones + 1)) & ((1 << parameter) - 1);
            ((ones << parameter) | low as u32, ones + 1 + parameter)
        };
        self.at += used as usize;
        (self.at <= self.bytes.len() * 8).then_some(value)
    }
}

struct Gaps<'a> {
    reader: BitReader<'a>,
    parameter: u32,
    left: u32,
    next: u32,
    universe: u32,
}

impl Iterator for Gaps<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let id = self.next.checked_add(self.reader.rice(self.parameter)?)?;
        if id >= self.universe {
            self.left = 0;
            return None;
        }
        self.next = id + 1;
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sets() -> impl Strategy<Value = (BTreeSet<u32>, u32)> {
        (1u32..5000).prop_flat_map(|universe| {
            (prop::collection::btree_set(0..universe, 0..universe.min(300) as usize), Just(universe))
        })
    }

    proptest! {
        #[test]
        fn a_set_survives((set, universe) in sets(), invert in any::<bool>()) {
            let ids: Vec<u32> = if invert { (0..universe).filter(|id| !set.contains(id)).collect() } else { set.iter().copied().collect() };
            let bits = encode(ids.iter().copied(), universe);
            let postings = Postings::new(&bits, ids.len() as u32, universe);
            prop_assert_eq!(&postings.ids(), &ids);
            let mut some: Vec<u32> = (0..universe).step_by(3).collect();
            let expected: Vec<u32> = some.iter().copied().filter(|id| ids.binary_search(id).is_ok()).collect();
            postings.retain(&mut some);
            prop_assert_eq!(some, expected);
        }

        #[test]
        fn a_lone_far_id_survives(id in 0u32..u32::MAX) {
            let bits = encode([id].into_iter(), u32::MAX);
            prop_assert_eq!(Postings::new(&bits, 1, u32::MAX).ids(), vec![id]);
        }

        #[test]
        fn foreign_bits_stay_in_bounds(bits in prop::collection::vec(any::<u8>(), 0..60), count in 0u32..500, universe in 0u32..500) {
            let ids = Postings::new(&bits, count, universe).ids();
            prop_assert!(ids.iter().all(|id| *id < universe));
            prop_assert!(ids.is_sorted());
        }
    }
}
