//! Conflict copies, which keep the mirror's version of a file beside the folder's: whose version it is.

use std::sync::Arc;

use atlas_mirror::{Mirror, MirrorError, Snapshot};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

pub(crate) use atlas_vault::conflict::is_copy;

/// The author and time of a generation; of `snapshot`, if the generation was collected or is damaged.
pub(crate) async fn writer(
    mirror: &Mirror,
    snapshot: &Arc<Snapshot>,
    generation: u64,
) -> Result<(String, Timestamp), MirrorError> {
    let writer = mirror.at_if_readable(generation).await?;
    let manifest = writer.as_ref().unwrap_or(snapshot).manifest();
    Ok((manifest.author.clone(), manifest.time))
}

/// The time in the name of a renamed file; every host computes the same.
pub(crate) fn everywhere(time: Timestamp) -> Zoned {
    time.to_zoned(TimeZone::UTC)
}
