//! `POST /find`, as the Atlas Local Bridge specification has it, and against a plain scan of the folder.

use std::time::Duration;

use atlas_mirror::{Store, StoreOptions};
use atlas_ops::Limits;
use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use proptest::prelude::*;
use serde_json::json;

use crate::support::deployment::{Client, Deployment, demo};

type Found = (String, Option<String>, Option<String>);

fn found(path: &str, anchor: Option<&str>, quote: Option<&str>) -> Found {
    (path.to_owned(), anchor.map(str::to_owned), quote.map(str::to_owned))
}

#[tokio::test]
async fn names_come_first_then_headings_then_text_each_by_path() {
    let vault = VaultBuilder::new()
        .note("vault/z/harbour.md", "nothing to see")
        .note("vault/b.md", "# About the Harbour\n\nMore.\n")
        .note("vault/c.md", "intro\n\n## Berths\n\nThe harbour\r\nis full.\n")
        .note("vault/a.md", "#### the harbour, four deep\n\ntext\n")
        .note("vault/Harbour map.md", "# Map\n\nbefore\nOf the HARBOUR\nafter\nlater\n")
        .file("vault/harbour.png", b"\x89PNG harbour")
        .note("vault/none.md", "boats");
    let client = Deployment::of_vault(&vault).await.client();
    assert_eq!(
        client.find("harbour").await,
        [
            found("vault/Harbour map.md", Some("#map"), Some("before\nOf the HARBOUR\nafter")),
            found("vault/z/harbour.md", None, None),
            found("vault/b.md", Some("#about-the-harbour"), Some("# About the Harbour\n")),
            found("vault/a.md", Some("#the-harbour-four-deep"), Some("#### the harbour, four deep\n")),
            found("vault/c.md", Some("#berths"), Some("\nThe harbour\nis full.")),
        ]
    );
    let first = client.find_with(json!({ "term": "harbour", "max_results": 3 })).await;
    assert_eq!(
        first.iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>(),
        ["vault/Harbour map.md", "vault/z/harbour.md", "vault/b.md"]
    );
}

#[tokio::test]
async fn it_looks_at_notes_at_the_agents_folder_and_at_data_files_of_the_root() {
    let vault = VaultBuilder::new()
        .note("vault/a.md", "quay")
        .note("vault/system/search-notes.md", "quay")
        .note("vault/data.yml", "quay: 1")
        .note("agent/spec/x.md", "quay")
        .note("agent/rules.yml", "quay: 2")
        .note("README.md", "quay")
        .note("docker-compose.yml", "quay: 3")
        .note("package.json", "{\"quay\": 4}")
        .note("sub/package.json", "{\"quay\": 5}")
        .note(".obsidian/app.json", "{\"quay\": 6}");
    let client = Deployment::of_vault(&vault).await.client();
    assert_eq!(
        client.found("quay").await,
        ["agent/rules.yml", "agent/spec/x.md", "docker-compose.yml", "package.json", "vault/a.md"]
    );
    assert_eq!(client.found("package").await, ["package.json"]);
}

#[tokio::test]
async fn it_leaves_its_results_behind_where_that_is_wanted() {
    for (folder, home) in [("vault/", "vault/harbour.md"), ("", "harbour.md")] {
        let vault = VaultBuilder::new().note(home, "# Quay\n\nzanzibar words\n");
        let deployment = Deployment::of_vault(&vault).await;
        deployment.client().found("zanzibar").await;
        assert_eq!(deployment.mirror().head().await.unwrap().generation(), 1, "only where it is wanted");

        let deployment = deployment.with_limits(|limits| limits.search_notes = true);
        let client = deployment.client();
        let path = format!("{folder}system/search-notes.md");
        for (term, says) in [
            ("zanzibar", format!("1) **{home}** — nearest heading: `#quay`\n\n> \n> zanzibar words\n")),
            ("search notes", "- No matches found.\n".to_owned()),
            ("mombasa", "- No matches found.\n".to_owned()),
        ] {
            let found = client.found(term).await;
            assert_eq!(found, [home].repeat((term == "zanzibar").into()), "it is no result itself");
            let note = deployment.client().get(&format!("/notes/{path}")).await.ok();
            let text = note["content"].as_str().unwrap();
            assert!(text.starts_with("# Search Notes (Generated)\n") && text.contains(&format!(" — find: {term}\n")));
            assert!(text.ends_with(&format!("### Results\n\n{says}")), "{text}");
            // Nor on another instance, which has not written it.
            assert_eq!(deployment.client().found("zanzibar").await, [home]);
        }
        let head = deployment.mirror().head().await.unwrap();
        assert_eq!((head.manifest().operation.as_str(), head.manifest().totals.notes), ("find", 2));
    }
}

#[tokio::test(start_paused = true)]
async fn it_answers_also_when_it_cannot_leave_anything_behind() {
    let deployment = Deployment::of_demo().await;
    let results = deployment.client().find("berth").await;
    let limits = Limits { search_notes: true, ..Limits::default() };
    for (fault, key) in [
        (Fault::Refused, ""),
        (Fault::Error, ""),
        (Fault::Silence, "/manifests/"),
        (Fault::SilenceAfter, "/manifests/"),
    ] {
        let store = FaultStore::new(deployment.objects.clone());
        store.always(Op::Create, key, fault);
        let client = Client::over_with(&Store::new(store, "", StoreOptions::default()).unwrap(), limits);
        let begun = tokio::time::Instant::now();
        assert_eq!(client.find("berth").await, results, "{fault:?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{fault:?}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn the_demo_vault_answers() {
    let client = Deployment::of_demo().await.client();
    assert_eq!(client.found("潮見").await[0], "vault/international/潮見港との連携.md");
    assert_eq!(client.found("surge checklist").await[0], "vault/reference/🌊 Storm surge checklist.md");
    assert_eq!(client.found("100% \"stuck\"").await[0], "vault/incidents/Gauge #2 reads 100% \"stuck\".md");
    let (path, anchor, _) = client.find("Berth windows").await[0].clone();
    assert_eq!(
        (path.as_str(), anchor.as_deref()),
        ("vault/adr/ADR-003-berth-windows-not-slots.md", Some("#adr-003-berth-windows-not-slots"))
    );
    assert!(client.found("zzzzzz").await.is_empty());
}

#[tokio::test]
async fn short_terms_and_other_scripts_are_found() {
    let vault = VaultBuilder::new()
        .note("a.md", "港\n")
        .note("b.md", "x\n東京 タワー")
        .note("c.md", "Ω")
        .note("d.md", "Straße ẞ 300 \u{212A}")
        .note("e.md", "q");
    let client = Deployment::of_vault(&vault).await.client();
    for (term, path) in [
        ("港", "a.md"),
        ("東", "b.md"),
        ("京 タ", "b.md"),
        ("ω", "c.md"),
        ("STRAßE", "d.md"),
        ("300 k", "d.md"),
        ("q", "e.md"),
    ] {
        assert_eq!(client.found(term).await, [path], "{term}");
    }
}

#[tokio::test]
async fn an_nfd_name_is_found_under_its_nfc_spelling() {
    let vault = VaultBuilder::new().note("Cafe\u{301}.md", "text");
    let client = Deployment::of_vault(&vault).await.client();
    assert_eq!(client.found("caf\u{e9}").await, ["Caf\u{e9}.md"]);
}

/// The specification without an index: the class of every file in scope, from a full scan.
fn scan(notes: &[(String, String)], term: &str) -> Vec<String> {
    let term = term.to_lowercase();
    let mut ranked: Vec<(u8, &str)> = Vec::new();
    for (path, text) in notes {
        let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let is_heading = |line: &str| {
            let level = line.bytes().take_while(|byte| *byte == b'#').count();
            (1..=3).contains(&level) && line[level..].starts_with(' ') && line[level..].to_lowercase().contains(&term)
        };
        let class = if name.contains(&term) {
            0
        } else if text.lines().any(is_heading) {
            1
        } else if text.lines().any(|line| line.to_lowercase().contains(&term)) {
            2
        } else {
            continue;
        };
        ranked.push((class, path));
    }
    ranked.sort();
    ranked.into_iter().take(10).map(|(_, path)| path.to_owned()).collect()
}

fn notes() -> impl Strategy<Value = Vec<(String, String)>> {
    let line = prop_oneof![4 => "[abAB ]{0,8}", 2 => "#{1,5} [abAB]{1,5}", 1 => "[äÄ日本]{1,4}"];
    let text = prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"));
    // Long ones too, so that some grams are common.
    let text =
        (text, prop_oneof![9 => Just(1usize), 1 => 1..1000usize]).prop_map(|(text, times)| (text + "\n").repeat(times));
    prop::collection::btree_map("[abc]{1,3}(/[abc]{1,3}){0,1}\\.md", text, 1..25)
        .prop_map(|notes| notes.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn it_finds_what_a_plain_scan_finds(notes in notes(), terms in prop::collection::vec(prop_oneof!["[abAB]{1,5}", "[abAB]{1,2} [abAB]{1,2}", "[äÄ日]{1,2}", "b\\.md", "# a"], 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let vault = notes.iter().fold(VaultBuilder::new(), |vault, (path, text)| vault.note(path, text));
            let client = Deployment::of_vault(&vault).await.client();
            for term in terms {
                prop_assert_eq!(client.found(&term).await, scan(&notes, &term), "{:?}", term);
            }
            Ok(())
        })?;
    }
}

/// A long note is stored in pieces, invisibly.
#[tokio::test]
async fn a_quote_of_a_long_note_is_its_line_and_the_lines_beside_it() {
    let lines: Vec<String> = (0..3000).map(|n| format!("entry {n}: {}", "harbour ".repeat(n % 9))).collect();
    let text = format!("# Log\n{}", lines.join("\n"));
    let vault = VaultBuilder::new().note("vault/a.md", &text).note("vault/b.md", "entry").note("vault/c.md", "other");
    let client = Deployment::of_vault(&vault).await.client();
    for n in (1..2999).step_by(7) {
        let quote = lines[n - 1..=n + 1].join("\n");
        let expected = [found("vault/a.md", Some("#log"), Some(&quote))];
        assert_eq!(client.find(&format!("entry {n}:")).await, expected);
    }
    assert_eq!(client.find("entry 3000").await, []);
}

#[tokio::test]
async fn every_note_of_the_demo_vault_is_found_by_its_name() {
    let client = Deployment::of_demo().await.client();
    let mut folders = vec![demo().join("vault")];
    let mut looked_for = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let path = path.strip_prefix(demo()).unwrap().to_str().unwrap().to_owned();
                let name = path.rsplit('/').next().unwrap();
                assert!(client.found(name).await.contains(&path), "{path}");
                looked_for += 1;
            }
        }
    }
    assert!(looked_for > 40);
}
