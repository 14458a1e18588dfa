//! What changed in the folder goes to the mirror, in one commit.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_mirror::manifest::Changes;
use atlas_mirror::{CommitInfo, Committed, Mirror, Snapshot};
use atlas_segment::Kind;

use crate::attachments::{self, Parent, Reusable};
use crate::change::Change;
use crate::decided::Decided;
use crate::error::SyncError;
use crate::head::{self, HeadDocument, HeadDocuments};
use crate::options::SyncOptions;
use crate::progress::{Phase, Progress};
use crate::report::{Reason, Skipped};
use crate::session::{Session, newest};

/// How long a commit may take once everything is prepared: to upload segments, and to lose races.
const COMMIT_TIME: Duration = Duration::from_secs(15 * 60);

/// Commits what was decided. The answer has what that changed, the newest generation, and whether it extends `head`
/// and nothing else.
pub(crate) async fn push(
    mirror: &Mirror,
    session: &Session,
    options: &SyncOptions,
    progress: &Arc<dyn Progress>,
    decided: &mut Decided,
    head: Option<Arc<Snapshot>>,
    skipped: &mut Vec<Skipped>,
) -> Result<(Changes, Option<Arc<Snapshot>>, bool), SyncError> {
    if decided.writes.is_empty() && decided.removes.is_empty() {
        return Ok((Changes::default(), head, true));
    }
    mirror.check_writes().await?;
    let reusable = reusable(decided, head.as_deref()).await?;
    let folder = &session.folder;
    let parent = Parent {
        manifest: head.as_deref().map(Snapshot::hash),
        uploads: session.was_interrupted.then_some(options.began),
    };
    let unread = attachments::upload(mirror, parent, folder, &mut decided.writes, &reusable, progress).await?;
    let writes = Arc::new(std::mem::take(&mut decided.writes));
    let skip = |index: usize, reason| {
        let path = writes.get(index).map_or("", |write| write.file.disk_path()).to_owned();
        Skipped { path, reason }
    };
    let unread: HashSet<usize> = unread
        .into_iter()
        .map(|(index, reason)| {
            skipped.push(skip(index, reason));
            index
        })
        .collect();
    let change = Change {
        folder: folder.clone(),
        writes: writes.clone(),
        removes: std::mem::take(&mut decided.removes),
        progress: progress.clone(),
        last: Mutex::default(),
    };
    change.prepare(head.as_ref()).await?;
    progress.begin(Phase::Commit, None);
    let info = CommitInfo {
        author: options.author.clone(),
        caller: None,
        operation: "sync".to_owned(),
        message: options.message.clone(),
        key: None,
        time: options.began,
        deadline: COMMIT_TIME,
    };
    let committed = mirror.commit(&info, &change).await?;
    let attempt = match &committed {
        Committed::New(_, attempt) | Committed::Unchanged(_, attempt) => Some(attempt),
        // Only a commit with a key is replayed.
        Committed::Replayed { .. } => None,
    };
    for (index, written) in attempt.iter().flat_map(|attempt| attempt.written()) {
        match written {
            Ok(written) => {
                decided.written.insert(index, written.known);
            }
            Err(reason) => skipped.push(skip(index, reason.clone())),
        }
    }
    let fit: HashSet<usize> = attempt.iter().flat_map(|attempt| attempt.written()).map(|(index, _)| index).collect();
    let left = (0..writes.len()).filter(|index| !fit.contains(index) && !unread.contains(index));
    skipped.extend(left.map(|index| skip(index, Reason::Overtaken)));
    decided.removed = attempt.iter().flat_map(|attempt| &attempt.removed).copied().collect();
    let large = writes.iter().filter(|write| write.is_large_note());
    skipped.extend(large.map(|write| Skipped { path: write.file.disk_path().to_owned(), reason: Reason::LargeNote }));
    let extended = head.map_or(0, |head| head.generation());
    Ok(match committed {
        Committed::New(after, _) => {
            let alone = after.generation() == extended.saturating_add(1);
            (after.manifest().changes, Some(after), alone)
        }
        Committed::Unchanged(after, _) => {
            let alone = after.as_ref().map_or(0, |after| after.generation()) == extended;
            (Changes::default(), after, alone)
        }
        Committed::Replayed { .. } => (Changes::default(), newest(mirror).await?, false),
    })
}

/// The mirror's attachments that have the content of one that is to be written: it has moved, or is a copy.
async fn reusable(decided: &Decided, head: Option<&Snapshot>) -> Result<Reusable, SyncError> {
    let wanted: HashSet<[u8; 32]> = decided.writes.iter().filter_map(|write| write.attachment()).collect();
    let Some(head) = head.filter(|_| !wanted.is_empty()) else {
        return Ok(Reusable::new());
    };
    let fetched;
    let known = &decided.heads.documents;
    let attachments = if decided.heads.is_complete {
        documents_of(known)
    } else {
        fetched = head::at(head, &decided.paths_of(&wanted)).await?;
        documents_of(&fetched)
    };
    let same = attachments
        .into_iter()
        .filter(|(_, document)| document.kind == Kind::Attachment && wanted.contains(&document.sha256));
    Ok(same.filter_map(|(path, document)| Some((document.sha256, (path.clone(), document.blob.clone()?)))).collect())
}

fn documents_of(documents: &HeadDocuments) -> Vec<(&String, &HeadDocument)> {
    documents.iter().flat_map(|(path, documents)| documents.iter().map(move |document| (path, document))).collect()
}
