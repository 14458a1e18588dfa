//! Decides every path, reading only the files that have to be read for that.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;

use atlas_mirror::manifest::Changes;
use atlas_segment::Kind;

use crate::change::{Known, Remove, SMALL, Write};
use crate::decide::{Action, Version, decide};
use crate::folder::{Content, Folder, MAX_NOTE_BYTES};
use crate::guard::Loss;
use crate::head::HeadDocuments;
use crate::plan::{Found, Item};
use crate::progress::{Phase, Progress};
use crate::readahead;
use crate::report::{Reason, Skipped};
use crate::rules::{self, Class};
use crate::scan::File;
use crate::state::Entry;

/// Bytes of text that are kept from deciding to indexing; the rest is read twice.
const TEXT_BUDGET: usize = 32 << 20;

/// What the folder and the mirror have.
#[derive(Debug)]
pub(crate) struct Sides {
    /// The folder's paths and those of the last sync.
    pub(crate) items: Vec<Item>,
    /// The mirror's documents; [`None`] when they are what the last sync left.
    pub(crate) documents: Option<HeadDocuments>,
}

/// What is to become of a path.
#[derive(Debug)]
enum Fate {
    /// It stays as it is on either side.
    Leave,
    /// It stays, and this is what the folder has, equal to the mirror or to the last sync.
    Known(Known),
    /// It is gone on both sides.
    Gone,
    /// It goes to the mirror: the write of this index.
    Write(usize),
    /// It goes from the mirror: the removal of this index.
    Remove(usize),
}

/// A path that was decided.
#[derive(Debug)]
struct Case {
    path: String,
    entry: Option<Entry>,
    /// What the mirror has.
    head: Version,
    fate: Fate,
}

/// All paths, decided.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    cases: Vec<Case>,
    /// The mirror's documents; [`None`] when they are what the last sync left.
    pub(crate) documents: Option<HeadDocuments>,
    /// Paths that only the mirror has.
    only_head: u64,
    pub(crate) writes: Vec<Write>,
    pub(crate) removes: Vec<Remove>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) conflicts: Vec<String>,
    pub(crate) unchanged: u64,
    pub(crate) waiting: u64,
    /// What was committed of the writes, by index.
    pub(crate) written: BTreeMap<usize, Known>,
    /// Which removals were committed, by index.
    pub(crate) removed: BTreeSet<usize>,
}

impl Sides {
    /// Decides every path.
    pub(crate) fn decide(self, folder: &Folder, progress: &dyn Progress) -> Decided {
        let heads: Vec<Version> = self.items.iter().map(|item| self.head(item)).collect();
        let mut contents = read_touched(folder, &self.items, &heads, progress);
        let only_head = self.only_head();
        let mut decided = Decided { documents: self.documents, only_head, waiting: only_head, ..Decided::default() };
        for (index, (item, head)) in self.items.into_iter().zip(heads).enumerate() {
            decided.add(item, head, contents.remove(&index));
        }
        decided
    }

    /// What the mirror has at an item's path.
    fn head(&self, item: &Item) -> Version {
        match &self.documents {
            Some(documents) => documents.get(item.path())?.first().map(|document| document.sha256),
            None => item.ancestor(),
        }
    }

    /// How many paths the mirror has that the folder should have and that the last sync did not know.
    fn only_head(&self) -> u64 {
        let Some(documents) = &self.documents else {
            return 0;
        };
        let known: HashSet<&str> = self.items.iter().map(Item::path).collect();
        let only = documents.keys().filter(|path| !known.contains(path.as_str()) && rules::class_of(path).is_some());
        only.count() as u64
    }
}

impl Decided {
    /// Decides `item`, of which the mirror has `head`; `content` is what was read of it.
    fn add(&mut self, item: Item, head: Version, content: Option<Result<Content, Reason>>) {
        let path = item.path().to_owned();
        let ancestor = item.ancestor();
        let fate = match (item.found, content) {
            (Found::Unknown, _) => Fate::Leave,
            (Found::Same(_), _) => {
                match decide(ancestor, ancestor, head) {
                    Action::Keep => self.unchanged += 1,
                    Action::Push | Action::Pull | Action::Conflict => self.waiting += 1,
                }
                Fate::Leave
            }
            (Found::Nothing, _) => match decide(ancestor, None, head) {
                Action::Keep => Fate::Gone,
                Action::Push => {
                    self.removes.push(Remove { path: path.clone(), ancestor });
                    Fate::Remove(self.removes.len() - 1)
                }
                Action::Pull | Action::Conflict => {
                    self.waiting += 1;
                    Fate::Leave
                }
            },
            (Found::Touched(file), None) => self.write(Write::new(file, ancestor)),
            (Found::Touched(file), Some(Ok(content))) => self.add_read(file, ancestor, head, content),
            (Found::Touched(file), Some(Err(reason))) => {
                self.skipped.push(Skipped { path: file.disk_path().to_owned(), reason });
                Fate::Leave
            }
        };
        self.cases.push(Case { path, entry: item.entry, head, fate });
    }

    fn add_read(&mut self, file: File, ancestor: Version, head: Version, content: Content) -> Fate {
        let known = content.known();
        match decide(ancestor, Some(known.sha256), head) {
            Action::Keep => {
                self.unchanged += 1;
                Fate::Known(known)
            }
            Action::Push => {
                let mut write = Write::new(file, ancestor);
                write.learn(content);
                self.write(write)
            }
            Action::Pull => {
                self.waiting += 1;
                Fate::Known(known)
            }
            Action::Conflict => {
                self.conflicts.push(file.path.as_str().to_owned());
                Fate::Leave
            }
        }
    }

    fn write(&mut self, write: Write) -> Fate {
        self.writes.push(write);
        Fate::Write(self.writes.len() - 1)
    }

    /// Reads what is to be written and was not read yet, so that it is known what has only moved.
    pub(crate) fn read_new(mut self, folder: &Folder, progress: &dyn Progress) -> Self {
        let unread = self.writes.iter().enumerate().filter(|(_, write)| write.known.is_none());
        let jobs: Vec<(usize, File)> = unread.map(|(index, write)| (index, write.file.clone())).collect();
        read(folder, &jobs, progress, |(index, _), content| {
            // What cannot be read now is tried again, and reported, when it is written.
            if let (Ok(content), Some(write)) = (content, self.writes.get_mut(*index)) {
                write.learn(content);
            }
        });
        self
    }

    /// The notes that vanished, or became empty, and are nowhere else.
    pub(crate) fn loss(&self, time_ms: i64) -> Loss {
        let written = self.writes.iter().filter_map(|write| write.known);
        let elsewhere: HashSet<[u8; 32]> =
            written.filter(|known| known.stamp.size > 0).map(|known| known.sha256).collect();
        let mut loss = Loss { time_ms, notes: 0, of: 0 };
        for case in &self.cases {
            let Some(entry) = case.entry.as_ref().filter(|entry| entry.kind == Kind::Note) else {
                continue;
            };
            loss.of += 1;
            let is_lost = match case.fate {
                Fate::Remove(_) => !elsewhere.contains(&entry.sha256),
                Fate::Write(index) => {
                    let known = self.writes.get(index).and_then(|write| write.known);
                    entry.size > 0 && known.is_some_and(|known| known.stamp.size == 0)
                }
                Fate::Leave | Fate::Known(_) | Fate::Gone => false,
            };
            loss.notes += u64::from(is_lost);
        }
        loss
    }

    /// What a commit would change.
    pub(crate) fn changes(&self) -> Changes {
        let heads = self.cases.iter().filter(|case| matches!(case.fate, Fate::Write(_))).map(|case| case.head);
        let (mut added, mut changed) = (0, 0);
        heads.for_each(|head| *if head.is_none() { &mut added } else { &mut changed } += 1);
        Changes { added, changed, removed: self.removes.len() as u64 }
    }

    /// The contents that are equal on both sides now, or were last; times from `trusted_ns` on are not trusted.
    pub(crate) fn entries(&self, trusted_ns: i64) -> Vec<Entry> {
        let entry = |case: &Case| {
            let known = match case.fate {
                Fate::Gone => return None,
                Fate::Remove(index) if self.removed.contains(&index) => return None,
                Fate::Leave | Fate::Remove(_) => return case.entry.clone(),
                Fate::Known(known) => known,
                Fate::Write(index) => match self.written.get(&index) {
                    Some(known) => *known,
                    None => return case.entry.clone(),
                },
            };
            let Known { stamp, sha256, kind } = known;
            let mtime_ns = (stamp.mtime_ns < trusted_ns).then_some(stamp.mtime_ns);
            Some(Entry { path: case.path.clone(), sha256, kind, size: stamp.size, mtime_ns })
        };
        self.cases.iter().filter_map(entry).collect()
    }

    /// Where the last sync left attachments with one of the contents `wanted`, in order.
    pub(crate) fn paths_of(&self, wanted: &HashSet<[u8; 32]>) -> Vec<&str> {
        let entries = self.cases.iter().filter_map(|case| case.entry.as_ref());
        let same = entries.filter(|entry| entry.kind == Kind::Attachment && wanted.contains(&entry.sha256));
        same.map(|entry| entry.path.as_str()).collect()
    }

    /// Whether the mirror has, of what a folder can have, exactly what [`entries`](Self::entries) says.
    pub(crate) fn is_settled(&self) -> bool {
        let ancestor = |case: &Case| case.entry.as_ref().map(|entry| entry.sha256);
        let is_settled = |case: &Case| match case.fate {
            Fate::Gone => true,
            Fate::Known(known) => case.head == Some(known.sha256),
            Fate::Leave => case.head == ancestor(case),
            Fate::Remove(index) => self.removed.contains(&index) || case.head == ancestor(case),
            Fate::Write(index) => self.written.contains_key(&index) || case.head == ancestor(case),
        };
        self.only_head == 0 && self.cases.iter().all(is_settled)
    }
}

/// Reads the files whose content decides something. Of a new note nothing else has to be known than that it is there.
fn read_touched(
    folder: &Folder,
    items: &[Item],
    heads: &[Version],
    progress: &dyn Progress,
) -> BTreeMap<usize, Result<Content, Reason>> {
    let mut jobs = Vec::new();
    for (index, (item, head)) in items.iter().zip(heads).enumerate() {
        if let Found::Touched(file) = &item.found
            && !(is_small_note(file) && item.entry.is_none() && head.is_none())
        {
            jobs.push((index, file.clone()));
        }
    }
    let mut contents = BTreeMap::new();
    read(folder, &jobs, progress, |(index, _), content| {
        contents.insert(*index, content);
    });
    contents
}

/// Whether a file is sure to be kept as a note.
fn is_small_note(file: &File) -> bool {
    file.class == Class::Note && file.stamp.size <= MAX_NOTE_BYTES
}

/// Reads files in their order; keeps the texts of the first ones only.
fn read(
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
