//! Valid inputs for every target, made of the demo vault, so that fuzzing begins behind the first checks.

use std::collections::BTreeMap;

use atlas_segment::object;
use atlas_vault::VaultPath;
use bytes::Bytes;

use crate::published::Change;
use crate::{call, forge, part, published};

/// A target, by its name in libFuzzer.
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// The property it checks.
    pub check: fn(&[u8]),
    /// Valid inputs.
    pub seeds: Vec<Vec<u8>>,
}

/// All targets.
pub fn targets() -> Vec<Target> {
    let demo = call::demo();
    let notes: BTreeMap<VaultPath, &[u8]> =
        call::texts(&demo).into_iter().filter(|(_, text)| text.len() < 1000).take(20).collect();
    let target = |name, check, seeds| Target { name, check, seeds };
    assert!(notes.len() > 3);
    vec![
        target("part", crate::part::check, parts(&notes)),
        target("segment", crate::segment::check, segments(&notes)),
        target("manifest", crate::manifest::check, manifests(&demo)),
        target("note", crate::note::check, demo.values().map(|text| [&[0], text.as_bytes()].concat()).collect()),
        target("edit", crate::edit::check, notes.values().flat_map(|text| edits(text)).collect()),
        target("path", crate::path::check, demo.keys().map(|path| path.clone().into_bytes()).collect()),
        target("published", crate::published::check, notes.iter().map(publication).collect()),
        target("call", crate::call::check, calls(&demo)),
    ]
}

fn publication((path, text): (&VaultPath, &&[u8])) -> Vec<u8> {
    let path = path.as_str().as_bytes();
    [&[path.len() as u8], path, &(text.len() as u16).to_le_bytes(), text].concat()
}

/// Edits of all kinds of a note, of its own heading and of one with properties.
fn edits(text: &[u8]) -> Vec<Vec<u8>> {
    let field = |bytes: &[u8]| [&(bytes.len() as u16).to_le_bytes(), bytes].concat();
    let heading =
        atlas_vault::parse(&String::from_utf8_lossy(text)).headings.first().map(|heading| heading.text.clone());
    let heading = [&[0, 1], field(heading.unwrap_or_default().as_bytes()).as_slice()].concat();
    let plain = [field(text), vec![0], field(b"- appended"), vec![1], field(b"prepended\n")].concat();
    let sections =
        (3..7).map(|operation| [field(text), vec![operation], heading.clone(), field(b"new\n\nlines")].concat());
    let yaml = b"---\r\n# c\r\na: 'x' # d\r\nb:\r\n  - 1\r\nc: |\r\n  t\r\n---\r\ntext ^id\r\n";
    let properties = [
        field(&[yaml, text].concat()),
        [vec![7], field(b"a"), field(b"[1, {\"x\": \"y\"}]"), vec![7], field(b"new"), field(b"text")].concat(),
        [vec![9, 2], field(b"b"), field(b"true"), field(b"c"), field(b"0.5"), vec![8], field(b"a")].concat(),
        [vec![3, 1], field(b"id"), field(b"a"), vec![6, 2, 1, 3], field(b"b"), vec![2, 1], field(b"# d"), field(b"")]
            .concat(),
    ];
    sections.chain([plain, properties.concat()]).collect()
}

fn parts(notes: &BTreeMap<VaultPath, &[u8]>) -> Vec<Vec<u8>> {
    let built = published::build(notes).unwrap();
    let contents = forge::contents(&Bytes::from(built.bytes), &built.layout);
    contents.into_iter().map(|(kind, _, content)| part::input(kind, "tide", &content)).collect()
}

fn segments(notes: &BTreeMap<VaultPath, &[u8]>) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for count in [1, 3] {
        let some = notes.iter().take(count).map(|(path, text)| (path.clone(), *text)).collect();
        let built = published::build(&some).unwrap();
        let object = Bytes::from(built.bytes);
        let layout = object::verify(&object).unwrap();
        let head = [b"\x04tide".as_slice(), &[0; 3]].concat();
        seeds.push([head, forge::unforge(&object, &layout)].concat());
    }
    seeds
}

/// The manifest of a vault that was published and then changed, as it is and without its checksum; and tombstones.
fn manifests(demo: &BTreeMap<String, String>) -> Vec<Vec<u8>> {
    let mirror = published::mirror();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let bytes = runtime.block_on(async {
        published::commit(&mirror, Change { notes: call::texts(demo), replaced: Vec::new() }).await;
        let changed = call::texts(demo).into_iter().take(3).collect();
        published::commit(&mirror, Change { notes: changed, replaced: vec![0, 1, 2] }).await;
        mirror.head().await.unwrap().manifest().encode().unwrap()
    });
    let end = bytes.len() - b",\"crc32\":\"00000000\"}".len();
    vec![[&[1], &bytes[..]].concat(), [&[2], &bytes[..end]].concat(), vec![0, 0, 1, 0x83, 1, 7]]
}

fn calls(demo: &BTreeMap<String, String>) -> Vec<Vec<u8>> {
    let mut texts =
        vec!["tide", "k", "潮", "What are the components?", "where is \"lease\" defined?", "vault/", "./now", "#"];
    texts.extend(demo.keys().take(5).map(String::as_str));
    let plain = texts.iter().flat_map(|text| (0..6).map(|operation| [&[operation], text.as_bytes()].concat()));
    let json = [
        r#"{"term":"tide","max_results":3}"#,
        r#"{"question":"where is tide defined"}"#,
        r#"{"include":["Home"],"max_sources":2}"#,
        r#"{"path":"vault/Home.md","offset":10}"#,
        r#"{"prefix":"vault/","limit":2,"cursor":"x"}"#,
    ];
    let json = json.iter().flat_map(|json| (0x80..0x86).map(|operation| [&[operation], json.as_bytes()].concat()));
    plain.chain(json).collect()
}
