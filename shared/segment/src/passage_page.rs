//! A page of terms, with the passages that have each of them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame;
use crate::passages::Passages;
use crate::postings::{BitReader, read_part, skip_part};
use crate::section::SectionName;
use crate::varint;

/// Bits between places that are kept.
const APART: usize = 512;

/// A decoded page: for each term the passages that have it.
#[derive(Debug)]
pub struct PassagePage {
    /// The end of the bits of each list.
    ends: Vec<u32>,
    bits: Bytes,
    /// By list, if it is long: places in its bits, as far as it was read.
    places: Mutex<HashMap<usize, Vec<Place>>>,
}

/// Where the passages of a document begin: its number in the list, and the bit.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    document: usize,
    bit: usize,
}

impl PassagePage {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::PassagePostings, "the content of a page is inconsistent");
        let page = frame::open(part, SectionName::PassagePostings)?;
        let mut rest: &[u8] = &page;
        let count = varint::read(&mut rest).filter(|count| *count <= rest.len() as u64).ok_or_else(damaged)?;
        let mut ends = Vec::with_capacity(count as usize);
        let mut end = 0u32;
        for _ in 0..count {
            let bytes = varint::read(&mut rest).and_then(|bytes| u32::try_from(bytes).ok()).ok_or_else(damaged)?;
            end = end.checked_add(bytes).ok_or_else(damaged)?;
            ends.push(end);
        }
        if end as usize != rest.len() {
            return Err(damaged());
        }
        let bits = page.slice(page.len() - rest.len()..);
        Ok(Self { ends, bits, places: Mutex::default() })
    }

    /// Calls `each` for those of `wanted` that are in list `list`, with the ascending passages that have the term. `documents` are all those
    /// of the term, with any values. Both ascend. Documents of one passage are left out, and of the others those whose text does not have the
    /// term have none.
    pub fn each_of<T>(
        &self,
        list: u32,
        documents: &[(u32, T)],
        wanted: impl Iterator<Item = u32>,
        passages: &Passages,
        mut each: impl FnMut(u32, &[u32]),
    ) {
        let list = list as usize;
        let Some(end) = self.ends.get(list) else { return };
        let start = list.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end);
        let Some(bits) = self.bits.get(start as usize..*end as usize) else { return };
        let mut none = Vec::new();
        let mut kept = (bits.len() * 8 > APART).then(|| self.places.lock().unwrap_or_else(PoisonError::into_inner));
        let places = kept.as_mut().map_or(&mut none, |kept| kept.entry(list).or_default());
        let mut here = Place::default();
        let mut found = Vec::new();
        for document in wanted.filter(|document| passages.count(*document) > 0) {
            let Ok(at) = documents.binary_search_by_key(&document, |(document, _)| *document) else { continue };
            let before = places.partition_point(|place| place.document <= at).checked_sub(1);
            let before = before.and_then(|before| places.get(before)).filter(|place| place.document > here.document);
            here = before.copied().unwrap_or(here);
            found.clear();
            let mut reader = BitReader::from(bits, here.bit);
            for (other, _) in documents.get(here.document..=at).unwrap_or_default() {
                if *other == document {
                    read_part(&mut reader, passages.count(document), &mut found);
                } else {
                    skip_part(&mut reader, passages.count(*other));
                }
                here = Place { document: here.document + 1, bit: reader.at() };
                if here.bit >= places.last().map_or(0, |last| last.bit) + APART && here.bit < bits.len() * 8 {
                    places.push(here);
                }
            }
            each(document, &found);
        }
    }

    pub(crate) fn weight(&self) -> usize {
        // With the places, once all are kept.
        self.ends.len() * 4 + self.bits.len() + self.bits.len() * 8 / APART * size_of::<Place>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Packer;
    use crate::passages::PassageWriter;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const TERMS: usize = 3;

    proptest! {
        #[test]
        fn passages_of_terms_survive(
            documents in prop::collection::vec((1usize..40, prop::collection::vec(prop::collection::btree_set(0u32..40, 0..40), TERMS)), 1..60),
            wanted in prop::collection::vec(prop::collection::btree_set(0u32..60, 0..20), 1..4),
        ) {
            let mut writer = PassageWriter::default();
            for (count, _) in &documents {
                writer.push(&vec![7; *count]);
            }
            let sets = |term: usize| -> Vec<(u32, Vec<u32>)> {
                (0u32..).zip(&documents).map(|(id, (count, terms))| {
                    let set: &BTreeSet<u32> = &terms[term];
                    (id, set.iter().copied().filter(|passage| (*passage as usize) < *count).collect())
                }).collect()
            };
            for term in 0..TERMS {
                writer.push_term(sets(term).iter().map(|(id, set)| (*id, set.as_slice())));
            }
            writer.close();
            let Some((table, pages)) = writer.finish(&mut Packer::new().unwrap()).unwrap() else {
                prop_assert!(documents.iter().all(|(count, _)| *count == 1));
                return Ok(());
            };
            let table = Passages::decode(&Bytes::from(table)).unwrap();
            let page = PassagePage::decode(&Bytes::from(pages)).unwrap();
            let all: Vec<(u32, ())> = (0..documents.len() as u32).map(|document| (document, ())).collect();
            let everything: BTreeSet<u32> = all.iter().map(|(document, ())| *document).collect();
            // Asked again and again, so that places are kept and used.
            for wanted in wanted.iter().chain([&everything]).chain(&wanted) {
                for term in 0..TERMS {
                    let mut found = Vec::new();
                    page.each_of(term as u32, &all, wanted.iter().copied(), &table, |id, set| found.push((id, set.to_vec())));
                    let mut expected = sets(term);
                    expected.retain(|(id, _)| documents[*id as usize].0 > 1 && wanted.contains(id));
                    prop_assert_eq!(found, expected);
                }
            }
            let bits = page.bits.len() * 8;
            let kept: usize = page.places.lock().unwrap().values().map(Vec::len).sum();
            prop_assert!(kept <= bits / APART && (kept > 0 || bits < 2 * TERMS * APART));
        }
    }
}
