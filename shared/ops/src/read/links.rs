//! Finds the notes that may link to a file, from the index, without reading every note.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atlas_mirror::Snapshot;
use atlas_segment::Probe;
use atlas_vault::note::MAX_BODY_BYTES;
use atlas_vault::resolve::Files;
use atlas_vault::{VaultPath, fold, fold_bytes_into, relink};
use bytes::Bytes;
use memchr::memmem::Finder;

use crate::error::{Code, Error, Reason};
use crate::read::index::{DocumentRef, Index, Want};
use crate::read::notes::Found;
use crate::read::passages::Passages;

/// The text before a file's name in a link to it. Even if the name is a common word, links to it are rare.
const BEFORE_NAME: [&str; 10] = ["[", "[ ", "(", "( ", "<", "/", "%2f", ": ", ":", "\""];
/// Bytes of this text and the following name in one probe.
const HEAD_BYTES: usize = 6;
/// Most bytes of the notes that are read.
const MAX_TEXT_BYTES: u64 = 32 << 20;

/// The names of files to find links to: as the index has them decoded, and as texts may spell them. The index has no links of files with very
/// many, and none in segments of an earlier version.
pub struct Naming {
    /// The folded names.
    files: BTreeSet<String>,
    names: Vec<Name>,
}

/// A name of a file as links spell it.
struct Name {
    /// The folded name.
    text: String,
    whole: Probe,
    /// The possible beginnings of links to it.
    heads: Vec<Probe>,
}

impl Name {
    fn new(text: String, grams: usize) -> Self {
        let head = |before: &str| {
            let written = format!("{before}{text}");
            Probe::new(written.as_bytes().get(..HEAD_BYTES).unwrap_or(written.as_bytes()), 1)
        };
        Self { whole: Probe::new(text.as_bytes(), grams), heads: BEFORE_NAME.map(head).into(), text }
    }

    /// The chunks of `segment` that may contain links with it.
    fn chunks(&self, index: &Index, segment: usize) -> Result<BTreeSet<u32>, Error> {
        let whole = index.candidates(segment, &self.whole)?;
        let mut chunks = BTreeSet::new();
        for head in &self.heads {
            chunks.extend(index.candidates(segment, head)?);
        }
        Ok(whole.into_iter().filter(|chunk| chunks.contains(chunk)).collect())
    }
}

impl Naming {
    /// Links to the files at `paths`, for an index of `segments` segments.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a VaultPath>, segments: usize) -> Self {
        let grams = (8 / segments.max(1)).clamp(1, 4);
        let (mut files, mut names) = (BTreeSet::new(), BTreeSet::new());
        for path in paths {
            files.insert(fold(path.file_name()));
            names.extend(relink::written_names(path).iter().map(|name| fold(name)));
        }
        Self { files, names: names.into_iter().map(|name| Name::new(name, grams)).collect() }
    }

    /// What to fetch of the index, with these `probes` of it.
    pub fn want<'p>(&self, probes: &'p [Probe]) -> Want<'p> {
        Want { probes, linked: true, ..Want::default() }
    }

    /// The documents that have such links according to `index`, including dead ones.
    fn linking(&self, index: &Index) -> Result<BTreeSet<DocumentRef>, Error> {
        let mut linking = BTreeSet::new();
        for segment in index.segments() {
            let Some(linked) = index.linked(segment)? else { continue };
            for name in &self.files {
                linking.extend(linked.of_key(name).map(|(document, _)| DocumentRef { segment, document }));
            }
        }
        Ok(linking)
    }

    /// The probes for the index.
    pub fn probes(&self) -> Vec<Probe> {
        let probes = self.names.iter().flat_map(|name| name.heads.iter().chain([&name.whole]));
        probes.cloned().collect()
    }

    /// The live files with links (notes, canvases, bases) that may contain such links according to `index`, which has
    /// what this [wants](Self::want). Files with hidden names are omitted.
    pub fn allowed(&self, index: &Index) -> Result<BTreeMap<DocumentRef, VaultPath>, Error> {
        let mut chunks = Vec::new();
        for segment in index.segments() {
            let mut allowed = BTreeSet::new();
            for name in &self.names {
                allowed.append(&mut name.chunks(index, segment)?);
            }
            chunks.push(Some(allowed.into_iter().collect()));
        }
        let passages = Passages::of(index, chunks)?;
        let mut documents = self.linking(index)?;
        for segment in index.segments() {
            documents.extend(passages.documents(segment)?.map(|document| DocumentRef { segment, document }));
        }
        let mut notes = BTreeMap::new();
        for document in documents {
            if index.shows(document)
                && let Ok(path) = VaultPath::parse(&index.path(document)?)
                && atlas_vault::links::has_links(&path)
                && !path.as_str().split('/').any(|name| name.starts_with('.'))
            {
                notes.insert(document, path);
            }
        }
        Ok(notes)
    }
}

/// The `notes` with links to a file of one of `namings` according to `index`, or whose text contains such a name; with their texts, which may
/// be too long to find all their links.
pub async fn naming(
    index: &Index,
    notes: BTreeMap<DocumentRef, VaultPath>,
    namings: &[Naming],
) -> Result<Vec<(DocumentRef, VaultPath, Bytes)>, Error> {
    let documents: Vec<DocumentRef> = notes.keys().copied().collect();
    let mut bytes = 0;
    for document in &documents {
        bytes += u64::from(index.span(*document)?.length);
    }
    if bytes > MAX_TEXT_BYTES {
        let what = format!("{bytes} bytes of notes may have links to it; at most {MAX_TEXT_BYTES} of them");
        return Err(too_many(&what));
    }
    let texts = index.texts(&documents).await?;
    let mut linking = BTreeSet::new();
    for naming in namings {
        linking.append(&mut naming.linking(index)?);
    }
    let finders: Vec<Finder<'_>> =
        namings.iter().flat_map(|naming| &naming.names).map(|name| Finder::new(&name.text)).collect();
    let mut folded = Vec::new();
    let mut has_name = |text: &[u8]| {
        folded.clear();
        fold_bytes_into(text, &mut folded);
        finders.iter().any(|finder| finder.find(&folded).is_some())
    };
    let mut naming = Vec::new();
    for ((document, path), text) in notes.into_iter().zip(texts) {
        if linking.contains(&document) || has_name(&text) {
            naming.push((document, path, text));
        }
    }
    Ok(naming)
}

/// Fails for a note too long to find all its links: later ones would not be rewritten.
pub fn check_length(path: &VaultPath, text: &[u8]) -> Result<(), Error> {
    if text.len() <= MAX_BODY_BYTES {
        return Ok(());
    }
    let message = format!(
        "{path} may have such links beyond its first {MAX_BODY_BYTES} bytes, where none are rewritten: shorten it, or let links stay as they are"
    );
    Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path.as_str()))
}

/// The given notes of the `index` of `head`, with their texts.
pub async fn found(head: &Snapshot, index: &Index, notes: Vec<(DocumentRef, Bytes)>) -> Result<Vec<Found>, Error> {
    let documents: Vec<DocumentRef> = notes.iter().map(|(document, _)| *document).collect();
    let missing = || Error::new(Code::Internal, Reason::Internal, "a segment is missing");
    let mut found = Vec::with_capacity(notes.len());
    for ((at, text), record) in notes.into_iter().zip(index.records(&documents).await?) {
        let entry = head.segments().get(at.segment).ok_or_else(missing)?;
        let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
        found.push(Found { record, text, generation, replaces, document: (entry.id, at.document) });
    }
    Ok(found)
}

/// The error for more links than one call rewrites.
pub fn too_many(what: &str) -> Error {
    let message = format!(
        "{what} are rewritten at once: move it without its links (update_backlinks: false), or rewrite links folder by folder"
    );
    Error::new(Code::TooLarge, Reason::TooManyLinks, message)
}

/// The live files with one of these folded names.
pub fn files_named(index: &Index, names: &HashSet<String>) -> Result<Files, Error> {
    let mut files = Files::default();
    for segment in index.segments() {
        for document in index.names(segment)?.among(names) {
            let document = DocumentRef { segment, document };
            if index.shows(document) {
                // An invalid path cannot be a link's target.
                if let Ok(path) = VaultPath::parse(&index.path(document)?) {
                    files.insert(path);
                }
            }
        }
    }
    Ok(files)
}
