//! The graph of links: which files a note links to and which notes link to a file, as the records of the segments tell, without any text.
//!
//! A link means what [`atlas_vault::resolve`] says among the files that the caller sees; so one to a hidden note is unresolved.

pub mod find_orphans;
pub mod find_unresolved_links;
pub mod get_backlinks;
pub mod get_outgoing_links;
mod table;

use atlas_vault::resolve::{self, Files, resolve};
use atlas_vault::{VaultPath, fold};
use futures::future::try_join;

pub(crate) use crate::graph::table::LinkTables;

use crate::arguments::Root;
use crate::error::Error;
use crate::graph::table::{Links, Tables};
use crate::index::{DocumentRef, Index, Want};
use crate::notes;
use crate::operation::Context;
use crate::view::View;

/// The links of a snapshot, as a caller sees them.
pub(crate) struct Graph {
    index: Index,
    tables: Tables,
}

impl Graph {
    pub(crate) async fn fetch(context: &Context<'_>, view: View) -> Result<Self, Error> {
        let tables = context.vault.links.of(view.snapshot().clone());
        let (index, tables) = try_join(Index::fetch(view, Want::default()), tables).await?;
        Ok(Self { index, tables })
    }

    pub(crate) const fn index(&self) -> &Index {
        &self.index
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &VaultPath) -> Result<DocumentRef, Error> {
        self.index.find(path.as_str())?.ok_or_else(|| notes::missing(path.as_str()))
    }

    /// The files that a link must be resolved among to tell whether it means the one at `path`.
    pub(crate) fn rivals(&self, path: &VaultPath) -> Result<Files, Error> {
        let mut files = Files::default();
        self.add_files(&mut files, &fold(path.file_name()))?;
        if path.is_note() {
            self.add_files(&mut files, &fold(path.stem()))?;
        }
        Ok(files)
    }

    fn add_files(&self, files: &mut Files, name: &str) -> Result<(), Error> {
        for (segment, table) in self.tables.iter().enumerate() {
            for document in table.named(name) {
                let document = DocumentRef { segment, document: *document };
                if self.index.shows(document)
                    && let Ok(path) = VaultPath::parse(&self.index.path(document)?)
                {
                    files.insert(path);
                }
            }
        }
        Ok(())
    }

    /// The path of a file.
    pub(crate) fn path(&self, document: DocumentRef) -> Result<String, Error> {
        self.index.path(document)
    }

    /// The other notes that link to the file at `path`, which is `own`, by path.
    pub(crate) fn incoming(&self, path: &VaultPath, own: DocumentRef) -> Result<Vec<DocumentRef>, Error> {
        let mut all: Vec<DocumentRef> = self.links_to(path)?.into_iter().map(|(document, _)| document).collect();
        all.retain(|document| *document != own);
        all.dedup();
        Ok(all)
    }

    /// The notes that link to the file at `path`, by path, each as often as it has targets that mean it, with its links to those.
    pub(crate) fn links_to(&self, path: &VaultPath) -> Result<Vec<(DocumentRef, Links)>, Error> {
        let files = self.rivals(path)?;
        let name = fold(path.file_name());
        let mut all = Vec::new();
        for (segment, table) in self.tables.iter().enumerate() {
            let begin = all.len();
            for (target, documents) in table.targets_with(&name) {
                let only = files.only(target);
                if only.is_some_and(|only| only != path) {
                    continue;
                }
                for document in documents {
                    let at = DocumentRef { segment, document: *document };
                    let is_meant = only.is_some() || {
                        let from = VaultPath::parse(&self.index.path(at)?);
                        from.is_ok_and(|from| resolve(target, &from, &files) == Some(path))
                    };
                    if is_meant && self.index.shows(at) {
                        all.extend(table.links_to(*document, target).map(|links| (at, links)));
                    }
                }
            }
            if let Some(of_segment) = all.get_mut(begin..) {
                of_segment.sort_by_key(|(document, _)| *document);
            }
        }
        self.index.sort_by_path(&mut all, |(document, _)| *document);
        Ok(all)
    }

    /// Calls `each` with every target of every note's links: the note, the target as written, its links to it, and the file that it means.
    pub(crate) fn each_target(
        &self,
        mut each: impl FnMut(DocumentRef, &str, Option<DocumentRef>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (segment, table) in self.tables.iter().enumerate() {
            for (target, documents) in table.targets() {
                let meaning = self.meaning(target)?;
                for document in documents {
                    let from = DocumentRef { segment, document: *document };
                    if !self.index.shows(from) {
                        continue;
                    }
                    let meant = match &meaning {
                        Meaning::Same(meant) => *meant,
                        Meaning::OneOf(files) => match VaultPath::parse(&self.index.path(from)?) {
                            Ok(from) => files.meant(target, &from),
                            Err(_) => continue,
                        },
                    };
                    each(from, target, meant)?;
                }
            }
        }
        Ok(())
    }

    /// The links of a note to a target.
    pub(crate) fn links_of(&self, document: DocumentRef, target: &str) -> Option<Links> {
        self.tables.get(document.segment)?.links_to(document.document, target)
    }

    /// The notes below `root` that are wanted, by path.
    pub(crate) fn notes(
        &self,
        root: &Root,
        is_wanted: impl Fn(DocumentRef, &str) -> bool,
    ) -> Result<Vec<DocumentRef>, Error> {
        let mut found = Vec::new();
        for segment in self.index.segments() {
            for document in self.index.paths(segment)?.with_prefix(root.prefix()) {
                let document = DocumentRef { segment, document };
                let path = self.index.path(document)?;
                let is_note = VaultPath::parse(&path).is_ok_and(|path| path.is_note());
                if is_note && is_wanted(document, &path) && self.index.shows(document) {
                    found.push(document);
                }
            }
        }
        self.index.sort_by_path(&mut found, |document| *document);
        Ok(found)
    }

    /// How many targets the links of a note have.
    pub(crate) fn count_outgoing(&self, document: DocumentRef) -> usize {
        self.tables.get(document.segment).map_or(0, |table| table.count_of(document.document))
    }

    /// What the links of the note at `path` lead to: each target as written and the file that it means, in the order of the links.
    pub(crate) fn outgoing<'a>(
        &'a self,
        path: &'a VaultPath,
        document: DocumentRef,
    ) -> impl Iterator<Item = Result<(&'a str, Option<DocumentRef>), Error>> {
        let targets = self.tables.get(document.segment).into_iter();
        let targets = targets.flat_map(move |table| table.targets_of(document.document));
        targets.map(move |(target, _)| Ok((target, self.meant(target, path)?)))
    }

    /// The file that a link with this target means in the note at `from`.
    pub(crate) fn meant(&self, target: &str, from: &VaultPath) -> Result<Option<DocumentRef>, Error> {
        Ok(match self.meaning(target)? {
            Meaning::Same(meant) => meant,
            Meaning::OneOf(files) => files.meant(target, from),
        })
    }

    /// What a link with this target means.
    fn meaning(&self, target: &str) -> Result<Meaning, Error> {
        let mut named = Vec::new();
        for name in resolve::names(target) {
            for (segment, table) in self.tables.iter().enumerate() {
                let documents = table.named(&name).iter().map(|document| DocumentRef { segment, document: *document });
                named.extend(documents.filter(|document| self.index.shows(*document)));
            }
        }
        match named.as_slice() {
            [] => return Ok(Meaning::Same(None)),
            // A bare name needs no look at paths.
            [only] if !target.contains('/') => return Ok(Meaning::Same(Some(*only))),
            _ => {}
        }
        let mut rivals = Rivals::default();
        for document in named {
            if let Ok(path) = VaultPath::parse(&self.index.path(document)?) {
                rivals.files.insert(path.clone());
                rivals.documents.push((path, document));
            }
        }
        Ok(Meaning::OneOf(rivals))
    }
}

/// What a link means, as far as that does not depend on where it stands.
enum Meaning {
    /// This file, or none, everywhere.
    Same(Option<DocumentRef>),
    /// One of these, or none.
    OneOf(Rivals),
}

/// Files that a link may mean.
#[derive(Default)]
struct Rivals {
    files: Files,
    documents: Vec<(VaultPath, DocumentRef)>,
}

impl Rivals {
    fn meant(&self, target: &str, from: &VaultPath) -> Option<DocumentRef> {
        let meant = resolve(target, from, &self.files)?;
        self.documents.iter().find(|(path, _)| path == meant).map(|(_, document)| *document)
    }
}
