//! The graph of links: which files each note links to, from the segments' records, without reading texts.
//!
//! A link is resolved with [`atlas_vault::resolve`] among the files that the caller sees; so a link to a hidden note is
//! unresolved.

mod meaning;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_segment::SectionName;
use atlas_vault::links::has_links;
use atlas_vault::resolve::{self, Files, resolve};
use atlas_vault::{VaultPath, fold};
use futures::future::try_join;

use self::meaning::{ByFolder, Meaning, Namesakes};
use crate::arguments::Root;
use crate::error::{Code, Error, Reason};
use crate::operation::{Context, Deadline};
use crate::read::facts::Facts;
use crate::read::index::{DocumentRef, Index, Want};
use crate::read::link_tables::{Links, Tables, Target};
use crate::read::network::Network;
use crate::read::notes;
use crate::read::view::View;

/// The links of a snapshot, as a caller sees them.
pub struct Graph {
    facts: Facts,
    tables: Tables,
    namesakes: Mutex<HashMap<Box<str>, Arc<Namesakes>>>,
    deadline: Deadline,
}

/// Most time for resolving ambiguous links. With many files of one name in as many folders, the time grows with the
/// square of their number.
const MAX_TIME: Duration = Duration::from_secs(10);
const TIME_IS_UP: &str = "the time of one call is up: the vault has too many files of one name that links lead to";

impl Graph {
    /// The links of the notes in `view`.
    pub async fn fetch(context: &Context<'_>, view: View) -> Result<Self, Error> {
        Self::fetch_with(context, view, &[]).await
    }

    /// Like [`fetch`](Self::fetch), with these sections.
    pub async fn fetch_with(context: &Context<'_>, view: View, sections: &[SectionName]) -> Result<Self, Error> {
        Self::fetch_wanting(context, view, sections, Want::default()).await
    }

    /// Like [`fetch_with`](Self::fetch_with), with more of the index.
    pub async fn fetch_wanting(
        context: &Context<'_>,
        view: View,
        sections: &[SectionName],
        want: Want<'_>,
    ) -> Result<Self, Error> {
        let tables = context.vault.links.of(view.snapshot().clone());
        let (facts, tables) = try_join(Facts::fetch_with(context, view, sections, want), tables).await?;
        let deadline = context.deadline(MAX_TIME);
        Ok(Self { facts, tables, namesakes: Mutex::default(), deadline })
    }

    /// The facts fetched with it.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The index of the snapshot.
    pub const fn index(&self) -> &Index {
        self.facts.index()
    }

    /// The file at `path`.
    pub fn file(&self, path: &VaultPath) -> Result<DocumentRef, Error> {
        self.index().find(path.as_str())?.ok_or_else(|| notes::missing(path.as_str()))
    }

    /// All files among which a link must be resolved to find whether it leads to `path`.
    pub fn rivals(&self, path: &VaultPath) -> Result<Files, Error> {
        let stem = path.is_note().then(|| fold(path.stem()));
        let mut files = Files::default();
        for name in [Some(fold(path.file_name())), stem].into_iter().flatten() {
            self.each_named(&name, |path, _| files.insert(path))?;
        }
        Ok(files)
    }

    /// The path of a file.
    pub fn path(&self, document: DocumentRef) -> Result<String, Error> {
        self.index().path(document)
    }

    /// The other notes that link to the file at `path`, which is `own`, by path.
    pub fn incoming(&self, path: &VaultPath, own: DocumentRef) -> Result<Vec<DocumentRef>, Error> {
        let mut all: Vec<DocumentRef> = self.links_to(path)?.into_iter().map(|(document, _)| document).collect();
        all.retain(|document| *document != own);
        all.dedup();
        Ok(all)
    }

    /// The notes that link to the file at `path`, by path: one entry for each distinct target that resolves to it, with
    /// the note's links to that target.
    pub fn links_to(&self, path: &VaultPath) -> Result<Vec<(DocumentRef, Links)>, Error> {
        let files = self.rivals(path)?;
        let name = fold(path.file_name());
        let mut all = Vec::new();
        for (segment, table) in self.tables.iter().enumerate() {
            let begin = all.len();
            for target in table.targets_with(&name) {
                let written = &*target.written;
                let only = files.only(written);
                if only.is_some_and(|only| only != path) {
                    continue;
                }
                let mut by_folder = ByFolder::default();
                for (document, links) in table.links_to(target) {
                    let at = DocumentRef { segment, document };
                    let is_meant = only.is_some() || {
                        by_folder
                            .of(&self.index().path(at)?, |from| Ok(resolve(written, from, &files) == Some(path)))?
                    };
                    if is_meant && self.index().shows(at) {
                        all.push((at, links));
                    }
                }
            }
            if let Some(of_segment) = all.get_mut(begin..) {
                of_segment.sort_by_key(|(document, _)| *document);
            }
        }
        self.index().sort_by_path(&mut all, |(document, _)| *document);
        Ok(all)
    }

    /// Calls `each` with every target of every note's links: the note, the target as written with the note's links to it, and the file
    /// that it resolves to.
    pub fn each_target(
        &self,
        mut each: impl FnMut(DocumentRef, (&str, Links), Option<DocumentRef>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (segment, table) in self.tables.iter().enumerate() {
            for target in table.targets() {
                let Target { written, names, .. } = target;
                let meaning = self.meaning(written, names)?;
                let mut by_folder = ByFolder::default();
                for (document, links) in table.links_to(target) {
                    let from = DocumentRef { segment, document };
                    if !self.index().shows(from) {
                        continue;
                    }
                    let meant = match &meaning {
                        Meaning::Same(meant) => *meant,
                        Meaning::OneOf => by_folder.of(&self.index().path(from)?, |path| {
                            self.in_time()?;
                            self.nearest(written, names, path)
                        })?,
                    };
                    each(from, (written, links), meant)?;
                }
            }
        }
        Ok(())
    }

    /// The graph of all files that can have links. For callers who see everything it is cached for its generation.
    pub fn network(&self, context: &Context<'_>) -> Result<Arc<Network>, Error> {
        let index = self.index();
        let (kept, snapshot) = (&context.vault.networks, index.snapshot());
        if let Some(network) = kept.get(snapshot).filter(|_| index.is_whole()) {
            return Ok(network);
        }
        let mut links = Vec::new();
        self.each_target(|from, _, meant| {
            links.extend(meant.map(|meant| (from, meant)));
            Ok(())
        })?;
        let network = Arc::new(Network::new(self.with_links()?, links));
        if index.is_whole() {
            kept.keep(snapshot, &network);
        }
        Ok(network)
    }

    /// The files that can have links, by path.
    fn with_links(&self) -> Result<Vec<DocumentRef>, Error> {
        let mut found = Vec::new();
        for segment in self.index().segments() {
            for document in self.index().paths(segment)?.with_prefix("") {
                let document = DocumentRef { segment, document };
                let path = VaultPath::parse(&self.path(document)?);
                if path.is_ok_and(|path| has_links(&path)) && self.index().shows(document) {
                    found.push(document);
                }
            }
        }
        self.index().sort_by_path(&mut found, |document| *document);
        Ok(found)
    }

    fn in_time(&self) -> Result<(), Error> {
        if self.deadline.has_passed() {
            return Err(Error::new(Code::Unavailable, Reason::OperationTimeout, TIME_IS_UP));
        }
        Ok(())
    }

    /// The notes below `root` that satisfy `is_wanted`, by path.
    pub fn notes(&self, root: &Root, is_wanted: impl Fn(DocumentRef, &str) -> bool) -> Result<Vec<DocumentRef>, Error> {
        let mut found = Vec::new();
        for segment in self.index().segments() {
            for document in self.index().paths(segment)?.with_prefix(root.prefix()) {
                let document = DocumentRef { segment, document };
                let path = self.index().path(document)?;
                let is_note = VaultPath::parse(&path).is_ok_and(|path| path.is_note());
                if is_note && is_wanted(document, &path) && self.index().shows(document) {
                    found.push(document);
                }
            }
        }
        self.index().sort_by_path(&mut found, |document| *document);
        Ok(found)
    }

    /// The files with a link that has this target as written, whatever it leads to.
    pub fn with_target(&self, written: &str) -> Vec<DocumentRef> {
        let mut found = Vec::new();
        for (segment, table) in self.tables.iter().enumerate() {
            let same = table.targets().iter().filter(|target| &*target.written == written);
            let documents = same.flat_map(|target| table.links_to(target));
            found.extend(documents.map(|(document, _)| DocumentRef { segment, document }));
        }
        found.retain(|document| self.index().shows(*document));
        found
    }

    /// The number of distinct targets of a note's links.
    pub fn count_outgoing(&self, document: DocumentRef) -> usize {
        self.tables.get(document.segment).map_or(0, |table| table.count_of(document.document))
    }

    /// The link targets of the note at `path`: each as written and the file that it resolves to, in the order of the
    /// links.
    pub fn outgoing<'a>(
        &'a self,
        path: &'a VaultPath,
        document: DocumentRef,
    ) -> impl Iterator<Item = Result<(&'a str, Option<DocumentRef>), Error>> {
        self.targets(document).map(move |target| Ok((target, self.meant(target, path)?)))
    }

    /// The link targets of a note, as written, in the order of the links.
    pub fn targets(&self, document: DocumentRef) -> impl Iterator<Item = &str> {
        let targets = self.tables.get(document.segment).into_iter();
        targets.flat_map(move |table| table.targets_of(document.document)).map(|(target, _)| target)
    }

    /// Whether a link with this target leads to some file from every note, found without comparing the files that it may mean. False where that
    /// takes more, as for a target that begins at the note's folder.
    pub fn leads_somewhere(&self, target: &str) -> Result<bool, Error> {
        if target.is_empty() || target.starts_with(['.', '/']) {
            return Ok(false);
        }
        for (end, name) in resolve::spellings(target).map(|written| fold(&written)).zip(resolve::names(target)) {
            for document in self.named(&name) {
                let path = self.index().path(document)?;
                let folded = fold(&path);
                let above = folded.strip_suffix(&*end);
                let has_end = above.is_some_and(|above| above.is_empty() || above.ends_with('/'));
                if has_end && VaultPath::parse(&path).is_ok() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a note has this folded name, without `.md`.
    pub fn has_note_named(&self, folded: &str) -> bool {
        self.named(&format!("{folded}.md")).next().is_some()
    }

    /// The files with this folded name.
    fn named(&self, name: &str) -> impl Iterator<Item = DocumentRef> {
        let all = self.tables.iter().enumerate().flat_map(move |(segment, table)| {
            table.named(name).iter().map(move |document| DocumentRef { segment, document: *document })
        });
        all.filter(|document| self.index().shows(*document))
    }
}
