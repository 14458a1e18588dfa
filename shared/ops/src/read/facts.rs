//! Facts of notes: properties, tags, tasks, lines of links, symbols, inline fields, list items. They come from the segments' sections. For a
//! segment without such sections they are built from its texts once, and cached.

use std::ops::Range;
use std::sync::Arc;

use atlas_segment::facts::{FACTS, Fields, LinkLines, Lists, Properties, Symbols, Tags, Tasks};
use atlas_segment::{Part, SectionName};
use atlas_vault::VaultPath;
use futures::future::try_join;

use crate::arguments::Root;
use crate::error::{Code, Error, Reason};
use crate::operation::Context;
use crate::read::index::{DocumentRef, Index, Want, Wave};
use crate::read::view::View;

/// Facts of a snapshot, with the index of its documents.
pub struct Facts {
    index: Index,
    /// For each segment the requested sections.
    parts: Vec<Vec<(SectionName, Arc<Part>)>>,
}

impl Facts {
    /// Fetches these sections of a snapshot, in one wave if the segments have them.
    pub async fn fetch(context: &Context<'_>, view: View, sections: &[SectionName]) -> Result<Self, Error> {
        Self::fetch_with(context, view, sections, Want::default()).await
    }

    /// Like [`fetch`](Self::fetch), with more of the index.
    pub async fn fetch_with(
        context: &Context<'_>,
        view: View,
        sections: &[SectionName],
        want: Want<'_>,
    ) -> Result<Self, Error> {
        let snapshot = view.snapshot().clone();
        let mut wave = Wave::default();
        let mut plans = Vec::new();
        for (segment, entry) in snapshot.segments().iter().enumerate() {
            let mut slots = Vec::new();
            for section in sections {
                let part = entry.layout.facts(*section)?;
                slots.extend(part.map(|part| (*section, wave.add(segment, part))));
            }
            plans.push(Some(slots).filter(|slots| slots.len() == sections.len()));
        }
        let (index, fetched) = try_join(Index::fetch(view, want), wave.fetch(&snapshot)).await?;
        let mut parts = Vec::with_capacity(plans.len());
        for (segment, plan) in plans.into_iter().enumerate() {
            parts.push(match plan {
                Some(slots) => slots
                    .into_iter()
                    .map(|(section, slot)| Ok((section, fetched.get(slot)?)))
                    .collect::<Result<_, Error>>()?,
                None => {
                    let made = context.vault.made_facts.of(&index, segment).await?;
                    let made = FACTS.into_iter().zip(made.iter().cloned());
                    made.filter(|(section, _)| sections.contains(section)).collect()
                }
            });
        }
        Ok(Self { index, parts })
    }

    /// The index of the documents.
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// The documents of a segment below `root`, including those that are hidden from the caller.
    pub fn below(&self, segment: usize, root: &Root) -> Result<Range<u32>, Error> {
        Ok(self.index.paths(segment)?.with_prefix(root.prefix()))
    }

    /// The notes of a segment below `root`, including those that are hidden from the caller.
    pub fn notes(&self, segment: usize, root: &Root) -> Result<Vec<u32>, Error> {
        let paths = self.index.paths(segment)?;
        let mut notes = Vec::new();
        for document in self.below(segment, root)? {
            if VaultPath::parse(&paths.path(document)?).is_ok_and(|path| path.is_note()) {
                notes.push(document);
            }
        }
        Ok(notes)
    }

    /// Whether the caller sees a document.
    pub fn shows(&self, segment: usize, document: u32) -> bool {
        self.index.shows(DocumentRef { segment, document })
    }

    fn part(&self, segment: usize, section: SectionName) -> Result<&Part, Error> {
        let parts = self.parts.get(segment).map(Vec::as_slice).unwrap_or_default();
        let found = parts.iter().find(|(name, _)| *name == section);
        found
            .map(|(_, part)| &**part)
            .ok_or_else(|| Error::new(Code::Internal, Reason::Internal, "a section was not fetched"))
    }

    /// Properties, if they were fetched.
    pub fn properties(&self, segment: usize) -> Result<&Properties, Error> {
        Ok(self.part(segment, SectionName::Properties)?.properties()?)
    }

    /// Tags, if they were fetched.
    pub fn tags(&self, segment: usize) -> Result<&Tags, Error> {
        Ok(self.part(segment, SectionName::Tags)?.tags()?)
    }

    /// Tasks, if they were fetched.
    pub fn tasks(&self, segment: usize) -> Result<&Tasks, Error> {
        Ok(self.part(segment, SectionName::Tasks)?.tasks()?)
    }

    /// The lines of links, if they were fetched.
    pub fn link_lines(&self, segment: usize) -> Result<&LinkLines, Error> {
        Ok(self.part(segment, SectionName::LinkLines)?.link_lines()?)
    }

    /// Symbols, if they were fetched.
    pub fn symbols(&self, segment: usize) -> Result<&Symbols, Error> {
        Ok(self.part(segment, SectionName::Symbols)?.symbols()?)
    }

    /// Inline fields, if they were fetched.
    pub fn fields(&self, segment: usize) -> Result<&Fields, Error> {
        Ok(self.part(segment, SectionName::Fields)?.fields()?)
    }

    /// List items, if they were fetched.
    pub fn lists(&self, segment: usize) -> Result<&Lists, Error> {
        Ok(self.part(segment, SectionName::Lists)?.lists()?)
    }
}
