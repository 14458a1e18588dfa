//! The changes of a call that waits for approval.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use atlas_access::acl::is_closed_path;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::pipeline::approvals::{self, FileVersion, PlannedFile, Record, Request, Status};
use atlas_ops::pipeline::response_limit::{bytes_of, json_bytes};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::writable::TRASH;

use crate::changed_file::{Change, ChangedFile, ChangedLines, MAX_COMPARED, SharedRoom, diff, text};

/// Most bytes of texts that are read for the diffs of one request.
const MAX_READ: u64 = 32 << 20;
/// Most bytes of a file in an answer besides its paths and its diff, and of a request besides its texts.
const AROUND_FILE: usize = 300;
const AROUND_REQUEST: usize = 1000;

/// The lines that are shown of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownLines {
    /// The first line of each diff.
    pub(super) from: u64,
    /// Bytes that all diffs together may take within JSON.
    pub(super) room: usize,
}

/// The files of a request.
pub(super) struct RequestedFiles {
    /// Each, by path.
    pub(super) files: Vec<ChangedFile>,
    /// Whether all are unchanged since the request.
    pub(super) is_current: bool,
    /// Bytes of their diffs within JSON.
    pub(super) bytes: usize,
}

/// The path by which a file is listed.
fn listed_path(file: &PlannedFile) -> &str {
    file.from.as_deref().filter(|_| file.path.starts_with(TRASH)).unwrap_or(&file.path)
}

/// Bytes that a request takes at most in an answer, without diffs; with only the file at `path`, if there is one.
pub(super) fn bytes_without_lines(record: &Record, path: Option<&str>) -> usize {
    let Record { request, decision, .. } = record;
    let reason = decision.as_ref().and_then(|decision| decision.reason.as_deref());
    let texts = [Some(request.caller.as_str()), request.client.as_deref(), request.session.as_deref(), reason];
    let listed = request.files.iter().filter(|file| path.is_none_or(|path| listed_path(file) == path));
    let files = listed.map(|file| AROUND_FILE + file.paths().map(json_bytes).sum::<usize>());
    let texts = texts.into_iter().flatten().map(json_bytes).sum::<usize>();
    AROUND_REQUEST + bytes_of(&request.arguments) + texts + files.sum::<usize>()
}

/// Whether the caller may read all that the call reads and changes.
pub(super) fn may_see(context: &Context<'_>, request: &Request) -> bool {
    request.is_seen_by(context.vault.acl(), context.caller.scopes())
}

/// The files of `request` before and after, or only the one listed at `path`; with `lines`, if wanted: each file may take an equal part of their room,
/// and what small ones leave of it.
pub(super) async fn seen(
    context: &Context<'_>,
    request: &Request,
    path: Option<&str>,
    lines: Option<ShownLines>,
) -> Result<RequestedFiles, Error> {
    let newest = context.read(|view| async move { Ok(view) }).await?.value;
    let paths: Vec<&str> = request.files.iter().map(|file| file.path.as_str()).collect();
    let moved: BTreeSet<&str> = request.files.iter().filter_map(|file| file.from.as_deref()).collect();
    let is_listed = |file: &&PlannedFile| {
        (file.after.is_some() || !moved.contains(file.path.as_str()))
            && path.is_none_or(|path| listed_path(file) == path)
    };
    let mut listed: Vec<&PlannedFile> = request.files.iter().filter(is_listed).collect();
    // Settings may tell of notes that the access list holds back from everybody.
    let is_told = |path: &&str| newest.is_whole() || !is_closed_path(path) || path.starts_with(TRASH);
    let compared: BTreeSet<&str> = listed
        .iter()
        .map(|file| file.from.as_deref().unwrap_or(&file.path))
        .filter(|_| lines.is_some())
        .filter(is_told)
        .collect();
    let read = AtomicU64::new(0);
    let wants = |record: &atlas_segment::Record| {
        record.blob.is_none()
            && record.bytes <= MAX_COMPARED
            && compared.contains(record.path.as_str())
            && read.fetch_add(record.bytes, Ordering::Relaxed) < MAX_READ
    };
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
    let size = |version: &Option<FileVersion>| version.as_ref().map_or(0, |version| version.bytes);
    listed.sort_by_key(|file| size(&file.before).saturating_add(size(&file.after)));
    let mut room = lines.map(|lines| (lines.from, SharedRoom::new(lines.room, listed.len())));
    let (mut files, mut bytes) = (Vec::with_capacity(listed.len()), 0);
    for file in listed {
        context.work.check()?;
        let (file, taken) = shown(file, &there, room.as_ref().map(|(from, room)| (*from, room.part())));
        if let Some((_, room)) = &mut room {
            room.take(taken);
        }
        bytes += taken;
        files.push(file);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(RequestedFiles { files, is_current, bytes })
}

/// A file, with the lines from this one on that have so much room; and the bytes of the diff.
fn shown(file: &PlannedFile, there: &HashMap<&str, &Found>, lines: Option<(u64, usize)>) -> (ChangedFile, usize) {
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
    let compared = lines.zip(old.zip(new));
    let found = compared.and_then(|((from, room), (old, new))| diff(old, new, from, room));
    let bytes = found.as_ref().map_or(0, ChangedLines::bytes);
    let has_no_room = found.as_ref().is_some_and(|lines| lines.diff.is_none());
    let left_out = has_no_room || (lines.is_some() && !is_same && compared.is_none());
    let bytes_before = there.get(was.as_str()).map(|found| found.record.bytes);
    let bytes_after = after.as_ref().filter(|_| change != Change::Trashed).map(|after| after.bytes);
    let ChangedLines { diff, next: next_line, counts } = found.unwrap_or_default();
    let file = ChangedFile {
        path: path.clone(),
        change,
        from: from.cloned(),
        diff,
        next_line,
        left_out,
        lines_added: counts.map(|(added, _)| added),
        lines_removed: counts.map(|(_, removed)| removed),
        bytes_before,
        bytes_after,
    };
    (file, bytes)
}

/// The request with this id, for a caller who may decide on it: it waits, and they may read all that it reads and changes.
pub(super) async fn waiting(context: &Context<'_>, id: &str) -> Result<Record, Error> {
    let record = approvals::get(&context.vault.mirror, id).await?;
    let record = record.filter(|record| record.status(context.now) != Status::Expired);
    let record = record.ok_or_else(|| approvals::missing(id))?;
    if may_see(context, &record.request) {
        return Ok(record);
    }
    let message = match record.request.acts_on_whole_vault() {
        true => {
            "this call acts on the whole vault, of which you may read a part: let somebody who may read all of it decide"
        }
        false => "you may not read every note that this call reads or would change: let somebody who may decide",
    };
    Err(Error::new(Code::Forbidden, Reason::AclDenied, message).with("id", id))
}
