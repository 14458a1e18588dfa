//! Links follow what a person moved in the folder.

use std::path::{Path, PathBuf};

use atlas_access::Acl;
use atlas_mirror::Mirror;
use atlas_ops::Vault;
use atlas_sync::{LinkSummary, Run, runs};
use atlas_tools::links::relink_moved;
use jiff::Timestamp;
use serde_json::json;

use crate::local::{Local, whole_reason};

/// The state of following, beside the sync state.
pub(crate) struct Following {
    record: PathBuf,
    /// The generation before the commits whose moves links do not follow yet.
    after: Option<u64>,
}

impl Following {
    /// Of the sync with this state folder, whose last run ended with the generation `last`.
    pub(crate) fn of(state: &Path, last: Option<u64>) -> Self {
        let record = state.join("relinked.json");
        let after = runs::read(&record).map(|run: Run| run.generation).or(last);
        Self { record, after }
    }

    /// Rewrites the links to what the syncs up to `generation` moved; [`None`] if they moved nothing.
    pub(crate) async fn follow(
        &self,
        mirror: &Mirror,
        vault: &str,
        generation: u64,
        now: Timestamp,
    ) -> Option<LinkSummary> {
        let after = match self.after {
            Some(after) if after < generation => after,
            // Nothing was published before this sync, or by it.
            Some(_) => return None,
            None => {
                self.keep(generation, now);
                return None;
            }
        };
        let local = Local::over(Vault::new(vault, mirror.clone(), Acl::default()));
        let summary = match local.try_call(&relink_moved::ENTRY, json!({ "after": after })).await {
            Ok(answer) => serde_json::from_value(answer).map_err(|error| error.to_string()),
            Err(error) => Err(whole_reason(error)),
        };
        match summary {
            Ok(summary) => {
                self.keep(generation, now);
                Some(summary).filter(|summary: &LinkSummary| summary.moved > 0)
            }
            Err(error) => Some(LinkSummary { error: Some(error), ..LinkSummary::default() }),
        }
    }

    fn keep(&self, generation: u64, time: Timestamp) {
        runs::keep(&self.record, &Run { time, generation });
    }
}
