//! The records of documents.

use std::collections::HashMap;

use atlas_segment::Record;
use atlas_segment::record::RecordPage;

use crate::error::{Error, Reason};
use crate::read::index::{DocumentRef, Index, Slot, Wave};

impl Index {
    /// The fetched record pages of `segment` and the id of each one's first document.
    pub fn record_pages(
        &self,
        segment: usize,
    ) -> Result<impl Iterator<Item = Result<(&RecordPage, u32), Error>>, Error> {
        let pages = self.segment(segment)?.record_pages.iter();
        Ok(pages.map(|(page, first)| Ok((page.record_page()?, *first))))
    }

    /// The records of `documents`, in one wave.
    pub async fn records(&self, documents: &[DocumentRef]) -> Result<Vec<Record>, Error> {
        let missing = || Error::new(crate::Code::Internal, Reason::Internal, "a record is missing");
        self.snapshot().open(|segment, _| documents.iter().any(|document| document.segment == segment)).await?;
        let mut wave = Wave::default();
        let mut slots = HashMap::new();
        let mut places = Vec::with_capacity(documents.len());
        for DocumentRef { segment, document } in documents.iter().copied() {
            let path = self.path(DocumentRef { segment, document })?;
            let (page, first) = self.layout(segment)?.record_page(&path)?.ok_or_else(missing)?;
            let slot = *slots.entry((segment, page.range.start)).or_insert_with(|| wave.add(segment, page));
            places.push((slot, document.checked_sub(first).ok_or_else(missing)?));
        }
        let fetched = self.load(wave).await?;
        let record = |(slot, index): (Slot, u32)| Ok(fetched.get(slot)?.record_page()?.get(index as usize)?);
        places.into_iter().map(record).collect()
    }
}
