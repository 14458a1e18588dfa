//! Every path, decided: what is to become of it, and, once that was done, what was last equal on both sides.

mod lost;
mod named;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atlas_mirror::manifest::Changes;
use atlas_segment::Kind;

use crate::change::{Known, Remove, Write};
use crate::clash::{self, InTheWay};
use crate::decide::{Action, Version, decide};
use crate::folder::{Content, Folder};
use crate::head::Heads;
use crate::plan::{Found, Item};
use crate::progress::Progress;
use crate::reading::{self, Contents};
use crate::report::{Reason, Skipped};
use crate::scan::File;
use crate::state::Entry;
use crate::target::Instead;

pub(crate) use lost::Lost;
pub use named::{Changed, How};

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
    /// It goes to the folder: the pull of this index.
    Pull(usize),
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

/// What the folder is to get, or to lose, at a path.
#[derive(Debug)]
pub(crate) struct Pull {
    pub(crate) path: String,
    /// The name of the file that is there, as the folder spells it.
    pub(crate) on_disk: Option<String>,
    /// What it takes the place of.
    pub(crate) instead: Instead,
    /// What it becomes.
    pub(crate) head: Version,
}

/// A path that both sides changed, each in its way.
#[derive(Debug)]
pub(crate) struct Conflict {
    pub(crate) file: File,
    /// What the folder has.
    pub(crate) content: Content,
    /// What the mirror has.
    pub(crate) head: [u8; 32],
    /// The index of its case.
    case: usize,
}

/// A file of the mirror that is to go to another path on both sides, since its own is a folder's.
#[derive(Debug)]
pub(crate) struct Displaced {
    pub(crate) path: String,
    /// What the mirror has.
    pub(crate) head: [u8; 32],
    /// The index of its case.
    case: usize,
}

/// All paths, decided.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    cases: Vec<Case>,
    /// What the mirror has that the last sync did not leave.
    pub(crate) heads: Heads,
    pub(crate) writes: Vec<Write>,
    pub(crate) removes: Vec<Remove>,
    pub(crate) pulls: Vec<Pull>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) displaced: Vec<Displaced>,
    /// Files of the folder where the mirror has a folder.
    pub(crate) in_the_way: Vec<InTheWay>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) unchanged: u64,
    /// Paths of which it is not known what the folder has, and that the mirror has changed.
    pub(crate) waiting: u64,
    /// What was committed of the writes, by index.
    pub(crate) written: BTreeMap<usize, Known>,
    /// The copies of conflicts that were made, by path.
    copies: BTreeSet<String>,
    /// Which removals were committed, by index.
    pub(crate) removed: BTreeSet<usize>,
    /// What the folder got, by the pull's index; nothing where it lost a file.
    pub(crate) pulled: BTreeMap<usize, Option<Known>>,
}

impl Decided {
    /// Decides every path; `contents` is what was read.
    pub(crate) fn of(mut items: Vec<Item>, mut contents: Contents, heads: Heads, folder: &Folder) -> Self {
        let mut decided = Self { heads, ..Self::default() };
        for index in reading::unlisted(folder, &items) {
            if let Some(item) = items.get_mut(index) {
                decided.skip(&item.path, Reason::Unlisted);
                item.found = Found::Unknown;
            }
        }
        let clashes = clash::find(&items, &contents, folder);
        decided.in_the_way = clashes.in_the_way;
        for (index, item) in items.into_iter().enumerate() {
            match item.head.filter(|_| clashes.displaced.contains(&index)) {
                Some(head) => decided.displace(item, head),
                None => decided.add(item, contents.remove(&index)),
            }
        }
        decided
    }

    fn displace(&mut self, item: Item, head: [u8; 32]) {
        let Item { path, entry, .. } = item;
        self.displaced.push(Displaced { path: path.clone(), head, case: self.cases.len() });
        self.cases.push(Case { path, entry, head: Some(head), fate: Fate::Leave });
    }

    /// Decides `item`; `content` is what was read of it.
    fn add(&mut self, item: Item, content: Option<Result<Content, Reason>>) {
        let ancestor = item.ancestor();
        let Item { path, entry, found, head, .. } = item;
        let fate = match (found, content) {
            (Found::Unknown, _) => self.leave(head != ancestor),
            (Found::Same(file), _) => match (decide(ancestor, ancestor, head), ancestor) {
                (Action::Pull, Some(version)) => self.pull(&file, version, head),
                _ => {
                    self.unchanged += 1;
                    Fate::Leave
                }
            },
            (Found::Nothing, _) => match decide(ancestor, None, head) {
                Action::Keep => Fate::Gone,
                Action::Push => {
                    self.removes.push(Remove { path: path.clone(), ancestor });
                    Fate::Remove(self.removes.len() - 1)
                }
                Action::Pull | Action::Conflict => {
                    self.pulls.push(Pull { path: path.clone(), on_disk: None, instead: Instead::Nothing, head });
                    Fate::Pull(self.pulls.len() - 1)
                }
            },
            (Found::Touched(file), None) => self.write(Write::new(file, ancestor)),
            (Found::Touched(file), Some(Ok(content))) => self.add_read(file, ancestor, head, content),
            (Found::Touched(file), Some(Err(reason))) => {
                self.skip(file.disk_path(), reason);
                self.leave(head != ancestor)
            }
        };
        self.cases.push(Case { path, entry, head, fate });
    }

    fn add_read(&mut self, file: File, ancestor: Version, head: Version, content: Content) -> Fate {
        let known = content.known();
        match (decide(ancestor, Some(known.sha256), head), head) {
            (Action::Keep, _) => {
                self.unchanged += 1;
                Fate::Known(known)
            }
            (Action::Push, _) => {
                let mut write = Write::new(file, ancestor);
                write.learn(content);
                self.write(write)
            }
            (Action::Conflict, Some(head)) => {
                self.conflicts.push(Conflict { file, content, head, case: self.cases.len() });
                Fate::Leave
            }
            (Action::Pull | Action::Conflict, _) => match self.pull(&file, known.sha256, head) {
                // What was read is known, even if it is not replaced.
                Fate::Leave => Fate::Known(known),
                fate => fate,
            },
        }
    }

    fn leave(&mut self, is_waiting: bool) -> Fate {
        self.waiting += u64::from(is_waiting);
        Fate::Leave
    }

    fn pull(&mut self, file: &File, version: [u8; 32], head: Version) -> Fate {
        if file.is_link {
            self.skip(file.disk_path(), Reason::Link);
            return self.leave(true);
        }
        let on_disk = Some(file.disk_path().to_owned());
        self.pulls.push(Pull {
            path: file.path.as_str().to_owned(),
            on_disk,
            instead: Instead::Version(version),
            head,
        });
        Fate::Pull(self.pulls.len() - 1)
    }

    fn write(&mut self, write: Write) -> Fate {
        self.writes.push(write);
        Fate::Write(self.writes.len() - 1)
    }

    fn skip(&mut self, path: &str, reason: Reason) {
        self.skipped.push(Skipped { path: path.to_owned(), reason });
    }

    /// Sends both versions of a conflict to the mirror, since the folder has a copy of the mirror's now: the folder's in its place,
    /// and beside it the `copy`, if that belongs to the vault.
    pub(crate) fn settle(&mut self, conflict: Conflict, copy: Option<(File, Known)>) {
        let Conflict { file, content, head, case } = conflict;
        let mut write = Write::new(file, Some(head));
        write.learn(content);
        let fate = self.write(write);
        if let Some(case) = self.cases.get_mut(case) {
            case.fate = fate;
        }
        self.add_copy(copy);
    }

    /// Takes a file from its path in the mirror, since the folder has it as `copy` now.
    pub(crate) fn settle_displaced(&mut self, displaced: Displaced, copy: Option<(File, Known)>) {
        let Displaced { path, head, case } = displaced;
        self.removes.push(Remove { path, ancestor: Some(head) });
        if let Some(case) = self.cases.get_mut(case) {
            case.fate = Fate::Remove(self.removes.len() - 1);
        }
        self.add_copy(copy);
    }

    fn add_copy(&mut self, copy: Option<(File, Known)>) {
        let Some((copy, known)) = copy else { return };
        let path = copy.path.as_str().to_owned();
        // One that an interrupted sync made is a file of the folder like any other.
        let listed = self.cases.get(..self.cases.len() - self.copies.len()).unwrap_or_default();
        let is_listed = listed.binary_search_by(|case| case.path.cmp(&path)).is_ok();
        if !is_listed && self.copies.insert(path.clone()) {
            let fate = self.write(Write { known: Some(known), ..Write::new(copy, None) });
            self.cases.push(Case { path, entry: None, head: None, fate });
        }
    }

    /// Reads what is to be written and was not read yet, so that it is known what has only moved.
    pub(crate) fn read_new(mut self, folder: &Folder, progress: &dyn Progress) -> Self {
        let unread = self.writes.iter().enumerate().filter(|(_, write)| write.known.is_none());
        let jobs: Vec<(usize, File)> = unread.map(|(index, write)| (index, write.file.clone())).collect();
        reading::read(folder, &jobs, progress, |(index, _), content| {
            // What cannot be read now is tried again, and reported, when it is written.
            if let (Ok(content), Some(write)) = (content, self.writes.get_mut(*index)) {
                write.learn(content);
            }
        });
        self
    }

    /// Whether there is anything to do on either side.
    pub(crate) fn changes_anything(&self) -> bool {
        let pulls = self.pulls.is_empty() && self.conflicts.is_empty() && self.displaced.is_empty();
        !(pulls && self.writes.is_empty() && self.removes.is_empty())
    }

    /// What a commit would change.
    pub(crate) fn pushes(&self) -> Changes {
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
                Fate::Pull(index) => match self.pulled.get(&index) {
                    Some(pulled) => (*pulled)?,
                    // The next sync reads it: perhaps its size and time hide a change.
                    None => return case.entry.clone().map(|entry| Entry { mtime_ns: None, ..entry }),
                },
            };
            let Known { stamp, sha256, kind } = known;
            let mtime_ns = (stamp.mtime_ns < trusted_ns).then_some(stamp.mtime_ns);
            Some(Entry { path: case.path.clone(), sha256, kind, size: stamp.size, mtime_ns })
        };
        let mut entries: Vec<Entry> = self.cases.iter().filter_map(entry).collect();
        // Copies were decided last.
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries
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
        self.cases.iter().all(|case| match case.fate {
            Fate::Gone => true,
            Fate::Known(known) => case.head == Some(known.sha256),
            Fate::Leave => case.head == ancestor(case),
            Fate::Remove(index) => self.removed.contains(&index) || case.head == ancestor(case),
            Fate::Write(index) => self.written.contains_key(&index) || case.head == ancestor(case),
            Fate::Pull(index) => self.pulled.contains_key(&index),
        })
    }
}
