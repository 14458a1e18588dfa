//! Compact sets of ids: binary interpolative coding (Moffat and Stuiver, 2000). The middle id is written with as many bits as its
//! possible range needs, given the ends and the number of ids; then both halves are written in the same way. Neighbouring ids cost almost
//! nothing, and similar documents are neighbours in path order. A set of all or nearly all ids costs almost nothing either.

/// Ids of a set are less than this; a set with larger ids is damaged.
pub(crate) const MAX_UNIVERSE: u32 = 1 << 24;

/// Encodes the ascending ids of a set drawn from `0..universe`.
pub(crate) fn encode(ids: &[u32], universe: u32) -> Vec<u8> {
    let mut writer = BitWriter::default();
    write_ids(&mut writer, ids, 0, universe);
    writer.bytes
}

/// Encodes a set and a weight of 1 or more for each of its ids. Small weights take fewer bits.
pub(crate) fn encode_weighted(ids: &[u32], weights: impl Iterator<Item = u32>, universe: u32) -> Vec<u8> {
    let mut writer = BitWriter::default();
    write_ids(&mut writer, ids, 0, universe);
    for weight in weights {
        let above = weight.clamp(1, MAX_WEIGHT) - 1;
        writer.bits((1 << above) - 1, above);
        if above < MAX_WEIGHT - 1 {
            writer.bits(0, 1);
        }
    }
    writer.bytes
}

/// The largest weight.
pub(crate) const MAX_WEIGHT: u32 = 8;

/// A part of a small set has up to this many ids in unary.
const MAX_UNARY: u32 = 7;

/// Writes a part of the set `0..whole`, with its size. Nothing, if the set is empty.
pub(crate) fn write_part(writer: &mut BitWriter, ids: &[u32], whole: u32) {
    if whole == 0 {
        return;
    }
    let (count, most) = (ids.len() as u32, whole.min(MAX_UNARY));
    let ones = count.min(most);
    writer.bits((1 << ones) - 1, ones);
    if ones < most {
        writer.bits(0, 1);
    } else if whole > most {
        writer.number(count - most, whole - most + 1);
    }
    write_ids(writer, ids, 0, whole);
}

/// Reads into `ids` what [`write_part`] wrote. Damaged bits yield wrong ids, but never one outside the set.
pub(crate) fn read_part(reader: &mut BitReader<'_>, whole: u32, ids: &mut Vec<u32>) {
    let count = read_count(reader, whole);
    ids.clear();
    ids.resize(count as usize, 0);
    read_ids(reader, ids, 0, whole);
}

/// Reads past what [`write_part`] wrote.
pub(crate) fn skip_part(reader: &mut BitReader<'_>, whole: u32) {
    let count = read_count(reader, whole);
    skip_ids(reader, count, 0, whole);
}

/// The number of ids of a part of the set `0..whole`.
fn read_count(reader: &mut BitReader<'_>, whole: u32) -> u32 {
    let most = whole.min(MAX_UNARY);
    let ones = reader.ones(most);
    let more = if ones == most && whole > most { reader.number(whole - most + 1) } else { 0 };
    (ones + more).min(whole)
}

/// An encoded set.
#[derive(Clone, Copy, Debug)]
pub struct Postings<'a> {
    bits: &'a [u8],
    count: u32,
    universe: u32,
}

impl<'a> Postings<'a> {
    pub(crate) fn new(bits: &'a [u8], count: u32, universe: u32) -> Self {
        let universe = universe.min(MAX_UNIVERSE);
        Self { bits, count: count.min(universe), universe }
    }

    /// Number of ids in the set.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The ids, ascending. Damaged bits yield wrong ids, but never one outside the universe.
    pub fn ids(&self) -> Vec<u32> {
        self.read().0
    }

    fn read(&self) -> (Vec<u32>, BitReader<'a>) {
        let mut reader = BitReader::new(self.bits);
        let mut ids = vec![0; self.count as usize];
        read_ids(&mut reader, &mut ids, 0, self.universe);
        (ids, reader)
    }

    /// The ids with their weights, if they were encoded with them.
    pub fn weighted(&self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let (ids, reader) = self.read();
        let mut levels = Levels { reader, window: 0, left: 0 };
        ids.into_iter().map(move |id| (id, levels.next()))
    }

    /// Removes from the ascending `ids` those that are not in the set.
    pub fn retain(&self, ids: &mut Vec<u32>) {
        let mut own = self.ids().into_iter().peekable();
        ids.retain(|id| {
            while own.next_if(|other| other < id).is_some() {}
            own.peek() == Some(id)
        });
    }
}

/// Writes ascending ids from `low..high`.
fn write_ids(writer: &mut BitWriter, ids: &[u32], low: u32, high: u32) {
    let (before, [id, after @ ..]) = ids.split_at(ids.len() / 2) else { return };
    if ids.len() as u32 == high - low {
        return;
    }
    let least = low + before.len() as u32;
    writer.number(id - least, high - after.len() as u32 - least);
    write_ids(writer, before, low, *id);
    write_ids(writer, after, id + 1, high);
}

/// Fills `ids` with ascending ids from `low..high`. The range must have room for them.
fn read_ids(reader: &mut BitReader<'_>, ids: &mut [u32], low: u32, high: u32) {
    let (mut ids, mut low) = (ids, low);
    while !ids.is_empty() {
        if ids.len() as u32 == high - low {
            ids.iter_mut().zip(low..high).for_each(|(to, id)| *to = id);
            return;
        }
        let middle = ids.len() / 2;
        let (before, [id, after @ ..]) = ids.split_at_mut(middle) else { return };
        let least = low + before.len() as u32;
        *id = least + reader.number(high - after.len() as u32 - least);
        let middle = *id;
        // Half of all ids have none before them.
        if !before.is_empty() {
            read_ids(reader, before, low, middle);
        }
        (ids, low) = (after, middle + 1);
    }
}

/// Reads past `count` ids from `low..high`.
fn skip_ids(reader: &mut BitReader<'_>, count: u32, low: u32, high: u32) {
    let (mut count, mut low) = (count, low);
    while count > 0 && count < high - low {
        let before = count / 2;
        let after = count - before - 1;
        let least = low + before;
        let id = least + reader.number(high - after - least);
        if before > 0 {
            skip_ids(reader, before, low, id);
        }
        (count, low) = (after, id + 1);
    }
}

/// For truncated binary codes below `range`: the number of bits that every code has, and how many codes have no further bit.
const fn truncated(range: u32) -> (u32, u32) {
    let bits = range.ilog2();
    (bits, (2 << bits) - range)
}

#[derive(Default)]
pub(crate) struct BitWriter {
    pub(crate) bytes: Vec<u8>,
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

    /// A number below `range`, in truncated binary.
    fn number(&mut self, number: u32, range: u32) {
        let (bits, short) = truncated(range);
        if number < short {
            self.bits(number, bits);
        } else {
            // The further bit comes last, since the bits before it show whether it is there.
            let above = number + short;
            self.bits(above >> 1, bits);
            self.bits(above & 1, 1);
        }
    }
}

pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self::from(bytes, 0)
    }

    /// From a bit on.
    pub(crate) const fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The next bit.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// The next bits, with zeros past the end; at least 57 of them are valid.
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

    /// A number below `range`.
    fn number(&mut self, range: u32) -> u32 {
        let (bits, short) = truncated(range);
        let window = self.peek();
        let number = (window & ((1 << bits) - 1)) as u32;
        if number < short {
            self.at += bits as usize;
            return number;
        }
        self.at += bits as usize + 1;
        (number << 1 | (window >> bits & 1) as u32) - short
    }

    /// Counts the ones that come next, up to `most`. Skips the zero after them if there are fewer.
    fn ones(&mut self, most: u32) -> u32 {
        let ones = self.peek().trailing_ones().min(most);
        self.at += (ones + u32::from(ones < most)) as usize;
        ones
    }
}

/// Reads weights: of several from one window.
struct Levels<'a> {
    reader: BitReader<'a>,
    window: u64,
    /// Valid bits of the window.
    left: u32,
}

impl Levels<'_> {
    fn next(&mut self) -> u32 {
        const MOST: u32 = MAX_WEIGHT - 1;
        if self.left < MOST {
            (self.window, self.left) = (self.reader.peek(), 57);
        }
        let ones = self.window.trailing_ones().min(MOST);
        let used = ones + u32::from(ones < MOST);
        self.window >>= used;
        self.left -= used;
        self.reader.at += used as usize;
        ones + 1
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
            let bits = encode(&ids, universe);
            let postings = Postings::new(&bits, ids.len() as u32, universe);
            prop_assert_eq!(&postings.ids(), &ids);
            let mut some: Vec<u32> = (0..universe).step_by(3).collect();
            let expected: Vec<u32> = some.iter().copied().filter(|id| ids.binary_search(id).is_ok()).collect();
            postings.retain(&mut some);
            prop_assert_eq!(some, expected);
        }

        #[test]
        fn weights_survive((set, universe) in sets(), weights in prop::collection::vec(1..=MAX_WEIGHT, 300)) {
            let weighted: Vec<(u32, u32)> = set.into_iter().zip(weights).collect();
            let ids: Vec<u32> = weighted.iter().map(|(id, _)| *id).collect();
            let bits = encode_weighted(&ids, weighted.iter().map(|(_, weight)| *weight), universe);
            prop_assert_eq!(Postings::new(&bits, ids.len() as u32, universe).weighted().collect::<Vec<_>>(), weighted);
        }

        #[test]
        fn a_lone_far_id_survives(id in 0..MAX_UNIVERSE) {
            let bits = encode(&[id], MAX_UNIVERSE);
            prop_assert_eq!(Postings::new(&bits, 1, u32::MAX).ids(), vec![id]);
        }

        #[test]
        fn foreign_bits_stay_in_bounds(bits in prop::collection::vec(any::<u8>(), 0..60), count in 0u32..500, universe in 0u32..500) {
            let postings = Postings::new(&bits, count, universe);
            let ids = postings.ids();
            prop_assert!(ids.iter().all(|id| *id < universe));
            prop_assert!(ids.is_sorted());
            prop_assert!(postings.weighted().all(|(_, weight)| (1..=MAX_WEIGHT).contains(&weight)));
        }
    }
}
