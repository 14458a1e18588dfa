//! Manifests and sets of tombstones. The input selects one of the two, then has its bytes; most manifests get a right
//! checksum.

use atlas_mirror::Manifest;
use atlas_mirror::manifest::ManifestError;
use atlas_mirror::tombstones::{DocumentSet, Tombstones};
use atlas_segment::Probe;

/// Reads a manifest, or a set of tombstones.
pub fn check(data: &[u8]) {
    match data.split_first() {
        Some((0, bytes)) => tombstones(bytes),
        Some((1, bytes)) => manifest(bytes),
        Some((_, json)) => manifest(&sealed(json)),
        None => {}
    }
}

/// JSON without its closing brace, with the checksum.
fn sealed(json: &[u8]) -> Vec<u8> {
    let checksum = format!(",\"crc32\":\"{:08x}\"}}", crc32fast::hash(json));
    [json, checksum.as_bytes()].concat()
}

fn tombstones(bytes: &[u8]) {
    if let Some(set) = DocumentSet::decode(bytes) {
        assert_eq!(set.encode(), bytes);
        assert!(set.iter().is_sorted_by(|a, b| a < b));
        assert!(set.iter().all(|document| set.contains(document)));
    }
}

fn manifest(bytes: &[u8]) {
    let Ok(manifest) = Manifest::decode(bytes) else { return };
    match manifest.encode() {
        Ok(encoded) => assert_eq!(Manifest::decode(&encoded).as_ref(), Ok(&manifest)),
        Err(error) => assert!(matches!(error, ManifestError::TooLarge { .. }), "{error}"),
    }
    for entry in &manifest.segments {
        assert_eq!(manifest.segment(entry.id).map(|(_, found)| found), Some(entry));
        if let Tombstones::Inline(set) = &entry.deleted {
            assert!(set.iter().all(|document| document < entry.layout.documents));
        }
        let layout = &entry.layout;
        let inside =
            |range: &std::ops::Range<u64>| assert!(range.start <= range.end && range.end <= entry.bytes, "{range:?}");
        for part in
            [layout.terms(), layout.text_blocks(), layout.chunks(), layout.paths(), layout.names(), layout.headings()]
                .into_iter()
                .flatten()
        {
            inside(&part.range);
        }
        for (part, documents) in layout.record_pages().into_iter().flatten() {
            inside(&part.range);
            assert!(documents.start <= documents.end);
        }
        for path in ["", "vault/a.md", "\u{10FFFF}", &layout.first, &layout.last] {
            if let Ok(Some((part, _))) = layout.record_page(path) {
                inside(&part.range);
            }
            let _ = layout.may_hold(path);
        }
        if let Ok(directories) = layout.directories() {
            let _ = directories.records.page_of_document(layout.documents);
        }
        for text in ["a", "ab", "abcdef", "\u{10FFFF}"] {
            for part in layout.gram_pages(&Probe::new(text.as_bytes(), 8)).into_iter().flatten() {
                inside(&part.range);
            }
        }
    }
}
