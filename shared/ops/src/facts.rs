//! What notes say of themselves, as the sections of the segments tell: properties, tags, tasks, lines of links, symbols. For a segment
//! that has no such sections they are made of its texts once, and kept.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use atlas_mirror::SegmentId;
use atlas_segment::facts::{FACTS, FactWriter, LinkLines, Properties, Symbols, Tags, Tasks};
use atlas_segment::text::decoded;
use atlas_segment::{Part, SectionName};
use atlas_vault::VaultPath;
use futures::future::try_join;

use crate::arguments::Root;
use crate::error::{Code, Error};
use crate::index::{DocumentRef, Index, Want, Wave};
use crate::operation::Context;
use crate::view::View;

/// Segments of which made facts are kept besides those of the newest snapshot.
const MAX_OLD_SEGMENTS: usize = 16;
/// Most bytes of texts that are held at once while facts are made of them.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// The facts of segments without the sections, as far as they were asked for: those of [`FACTS`], in order.
#[derive(Default)]
pub(crate) struct MadeFacts(Mutex<HashMap<SegmentId, Arc<[Arc<Part>]>>>);

/// Facts of a snapshot, with the index that says whose they are.
pub(crate) struct Facts {
    index: Index,
    /// For each segment those that were asked for.
    parts: Vec<Vec<(SectionName, Arc<Part>)>>,
}

impl Facts {
    /// These sections of a snapshot, in one wave where the segments have them.
    pub(crate) async fn fetch(context: &Context<'_>, view: View, sections: &[SectionName]) -> Result<Self, Error> {
        Self::fetch_with(context, view, sections, Want::default()).await
    }

    /// The same, with more of the index.
    pub(crate) async fn fetch_with(
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

    pub(crate) const fn index(&self) -> &Index {
        &self.index
    }

    /// The documents of a segment that are below `root`, whoever may see them.
    pub(crate) fn below(&self, segment: usize, root: &Root) -> Result<Range<u32>, Error> {
        Ok(self.index.paths(segment)?.with_prefix(root.prefix()))
    }

    /// The notes of a segment that are below `root`, whoever may see them.
    pub(crate) fn notes(&self, segment: usize, root: &Root) -> Result<Vec<u32>, Error> {
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
    pub(crate) fn shows(&self, segment: usize, document: u32) -> bool {
        self.index.shows(DocumentRef { segment, document })
    }

    fn part(&self, segment: usize, section: SectionName) -> Result<&Part, Error> {
        let parts = self.parts.get(segment).map(Vec::as_slice).unwrap_or_default();
        let found = parts.iter().find(|(name, _)| *name == section);
        found
            .map(|(_, part)| &**part)
            .ok_or_else(|| Error::new(Code::Internal, "internal", "a section was not fetched"))
    }

    pub(crate) fn properties(&self, segment: usize) -> Result<&Properties, Error> {
        Ok(self.part(segment, SectionName::Properties)?.properties()?)
    }

    pub(crate) fn tags(&self, segment: usize) -> Result<&Tags, Error> {
        Ok(self.part(segment, SectionName::Tags)?.tags()?)
    }

    pub(crate) fn tasks(&self, segment: usize) -> Result<&Tasks, Error> {
        Ok(self.part(segment, SectionName::Tasks)?.tasks()?)
    }

    pub(crate) fn link_lines(&self, segment: usize) -> Result<&LinkLines, Error> {
        Ok(self.part(segment, SectionName::LinkLines)?.link_lines()?)
    }

    pub(crate) fn symbols(&self, segment: usize) -> Result<&Symbols, Error> {
        Ok(self.part(segment, SectionName::Symbols)?.symbols()?)
    }
}

impl MadeFacts {
    /// The facts of a segment, from its texts.
    async fn of(&self, index: &Index, segment: usize) -> Result<Arc<[Arc<Part>]>, Error> {
        let segments = index.snapshot().segments();
        let id = segments.get(segment).map(|entry| entry.id);
        let id = id.ok_or_else(|| Error::new(Code::Internal, "internal", "a segment is missing"))?;
        if let Some(made) = self.kept().get(&id) {
            return Ok(made.clone());
        }
        let mut writer = FactWriter::default();
        let mut batch = Vec::new();
        let mut bytes = 0;
        let all = index.paths(segment)?.len();
        for document in 0..all {
            let document = DocumentRef { segment, document };
            let length = u64::from(index.span(document)?.length);
            // What is in the trash, and configuration, says nothing.
            if length > 0 && !index.paths(segment)?.dotted().contains(&document.document) {
                batch.push(document);
                bytes += length;
            }
            if bytes >= MAX_TEXT_BYTES || document.document + 1 == all {
                for (document, text) in batch.iter().zip(index.texts(&batch).await?) {
                    let text = decoded(&text);
                    match VaultPath::parse(&index.path(*document)?) {
                        Ok(path) if path.is_note() => writer.note(document.document, &atlas_vault::parse(&text), &text),
                        _ => writer.text(document.document, &text),
                    }
                }
                batch.clear();
                bytes = 0;
            }
        }
        let made: Arc<[Arc<Part>]> = writer.into_parts()?.into_iter().map(Arc::new).collect();
        let mut kept = self.kept();
        if kept.len() > segments.len() + MAX_OLD_SEGMENTS {
            kept.retain(|id, _| segments.iter().any(|entry| entry.id == *id));
        }
        kept.insert(id, made.clone());
        Ok(made)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<SegmentId, Arc<[Arc<Part>]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
