//! The links of a segment, in both directions, from its records.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_segment::record::LinkKind;
use atlas_segment::{Kind, Record};
use atlas_vault::{fold, resolve};

use crate::error::Error;
use crate::read::by_segment::BySegment;
use crate::read::index::Wave;

/// The cached links of segments.
#[derive(Default)]
pub(crate) struct LinkTables(BySegment<LinkTable>);

/// The links of a snapshot's segments, in order.
pub(crate) struct Tables(Vec<Arc<LinkTable>>);

impl Deref for Tables {
    type Target = [Arc<LinkTable>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl LinkTables {
    /// Drops all of them.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// Those of a snapshot's segments: what is not kept is made of the records, which are fetched in one wave.
    pub(crate) async fn of(&self, snapshot: Arc<Snapshot>) -> Result<Tables, Error> {
        let segments = snapshot.segments();
        let mut tables: Vec<Option<Arc<LinkTable>>> = segments.iter().map(|entry| self.0.get(entry)).collect();
        let is_missing = |segment| tables.get(segment).is_some_and(Option::is_none);
        snapshot.open(|segment, _| is_missing(segment)).await?;
        let mut wave = Wave::default();
        let mut pages = Vec::new();
        for (segment, entry) in segments.iter().enumerate() {
            if is_missing(segment) {
                for (page, _) in entry.layout.record_pages()? {
                    pages.push((segment, wave.add(segment, page)));
                }
            }
        }
        let fetched = wave.fetch(&snapshot).await?;
        let mut made: HashMap<usize, Maker> = HashMap::new();
        for (segment, slot) in pages {
            let page = fetched.get(slot)?;
            let page = page.record_page()?;
            let maker = made.entry(segment).or_default();
            for index in 0..page.len() {
                maker.push(&page.get(index)?);
            }
        }
        for (segment, entry) in segments.iter().enumerate() {
            if let Some(slot) = tables.get_mut(segment).filter(|slot| slot.is_none()) {
                let table = Arc::new(made.remove(&segment).unwrap_or_default().finish());
                *slot = Some(self.0.keep(&snapshot, entry, table));
            }
        }
        Ok(Tables(tables.into_iter().flatten().collect()))
    }
}

/// The links of a segment's notes, and the names of its files. Files below a folder whose name begins with a dot have
/// neither.
#[derive(Debug, Default)]
pub(crate) struct LinkTable {
    /// Folded name → documents, ascending.
    names: HashMap<Box<str>, Vec<u32>>,
    targets: Vec<Target>,
    /// Folded name → the targets that may mean a file with it.
    by_name: HashMap<Box<str>, Vec<u32>>,
    /// For each document the start of its targets in `links`, and the end of the last.
    starts: Vec<u32>,
    links: Vec<Links>,
}

/// The links of a document that have the same target.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    target: u32,
    /// The index of the first of them among the document's links.
    pub first: u32,
    /// Their number, …
    pub count: u32,
    /// … and how many of them are embeds.
    pub embeds: u32,
}

#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) written: Box<str>,
    /// The folded names of files that such links may mean.
    pub(crate) names: Box<[Box<str>]>,
    /// The documents that contain the target, ascending, each with the place of its links to it.
    documents: Vec<(u32, u32)>,
}

impl LinkTable {
    /// The documents with this folded name.
    pub(crate) fn named(&self, name: &str) -> &[u32] {
        self.names.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The targets that may mean a file with this folded name.
    pub(crate) fn targets_with(&self, name: &str) -> impl Iterator<Item = &Target> {
        let targets = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        targets.iter().filter_map(|target| self.targets.get(*target as usize))
    }

    /// All targets.
    pub(crate) fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The targets of a document, as written, each once, in order, with its links to it.
    pub(crate) fn targets_of(&self, document: u32) -> impl Iterator<Item = (&str, Links)> {
        let target = |links: &Links| Some((&*self.targets.get(links.target as usize)?.written, *links));
        self.links_of(document).iter().filter_map(target)
    }

    /// The documents that contain a target, ascending, each with its links to it.
    pub(crate) fn links_to(&self, target: &Target) -> impl Iterator<Item = (u32, Links)> {
        target.documents.iter().filter_map(|(document, place)| Some((*document, *self.links.get(*place as usize)?)))
    }

    /// The number of targets of a document.
    pub(crate) fn count_of(&self, document: u32) -> usize {
        self.links_of(document).len()
    }

    fn links_of(&self, document: u32) -> &[Links] {
        let at = |index: u32| self.starts.get(index as usize).map(|start| *start as usize);
        let range = at(document).zip(at(document.saturating_add(1))).map(|(from, to)| from..to);
        range.and_then(|range| self.links.get(range)).unwrap_or_default()
    }
}

#[derive(Default)]
struct Maker {
    table: LinkTable,
    known: HashMap<Box<str>, u32>,
    /// The index of each target in the links of the current document.
    places: HashMap<u32, usize>,
}

impl Maker {
    /// Adds the next document.
    fn push(&mut self, record: &Record) {
        let table = &mut self.table;
        let document = table.starts.len() as u32;
        table.starts.push(table.links.len() as u32);
        if record.kind == Kind::Config || record.path.split('/').any(|name| name.starts_with('.')) {
            return;
        }
        let name = record.path.rsplit('/').next().unwrap_or(&record.path);
        table.names.entry(fold(name).into()).or_default().push(document);
        self.places.clear();
        let with_targets = (0..).zip(&record.links).filter(|(_, link)| !link.target.is_empty());
        for (index, link) in with_targets {
            let id = match self.known.get(link.target.as_str()) {
                Some(id) => *id,
                None => {
                    let id = table.targets.len() as u32;
                    let names: Box<[Box<str>]> = resolve::names(&link.target).map(Into::into).collect();
                    for name in &names {
                        table.by_name.entry(name.clone()).or_default().push(id);
                    }
                    table.targets.push(Target { written: link.target.as_str().into(), names, documents: Vec::new() });
                    self.known.insert(link.target.as_str().into(), id);
                    id
                }
            };
            let embeds = u32::from(matches!(link.kind, LinkKind::Embed | LinkKind::MarkdownEmbed));
            let Some(target) = table.targets.get_mut(id as usize) else { continue };
            let place = *self.places.entry(id).or_insert(table.links.len());
            match table.links.get_mut(place) {
                Some(links) => {
                    links.count += 1;
                    links.embeds += embeds;
                }
                None => {
                    target.documents.push((document, table.links.len() as u32));
                    table.links.push(Links { target: id, first: index, count: 1, embeds });
                }
            }
        }
    }

    fn finish(mut self) -> LinkTable {
        self.table.starts.push(self.table.links.len() as u32);
        self.table
    }
}
