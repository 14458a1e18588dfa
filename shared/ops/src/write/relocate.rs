//! Moves of files: each gets another path, and the links that a move would break are updated, all in one commit. Files
//! can swap their paths. Where somebody else has moved the files, only the links are left to update.

pub mod made;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Hash, Snapshot};
use atlas_vault::links::has_links;
use atlas_vault::relink::{Moves, Relinked, Unlinkable, names_meant, relink, relink_possible, rewording};
use atlas_vault::{VaultPath, fold};
use bytes::Bytes;
use futures::future::try_join;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Reason};
use crate::operation::Context;
use crate::read::index::{DocumentRef, Index, Want};
use crate::read::links::{self, Naming};
use crate::read::notes::{self, Found};
use crate::write::batch::{Batch, NewDocument, bookmarks};

use made::Made;

/// Most notes whose links are rewritten at once.
pub const MAX_NOTES: usize = 4000;

/// The old and the new path of a file.
pub type Relocation = (VaultPath, VaultPath);

/// Files to move.
pub struct Moving<'a> {
    /// The call.
    pub context: &'a Context<'a>,
    /// The moves. All old paths differ, and all new ones.
    pub ways: Vec<Relocation>,
    /// Whether links are rewritten, so that they keep their meaning.
    pub update_links: bool,
    /// Whether a file at a new path may go to the trash.
    pub overwrite: bool,
    /// How the files came to their new paths, if they are there already.
    pub made: Option<Made>,
}

/// The result of one move.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Moved {
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// The number of links to it that were rewritten, in other notes.
    pub backlinks: usize,
}

/// The plan of the moves on one state.
pub struct Plan<'a> {
    /// The documents to write.
    pub batch: Batch<'a>,
    /// The result of each move, in order.
    pub moved: Vec<Moved>,
    /// The number of rewritten links, including those of moved notes.
    pub links: usize,
    /// The number of notes with rewritten links.
    pub notes: usize,
}

/// The files at both ends of a move.
pub struct Ends {
    /// The file that moves.
    pub from: Found,
    /// The file at its new path, which goes to the trash unless it is moved too.
    pub to: Option<Found>,
}

/// A note whose links are rewritten.
struct Rewritten {
    path: VaultPath,
    was: Found,
    text: String,
    meant: Vec<VaultPath>,
}

/// The notes whose links are rewritten.
#[derive(Default)]
struct Relinks {
    /// The new texts of moved notes, by index.
    own: Vec<Option<Relinked>>,
    others: Vec<Rewritten>,
    /// Why notes keep links that moves have broken already.
    left: Vec<Error>,
}

/// A note with its links rewritten, if any is, and why it keeps links that moves have broken already.
type Reworded = (Option<Relinked>, Vec<Error>);

/// The moves, as links see them.
struct Seen {
    moves: Moves,
    /// For notes that may be newer than the moves.
    for_newer: Option<Moves>,
}

impl Moving<'_> {
    /// The files at both ends of each move, or why it is impossible; in order.
    pub async fn ends(&self, head: &Snapshot) -> Result<Vec<Result<Ends, Error>>, Error> {
        let from: Vec<&str> = self.ways.iter().map(|(from, _)| from.as_str()).collect();
        let to: Vec<&str> = self.ways.iter().map(|(_, to)| to.as_str()).collect();
        let moved: HashSet<&str> = from.iter().copied().collect();
        let from = notes::find_all(head, &from, |_| true);
        let to = notes::find_all(head, &to, |record| self.overwrite && !moved.contains(record.path.as_str()));
        let (from, to) = try_join(from, to).await?;
        let ends = self.ways.iter().zip(from.into_iter().zip(to));
        Ok(ends.map(|((from, to), ends)| self.checked(&moved, from, to, ends)).collect())
    }

    fn checked(
        &self,
        moved: &HashSet<&str>,
        from: &VaultPath,
        to: &VaultPath,
        ends: (Option<Found>, Option<Found>),
    ) -> Result<Ends, Error> {
        let found = ends.0.ok_or_else(|| notes::missing(from.as_str()))?;
        match ends.1 {
            Some(there) if !self.overwrite && !moved.contains(to.as_str()) => {
                let message = format!("there is something at {to} already: choose another path, or move that first");
                let error = Error::new(Code::Conflict, Reason::NoteExists, message).with("path", to.as_str());
                Err(error.with("sha256", there.sha256()))
            }
            there => Ok(Ends { from: found, to: there }),
        }
    }

    /// The plan of the moves on `head`, given the files at their ends.
    pub async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>, ends: Vec<Ends>) -> Result<Plan<'h>, Error> {
        let now = self.context.now;
        let mut batch = Batch::on(head, self.context);
        let relinks = async {
            match self.update_links {
                true => self.rewritten(head, &ends).await,
                false => Ok(Relinks { own: ends.iter().map(|_| None).collect(), ..Relinks::default() }),
            }
        };
        // The batch looks at the bookmarks: then they are in the cache.
        let (Relinks { own, others, .. }, _) = try_join(relinks, bookmarks::list(head)).await?;
        let mut backlinks: BTreeMap<&VaultPath, usize> = BTreeMap::new();
        for meant in others.iter().flat_map(|other| &other.meant) {
            *backlinks.entry(meant).or_default() += 1;
        }
        let rewritten = own.iter().flatten().map(|own: &Relinked| own.meant.len());
        let links = others.iter().map(|other| other.meant.len()).chain(rewritten.clone()).sum();
        let notes = others.len() + rewritten.count();
        let left: BTreeSet<&str> = self.ways.iter().map(|(from, _)| from.as_str()).collect();
        let taken: BTreeSet<&str> = self.ways.iter().map(|(_, to)| to.as_str()).collect();
        let mut moved = Vec::with_capacity(ends.len());
        for (((from, to), Ends { from: found, to: there }), own) in self.ways.iter().zip(ends).zip(own) {
            let new = match own {
                Some(own) => NewDocument::text(to.clone(), own.text.into(), None, now)?,
                None => NewDocument::moved(to.clone(), &found),
            };
            moved.push(Moved { sha256: new.sha256(), backlinks: backlinks.get(to).copied().unwrap_or_default() });
            if let Some(there) = there.as_ref().filter(|_| !left.contains(to.as_str())) {
                if there.record.blob.is_some() {
                    let message = format!("{to} is too large to be put into the trash: choose another path");
                    return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", to.as_str()));
                }
                batch.keep_in_trash(to, there).await?;
            }
            batch.put_moved(new, &found, there.as_ref());
            if !taken.contains(from.as_str()) {
                batch.take_moved(&found);
            }
        }
        drop(backlinks);
        for Rewritten { path, was, text, .. } in others {
            batch.put_relinked(NewDocument::text(path, text.into(), Some(&was), now)?, &was);
        }
        Ok(Plan { batch, moved, links, notes })
    }

    /// The moved notes whose own links are rewritten, by index, and other notes with rewritten links.
    async fn rewritten(&self, head: &Arc<Snapshot>, ends: &[Ends]) -> Result<Relinks, Error> {
        let naming = Naming::of(self.ways.iter().map(|(from, _)| from), head.segments().len());
        let probes = naming.probes();
        let want = Want { names: true, ..naming.want(&probes) };
        let index = Index::fetch(self.context.view(head.clone()), want);
        let (index, before) = try_join(index, self.before(ends)).await?;
        let own = |((from, _), ends): (&Relocation, &Ends)| {
            names_meant(from, std::str::from_utf8(&ends.from.text).unwrap_or_default()).collect::<Vec<_>>()
        };
        let [old, new]: [BTreeSet<String>; 2] = [
            self.ways.iter().map(|(from, _)| fold(from.file_name())).collect(),
            self.ways.iter().map(|(_, to)| fold(to.file_name())).collect(),
        ];
        let names = self.ways.iter().zip(ends).flat_map(own).chain(old.iter().chain(&new).cloned()).collect();
        let mut files = links::files_named(&index, &names)?;
        if self.made.is_some() {
            // The moves say where they are.
            self.ways.iter().for_each(|(_, to)| files.remove(to));
        }
        let mut allowed = naming.allowed(&index)?;
        let mut namings = vec![naming];
        // After the move, a link to another file with a new name could mean the moved one.
        let is_taken = |to: &&VaultPath| {
            let name = fold(to.file_name());
            !old.contains(&name) && files.has_name(&name)
        };
        let taken: Vec<&VaultPath> = self.ways.iter().map(|(_, to)| to).filter(is_taken).collect();
        if !taken.is_empty() {
            let naming = Naming::of(taken, index.segments().len());
            let probes = naming.probes();
            let index = Index::fetch(self.context.view(head.clone()), naming.want(&probes)).await?;
            allowed.extend(naming.allowed(&index)?);
            namings.push(naming);
        }
        let is_gone = self.overwrite || self.made.is_some();
        let gone: HashSet<&VaultPath> =
            self.ways.iter().flat_map(|(from, to)| [Some(from), Some(to).filter(|_| is_gone)]).flatten().collect();
        allowed.retain(|_, path| !gone.contains(path));
        let moves = Moves::new(self.ways.iter().cloned(), files);
        let for_newer = self.made.as_ref().map(|_| moves.only_broken());
        let seen = Seen { moves, for_newer };
        let naming = links::naming(&index, allowed, &namings).await?;
        let mut relinks = self.reworded(head, &index, naming, before.as_deref(), &seen).await?;
        for ((from, to), Ends { from: found, .. }) in self.ways.iter().zip(ends) {
            let text = std::str::from_utf8(&found.text).ok().filter(|_| has_links(from));
            let here = if self.made.is_some() { to } else { from };
            let (relinked, left) = match text {
                Some(text) => self.relinked(text, from, here, self.seen_by(found, &seen))?,
                None => Reworded::default(),
            };
            relinks.left.extend(left);
            let earlier = match (&before, text) {
                (Some(before), Some(text)) => {
                    let earlier = notes::find(before, to.as_str(), |_| true).await?;
                    earlier.and_then(|earlier| as_it_was(text, &earlier.text, from, &seen.moves))
                }
                _ => None,
            };
            relinks.own.push(earlier.or(relinked));
        }
        Ok(relinks)
    }

    /// The moves for a note.
    fn seen_by<'s>(&self, note: &Found, seen: &'s Seen) -> &'s Moves {
        let may_be_newer = self.made.as_ref().is_some_and(|made| made.may_be_older_than(note));
        seen.for_newer.as_ref().filter(|_| may_be_newer).unwrap_or(&seen.moves)
    }

    /// The note that was at `path` before the moves, and is at `here` now, with its links rewritten. A link that cannot be stops moves that
    /// can still be left.
    fn relinked(&self, text: &str, path: &VaultPath, here: &VaultPath, moves: &Moves) -> Result<Reworded, Error> {
        let named = |error| unlinkable(Unlinkable { note: here.clone(), ..error });
        match (links::check_length(here, text.as_bytes()), &self.made) {
            (Err(error), Some(_)) => Ok((None, vec![error])),
            (Err(error), None) => Err(error),
            (Ok(()), Some(_)) => {
                let (relinked, left) = relink_possible(text, path, moves);
                Ok((relinked, left.into_iter().map(named).collect()))
            }
            (Ok(()), None) => Ok((relink(text, path, moves).map_err(named)?, Vec::new())),
        }
    }

    /// The vault before the commit that made the opposite moves, if there was one.
    async fn before(&self, ends: &[Ends]) -> Result<Option<Arc<Snapshot>>, Error> {
        let first = ends.first().filter(|_| self.made.is_none());
        let Some(generation) = first.map(|ends| ends.from.generation) else { return Ok(None) };
        if generation <= 1 || ends.iter().any(|ends| ends.from.generation != generation) {
            return Ok(None);
        }
        let Some(before) = self.context.vault.mirror.at_if_readable(generation - 1).await? else { return Ok(None) };
        let to: Vec<&str> = self.ways.iter().map(|(_, to)| to.as_str()).collect();
        let there = notes::find_all(&before, &to, |_| false).await?;
        Ok(there.iter().all(Option::is_some).then_some(before))
    }

    /// Those of the notes in the `naming` list whose links are rewritten; where the links as they were `before` are
    /// correct, with those.
    async fn reworded(
        &self,
        head: &Snapshot,
        index: &Index,
        naming: Vec<(DocumentRef, VaultPath, Bytes)>,
        before: Option<&Snapshot>,
        seen: &Seen,
    ) -> Result<Relinks, Error> {
        let mut candidates = Vec::new();
        for (document, path, text) in naming {
            let Ok(written) = std::str::from_utf8(&text) else { continue };
            self.context.work.check()?;
            let reworded = self.relinked(written, &path, &path, &seen.moves)?;
            if before.is_some() || has_broken(&reworded) {
                candidates.push((document, path, text, reworded));
            }
        }
        let count = candidates.iter().filter(|(.., reworded)| has_broken(reworded)).count();
        if count > MAX_NOTES {
            return Err(links::too_many(&format!("{count} notes link to it; at most {MAX_NOTES} of them")));
        }
        let places = candidates.iter().map(|(document, _, text, _)| (*document, text.clone())).collect();
        let found = links::found(head, index, places).await?;
        let notes: Vec<(VaultPath, Found, Reworded)> =
            candidates.into_iter().zip(found).map(|((_, path, _, reworded), was)| (path, was, reworded)).collect();
        let earlier = match before {
            // Another commit changed the note since.
            Some(before) => {
                let paths: Vec<&str> = notes.iter().map(|(path, ..)| path.as_str()).collect();
                let generation = before.generation() + 1;
                let written: HashSet<&str> = notes
                    .iter()
                    .filter(|(_, was, _)| was.generation == generation)
                    .map(|(path, ..)| path.as_str())
                    .collect();
                notes::find_all(before, &paths, |record| written.contains(record.path.as_str())).await?
            }
            None => Vec::new(),
        };
        let mut relinks = Relinks::default();
        let mut earlier = earlier.into_iter();
        for (path, was, mut reworded) in notes {
            let text = std::str::from_utf8(&was.text).unwrap_or_default();
            let moves = self.seen_by(&was, seen);
            if !std::ptr::eq(moves, &seen.moves) {
                reworded = self.relinked(text, &path, &path, moves)?;
            }
            let (relinked, left) = reworded;
            relinks.left.extend(left);
            let earlier = earlier.next().flatten();
            let earlier = earlier.and_then(|earlier| as_it_was(text, &earlier.text, &path, moves));
            if let Some(Relinked { text, meant }) = earlier.or(relinked) {
                self.context.check(Access::Write, &path)?;
                relinks.others.push(Rewritten { path, was, text, meant });
            }
        }
        Ok(relinks)
    }
}

/// Whether the moves break links of the note.
const fn has_broken((relinked, left): &Reworded) -> bool {
    relinked.is_some() || !left.is_empty()
}

/// The earlier version of the note at `path`, if its links are correct after the moves and nothing else differs: a move
/// back restores it.
fn as_it_was(text: &str, earlier: &[u8], path: &VaultPath, moves: &Moves) -> Option<Relinked> {
    let earlier = std::str::from_utf8(earlier).ok().filter(|earlier| !earlier.is_empty() && *earlier != text)?;
    let meant = rewording(text, earlier, path, moves)?;
    Some(Relinked { text: earlier.to_owned(), meant })
}

/// The error for a link that cannot be rewritten.
pub fn unlinkable(error: Unlinkable) -> Error {
    let message = format!("{error}: choose another name, change that link first, or let links stay as they are");
    let refused = Error::bad_request(Reason::LinkImpossible, message);
    refused.with("path", error.note.as_str()).with("line", error.line.saturating_add(1))
}
