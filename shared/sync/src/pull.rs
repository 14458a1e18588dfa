//! Writes the mirror's changes into the folder. Where both sides changed a file, the mirror's version becomes a copy
//! beside the folder's.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use atlas_mirror::manifest::Changes;
use atlas_mirror::{Mirror, Snapshot};
use atlas_segment::Record;
use atlas_vault::VaultPath;
use atlas_vault::conflict::copy_path;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Serialize;

use crate::beside::MAX_COPIES;
use crate::blocking::blocking;
use crate::clash::folders_of;
use crate::conflict::{everywhere, writer};
use crate::contents::{DocumentWriter, disk_path};
use crate::decide::Version;
use crate::error::SyncError;
use crate::folder::{self, Folder, Stamp};
use crate::head;
use crate::plan::{PathPlan, Pull, SyncPlan};
use crate::progress::{Phase, Progress};
use crate::report::{Reason, Skipped};
use crate::rules;
use crate::scan::{File, Folders};
use crate::target::{ExpectedTarget, Target, Unfinished, replaced};
use crate::write::Fingerprint;

/// A path that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflicted {
    /// The path of the folder's version, or of a folder if `is_folder`.
    pub path: String,
    /// The path of the mirror's version, or of the renamed file; [`None`] if it was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
    /// Whether one side has a folder of the file's name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_folder: bool,
    /// Why it was not merged, as far as that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result of a pull; paths are given by their index in the plan.
#[derive(Debug, Default)]
pub(crate) struct Pulled {
    pub(crate) changes: Changes,
    pub(crate) conflicts: Vec<Conflicted>,
    /// The folder's new files; [`None`] where a file was removed.
    pub(crate) done: BTreeMap<usize, Option<Fingerprint>>,
    /// The conflicts and displaced files whose copy is in the folder, and that copy, if it belongs to the vault.
    pub(crate) copies: BTreeMap<usize, Option<(File, Fingerprint)>>,
    /// How many paths wait for the next sync.
    pub(crate) waiting: u64,
    pub(crate) skipped: Vec<Skipped>,
}

/// The destination of a document's content.
enum Job {
    /// Its own path, by its index.
    Own { path: usize, head: [u8; 32], on_disk: Option<String>, expected: ExpectedTarget },
    /// A copy beside the folder's version.
    Copy { head: [u8; 32], on_disk: String, author: String, time: Zoned },
}

impl Job {
    const fn head(&self) -> [u8; 32] {
        match self {
            Self::Own { head, .. } | Self::Copy { head, .. } => *head,
        }
    }
}

/// One pull.
pub(crate) struct Puller<'a> {
    pub(crate) mirror: &'a Mirror,
    /// The generation to pull.
    pub(crate) snapshot: &'a Arc<Snapshot>,
    pub(crate) folder: &'a Arc<Folder>,
    /// The vault's folders.
    pub(crate) folders: &'a Arc<Folders>,
    /// When the sync began.
    pub(crate) began: Timestamp,
    /// The time zone of the names of copies.
    pub(crate) time_zone: TimeZone,
    pub(crate) progress: &'a Arc<dyn Progress>,
}

/// The changes that a pull would make.
pub(crate) fn planned(plan: &SyncPlan) -> (Changes, Vec<Conflicted>) {
    let mut changes = Changes::default();
    plan.pulls().for_each(|(_, path, pull)| *count(&mut changes, pull.expected, path.head) += 1);
    let conflicts = plan.conflicts().map(|(_, path, _)| (path.path.clone(), false));
    let displaced = plan.displaced().map(|(_, path)| (path.path.clone(), true));
    let in_the_way = plan.in_the_way.iter().map(|clash| (clash.file.path.shared(), true));
    let all = conflicts.chain(displaced).chain(in_the_way);
    let conflicted = |(path, is_folder): (Arc<str>, bool)| {
        let why = plan.overlaps.get(&*path).cloned();
        Conflicted { path: path.to_string(), copy: None, is_folder, why }
    };
    changes.changed += plan.merges().count() as u64;
    (changes, all.map(conflicted).collect())
}

fn count(changes: &mut Changes, expected: ExpectedTarget, head: Version) -> &mut u64 {
    match (head, expected) {
        (None, _) => &mut changes.removed,
        (Some(_), ExpectedTarget::Nothing) => &mut changes.added,
        (Some(_), _) => &mut changes.changed,
    }
}

impl Puller<'_> {
    /// Carries out the plan. A file that cannot be written is skipped; the next sync tries it again.
    pub(crate) async fn run(&self, plan: &SyncPlan) -> Result<Pulled, SyncError> {
        let mut pulled = Pulled::default();
        if !plan.changes_folder() {
            return Ok(pulled);
        }
        let target = match Target::of(self.folder, self.began) {
            Ok(target) => target,
            Err(reason) => return Err(SyncError::Unwritable { root: self.folder.path().to_owned(), reason }),
        };
        self.progress.begin(Phase::Write, None);
        self.remove(plan, &target, &mut pulled).await?;
        let mut jobs = own_jobs(plan);
        self.respell(plan, &target, &jobs).await?;
        self.add_copies(plan, &mut jobs).await?;
        let copies = self.bring(&target, jobs, &mut pulled).await?;
        self.settle(plan, &copies, &mut pulled).await?;
        blocking(move || {
            target.sync();
            replaced::trim(&target);
            target.clear();
            Ok(())
        })
        .await?;
        for (index, path, pull) in plan.pulls() {
            match pulled.done.contains_key(&index) {
                true => *count(&mut pulled.changes, pull.expected, path.head) += 1,
                false => pulled.waiting += 1,
            }
        }
        Ok(pulled)
    }

    /// Removes the files that were removed from the mirror.
    async fn remove(&self, plan: &SyncPlan, target: &Target, pulled: &mut Pulled) -> Result<(), SyncError> {
        let mut jobs = Vec::new();
        for (index, path, pull) in plan.pulls() {
            if let (None, ExpectedTarget::Version(version), Some(on_disk)) = (path.head, pull.expected, &pull.on_disk) {
                let trashed = plan.heads.document(&format!(".trash/{}", path.path));
                let is_trashed = trashed.is_some_and(|document| document.sha256 == version);
                let was_brought =
                    path.entry.as_ref().is_some_and(|entry| entry.sha256 == version && !entry.is_carried());
                jobs.push((index, on_disk.clone(), version, is_trashed, was_brought));
            }
        }
        let target = target.clone();
        let removed = blocking(move || {
            let remove = |(index, path, version, is_trashed, was_brought): (usize, String, _, bool, bool)| {
                let result = match (was_brought, is_trashed) {
                    // A file that no sync brought here is the person's to throw away.
                    (false, _) => target.trash(&path, version),
                    (true, true) => match target.trash(&path, version) {
                        // The mirror's trash has it.
                        Err(reason) if reason != Reason::Changed => target.remove(&path, version),
                        trashed => trashed,
                    },
                    (true, false) => target.remove(&path, version),
                };
                (index, path, was_brought, result)
            };
            Ok(jobs.into_iter().map(remove).collect::<Vec<_>>())
        });
        for (index, path, was_brought, result) in removed.await? {
            match result {
                Ok(()) => {
                    pulled.done.insert(index, None);
                    if !was_brought {
                        pulled.skipped.push(Skipped { path, reason: Reason::Outdated });
                    }
                }
                Err(reason) => pulled.skipped.push(Skipped { path, reason }),
            }
        }
        Ok(())
    }

    /// Removes the folders without files that new ones differ from in case only. Where the file system does not tell cases
    /// apart, the new files would else come into the old folder, and the next sync would rename them back.
    async fn respell(&self, plan: &SyncPlan, target: &Target, jobs: &BTreeMap<String, Job>) -> Result<(), SyncError> {
        let coming = jobs.keys().flat_map(|path| folders_of(path));
        let coming: HashMap<String, &str> = coming.map(|folder| (folder.to_lowercase(), folder)).collect();
        let left = plan.pulls().filter(|(_, path, _)| path.head.is_none());
        let left = left.filter_map(|(_, _, pull)| pull.on_disk.as_deref()).flat_map(folders_of);
        // In this order a folder comes before those in it.
        let other: BTreeMap<&str, &str> = left
            .filter_map(|old| Some((old, *coming.get(&old.to_lowercase())?)))
            .filter(|(old, new)| old != new)
            .collect();
        if other.is_empty() {
            return Ok(());
        }
        let other: Vec<(String, String)> =
            other.into_iter().map(|(old, new)| (old.to_owned(), new.to_owned())).collect();
        let target = target.clone();
        blocking(move || {
            other
                .iter()
                .filter(|(_, new)| target.is_listed_otherwise(new))
                .for_each(|(old, _)| target.remove_folder(old));
            Ok(())
        })
        .await
    }

    /// For each conflict, adds the copy of the mirror's version, named for its author and time; and for each file whose
    /// path is a folder.
    async fn add_copies(&self, plan: &SyncPlan, jobs: &mut BTreeMap<String, Job>) -> Result<(), SyncError> {
        let mut writers: HashMap<u64, (String, Timestamp)> = HashMap::new();
        let conflicts = plan.conflicts().map(|(_, path, write)| (path, write.file.disk_path().to_owned(), false));
        let displaced = plan.displaced().map(|(_, path)| (path, self.folders.place(&path.path, &path.path), true));
        for (path, on_disk, is_displaced) in conflicts.chain(displaced) {
            let (Some(head), Some(document)) = (path.head, plan.heads.document(&path.path)) else { continue };
            let (author, time) = match writers.entry(document.generation) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    unknown.insert(writer(self.mirror, self.snapshot, document.generation).await?)
                }
            };
            let time = if is_displaced { everywhere(*time) } else { time.to_zoned(self.time_zone.clone()) };
            jobs.insert(path.path.to_string(), Job::Copy { head, on_disk, author: author.clone(), time });
        }
        Ok(())
    }

    /// Writes the content of every job. Returns the copies, by the path of their original.
    async fn bring(
        &self,
        target: &Target,
        jobs: BTreeMap<String, Job>,
        pulled: &mut Pulled,
    ) -> Result<BTreeMap<String, String>, SyncError> {
        let paths: Vec<&str> = jobs.keys().map(String::as_str).collect();
        let pages = head::pages_of(self.snapshot, &paths).await?;
        let jobs = Arc::new(jobs);
        let copies: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
        let place = {
            let (jobs, copies, target) = (jobs.clone(), copies.clone(), target.clone());
            let folders = self.folders.clone();
            move |file: &Unfinished, record: &Record| match jobs.get(&record.path) {
                Some(Job::Own { on_disk, expected, .. }) => {
                    let path = match on_disk {
                        Some(on_disk) => on_disk.clone(),
                        None => folders.place(&record.path, &disk_path(record)?),
                    };
                    file.finish(&path, record.modified_ms, *expected)
                }
                Some(Job::Copy { on_disk, author, time, .. }) => {
                    // Not the name of a file that this pull writes.
                    let comes =
                        |name: &String| match VaultPath::parse(name).ok().and_then(|path| jobs.get(path.as_str())) {
                            Some(Job::Own { head, .. }) => *head != record.sha256,
                            _ => false,
                        };
                    let name = |attempt| Some(copy_path(on_disk, author, time, attempt)).filter(|name| !comes(name));
                    let (copy, stamp) = put_copy(&target, file, record, name)?;
                    copies.lock().unwrap_or_else(PoisonError::into_inner).insert(record.path.clone(), copy);
                    Ok(stamp)
                }
                None => Err(Reason::Changed),
            }
        };
        let contents = DocumentWriter {
            mirror: self.mirror,
            snapshot: self.snapshot.clone(),
            target: target.clone(),
            place: Arc::new(place),
            progress: self.progress.clone(),
        };
        let wanted = |record: &Record| jobs.get(&record.path).is_some_and(|job| job.head() == record.sha256);
        for page in pages {
            let done = &mut |record: Record, result: Result<Stamp, Reason>| match (result, jobs.get(&record.path)) {
                (Ok(stamp), Some(Job::Own { path, .. })) => {
                    let known = Fingerprint { stamp, sha256: record.sha256, kind: record.kind };
                    pulled.done.insert(*path, Some(known));
                }
                (Ok(_), _) => {}
                (Err(reason), _) => pulled.skipped.push(Skipped { path: record.path, reason }),
            };
            contents.bring(page, wanted, done).await?;
        }
        let copies = std::mem::take(&mut *copies.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(copies)
    }

    /// Finds the copy of every conflict and of every displaced file.
    async fn settle(
        &self,
        plan: &SyncPlan,
        copies: &BTreeMap<String, String>,
        pulled: &mut Pulled,
    ) -> Result<(), SyncError> {
        let conflicts = plan.conflicts().map(|(index, path, _)| (index, path, false));
        let displaced = plan.displaced().map(|(index, path)| (index, path, true));
        for (index, path, is_folder) in conflicts.chain(displaced) {
            let copy = copies.get(&*path.path).cloned();
            match self.found_copy(copy.as_ref(), pulled).await? {
                Some(found) => drop(pulled.copies.insert(index, found)),
                None => pulled.waiting += u64::from(is_folder),
            }
            let why = plan.overlaps.get(&*path.path).cloned();
            pulled.conflicts.push(Conflicted { path: path.path.to_string(), copy, is_folder, why });
        }
        Ok(())
    }

    /// A copy, as [`read_copy`] finds it.
    async fn found_copy(
        &self,
        copy: Option<&String>,
        pulled: &mut Pulled,
    ) -> Result<Option<Option<(File, Fingerprint)>>, SyncError> {
        let Some(copy) = copy else { return Ok(None) };
        let (folder, on_disk) = (self.folder.clone(), copy.clone());
        match blocking(move || Ok(read_copy(&folder, &on_disk))).await? {
            Ok(found) => Ok(Some(found)),
            // It is a file of the folder; the next sync finds it.
            Err(reason) => {
                pulled.skipped.push(Skipped { path: copy.clone(), reason });
                Ok(None)
            }
        }
    }
}

fn own_jobs(plan: &SyncPlan) -> BTreeMap<String, Job> {
    let job = |(index, path, pull): (usize, &PathPlan, &Pull)| {
        let (on_disk, expected) = (pull.on_disk.clone(), pull.expected);
        Some((path.path.to_string(), Job::Own { path: index, head: path.head?, on_disk, expected }))
    };
    plan.pulls().filter_map(job).collect()
}

/// Moves a copy to the first of its names that is free, or that an equal copy has. An attempt may have no name.
pub(crate) fn put_copy(
    target: &Target,
    file: &Unfinished,
    record: &Record,
    name: impl Fn(u32) -> Option<String>,
) -> Result<(String, Stamp), Reason> {
    let mut refused = Reason::Changed;
    for path in (1..=MAX_COPIES).filter_map(name) {
        match file.finish(&path, record.modified_ms, ExpectedTarget::Nothing) {
            Ok(stamp) => return Ok((path, stamp)),
            Err(reason) => refused = reason,
        }
        let (folder, name) = target.place_of(&path)?;
        match folder::hash_of(&folder, &name) {
            Ok(found) if found == record.sha256 => return Ok((path, file.stamp()?)),
            Ok(_) => {}
            // The name is free, so the failure has another cause.
            Err(_) => return Err(refused),
        }
    }
    Err(refused)
}

/// A copy as a scan and a read would find it; [`None`] if it does not belong to the vault, such as that of a
/// configuration file.
fn read_copy(folder: &Folder, on_disk: &str) -> Result<Option<(File, Fingerprint)>, Reason> {
    let path = VaultPath::parse(on_disk)?;
    let Some(class) = rules::class_of(path.as_str()) else { return Ok(None) };
    let known = folder.read(on_disk, class, false)?.fingerprint();
    let on_disk = (path.as_str() != on_disk).then(|| on_disk.into());
    let file = File { path, on_disk, class, stamp: known.stamp, is_link: false };
    Ok(Some((file, known)))
}
