//! A damaged manifest of an older generation keeps no sync from its work.

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;
use object_store::ObjectStoreExt as _;

use super::{Host, agent_puts, files};

/// Flips a bit of the manifest of `generation`.
async fn damage(host: &Host, generation: u64) {
    let key = host.mirror().keys().manifest(generation);
    let mut bytes = host.objects.get(&key).await.unwrap().bytes().await.unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    host.objects.put(&key, bytes.into()).await.unwrap();
}

#[tokio::test]
async fn a_conflict_with_the_version_of_a_damaged_generation_is_a_copy() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    for number in 0..3 {
        agent_puts(&host, Put::note("b.md", &format!("the agent's {number}"))).await;
    }
    damage(&host, 2).await;
    host.vault.write("a.md", b"the person's");
    let summary = host.sync().await.unwrap();
    assert_eq!(summary.conflicts.len(), 1, "{summary:?}");
    let folder = files(host.vault.root());
    let texts: Vec<&[u8]> = folder.values().map(|text| &text[..]).collect();
    for text in [&b"the person's"[..], b"the agent's", b"the agent's 2"] {
        assert!(texts.contains(&text), "{folder:?}");
    }
    host.sync().await.unwrap();
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn without_the_base_that_a_damaged_generation_had_nothing_is_merged_and_nothing_is_lost() {
    let text = |one: &str, two: &str| format!("{one}\n\nbetween\n\nand more\n\n{two}\n");
    let host = Host::published(VaultBuilder::new().note("a.md", &text("one", "two")).note("b.md", "b")).await;
    host.vault.write("a.md", text("one", "changed").as_bytes());
    host.sync().await.unwrap();
    agent_puts(&host, Put::note("a.md", &text("the agent's", "changed"))).await;
    damage(&host, 2).await;
    host.vault.write("a.md", text("one", "the person's").as_bytes());
    // The generation that the last sync saw is damaged itself: whatever a repair makes of it, both texts are there.
    if host.sync().await.is_err() {
        host.sync_as(|options| options.repair = true).await.unwrap();
    }
    let all = files(host.vault.root()).into_values().map(|text| String::from_utf8(text).unwrap()).collect::<String>();
    assert!(all.contains("the agent's") && all.contains("the person's"), "{all}");
}
