//! Versions that a sync has set aside while it merges them. They are in the mirror's trash, which no folder has.

use atlas_vault::VaultPath;
use sha2::{Digest as _, Sha256};

/// The folder of these versions.
pub const ASIDE: &str = ".trash/merged/";

/// The path at which the version `sha256` of the file at `path` is set aside, the same in each attempt.
#[must_use]
pub fn path_aside(path: &str, sha256: &[u8; 32]) -> Option<VaultPath> {
    let name: String = Sha256::new().chain_update(path).chain_update([0]).chain_update(sha256).finalize()[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    let extension = extension.map_or_else(String::new, |(_, extension)| format!(".{extension}"));
    VaultPath::parse(&format!("{ASIDE}{name}{extension}")).ok()
}
