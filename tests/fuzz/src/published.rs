//! Arbitrary notes are published: the segment is valid, contains every byte of them, and its index finds every line.
//! The input is a sequence of paths and texts.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{Attempt, ChangeSet, CommitInfo, Derived, Mirror, MirrorError, Options, PartCache, Snapshot, Store};
use atlas_segment::{Body, Builder, Built, Document, Kind, Layout, Part, Probe, object};
use atlas_segment::{PartKind, candidates};
use atlas_vault::VaultPath;
use bytes::Bytes;
use jiff::Timestamp;
use object_store::memory::InMemory;

use crate::input::Input;
use crate::segment::fetch;

/// Builds a segment of notes, and reads it.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let mut notes = BTreeMap::new();
    while !input.is_empty() && notes.len() < 50 {
        let length = input.byte();
        let path = String::from_utf8_lossy(input.take(length.into())).into_owned();
        let text = input.bytes();
        if let Ok(path) = VaultPath::parse(&path) {
            notes.insert(path, text);
        }
    }
    let Some(built) = build(&notes) else { return };
    let object = Bytes::from(built.bytes);
    let layout = object::verify(&object).unwrap();
    assert_eq!(layout, built.layout);
    let get = |part| fetch(&object, &part).unwrap();

    let (paths, names, headings) =
        (get(layout.paths().unwrap()), get(layout.names().unwrap()), get(layout.headings().unwrap()));
    let (blocks, chunks) = (get(layout.text_blocks().unwrap()), get(layout.chunks().unwrap()));
    let pages = layout.parts().unwrap().into_iter().filter(|part| part.kind == PartKind::GramPage);
    let pages: HashMap<u64, Part> = pages.map(|page| (page.range.start, get(page))).collect();
    for (id, (path, text)) in (0u32..).zip(&notes) {
        assert_eq!(paths.paths().unwrap().get(path.as_str()), Some(id));
        assert_eq!(paths.paths().unwrap().path(id).unwrap(), path.as_str());
        assert_eq!(names.names().unwrap().get(id).unwrap(), atlas_vault::fold(path.file_name()).as_bytes());
        let (page, first) = layout.record_page(path.as_str()).unwrap().unwrap();
        let (at, record) = get(page).record_page().unwrap().find(path.as_str()).unwrap().unwrap();
        assert_eq!(first + at as u32, id);

        let span = chunks.chunks().unwrap().text(id).unwrap();
        assert_eq!(span, record.text);
        let parts: Vec<Part> =
            blocks.text_blocks().unwrap().parts(&layout, span).unwrap().into_iter().map(get).collect();
        assert_eq!(blocks.text_blocks().unwrap().cut(span, &parts).unwrap(), text);

        let note = atlas_vault::parse(&String::from_utf8_lossy(text));
        assert_eq!(headings.headings().unwrap().of(id).count(), note.headings.len());
        every_line_is_found(&layout, &pages, chunks.chunks().unwrap().of(id).unwrap(), text);
    }
}

fn every_line_is_found(layout: &Layout, pages: &HashMap<u64, Part>, chunks: Range<u32>, text: &[u8]) {
    let mut folded = Vec::new();
    atlas_vault::fold_bytes_into(text, &mut folded);
    let lines = folded.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for line in lines.take(20) {
        for term in [line, &line[line.len() / 2..], &line[line.len() - 1..]] {
            let probe = Probe::new(term, 8);
            let wanted = layout.gram_pages(&probe).unwrap();
            let pages = wanted.iter().map(|page| pages[&page.range.start].gram_page().unwrap());
            let found = candidates(&probe, layout, pages).unwrap();
            assert!(found.iter().any(|chunk| chunks.contains(chunk)), "{term:?} is not found in {text:?}");
        }
    }
}

/// The segment of `notes`.
pub(crate) fn build(notes: &BTreeMap<VaultPath, &[u8]>) -> Option<Built> {
    let mut builder = Builder::new().unwrap();
    for (path, text) in notes {
        let document = Document {
            path,
            path_on_disk: None,
            kind: Kind::Note,
            sha256: *atlas_mirror::Hash::of(text).as_bytes(),
            modified_ms: 0,
            generation: 0,
            replaces: 0,
            body: Body::Text(text),
        };
        builder.push(&document).unwrap();
    }
    builder.finish().unwrap()
}

/// Adds a segment of notes, over some of those of the first segment.
pub(crate) struct Change<'a> {
    pub(crate) notes: BTreeMap<VaultPath, &'a [u8]>,
    pub(crate) replaced: Vec<u32>,
}

impl ChangeSet for Change<'_> {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let built = build(&self.notes).unwrap();
        let first = head.and_then(|head| head.segments().first());
        let derived = Derived {
            segments: vec![built.into()],
            deleted: first.map(|entry| (entry.id, self.replaced.clone())).into_iter().collect(),
            ..Derived::default()
        };
        Ok(Attempt::changes(derived, ()))
    }
}

/// An empty mirror in memory.
pub(crate) fn mirror() -> Mirror {
    let store = Store::new(Arc::new(InMemory::new()), "", Default::default()).unwrap();
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(64 << 20)), Options::default()).unwrap()
}

/// Commits a change.
pub(crate) async fn commit(mirror: &Mirror, change: Change<'_>) {
    let info = CommitInfo {
        author: "fuzz".to_owned(),
        caller: None,
        operation: "sync".to_owned(),
        message: None,
        session: None,
        key: None,
        time: Timestamp::UNIX_EPOCH,
        deadline: Duration::from_secs(60),
    };
    mirror.commit(&info, &change).await.unwrap();
}
