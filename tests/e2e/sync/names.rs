//! Names of every kind are published, found, and read back.

use atlas_testkit::VaultBuilder;

use crate::support::deployment::{Deployment, encoded};

const NAMES: [&str; 14] = [
    "🌊 wave.md",
    "a b  c.md",
    "C# notes.md",
    "100% sure.md",
    "50%25 off.md",
    "say \"hi\" it's.md",
    "日本語のノート.md",
    "[brackets] (and) {braces}.md",
    "tilde ~ caret ^ pipe | back`tick.md",
    "question? star* <angle>.md",
    "plus+and&amp;.md",
    "trailing dot..md",
    "..md",
    "ünïcödé.MD",
];

#[tokio::test]
async fn names_of_every_kind_are_found_and_read() {
    let vault = NAMES
        .iter()
        .fold(VaultBuilder::new(), |vault, name| vault.note(&format!("földer #1/{name}"), &format!("text of {name}")));
    let client = Deployment::of_vault(&vault).await.client();
    for name in NAMES {
        let path = format!("földer #1/{name}");
        assert!(client.found(name).await.contains(&path), "{name}");
        assert_eq!(client.get(&format!("/notes/{}", encoded(&path))).await.ok()["content"], format!("text of {name}"));
        assert_eq!(client.get(&format!("/notes?path={}", encoded(&path))).await.ok()["path"], path);
    }
}
