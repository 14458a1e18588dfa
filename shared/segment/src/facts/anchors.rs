//! The links to files: the documents that link to a name, and the words of the links.

use std::collections::{BTreeMap, BTreeSet};

use atlas_vault::resolve::spellings;
use atlas_vault::{Link, fold, words};

use super::columns::ColumnWriter;
use crate::error::FormatError;
use crate::frame::Packer;
use crate::section::SectionName;

/// Links of a document beyond so many are left out, …
const MAX_LINKS: usize = 20_000;
/// … and words of a link's text.
const MAX_WORDS: usize = 16;

/// Collects links of documents, in the order of their ids.
#[derive(Default)]
pub(crate) struct AnchorWriter {
    linked: ColumnWriter,
    anchors: ColumnWriter,
    has_links: bool,
    has_anchors: bool,
}

impl AnchorWriter {
    /// Adds the links of a document.
    pub(crate) fn push(&mut self, document: u32, links: &[Link]) {
        let mut linked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut anchors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for link in links.iter().filter(|link| !link.is_external()).take(MAX_LINKS) {
            for target in spellings(&link.target) {
                let target = fold(&target);
                let target = target.trim_start_matches(['.', '/']);
                let (folder, name) = target.rsplit_once('/').unwrap_or(("", target));
                linked.entry(name.to_owned()).or_default().insert(folder.to_owned());
                let Some(display) = link.display.as_deref().filter(|_| !link.is_embed()) else { continue };
                // The words of its name find a note anyway.
                let own: BTreeSet<_> = words(name).map(|word| word.folded).collect();
                for word in words(display).take(MAX_WORDS).filter(|word| !word.is_tail && !own.contains(&word.folded)) {
                    anchors.entry(word.folded.into_owned()).or_default().insert(target.to_owned());
                }
            }
        }
        self.has_links |= !linked.is_empty();
        self.has_anchors |= !anchors.is_empty();
        for (writer, columns) in [(&mut self.linked, linked), (&mut self.anchors, anchors)] {
            for (key, targets) in columns {
                writer.push(&key, document, &targets.into_iter().collect::<Vec<_>>().join("\n"));
            }
        }
    }

    /// The sections; without those that would be empty.
    pub(crate) fn finish(self, packer: &mut Packer) -> Result<Vec<(SectionName, Vec<u8>)>, FormatError> {
        let mut sections = Vec::new();
        if self.has_links {
            sections.push((SectionName::Linked, self.linked.finish(packer)?));
        }
        if self.has_anchors {
            sections.push((SectionName::Anchors, self.anchors.finish(packer)?));
        }
        Ok(sections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::TargetColumns;
    use bytes::Bytes;

    #[test]
    fn links_say_who_links_and_by_which_words() {
        let mut writer = AnchorWriter::default();
        let texts = [
            "[[Log/High Tide|when water is high]] [[high tide]] ![[map.png|300]]",
            "",
            "[the sea](Log/High%20Tide.md) [x](https://a.b)",
        ];
        for (document, text) in (0..).zip(texts) {
            writer.push(document, &atlas_vault::parse(text).links);
        }
        let mut sections = writer.finish(&mut Packer::new().unwrap()).unwrap().into_iter();
        let mut columns = |section: SectionName| -> Vec<(String, Vec<(u32, String)>)> {
            let (name, bytes) = sections.next().unwrap();
            assert_eq!(name, section);
            let columns = TargetColumns::decode(&Bytes::from(bytes), section).unwrap();
            let of = |key| {
                columns.of_key(key).map(|(id, targets)| (id, targets.iter().collect::<Vec<_>>().join(","))).collect()
            };
            columns.keys().map(|key| (key.to_owned(), of(key))).collect()
        };
        let entry = |key: &str, of: &[(u32, &str)]| {
            (key.to_owned(), of.iter().map(|(id, targets)| (*id, (*targets).to_owned())).collect::<Vec<_>>())
        };
        let linked = columns(SectionName::Linked);
        assert_eq!(linked[0], entry("high tide.md", &[(0, ",log"), (2, "log")]));
        assert_eq!(
            linked.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(),
            ["high tide.md", "high tide.md.md", "map.png", "map.png.md"]
        );
        let anchors = columns(SectionName::Anchors);
        assert!(anchors.contains(&entry("water", &[(0, "log/high tide.md")])), "{anchors:?}");
        assert!(anchors.contains(&entry("sea", &[(2, "log/high tide.md,log/high tide.md.md")])), "{anchors:?}");
        assert!(!anchors.iter().any(|(key, _)| key == "high" || key == "300"), "{anchors:?}");
        assert!(AnchorWriter::default().finish(&mut Packer::new().unwrap()).unwrap().is_empty());
    }
}
