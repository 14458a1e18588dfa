//! Random vaults, random links, random moves.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use unicode_normalization::UnicodeNormalization;

use super::*;

const FOLDERS: [&str; 7] = ["", "a/", "a/b/", "A B/", "zz/日本/", "b/", "zz/"];
const NAMES: [&str; 15] = [
    "Note.md",
    "note.md",
    "b.md",
    "Tide chart.md",
    "日本 語.md",
    "v1.2.md",
    "v1.2",
    "a(b).md",
    "R&D; x.md",
    "é.md",
    "100%.md",
    "it's.md",
    "潮🌊.md",
    "a\"b'c.md",
    "pic.png",
];
/// The characters that must be encoded between parentheses.
const NEEDED: AsciiSet = AsciiSet::EMPTY.add(b' ').add(b'%').add(b'(').add(b')').add(b'&');

type Vault = BTreeMap<VaultPath, String>;

fn any_path() -> impl Strategy<Value = VaultPath> {
    (select(&FOLDERS[..]), select(&NAMES[..])).prop_map(|(folder, name)| path(&format!("{folder}{name}")))
}

/// A link in `here` that is meant for `meant`, though it may mean another file.
fn link(here: &VaultPath, meant: &VaultPath, style: [u8; 4]) -> String {
    let name = if style[0] & 1 == 0 { meant.as_str() } else { meant.as_str().trim_end_matches(".md") };
    let last = |count: usize| {
        let names: Vec<&str> = name.split('/').collect();
        names[names.len().saturating_sub(count)..].join("/")
    };
    let target = match style[1] % 6 {
        0 | 1 => last(1),
        2 => last(2),
        3 => name.to_owned(),
        4 => format!("/{name}"),
        _ => relative(here.folder().unwrap_or_default(), name),
    };
    let target = match style[2] % 8 {
        0 => target.to_lowercase(),
        1 => target.nfd().collect(),
        2 => format!("{target}x"),
        _ => target,
    };
    let encoded = utf8_percent_encode(&target, if style[2].is_multiple_of(2) { &NEEDED } else { NON_ALPHANUMERIC });
    match style[3] % 12 {
        0..=2 => format!("[[{target}]]"),
        3 => format!("see ![[ {target}#Some part | shown ]] there"),
        4 => format!("| [[{target}#^id\\|shown]] |"),
        5 => format!("[shown]({encoded}#Some%20part \"title\")"),
        6 => format!("![]({encoded})"),
        7 => format!("[x](<{}>)", target.replace('%', "%25")),
        8 => format!("[x][r{0}] [y][r{0}]\n\n[r{0}]: {encoded}", style.map(|n| n.to_string()).concat()),
        9 => format!("`[[{target}]]` [[{target}]]"),
        10 => format!("- [[#part]] [[nowhere at all]] <https://example.org> [z](https://example.org/{encoded})"),
        _ => format!("> **[[{target}]]**"),
    }
}

/// A note with such links to `paths`.
fn note(paths: &[VaultPath], here: &VaultPath, links: &[(Index, [u8; 4])], crlf: bool) -> String {
    let mut text = String::new();
    if let Some((up, [0..128, ..])) = links.first() {
        let up = up.get(paths).as_str();
        let (single, double, ascii) = (up.replace('\'', "''"), escaped(up), escaped_to_ascii(up));
        text += &format!(
            "---\nup: \"[[{double}|up]]\" # é\nin: ['it''s [[{single}|it''s]]', \"\\\"[[{ascii}|\\\"]]\"]\n---\n"
        );
    }
    for (meant, style) in links {
        text += &format!("{}\n\n", link(here, meant.get(paths), *style));
    }
    if crlf { text.replace('\n', "\r\n") } else { text }
}

fn any_vault() -> impl Strategy<Value = Vault> {
    let paths = prop::collection::btree_set(any_path(), 2..9).prop_map(|paths| paths.into_iter().collect::<Vec<_>>());
    paths.prop_flat_map(|paths| {
        let links = prop::collection::vec((any::<Index>(), any::<[u8; 4]>()), 0..7);
        let notes = prop::collection::vec((links, any::<bool>()), paths.len());
        (Just(paths), notes).prop_map(|(paths, notes)| {
            let texts = paths.iter().zip(notes);
            texts.map(|(here, (links, crlf))| (here.clone(), note(&paths, here, &links, crlf))).collect()
        })
    })
}

fn files(vault: &Vault) -> Files {
    vault.keys().cloned().collect()
}

/// The meaning of a link: a file, or else its text.
#[derive(Clone, Debug, PartialEq)]
struct Meaning {
    file: Result<VaultPath, String>,
    kind: LinkKind,
    subpath: Option<String>,
    display: Option<String>,
}

fn meanings_of(text: &str, here: &VaultPath, files: &Files) -> Vec<Meaning> {
    let links = parse(text).links.into_iter();
    let meaning = |link: Link| {
        let file = Some(&link).filter(|link| is_internal(link)).and_then(|link| resolve(&link.target, here, files));
        let file = file.cloned().ok_or(link.target);
        Meaning { file, kind: link.kind, subpath: link.subpath, display: link.display }
    };
    links.map(meaning).collect()
}

/// The text without the targets of its links.
fn rest(text: &str) -> String {
    let mut ranges: Vec<_> = parse(text).links.into_iter().map(|link| link.destination).collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup();
    let mut text = text.to_owned();
    ranges.into_iter().rev().for_each(|range| text.replace_range(range, ""));
    text
}

/// The vault after some moves; checks that every link in it means what it meant.
fn after(vault: &Vault, moved: &BTreeMap<VaultPath, VaultPath>) -> Vault {
    let moves = Moves::new(moved.clone(), files(vault));
    let new_path = |path: &VaultPath| moved.get(path).unwrap_or(path).clone();
    let texts = vault.iter().map(|(path, text)| {
        let relinked = relink(text, path, &moves).unwrap();
        (new_path(path), relinked.map_or_else(|| text.clone(), |relinked| relinked.text))
    });
    let after: Vault = texts.collect();
    for (path, text) in vault {
        let new = &after[&new_path(path)];
        assert_eq!(rest(text), rest(new));
        assert!(rewording(text, new, path, &moves).is_some());
        let found = meanings_of(new, &new_path(path), &files(&after));
        let mut expected = meanings_of(text, path, &files(vault));
        assert_eq!(found.len(), expected.len());
        for (expected, found) in expected.iter_mut().zip(&found) {
            expected.file = match &expected.file {
                Ok(file) => Ok(new_path(file)),
                // An unresolved link keeps its text, and may resolve now.
                Err(_) if found.file.as_ref().is_ok_and(|file| moved.values().any(|to| to == file)) => {
                    found.file.clone()
                }
                Err(said) => Err(said.clone()),
            };
        }
        assert_eq!(found, expected, "{path} after {moved:?}:\n{text}\n{new}");
    }
    after
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_link_means_what_it_meant(
        vault in any_vault(),
        ring in prop::collection::btree_set(any::<u8>(), 0..4),
        others in prop::collection::vec((any::<Index>(), any_path()), 1..3),
    ) {
        let paths: Vec<VaultPath> = vault.keys().cloned().collect();
        // Some move to the old place of the next one, others to a free place.
        let ring: Vec<&VaultPath> = ring.iter().filter_map(|at| paths.get(usize::from(*at) % 8)).collect();
        let ring: std::collections::BTreeSet<&VaultPath> = ring.into_iter().collect();
        let next = ring.iter().skip(1).chain(ring.first());
        let mut moved: BTreeMap<VaultPath, VaultPath> =
            ring.iter().zip(next).filter(|_| ring.len() > 1).map(|(from, to)| ((*from).clone(), (*to).clone())).collect();
        for (from, to) in others {
            let from = from.get(&paths).clone();
            if !moved.contains_key(&from) && !vault.contains_key(&to) && moved.values().all(|other| *other != to) {
                moved.insert(from, to);
            }
        }
        let back: BTreeMap<VaultPath, VaultPath> = moved.iter().map(|(from, to)| (to.clone(), from.clone())).collect();
        let there = after(&vault, &moved);
        let back = after(&there, &back);
        for (path, text) in &vault {
            let again = meanings_of(&back[path], path, &files(&back));
            for (before, again) in meanings_of(text, path, &files(&vault)).into_iter().zip(again) {
                prop_assert!(before.file.is_err() || before == again, "{:?} {:?}", before, again);
            }
        }
    }

    #[test]
    fn nothing_but_destinations_changes_in_any_text(
        text in "(?s)(\\[\\[|\\]\\]|\\]\\(|[\\[\\]()|#!`$%<>\\\\\n \"-]|Old|Old|a/|\\.md|---\nup: ){0,40}",
        to in "[a-z#$`%|\\]' ]{1,6}",
    ) {
        let Ok(to) = VaultPath::parse(&format!("x/{to}.md")) else { return Ok(()) };
        let files = ["a/Old.md", "n.md", "a.md"].map(path).into_iter().collect();
        let moves = Moves::new([(path("a/Old.md"), to)], files);
        if let Ok(Some(relinked)) = relink(&text, &path("n.md"), &moves) {
            prop_assert_eq!(rest(&text), rest(&relinked.text));
            prop_assert!(!relinked.meant.is_empty());
        }
    }
}
