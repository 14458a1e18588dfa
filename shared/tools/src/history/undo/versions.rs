//! The versions of the files of an undo: those that they have, those that they get, and where the vault still has the
//! bytes of these.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use atlas_mirror::{Hash, Snapshot};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::{Batch, Content, NewDocument};
use atlas_ops::write::{relocate, writable};
use atlas_segment::{Kind, Record};
use atlas_vault::VaultPath;

use super::UndoKind;
use super::changes::Plans;
use super::walk::History;

/// Most files of one undo: as many as one commit of an operation writes, with the files that it moves.
const MAX_FILES: usize = relocate::MAX_NOTES + 1_000;
/// Most bytes of the texts of one undo.
const MAX_BYTES: u64 = 48 << 20;

/// A file that differs from the version to restore.
pub(super) struct Difference {
    now: Option<Found>,
    was: Option<Found>,
    /// The generation that has the version to restore.
    before: u64,
}

impl Difference {
    /// The hash of the version to restore, if that is an attachment.
    fn attachment(&self) -> Option<[u8; 32]> {
        self.was.as_ref().filter(|was| was.record.blob.is_some()).map(|was| was.record.sha256)
    }
}

/// By hash: documents of the vault.
pub(super) type Attachments<'a> = HashMap<[u8; 32], &'a Found>;

/// The versions of the files of an undo.
#[derive(Default)]
pub(super) struct Versions {
    /// By path.
    pub(super) differences: BTreeMap<VaultPath, Difference>,
    /// By path, also of files that do not differ: the generation that wrote the version to restore.
    pub(super) writers: BTreeMap<VaultPath, u64>,
    /// By path of a file that is gone: the version to restore, where the trash has it.
    thrown: BTreeMap<VaultPath, Found>,
    /// By hash: attachments to restore of which the trash of other files has the bytes.
    elsewhere: HashMap<[u8; 32], Found>,
}

fn is_same(one: &Found, other: &Found) -> bool {
    one.record.sha256 == other.record.sha256
}

/// The error for too much work; a single commit cannot be undone in parts.
fn too_much(what: &str, is_single: bool) -> Error {
    let advice = match is_single {
        true => "restore its notes with restore_note, or take that generation's files from `atlas export`",
        false => "name a later time, or single generations",
    };
    Error::new(Code::TooLarge, Reason::TooMuchWork, format!("{what}: {advice}"))
}

/// Fails if the commits changed too many files.
pub(super) fn check_count(history: &History, plans: &Plans) -> Result<(), Error> {
    if plans.len() <= MAX_FILES {
        return Ok(());
    }
    let changed = format!("the commits changed {} files; one call undoes at most {MAX_FILES}", plans.len());
    Err(too_much(&changed, history.commits.len() == 1))
}

impl Versions {
    /// The versions that `plans` need.
    pub(super) async fn of(
        context: &Context<'_>,
        history: &History,
        head: &Snapshot,
        plans: &Plans,
    ) -> Result<Self, Error> {
        let is_single = history.commits.len() == 1;
        let mut versions = Self::default();
        // By the generation to restore.
        let mut wanted: BTreeMap<usize, Vec<&VaultPath>> = BTreeMap::new();
        for (path, plan) in plans {
            if let Some(place) = plan.version() {
                wanted.entry(place).or_default().push(path);
            }
        }
        // First without texts, to know how many bytes they have.
        let mut bytes = 0;
        for (place, paths) in &mut wanted {
            context.work.check()?;
            let Some(before) = history.snapshots.get(*place) else { continue };
            let (now, was) = (find(head, paths, |_| false).await?, find(before, paths, |_| false).await?);
            let mut differing = Vec::new();
            for ((path, now), was) in paths.iter().copied().zip(now).zip(was) {
                if let Some(was) = &was {
                    versions.writers.insert(path.clone(), was.generation);
                }
                if !matches!((&now, &was), (None, None)) && !now.iter().zip(&was).any(|(now, was)| is_same(now, was)) {
                    differing.push(path);
                    let was = was.filter(|was| was.record.blob.is_none());
                    bytes += now.iter().chain(&was).map(|found| u64::from(found.record.text.length)).sum::<u64>();
                }
            }
            *paths = differing;
        }
        if bytes > MAX_BYTES && wanted.values().map(Vec::len).sum::<usize>() > 1 {
            let changed =
                format!("the changes to undo have {bytes} bytes of text; one call undoes at most {MAX_BYTES}");
            return Err(too_much(&changed, is_single));
        }
        for (place, paths) in wanted {
            context.work.check()?;
            let Some(before) = history.snapshots.get(place) else { continue };
            let now = find(head, &paths, |_| true).await?;
            let was = find(before, &paths, |record| record.blob.is_none()).await?;
            for ((path, now), was) in paths.into_iter().zip(now).zip(was) {
                let before = before.generation();
                versions.differences.insert(path.clone(), Difference { now, was, before });
            }
        }
        versions.look_into_trash(context, head, plans).await?;
        Ok(versions)
    }

    /// Finds the versions to restore that the trash has, also under another name, and attachments that were deleted
    /// after they had moved.
    async fn look_into_trash(&mut self, context: &Context<'_>, head: &Snapshot, plans: &Plans) -> Result<(), Error> {
        let mut places: Vec<(&VaultPath, [u8; 32], VaultPath)> = Vec::new();
        for (path, Difference { now, was, .. }) in &self.differences {
            let Some(was) = was.as_ref().filter(|was| now.is_none() || was.record.blob.is_some()) else { continue };
            let kept = writable::in_trash(path, &was.sha256());
            places.extend(kept.into_iter().map(|kept| (path, was.record.sha256, kept)));
        }
        context.work.check()?;
        let names: Vec<&VaultPath> = places.iter().map(|(.., kept)| kept).collect();
        let found = find(head, &names, |_| false).await?;
        let mut room = MAX_BYTES;
        let mut kept: BTreeMap<&VaultPath, &VaultPath> = BTreeMap::new();
        for ((path, sha256, place), found) in places.iter().zip(found) {
            let Some(found) = found.filter(|found| found.record.sha256 == *sha256 && !kept.contains_key(path)) else {
                continue;
            };
            if let Some(left) = room.checked_sub(u64::from(found.record.text.length)) {
                room = left;
                kept.insert(path, place);
            }
        }
        let names: Vec<&VaultPath> = kept.values().copied().collect();
        let found = find(head, &names, |_| true).await?;
        let thrown = kept.into_keys().zip(found).filter_map(|(path, found)| Some((path.clone(), found?)));
        self.thrown = thrown.collect();
        let mut missing: HashSet<[u8; 32]> = self.differences.values().filter_map(Difference::attachment).collect();
        let there = self.differences.values().filter_map(|differs| differs.now.as_ref()).chain(self.thrown.values());
        for found in there.filter(|found| found.record.blob.is_some()) {
            missing.remove(&found.record.sha256);
        }
        if missing.is_empty() {
            return Ok(());
        }
        let others: Vec<VaultPath> =
            plans.keys().filter(|path| !path.is_note()).filter_map(|path| writable::trash(path).ok()).collect();
        let others: Vec<&VaultPath> = others.iter().collect();
        let is_wanted = |record: &Record| record.blob.is_some() && missing.contains(&record.sha256);
        let found = find(head, &others, is_wanted).await?.into_iter().flatten();
        self.elsewhere =
            found.filter(|found| is_wanted(&found.record)).map(|found| (found.record.sha256, found)).collect();
        Ok(())
    }

    /// Restores the file at `path`. Returns the kind of restoration, and the generation that wrote the restored version;
    /// or why it is impossible.
    pub(super) async fn take_back(
        &self,
        context: &Context<'_>,
        batch: &mut Batch<'_>,
        path: &VaultPath,
        attachments: &Attachments<'_>,
        taken: &mut BTreeSet<String>,
    ) -> Result<Result<(UndoKind, Option<u64>), String>, Error> {
        let Some(Difference { now, was, before }) = self.differences.get(path) else {
            return Ok(Err("it is as it was".to_owned()));
        };
        let Some(was) = was else {
            let trashed = match now {
                Some(now) => batch.trash(path, now).await,
                None => Ok(()),
            };
            return own(trashed.map(|()| (UndoKind::Removed, None)));
        };
        let restored = (UndoKind::Restored, Some(was.generation));
        let thrown = self.thrown.get(path).filter(|_| now.is_none());
        if let Some(thrown) = thrown.filter(|thrown| taken.insert(thrown.record.path.clone())) {
            batch.take_from_trash(path.clone(), thrown, None);
            return Ok(Ok(restored));
        }
        let new = if was.record.blob.is_some() {
            match attachments.get(&was.record.sha256).and_then(|there| attachment(context, path, there, now.as_ref())) {
                Some(new) => Ok(new),
                None => return Ok(Err(format!("it is not text: `atlas export --at {before}` has it"))),
            }
        } else {
            version(context, path.clone(), was, now.as_ref())
        };
        let new = match own(new)? {
            Ok(new) => new,
            Err(reason) => return Ok(Err(reason)),
        };
        // An attachment goes to the trash, since no undo finds its bytes elsewhere.
        if let Some(now) = now.as_ref().filter(|now| now.record.blob.is_some())
            && let Err(reason) = own(batch.keep_in_trash(path, now).await)?
        {
            return Ok(Err(reason));
        }
        batch.put(new, now.as_ref());
        Ok(Ok(restored))
    }

    /// The attachments of which the vault has the bytes, by their hashes.
    pub(super) fn attachments(&self) -> Attachments<'_> {
        let there = self.differences.values().filter_map(|differs| differs.now.as_ref());
        let all = there.chain(self.thrown.values()).chain(self.elsewhere.values());
        all.filter(|found| found.record.blob.is_some()).map(|found| (found.record.sha256, found)).collect()
    }
}

/// The attachment `there`, for `path`. An earlier generation's bytes may go with it, so those of the newest are taken.
fn attachment(context: &Context<'_>, path: &VaultPath, there: &Found, now: Option<&Found>) -> Option<NewDocument> {
    let content = Content::Blob(there.record.blob.clone()?, there.record.bytes, there.text.clone());
    let sha256 = Hash::from_bytes(there.record.sha256);
    Some(NewDocument::written(path.clone(), content, sha256, now, context.now))
}

/// The text `was`, for `path`.
pub(super) fn version(
    context: &Context<'_>,
    path: VaultPath,
    was: &Found,
    now: Option<&Found>,
) -> Result<NewDocument, Error> {
    // A note in the trash is of another kind.
    if was.record.kind == Kind::Note || was.record.blob.is_none() && path.is_note() {
        return NewDocument::text(path, was.text.clone(), now, context.now);
    }
    let sha256 = Hash::from_bytes(was.record.sha256);
    Ok(NewDocument::written(path, Content::Text(was.text.clone()), sha256, now, context.now))
}

/// An error that is about one file only, as the reason why that one stays.
pub(super) fn own<T>(result: Result<T, Error>) -> Result<Result<T, String>, Error> {
    const OF_FILES: [Reason; 3] = [Reason::TrashFull, Reason::PathInvalid, Reason::NoteTooLarge];
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(error) if OF_FILES.iter().any(|reason| error.is(*reason)) => Ok(Err(error.message)),
        Err(error) => Err(error),
    }
}

/// The files at `paths`, with the texts that are `wanted`.
async fn find(
    snapshot: &Snapshot,
    paths: &[&VaultPath],
    wanted: impl Fn(&Record) -> bool + Sync,
) -> Result<Vec<Option<Found>>, Error> {
    let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
    notes::find_all(snapshot, &paths, wanted).await
}
