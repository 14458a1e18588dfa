//! The list items of documents. They may be as long as the texts, and most queries ask for those of few documents, so they stay encoded
//! until they are asked for.

use bincode::BorrowDecode;
use bytes::Bytes;

use super::lists::ListItem;
use super::{codec, damaged, sums};
use crate::error::FormatError;
use crate::frame;
use crate::section::SectionName;

/// The list items of notes, in order.
#[derive(Debug)]
pub struct Lists {
    /// The documents that have items, ascending, each with the end of its own in `items`.
    documents: Vec<(u32, u32)>,
    /// The documents that have a task among them, ascending.
    with_tasks: Vec<u32>,
    items: Vec<u8>,
}

/// The form of an item, of which only the length counts.
#[derive(BorrowDecode)]
struct Shape<'a> {
    _place: (u32, u32, Option<u32>, u32),
    _marker: &'a str,
    status: Option<char>,
    _text: &'a str,
    _tags: Vec<&'a str>,
    _links: Vec<(bool, &'a str, Option<&'a str>, Option<&'a str>)>,
    _block_id: Option<&'a str>,
}

impl Lists {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || damaged(SectionName::Lists);
        let mut items = frame::unpack(part, SectionName::Lists, super::MAX_BYTES)?;
        let (differences, used): (Vec<u32>, usize) =
            bincode::decode_from_slice(&items, codec()).map_err(|_| damaged())?;
        let rest = items.get(used..).ok_or_else(damaged)?;
        let (count, more): (u64, usize) = bincode::decode_from_slice(rest, codec()).map_err(|_| damaged())?;
        let of = sums(differences).filter(|of| of.len() as u64 == count).ok_or_else(damaged)?;
        items.drain(..used + more);
        let mut documents: Vec<(u32, u32)> = Vec::new();
        let mut with_tasks: Vec<u32> = Vec::new();
        let mut end = 0;
        for document in of {
            let rest = items.get(end..).ok_or_else(damaged)?;
            let (item, length): (Shape<'_>, usize) =
                bincode::borrow_decode_from_slice(rest, codec()).map_err(|_| damaged())?;
            end += length;
            let own_end = u32::try_from(end).map_err(|_| damaged())?;
            match documents.last_mut().filter(|(last, _)| *last == document) {
                Some((_, end)) => *end = own_end,
                None => documents.push((document, own_end)),
            }
            if item.status.is_some() && with_tasks.last() != Some(&document) {
                with_tasks.push(document);
            }
        }
        if end != items.len() {
            return Err(damaged());
        }
        Ok(Self { documents, with_tasks, items })
    }

    pub(crate) fn weight(&self) -> usize {
        self.documents.len() * 8 + self.with_tasks.len() * 4 + self.items.len()
    }

    /// The documents that have a task, ascending.
    pub fn with_tasks(&self) -> &[u32] {
        &self.with_tasks
    }

    /// The items of a document, in order.
    ///
    /// # Errors
    /// When the section is damaged.
    pub fn of(&self, document: u32) -> Result<Vec<ListItem>, FormatError> {
        let damaged = || damaged(SectionName::Lists);
        let Ok(at) = self.documents.binary_search_by_key(&document, |(known, _)| *known) else { return Ok(Vec::new()) };
        let end_of = |at: usize| self.documents.get(at).map_or(0, |(_, end)| *end as usize);
        let begin = at.checked_sub(1).map_or(0, end_of);
        let mut rest = self.items.get(begin..end_of(at)).ok_or_else(damaged)?;
        let mut items = Vec::new();
        while !rest.is_empty() {
            let (item, length): (ListItem, usize) = bincode::decode_from_slice(rest, codec()).map_err(|_| damaged())?;
            items.push(item);
            rest = rest.get(length..).ok_or_else(damaged)?;
        }
        Ok(items)
    }
}
