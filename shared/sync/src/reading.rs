//! Reads the files that decisions need, in order.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;

use crate::compare::{InFolder, Item};
use crate::folder::{Content, Folder, MAX_NOTE_BYTES, Stamp};
use crate::progress::{Phase, Progress};
use crate::readahead;
use crate::report::Reason;
use crate::rules::Class;
use crate::scan::File;
use crate::write::SMALL;

/// Bytes of text that are kept in memory from deciding to indexing; the rest is read twice.
const TEXT_BUDGET: usize = 32 << 20;

/// The contents of items, by their index.
pub(crate) type Contents = BTreeMap<usize, Result<Content, Reason>>;

/// Reads the files whose content decides something. A new note need not be read, unless the mirror may have had it
/// since: `with_new`.
pub(crate) fn touched(folder: &Folder, items: &[Item], with_new: bool, progress: &dyn Progress) -> Contents {
    let mut jobs = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if let InFolder::Touched(file) = &item.found
            && (with_new || !is_small_note(file) || item.entry.is_some() || item.head.is_some())
        {
            jobs.push((index, file.clone()));
        }
    }
    let mut contents = Contents::new();
    read(folder, &jobs, progress, |(index, _), content| {
        contents.insert(*index, content);
    });
    contents
}

/// The items whose file exists though no listing contained it: a listing that is older than the files, or concurrent
/// with a save, may miss some.
///
/// A file with the size and time of a new file was renamed, on a file system that does not distinguish the two names.
pub(crate) fn unlisted(folder: &Folder, items: &[Item]) -> BTreeSet<usize> {
    let is_new = |item: &Item| match &item.found {
        InFolder::Touched(file) if item.entry.is_none() => Some(file.stamp),
        _ => None,
    };
    let new: HashSet<Stamp> = items.iter().filter_map(is_new).collect();
    let vanished =
        items.iter().enumerate().filter(|(_, item)| matches!(item.found, InFolder::Nothing) && item.entry.is_some());
    let stamp = |item: &Item| folder.stamp(&folder.spelt(&item.path)?);
    let is_there = |item: &Item| stamp(item).is_some_and(|stamp| !new.contains(&stamp));
    vanished.filter(|(_, item)| is_there(item)).map(|(index, _)| index).collect()
}

/// Whether a file is certainly stored as a note.
fn is_small_note(file: &File) -> bool {
    file.class == Class::Note && file.stamp.size <= MAX_NOTE_BYTES
}

/// Reads files in order; keeps only the texts of the first ones.
pub(crate) fn read(
    folder: &Folder,
    jobs: &[(usize, File)],
    progress: &dyn Progress,
    mut take: impl FnMut(&(usize, File), Result<Content, Reason>),
) {
    if !jobs.is_empty() {
        progress.begin(Phase::Read, Some(jobs.iter().map(|(_, file)| file.stamp.size).sum()));
    }
    let mut budget = TEXT_BUDGET;
    let is_small = |(_, file): &(usize, File)| file.stamp.size <= SMALL || file.class == Class::Attachment;
    let run = |(_, file): &(usize, File)| folder.read(file.disk_path(), file.class, file.is_link);
    let Ok(()) = readahead::in_order(jobs, is_small, run, |job, mut content| {
        progress.advance(job.1.stamp.size);
        if let Ok(content) = &mut content {
            content.text.take_if(|text| text.len() > budget);
            budget -= content.text.as_ref().map_or(0, Vec::len);
        }
        take(job, content);
        Ok::<_, Infallible>(())
    });
}
