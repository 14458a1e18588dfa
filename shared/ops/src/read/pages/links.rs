//! Links of files, in both directions.

use std::sync::Arc;

use atlas_expressions::Dialect;
use atlas_expressions::value::{Link, Value};
use atlas_segment::Record;
use atlas_segment::record::LinkKind;
use atlas_vault::VaultPath;

use super::IndexPages;
use crate::read::index::DocumentRef;

/// A note at the root, from which links are resolved where there is no note.
const ROOT: &str = "_.md";
/// After so many files whose backlinks were asked for, those of all files are found at once: each file alone takes as long as all links
/// whose targets have its name, and a vault may have many files of one name.
const MANY: usize = 64;

/// A file, and one with a link to it.
pub(super) type Backlink = (DocumentRef, DocumentRef);

impl IndexPages {
    /// The path that a link with this target leads to in the note at `from`.
    pub(super) fn meaning(&self, target: &str, from: &str) -> Option<Arc<str>> {
        if target.is_empty() {
            return self.document(from).map(|_| from.into());
        }
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some(known) = self.meanings.borrow().get(folder).and_then(|known| known.get(target)) {
            return known.clone();
        }
        let from = VaultPath::parse(if from.is_empty() { ROOT } else { from }).ok()?;
        let meant = self.noted(self.graph.meant(target, &from)).flatten();
        let meant = meant.and_then(|document| self.noted(self.index().path(document))).map(Arc::from);
        let mut meanings = self.meanings.borrow_mut();
        meanings.entry(folder.into()).or_default().insert(target.into(), meant.clone());
        meant
    }

    /// A link in the note at `from`, with the whole path of what it leads to.
    pub(super) fn link(&self, from: &str, target: &str, subpath: Option<&str>, embed: bool) -> Link {
        let path = self.meaning(target, from).unwrap_or_else(|| target.into());
        let part = subpath.map_or_else(|| Link::file(""), |subpath| Link::at(&format!("#{subpath}")));
        Link { path, embed, ..part }
    }

    /// The links of a file that are wanted, embeds or not; for Dataview embeds come last.
    pub(super) fn links(&self, path: &str, record: &Record, is_wanted: impl Fn(bool) -> bool) -> Value {
        let is_embed = |kind: LinkKind| matches!(kind, LinkKind::Embed | LinkKind::MarkdownEmbed);
        let mut links: Vec<(bool, Value)> = Vec::new();
        for link in record.links.iter().filter(|link| is_wanted(is_embed(link.kind))) {
            let embed = is_embed(link.kind);
            links.push((embed, Value::link(self.link(path, &link.target, link.subpath.as_deref(), embed))));
        }
        if self.dialect == Dialect::Dataview {
            links.sort_by_key(|(embed, _)| *embed);
        }
        Value::list(links.into_iter().map(|(_, link)| link).collect())
    }

    /// The paths of the files with a link to the one at `path`; for Dataview those of notes.
    pub(super) fn backlinks(&self, document: DocumentRef, path: &str, record: &Record) -> Value {
        let mut paths: Vec<String> = Vec::new();
        for from in self.linking(document, path, record) {
            paths.extend(self.noted(self.index().path(from)));
        }
        paths.retain(|path| self.dialect == Dialect::Bases || path.ends_with(".md"));
        paths.sort_unstable();
        Value::list(paths.into_iter().map(Value::from).collect())
    }

    /// The files with a link to the one at `path`, each once.
    pub(super) fn linking(&self, document: DocumentRef, path: &str, record: &Record) -> Vec<DocumentRef> {
        let Ok(path) = VaultPath::parse(path) else { return Vec::new() };
        let mut from: Vec<DocumentRef> = match self.all_backlinks() {
            Some(all) => {
                let begin = all.partition_point(|(to, _)| *to < document);
                let own = all.iter().skip(begin).take_while(|(to, _)| *to == document);
                own.map(|(_, from)| *from).collect()
            }
            None => {
                let links = self.noted(self.graph.links_to(&path)).unwrap_or_default();
                links.into_iter().map(|(from, _)| from).collect()
            }
        };
        // `[[#Heading]]`
        from.extend(record.links.iter().any(|link| link.target.is_empty()).then_some(document));
        from.sort_unstable();
        from.dedup();
        from
    }

    /// The backlinks of all files, in the order of the files, if those of many were asked for.
    fn all_backlinks(&self) -> Option<&[Backlink]> {
        self.asked_backlinks.set(self.asked_backlinks.get().saturating_add(1));
        if self.asked_backlinks.get() <= MANY {
            return None;
        }
        let all = self.backlinks.get_or_init(|| {
            let mut all = Vec::new();
            let read = self.graph.each_target(|from, _, meant| {
                all.extend(meant.map(|meant| (meant, from)));
                Ok(())
            });
            self.noted(read);
            all.sort_unstable();
            all.dedup();
            all
        });
        Some(all)
    }
}
