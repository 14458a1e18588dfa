//! The changes of a call that waits for approval.

use std::collections::{BTreeSet, HashMap};

use atlas_access::Access;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::pipeline::approvals::{self, PlannedFile, Record, Request, Status};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::writable::TRASH;
use atlas_vault::VaultPath;

use crate::changed_file::{Change, ChangedFile, MAX_COMPARED, diff, text};

/// The files of a request.
pub(super) struct RequestedFiles {
    /// Each, by path.
    pub(super) files: Vec<ChangedFile>,
    /// Whether all are unchanged since the request.
    pub(super) is_current: bool,
}

/// Whether the caller may read all files that would change.
pub(super) fn may_see(context: &Context<'_>, request: &Request) -> bool {
    let is_seen = |path: &str| {
        path.starts_with(TRASH) || VaultPath::parse(path).is_ok_and(|path| context.check(Access::Read, &path).is_ok())
    };
    let more = request.more_paths.iter().map(String::as_str);
    // Earlier versions stored no paths of more files.
    let are_named = request.more_files == 0 || !request.more_paths.is_empty();
    are_named && request.files.iter().flat_map(PlannedFile::paths).chain(more).all(is_seen)
}

/// The files of `request` before and after; with diffs from line `from_line` on, if there is one.
pub(super) async fn seen(
    context: &Context<'_>,
    request: &Request,
    from_line: Option<u64>,
) -> Result<RequestedFiles, Error> {
    let with_diffs = from_line.is_some();
    let newest = context.read(|view| async move { Ok(view) }).await?.value;
    let paths: Vec<&str> = request.files.iter().map(|file| file.path.as_str()).collect();
    let wants = |record: &atlas_segment::Record| with_diffs && record.blob.is_none() && record.bytes <= MAX_COMPARED;
    let found = notes::find_all(newest.snapshot(), &paths, wants).await?;
    let mut there: HashMap<&str, &Found> = HashMap::new();
    let mut is_current = true;
    for (file, found) in request.files.iter().zip(&found) {
        let sha256 = file.before.as_ref().map(|before| *before.sha256.as_bytes());
        if found.as_ref().map(|found| found.record.sha256) != sha256 {
            is_current = false;
        } else if let Some(found) = found {
            there.insert(&file.path, found);
        }
    }
    let moved: BTreeSet<&str> = request.files.iter().filter_map(|file| file.from.as_deref()).collect();
    let mut files = Vec::with_capacity(request.files.len());
    for file in &request.files {
        context.work.check()?;
        if file.after.is_some() || !moved.contains(file.path.as_str()) {
            files.push(shown(file, &there, from_line));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(RequestedFiles { files, is_current })
}

fn shown(file: &PlannedFile, there: &HashMap<&str, &Found>, from_line: Option<u64>) -> ChangedFile {
    let PlannedFile { path, before, after, from } = file;
    let (change, path, from) = match (from, before, after) {
        (Some(from), ..) if path.starts_with(TRASH) => (Change::Trashed, from, None),
        (Some(from), ..) => (Change::Moved, path, Some(from)),
        (None, None, _) => (Change::Created, path, None),
        (None, _, Some(_)) => (Change::Changed, path, None),
        (None, _, None) => (Change::Deleted, path, None),
    };
    let was = from.unwrap_or(path);
    let old = match there.get(was.as_str()) {
        Some(found) => text(found),
        None => before.is_none().then_some(""),
    };
    let is_same = after.as_ref().is_some_and(|after| {
        there.get(was.as_str()).is_some_and(|found| found.record.sha256 == *after.sha256.as_bytes())
    });
    let new = match (change, after) {
        (Change::Trashed | Change::Deleted, _) | (_, None) => Some(""),
        // An unchanged file that moves has no new text.
        (Change::Moved, Some(_)) if is_same => old,
        (_, Some(after)) => after.text.as_deref(),
    };
    let compared = from_line.zip(old.zip(new));
    let lines = compared.and_then(|(from_line, (old, new))| diff(old, new, from_line));
    let next_line = lines.as_ref().and_then(|lines| lines.next);
    let diff = lines.map(|lines| lines.diff);
    let left_out = from_line.is_some() && !is_same && compared.is_none();
    let bytes_before = there.get(was.as_str()).map(|found| found.record.bytes);
    let bytes_after = after.as_ref().filter(|_| change != Change::Trashed).map(|after| after.bytes);
    ChangedFile {
        path: path.clone(),
        change,
        from: from.cloned(),
        diff,
        next_line,
        left_out,
        bytes_before,
        bytes_after,
    }
}

/// The request with this id, for a caller who may decide on it: it waits, and they may see all its changes.
pub(super) async fn waiting(context: &Context<'_>, id: &str) -> Result<Record, Error> {
    let record = approvals::get(&context.vault.mirror, id).await?;
    let record = record.filter(|record| record.status(context.now) != Status::Expired);
    let record = record.ok_or_else(|| approvals::missing(id))?;
    if may_see(context, &record.request) {
        return Ok(record);
    }
    let message = "you may not read every note that this call would change: let somebody who may decide";
    Err(Error::new(Code::Forbidden, Reason::AclDenied, message).with("id", id))
}
