//! Writes the section.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use super::{Code, Definition, MAX_DEFINITIONS, MAX_IMPORTS, MAX_USES, SymbolKind};
use crate::error::FormatError;
use crate::facts::packed;
use crate::frame::Packer;

/// The section in encoded form.
#[derive(Default, Encode, Decode)]
pub(super) struct Form {
    /// All names, ascending, each once.
    pub(super) names: Vec<String>,
    /// Each less the one before.
    pub(super) documents: Vec<u32>,
    /// As many.
    pub(super) files: Vec<FileForm>,
}

#[derive(Debug, Encode, Decode)]
pub(super) struct FileForm {
    pub(super) definitions: Vec<DefinitionForm>,
    pub(super) uses: Vec<u32>,
    pub(super) imports: Vec<String>,
}

/// Names are by their rank, and lists of them have each less the one before.
#[derive(Debug, Encode, Decode)]
pub(super) struct DefinitionForm {
    pub(super) name: u32,
    pub(super) kind: SymbolKind,
    /// One more than the rank; 0 for none.
    pub(super) container: u32,
    pub(super) line: u32,
    pub(super) lines: (u32, u32),
    pub(super) signature: String,
    pub(super) shape: u64,
    pub(super) uses: Vec<u32>,
}

/// Collects what files say, in the order of their ids.
#[derive(Default)]
pub(crate) struct CodeWriter(Vec<(u32, Code)>);

impl CodeWriter {
    /// Adds a file. What is over the limits is left out.
    pub(crate) fn push(&mut self, document: u32, code: &Code) {
        self.0.push((document, code.clone()));
    }

    /// The section; `None` if no file was added.
    pub(crate) fn finish(self, packer: &mut Packer) -> Result<Option<Vec<u8>>, FormatError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut ranks: BTreeMap<&str, u32> = BTreeMap::new();
        for (_, code) in &self.0 {
            for definition in code.definitions.iter().take(MAX_DEFINITIONS) {
                ranks.insert(&definition.name, 0);
                ranks.insert(&definition.container, 0);
                ranks.extend(definition.uses.iter().take(MAX_USES).map(|name| (name.as_str(), 0)));
            }
            ranks.extend(code.uses.iter().take(MAX_USES).map(|name| (name.as_str(), 0)));
        }
        ranks.remove("");
        for (rank, at) in (0..).zip(ranks.values_mut()) {
            *at = rank;
        }
        let form = Form {
            names: ranks.keys().map(|name| (*name).to_owned()).collect(),
            documents: crate::facts::differences(&self.0.iter().map(|(document, _)| *document).collect::<Vec<u32>>()),
            files: self.0.iter().map(|(_, code)| file(code, &ranks)).collect(),
        };
        packed(&form, packer).map(Some)
    }
}

fn file(code: &Code, ranks: &BTreeMap<&str, u32>) -> FileForm {
    let rank = |name: &str| ranks.get(name).copied();
    let all = |names: &[String]| {
        let mut ranks: Vec<u32> = names.iter().take(MAX_USES).filter_map(|name| rank(name)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        crate::facts::differences(&ranks)
    };
    let one = |definition: &Definition| {
        Some(DefinitionForm {
            name: rank(&definition.name)?,
            kind: definition.kind,
            container: rank(&definition.container).map_or(0, |rank| rank + 1),
            line: definition.line,
            lines: definition.lines,
            signature: definition.signature.clone(),
            shape: definition.shape,
            uses: all(&definition.uses),
        })
    };
    FileForm {
        definitions: code.definitions.iter().take(MAX_DEFINITIONS).filter_map(one).collect(),
        uses: all(&code.uses),
        imports: code.imports.iter().take(MAX_IMPORTS).cloned().collect(),
    }
}
