//! The graph of links: which files a note links to and which notes link to a file, as the records of the segments tell, without any text.
//!
//! A link means what [`atlas_vault::resolve`] says among the files that the caller sees; so one to a hidden note is unresolved.

mod table;

use std::collections::{BTreeSet, HashSet};

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

/// A file of the graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) path: String,
    pub(crate) document: DocumentRef,
}

/// What the links of a note lead to, each once, in the order of its links.
#[derive(Default)]
pub(crate) struct Outgoing {
    pub(crate) files: Vec<Node>,
    /// Targets, as written, that mean no file.
    pub(crate) unresolved: Vec<String>,
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
    pub(crate) fn node(&self, path: &VaultPath) -> Result<Node, Error> {
        let found = self.index.find(path.as_str())?.ok_or_else(|| notes::missing(path.as_str()))?;
        Ok(Node { path: path.as_str().to_owned(), document: found })
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

    /// The other notes that link to the file at `path`, by path.
    pub(crate) fn incoming(&self, path: &VaultPath) -> Result<Vec<Node>, Error> {
        let files = self.rivals(path)?;
        let name = fold(path.file_name());
        let mut nodes = Vec::new();
        for (segment, table) in self.tables.iter().enumerate() {
            let mut linking = BTreeSet::new();
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
                        linking.insert(document);
                    }
                }
            }
            for document in linking {
                let document = DocumentRef { segment, document: *document };
                if self.index.shows(document) {
                    nodes.push(Node { path: self.index.path(document)?, document });
                }
            }
        }
        nodes.retain(|node| node.path != path.as_str());
        // Within one segment documents are in path order already.
        if self.tables.len() > 1 {
            nodes.sort_unstable();
        }
        Ok(nodes)
    }

    /// What the note at `path` links to besides itself.
    pub(crate) fn outgoing(&self, path: &VaultPath, document: DocumentRef) -> Result<Outgoing, Error> {
        let mut outgoing = Outgoing::default();
        let Some(table) = self.tables.get(document.segment) else { return Ok(outgoing) };
        let targets: Vec<&str> = table.targets_of(document.document).collect();
        let mut files = Files::default();
        let mut known = HashSet::new();
        for name in targets.iter().flat_map(|target| resolve::names(target)) {
            if !known.contains(&name) {
                self.add_files(&mut files, &name)?;
                known.insert(name);
            }
        }
        let mut seen = HashSet::from([path.as_str()]);
        for target in targets {
            match resolve(target, path, &files) {
                Some(meant) if seen.insert(meant.as_str()) => {
                    if let Some(found) = self.index.find(meant.as_str())? {
                        outgoing.files.push(Node { path: meant.as_str().to_owned(), document: found });
                    }
                }
                Some(_) => {}
                None => outgoing.unresolved.push(target.to_owned()),
            }
        }
        Ok(outgoing)
    }
}
