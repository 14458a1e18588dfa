//! Every path, decided: what is to become of it, and, once that was done, what was last equal on both sides.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atlas_mirror::manifest::Changes;
use atlas_segment::Kind;

use crate::change::{Known, Remove, Write};
use crate::decide::{Action, Version, decide};
use crate::folder::{Content, Folder};
use crate::guard::{Loss, Side, What};
use crate::head::{self, Heads};
use crate::plan::{Found, Item};
use crate::progress::Progress;
use crate::reading;
use crate::report::{Reason, Skipped};
use crate::scan::File;
use crate::state::Entry;
use crate::target::Instead;

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

/// Files of a kind that one side has lost.
#[derive(Debug)]
pub(crate) struct Lost {
    what: What,
    /// Their cases, by index.
    cases: Vec<usize>,
    /// Of how many.
    of: u64,
}

impl Lost {
    /// How many there are, at a time in milliseconds since 1970 UTC.
    pub(crate) fn at(&self, time_ms: i64) -> Loss {
        Loss { time_ms, what: self.what, files: self.cases.len() as u64, of: self.of }
    }
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
    /// Decides every path.
    pub(crate) fn of(items: Vec<Item>, heads: Heads, folder: &Folder, progress: &dyn Progress) -> Self {
        let unlisted = reading::unlisted(folder, &items);
        let mut contents = reading::touched(folder, &items, progress);
        let mut decided = Self { heads, ..Self::default() };
        for (index, mut item) in items.into_iter().enumerate() {
            if unlisted.contains(&index) {
                decided.skip(&item.path, Reason::Unlisted);
                item.found = Found::Unknown;
            }
            decided.add(item, contents.remove(&index));
        }
        decided
    }

    /// Decides `item`; `content` is what was read of it.
    fn add(&mut self, item: Item, content: Option<Result<Content, Reason>>) {
        let ancestor = item.ancestor();
        let Item { path, entry, found, head } = item;
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

    /// The files that vanished from one side, or became empty, and are nowhere else.
    pub(crate) fn lost(&self, side: Side, what: What) -> Lost {
        match side {
            Side::Folder => self.lost_in_folder(what),
            Side::Mirror => self.lost_in_mirror(what),
        }
    }

    fn lost_in_folder(&self, what: What) -> Lost {
        let written = self.writes.iter().filter_map(|write| write.known);
        let elsewhere: HashSet<[u8; 32]> =
            written.filter(|known| known.stamp.size > 0).map(|known| known.sha256).collect();
        self.lost_where(what, |case, entry| match case.fate {
            Fate::Remove(_) => !elsewhere.contains(&entry.sha256),
            Fate::Write(index) => {
                let known = self.writes.get(index).and_then(|write| write.known);
                entry.size > 0 && known.is_some_and(|known| known.stamp.size == 0)
            }
            _ => false,
        })
    }

    fn lost_in_mirror(&self, what: What) -> Lost {
        let elsewhere = head::contents(&self.heads.documents);
        self.lost_where(what, |case, entry| match (&case.fate, case.head) {
            (Fate::Pull(_), None) => !elsewhere.contains(&entry.sha256),
            (Fate::Pull(_), Some(_)) => {
                entry.size > 0 && self.heads.document(&case.path).is_some_and(|document| document.bytes == 0)
            }
            _ => false,
        })
    }

    fn lost_where(&self, what: What, is_lost: impl Fn(&Case, &Entry) -> bool) -> Lost {
        let mut lost = Lost { what, cases: Vec::new(), of: 0 };
        for (index, case) in self.cases.iter().enumerate() {
            if let Some(entry) = case.entry.as_ref().filter(|entry| What::of(entry.kind) == what) {
                lost.of += 1;
                if is_lost(case, entry) {
                    lost.cases.push(index);
                }
            }
        }
        lost
    }

    /// What of `lost` the other side has lost too by now; what waits is counted when it is done.
    pub(crate) fn carried_over(&self, lost: &Lost) -> Lost {
        let fate = |index: usize| self.cases.get(index).map(|case| &case.fate);
        let is_carried_over = |index: &usize| match fate(*index) {
            Some(Fate::Remove(index)) => self.removed.contains(index),
            Some(Fate::Write(index)) => self.written.contains_key(index),
            Some(Fate::Pull(index)) => self.pulled.contains_key(index),
            _ => false,
        };
        Lost { cases: lost.cases.iter().copied().filter(is_carried_over).collect(), ..*lost }
    }

    /// Whether there is anything to do on either side.
    pub(crate) fn changes_anything(&self) -> bool {
        !(self.pulls.is_empty() && self.conflicts.is_empty() && self.writes.is_empty() && self.removes.is_empty())
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
