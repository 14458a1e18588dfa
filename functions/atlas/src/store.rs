//! Opening stores.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use atlas_mirror::{Mirror, Options, PartCache, Store, VaultId, location};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Bytes of decoded parts in a command's cache.
pub(crate) const CACHE_BYTES: usize = 32 << 20;

/// Opens the mirror of a vault in the store at `url`.
pub(crate) fn open_mirror(url: &str, vault: &VaultId) -> Result<Mirror, Box<dyn Error>> {
    mirror_in(location::open(url, &variables().collect())?, vault)
}

/// The mirror of a vault in `store`.
pub(crate) fn mirror_in(store: Store, vault: &VaultId) -> Result<Mirror, Box<dyn Error>> {
    let cache = Arc::new(PartCache::new(CACHE_BYTES));
    Ok(Mirror::open(store, vault.clone(), cache, Options::default())?)
}

/// The URL of a store in the folder at `path`, if the path is text.
pub(crate) fn folder_url(path: &Path) -> Option<String> {
    const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
    Some(format!("file://{}", utf8_percent_encode(path.to_str()?, PATH)))
}

/// The environment variables that are text.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
