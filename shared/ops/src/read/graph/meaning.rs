//! Which file a link means: most by its name alone, the others among the files of that name.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use atlas_vault::VaultPath;
use atlas_vault::resolve::{self, Files, resolve};

use super::Graph;
use crate::error::Error;
use crate::read::index::DocumentRef;

impl Graph {
    /// The file that a link with this target resolves to in the note at `from`.
    pub fn meant(&self, target: &str, from: &VaultPath) -> Result<Option<DocumentRef>, Error> {
        let names: Vec<Box<str>> = resolve::names(target).map(Into::into).collect();
        match self.meaning_by_name(target, &names)? {
            Meaning::Same(meant) => Ok(meant),
            Meaning::OneOf => self.nearest(target, &names, from),
        }
    }

    /// The meaning of a link with this target, whose file must have one of `names`.
    pub(super) fn meaning(&self, target: &str, names: &[Box<str>]) -> Result<Meaning, Error> {
        if let Meaning::Same(meant) = self.meaning_by_name(target, names)? {
            return Ok(Meaning::Same(meant));
        }
        for name in names {
            let namesakes = self.namesakes(name)?;
            if let Some(only) = namesakes.files.only(target) {
                return Ok(Meaning::Same(namesakes.document(only)));
            }
            if !namesakes.documents.is_empty() {
                return Ok(Meaning::OneOf);
            }
        }
        Ok(Meaning::Same(None))
    }

    /// Like [`meaning`](Self::meaning), without comparing the paths of files of one name.
    fn meaning_by_name(&self, target: &str, names: &[Box<str>]) -> Result<Meaning, Error> {
        let mut named = names.iter().flat_map(|name| self.named(name));
        match (named.next(), named.next()) {
            (None, _) => Ok(Meaning::Same(None)),
            (only, None) if !target.contains('/') => Ok(Meaning::Same(only)),
            (Some(only), None) => {
                let path = VaultPath::parse(&self.index().path(only)?);
                let is_meant = path.is_ok_and(|path| Files::from_iter([path]).only(target).is_some());
                Ok(if is_meant { Meaning::Same(Some(only)) } else { Meaning::OneOf })
            }
            _ => Ok(Meaning::OneOf),
        }
    }

    /// The file that an ambiguous link, whose file must have one of `names`, means in the note at `from`.
    pub(super) fn nearest(
        &self,
        target: &str,
        names: &[Box<str>],
        from: &VaultPath,
    ) -> Result<Option<DocumentRef>, Error> {
        for name in names {
            let namesakes = self.namesakes(name)?;
            if let Some(meant) = resolve(target, from, &namesakes.files) {
                return Ok(namesakes.document(meant));
            }
        }
        Ok(None)
    }

    /// The files with this folded name. Links to them share what is looked up.
    fn namesakes(&self, name: &str) -> Result<Arc<Namesakes>, Error> {
        let known = || self.namesakes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(namesakes) = known().get(name) {
            return Ok(Arc::clone(namesakes));
        }
        let mut namesakes = Namesakes::default();
        self.each_named(name, |path, document| {
            namesakes.files.insert(path.clone());
            namesakes.documents.push((path, document));
        })?;
        namesakes.documents.sort_unstable();
        let namesakes = Arc::new(namesakes);
        known().insert(name.into(), Arc::clone(&namesakes));
        Ok(namesakes)
    }

    /// Calls `each` with the path of every file with this folded name.
    pub(super) fn each_named(&self, name: &str, mut each: impl FnMut(VaultPath, DocumentRef)) -> Result<(), Error> {
        for document in self.named(name) {
            if let Ok(path) = VaultPath::parse(&self.index().path(document)?) {
                each(path, document);
            }
        }
        Ok(())
    }
}

/// The meanings of one target by the folder of the linking note: all notes of a folder mean the same by it.
#[derive(Default)]
pub(super) struct ByFolder<T>(HashMap<String, T>);

impl<T: Copy + Default> ByFolder<T> {
    /// The meaning in the note at `path`, which `find` finds for the first note of a folder.
    pub(super) fn of(&mut self, path: &str, find: impl FnOnce(&VaultPath) -> Result<T, Error>) -> Result<T, Error> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some(known) = self.0.get(folder) {
            return Ok(*known);
        }
        // Nobody is shown a note whose path is none.
        let found = VaultPath::parse(path).map_or_else(|_| Ok(T::default()), |path| find(&path))?;
        self.0.insert(folder.to_owned(), found);
        Ok(found)
    }
}

/// The meaning of a link that does not depend on its place.
pub(super) enum Meaning {
    /// This file, or none, everywhere.
    Same(Option<DocumentRef>),
    /// One of the files looked up, or none.
    OneOf,
}

/// The files of one name.
#[derive(Default)]
pub(super) struct Namesakes {
    files: Files,
    /// By path.
    documents: Vec<(VaultPath, DocumentRef)>,
}

impl Namesakes {
    fn document(&self, path: &VaultPath) -> Option<DocumentRef> {
        let at = self.documents.binary_search_by(|(known, _)| known.cmp(path)).ok()?;
        self.documents.get(at).map(|(_, document)| *document)
    }
}
