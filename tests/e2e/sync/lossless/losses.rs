//! Losses of the bucket: expired history, writes since a backup, damaged objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_mirror::repair::Repaired;
use atlas_sync::{Phase, Progress};

use super::host::SyncPlan;
use super::texts::{Blocks, blocks};
use super::world::World;
use crate::support::damage::{Damage, Kind};

/// The reports of repairs, including those of syncs that stopped.
#[derive(Default)]
struct Told(Mutex<Vec<Repaired>>);

impl Progress for Told {
    fn begin(&self, _: Phase, _: Option<u64>) {}

    fn advance(&self, _: u64) {}

    fn repaired(&self, repaired: &Repaired) {
        self.0.lock().unwrap().push(repaired.clone());
    }
}

impl World {
    pub(super) fn collect(&mut self) {
        // History older than a month is collected, with its replaced and deleted versions.
        let there: Blocks = self.bucket.head().into_values().flat_map(|text| blocks(&text).unwrap()).collect();
        self.bucket.pass(Duration::from_secs(31 * 24 * 3600));
        self.owed.retain(|block| there.contains(block));
        self.backup = None;
        self.has_all_history = false;
        self.synced(0, &SyncPlan { collect: true, ..SyncPlan::default() });
    }

    pub(super) fn restore(&mut self) {
        let Some((objects, owed)) = self.backup.clone() else { return };
        self.bucket.put_back(objects);
        self.has_all_history = false;
        self.is_only_in_folders_but_for(&owed);
        self.owed = owed;
    }

    /// Lost texts of the bucket are now only in the folders, where the person may overwrite them.
    fn is_only_in_folders_but_for(&mut self, others: &Blocks) {
        for host in &mut self.hosts {
            for (path, text) in host.texts() {
                let since = blocks(&text).unwrap_or_default().into_iter().filter(|block| !others.contains(block));
                host.unsynced.entry(path).or_default().extend(since);
            }
        }
    }

    /// Texts of the host's folder are in the mirror again, and losses that nobody has are reported.
    pub(super) fn damaged(&mut self, kind: Kind, damage: Damage, host: usize) {
        // Late requests arrive before, since a store that does not answer is not repaired.
        self.bucket.faults.heal();
        self.runtime.block_on(async { tokio::time::sleep(Duration::from_secs(60)).await });
        let before = shown(self.bucket.head());
        let sound = self.bucket.copy();
        // If the newest manifest and its copy are both lost, the store has no trace of them.
        let manifests = sound.iter().filter(|(key, _)| key.as_ref().contains("/manifests/"));
        let newest = manifests.max().map(|(_, bytes)| bytes);
        let hint = sound.iter().find(|(key, _)| key.as_ref().ends_with("/latest")).map(|(_, bytes)| bytes);
        let is_traceless =
            kind == Kind::NewestAndLatest || (kind == Kind::NewestManifest && newest.is_some() && hint != newest);
        self.was_damaged = true;
        self.has_all_history = false;
        self.bucket.damage(kind, damage);
        let told = Arc::new(Told::default());
        let meanwhile: Option<Arc<dyn Progress>> = Some(told.clone());
        let plan = SyncPlan { checksum: true, repair: true, meanwhile, ..SyncPlan::default() };
        assert!(self.synced(host, &plan).is_some(), "a repair is refused");
        let repaired = told.0.lock().unwrap().clone();
        let after = shown(self.bucket.head());
        let is_told = repaired.iter().any(|repaired| {
            let named = [repaired.lost.len(), repaired.recovered.len(), repaired.rewound.len()];
            repaired.unnamed > 0 || named != [0; 3] || repaired.anew.is_some()
        });
        let in_folder = shown(self.hosts[host].texts());
        let lost: Blocks =
            before.iter().filter(|block| !after.contains(*block) && !self.replaced.contains(*block)).cloned().collect();
        let kept = lost.iter().find(|block| in_folder.contains(*block));
        assert_eq!(kept, None, "the folder has it, and the mirror has not got it back: {repaired:?}");
        assert!(lost.is_empty() || is_told || is_traceless, "nobody was told that these are lost: {lost:?}");
        self.backup = None;
        // Other folders may still lose replaced and deleted texts, and the history that had them is damaged.
        self.is_only_in_folders_but_for(&self.replaced.union(&after).cloned().collect());
        self.owed.retain(|block| after.contains(block));
    }
}

fn shown(texts: BTreeMap<String, String>) -> Blocks {
    texts.into_values().flat_map(|text| blocks(&text).unwrap_or_default()).collect()
}
