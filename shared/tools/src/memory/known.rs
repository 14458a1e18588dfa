//! Which notes of a snapshot are entities, as their properties tell, without their texts.

use atlas_ops::arguments::Root;
use atlas_ops::error::Error;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::DocumentRef;
use atlas_vault::VaultPath;
use atlas_vault::entity::{NAME, TYPE};
use serde_json::Value;

/// The entities of a snapshot that the caller sees. Properties must be among the facts.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// The snapshot's facts.
    pub(super) facts: &'a Facts,
    /// The folder of entities.
    pub(super) folder: &'a Root,
}

/// An entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    /// Its id: the path of its note.
    pub(super) id: String,
    /// The kind of thing.
    pub(super) kind: String,
    /// Its name.
    pub(super) name: String,
}

impl Known<'_> {
    /// The entity of a document that the caller sees; none if it is no entity.
    pub(super) fn of(&self, document: DocumentRef) -> Result<Option<Described>, Error> {
        let properties = self.facts.properties(document.segment)?;
        let text = |key: &str| {
            let value = properties.get(key)?.of(document.document).and_then(Value::as_str)?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let Some(kind) = text(TYPE) else { return Ok(None) };
        let id = self.facts.index().path(document)?;
        let path = VaultPath::parse(&id).ok().filter(|path| path.is_note() && self.folder.holds(path.as_str()));
        Ok(path.map(|path| Described { name: text(NAME).unwrap_or_else(|| path.stem().to_owned()), kind, id }))
    }

    /// All of them, by path.
    pub(super) fn all(&self) -> Result<Vec<(DocumentRef, Described)>, Error> {
        let mut found = Vec::new();
        for segment in self.facts.index().segments() {
            let with_type = self.facts.properties(segment)?.get(TYPE).into_iter().flat_map(|column| column.iter());
            for (document, _) in with_type {
                let document = DocumentRef { segment, document };
                if let Some(entity) = self.of(document)?.filter(|_| self.facts.index().shows(document)) {
                    found.push((document, entity));
                }
            }
        }
        self.facts.index().sort_by_path(&mut found, |(document, _)| *document);
        Ok(found)
    }

    /// The entity at `path`.
    pub(super) fn at(&self, path: &VaultPath) -> Result<Option<(DocumentRef, Described)>, Error> {
        let Some(document) = self.facts.index().find(path.as_str())? else { return Ok(None) };
        Ok(self.of(document)?.map(|entity| (document, entity)))
    }
}
