//! The graph of links: which files a note links to and which notes link to a file, as the records of the segments tell, without any text.
//!
//! A link means what [`atlas_vault::resolve`] says among the files that the caller sees; so one to a hidden note is unresolved.

mod table;

use atlas_vault::resolve::{self, Files, resolve};
use atlas_vault::{VaultPath, fold};
use futures::future::try_join;

pub(crate) use crate::graph::table::LinkTables;

use crate::error::Error;
use crate::graph::table::Tables;
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
        let files = self.rivals(path)?;
        let name = fold(path.file_name());
        let mut all = Vec::new();
        for (segment, table) in self.tables.iter().enumerate() {
            let mut linking: Vec<u32> = Vec::new();
            for (target, documents) in table.targets_with(&name) {
                if let Some(only) = files.only(target) {
                    if only == path {
                        linking.extend(documents);
                    }
                    continue;
                }
                for document in documents {
                    let from = VaultPath::parse(&self.index.path(DocumentRef { segment, document: *document })?);
                    if from.is_ok_and(|from| resolve(target, &from, &files) == Some(path)) {
                        linking.push(*document);
                    }
                }
            }
            linking.sort_unstable();
            linking.dedup();
            let linking = linking.into_iter().map(|document| DocumentRef { segment, document });
            all.extend(linking.filter(|document| *document != own && self.index.shows(*document)));
        }
        self.index.sort_by_path(&mut all, |document| *document);
        Ok(all)
    }

    /// What the links of the note at `path` lead to: each target as written and the file that it means, in the order of the links.
    pub(crate) fn outgoing<'a>(
        &'a self,
        path: &'a VaultPath,
        document: DocumentRef,
    ) -> impl Iterator<Item = Result<(&'a str, Option<DocumentRef>), Error>> {
        let targets = self.tables.get(document.segment).into_iter();
        let targets = targets.flat_map(move |table| table.targets_of(document.document));
        targets.map(move |target| Ok((target, self.meant(target, path)?)))
    }

    /// The file that a link with this target means in the note at `from`.
    fn meant(&self, target: &str, from: &VaultPath) -> Result<Option<DocumentRef>, Error> {
        let mut named = Vec::new();
        for name in resolve::names(target) {
            for (segment, table) in self.tables.iter().enumerate() {
                let documents = table.named(&name).iter().map(|document| DocumentRef { segment, document: *document });
                named.extend(documents.filter(|document| self.index.shows(*document)));
            }
        }
        match named.as_slice() {
            [] => return Ok(None),
            // A bare name needs no look at paths.
            [only] if !target.contains('/') => return Ok(Some(*only)),
            _ => {}
        }
        let mut files = Files::default();
        let mut documents = Vec::new();
        for document in named {
            if let Ok(path) = VaultPath::parse(&self.index.path(document)?) {
                files.insert(path.clone());
                documents.push((path, document));
            }
        }
        let meant = resolve(target, from, &files);
        Ok(documents.iter().find(|(path, _)| Some(path) == meant).map(|(_, document)| *document))
    }
}
