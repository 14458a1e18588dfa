//! The text that a file and its conflict copy were made from.

use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::notes::{self, Found};
use atlas_segment::Record;
use atlas_vault::diff::distance;

use crate::changed_file::{MAX_COMPARED, text};

/// Most versions that are looked at.
const MOST: usize = 20;

/// The version of the file at `path` that `mine`, its newest, and `theirs` were made from, as far as its history tells. The mirror had `theirs`
/// when the conflict arose, so the base is older; among the older versions it is the one from which `mine` differs least.
pub(super) async fn find(
    context: &Context<'_>,
    path: &str,
    mine: &Found,
    theirs: &Found,
) -> Result<Option<Found>, Error> {
    let Some(newest) = text(mine) else { return Ok(None) };
    let versions = older(context, path, mine).await?;
    let other = versions.iter().position(|version| version.record.sha256 == theirs.record.sha256);
    let candidates = versions.into_iter().skip(other.map_or(0, |at| at + 1));
    let mut nearest: Option<(u64, Found)> = None;
    for candidate in candidates.filter(|candidate| candidate.record.sha256 != mine.record.sha256) {
        context.work.check()?;
        let Some(lines) = text(&candidate).map(|text| distance(text, newest)) else { continue };
        if nearest.as_ref().is_none_or(|(least, _)| lines < *least) {
            nearest = Some((lines, candidate));
        }
    }
    Ok(nearest.map(|(_, found)| found))
}

/// The versions of the file at `path` before `newest`, the newest first.
async fn older(context: &Context<'_>, path: &str, newest: &Found) -> Result<Vec<Found>, Error> {
    let wants = |record: &Record| record.blob.is_none() && record.bytes <= MAX_COMPARED;
    let mut versions = Vec::new();
    while versions.len() < MOST
        && let Some(snapshot) = notes::with_replaced(context, versions.last().unwrap_or(newest)).await?
        && let Some(found) = notes::find(&snapshot, path, wants).await?
    {
        versions.push(found);
    }
    Ok(versions)
}
