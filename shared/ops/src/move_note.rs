//! `move_note`: gives a note another path, and rewrites the links to it, in one commit.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::manifest::Changes;
use atlas_mirror::{ChangeSet, Derived, Hash, NewSegment, SegmentId, Snapshot, merge};
use atlas_segment::{Body, Builder, Document, Record};
use atlas_vault::relink::{Move, Unlinkable, names_meant, relink};
use atlas_vault::{VaultPath, fold};
use bytes::Bytes;
use futures::future::try_join;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Text};
use crate::error::{Code, Error};
use crate::index::{DocumentRef, Index, Want};
use crate::links::{self, Naming};
use crate::notes::{self, Found};
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::precondition::Condition;
use crate::writing::{self, Done, Last, MAX_NOTE_BYTES};

/// Most notes whose links are rewritten at once.
const MAX_NOTES: usize = 1000;

/// The operation.
pub struct MoveNote;

/// Which note, and where to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MoveNoteRequest")]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.md`.
    path: String,
    /// Its new path, where there must be no note; it ends in `.md`.
    to: String,
    /// Move the note only if its SHA-256 is this one, or one of these, parted by commas.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    if_match: Option<Text<4096>>,
    /// Rewrite the links of all notes, so that they mean what they meant.
    #[serde(default = "yes")]
    update_links: bool,
    /// Why, for the log; if not given, where the note was.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    message: Option<Text<4096>>,
}

const fn yes() -> bool {
    true
}

/// What was moved.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MoveNoteResponse")]
pub struct Output {
    /// The path that it had.
    path: String,
    /// The path that it has.
    to: String,
    /// SHA-256 of its bytes, in hex: what the next `if_match` names. Another than before if links in it were rewritten.
    sha256: String,
    /// The generation that moved it.
    generation: u64,
    /// How many links were rewritten, in all notes.
    links: usize,
    /// How many notes had such links.
    notes: usize,
}

impl Operation for MoveNote {
    const INFO: Info = Info {
        name: "move_note",
        title: "Move a note",
        description: "Gives a note another path, in another folder or with another name, and rewrites the links that would mean something else after that, in all notes: wikilinks, embeds and markdown links, with what they show and the part they point to as it was. All of it is one commit. Nothing is moved if there is a note at the new path.",
        scopes: &[Scope::WriteVault, Scope::DeleteVault],
        destructive: true,
        tags: &["notes", "links"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Self::Arguments) -> Result<Vec<Touch>, Error> {
        Ok(vec![
            (Access::Delete, writing::path("path", &arguments.path)?),
            (Access::Write, writing::path("to", &arguments.to)?),
        ])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        arguments.update_links || folder(&arguments.path) != folder(&arguments.to)
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let (from, to) = (writing::path("path", &arguments.path)?, writing::path("to", &arguments.to)?);
        if from == to {
            let message = format!("to: the note is at {from} already");
            return Err(Error::bad_request("validation_error", message).with("field", "to"));
        }
        let message =
            arguments.message.as_ref().map_or_else(|| format!("moved from {from}"), |why| why.as_str().to_owned());
        let change = MoveChange {
            from,
            to,
            condition: Condition::of_existing(arguments.if_match.as_ref())?,
            update_links: arguments.update_links,
            context,
            last: Last::default(),
        };
        let done = writing::commit(context, &Self::INFO, Some(&message), &change, &change.last).await?;
        let MoveChange { from, to, .. } = change;
        let Done::Committed { value: Moved { sha256, links, notes }, generation } = done else {
            return Err(Error::new(Code::Internal, "internal", "nothing was moved"));
        };
        let (path, to) = (from.as_str().to_owned(), to.as_str().to_owned());
        let output = Output { path, to, sha256: sha256.to_string(), generation, links, notes };
        Ok(Answer { value: output, generation: Some(generation) })
    }
}

struct MoveChange<'a> {
    from: VaultPath,
    to: VaultPath,
    condition: Condition<'a>,
    update_links: bool,
    context: &'a Context<'a>,
    last: Last<Moved>,
}

/// What a move came to. A keyed commit keeps it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Moved {
    sha256: Hash,
    links: usize,
    notes: usize,
}

/// The links that a move rewrites, on one state.
#[derive(Default)]
struct Rewritten {
    /// The moved note's text, if some are its own.
    own: Option<String>,
    /// Other notes, each with where it was.
    others: Vec<((SegmentId, u32), New)>,
    links: usize,
}

impl MoveChange<'_> {
    /// The note to move, if it may be.
    async fn note(&self, head: &Snapshot) -> Result<Found, Error> {
        let note = notes::find(head, self.from.as_str(), |_| true);
        let (note, there) = try_join(note, notes::find(head, self.to.as_str(), |_| false)).await?;
        let note = note.ok_or_else(|| notes::missing(self.from.as_str()))?;
        self.condition.check(self.from.as_str(), Some(&note))?;
        Condition::Absent.check(self.to.as_str(), there.as_ref())?;
        Ok(note)
    }

    /// The note to move and the links to rewrite.
    async fn found(&self, head: &Arc<Snapshot>) -> Result<(Found, Rewritten), Error> {
        if !self.update_links {
            return Ok((self.note(head).await?, Rewritten::default()));
        }
        let naming = Naming::of(&self.from, head.segments().len());
        let probes = naming.probes();
        let index =
            Index::fetch(self.context.view(head.clone()), Want { names: true, probes: &probes, ..Want::default() });
        let (note, index) = try_join(self.note(head), index).await?;
        let rewritten = self.rewritten(head, &index, naming, &note).await?;
        Ok((note, rewritten))
    }

    /// The links to rewrite. `index` has what answers `naming`.
    async fn rewritten(
        &self,
        head: &Arc<Snapshot>,
        index: &Index,
        naming: Naming,
        note: &Found,
    ) -> Result<Rewritten, Error> {
        let own = std::str::from_utf8(&note.text).unwrap_or_default();
        let [old, new] = [&self.from, &self.to].map(|path| fold(path.file_name()));
        let names: HashSet<String> = names_meant(own).chain([old.clone(), new.clone()]).collect();
        let files = links::files_named(index, &names)?;
        let mut allowed: BTreeMap<DocumentRef, VaultPath> = naming.allowed(index)?;
        let mut namings = vec![naming];
        // A link to another file with the new name could mean the moved one after this.
        if old != new && files.has_name(&new) {
            let naming = Naming::of(&self.to, index.segments().len());
            let probes = naming.probes();
            let index =
                Index::fetch(self.context.view(head.clone()), Want { probes: &probes, ..Want::default() }).await?;
            allowed.extend(naming.allowed(&index)?);
            namings.push(naming);
        }
        allowed.retain(|_, path| *path != self.from);
        let moved = Move::new(self.from.clone(), self.to.clone(), files);
        let mut rewritten = Rewritten::default();
        if let Some(relinked) = relink(own, &self.from, &moved).map_err(unlinkable)? {
            rewritten.links = relinked.links;
            rewritten.own = Some(relinked.text);
        }
        let mut others = Vec::new();
        for (document, path, text) in links::naming(index, allowed, &namings).await? {
            let Ok(text) = std::str::from_utf8(&text) else { continue };
            if let Some(relinked) = relink(text, &path, &moved).map_err(unlinkable)? {
                self.context.check(Access::Write, &path)?;
                rewritten.links += relinked.links;
                others.push((document, path, relinked.text));
            }
        }
        if others.len() > MAX_NOTES {
            return Err(links::too_many(&format!("{} notes link to it; at most {MAX_NOTES} of them", others.len())));
        }
        let documents: Vec<DocumentRef> = others.iter().map(|(document, ..)| *document).collect();
        for ((at, path, text), was) in others.into_iter().zip(index.records(&documents).await?) {
            let Some(entry) = head.segments().get(at.segment) else { continue };
            let replaces = entry.written_at(&was);
            let new = New::of_text(path, text, replaces, self.context.now, was)?;
            rewritten.others.push(((entry.id, at.document), new));
        }
        Ok(rewritten)
    }

    /// The note at its new path, with this text if it is another.
    fn at_new_path(&self, note: Found, text: Option<String>) -> Result<New, Error> {
        let (path, was) = (self.to.clone(), Record { path_on_disk: None, ..note.record });
        if let Some(text) = text {
            return New::of_text(path, text, 0, self.context.now, was);
        }
        let (sha256, modified_ms) = (Hash::from_bytes(was.sha256), was.modified_ms);
        Ok(New { path, was, text: note.text, sha256, modified_ms, replaces: 0 })
    }
}

fn unlinkable(error: Unlinkable) -> Error {
    let message = format!("{error}: choose another name, change that link first, or say update_links: false");
    let refused = Error::bad_request("link_impossible", message);
    refused.with("path", error.note.as_str()).with("line", error.line.saturating_add(1))
}

/// A document to write.
struct New {
    path: VaultPath,
    /// What it was; what is not said of it otherwise it still is.
    was: Record,
    text: Bytes,
    sha256: Hash,
    modified_ms: i64,
    /// The generation of this path's version that it replaces; 0 if none.
    replaces: u64,
}

impl New {
    /// A note that becomes `text` now.
    fn of_text(path: VaultPath, text: String, replaces: u64, now: Timestamp, was: Record) -> Result<Self, Error> {
        if text.len() > MAX_NOTE_BYTES {
            let message = format!("with its links rewritten {path} would have more than {MAX_NOTE_BYTES} bytes");
            return Err(Error::new(Code::TooLarge, "note_too_large", message).with("path", path.as_str()));
        }
        let sha256 = Hash::of(text.as_bytes());
        Ok(Self { path, was, text: text.into(), sha256, modified_ms: now.as_millisecond(), replaces })
    }

    fn body(&self) -> Body<'_> {
        match &self.was.blob {
            Some(name) => Body::Blob { name, bytes: self.was.bytes },
            None => Body::Text(&self.text),
        }
    }

    fn bytes(&self) -> u64 {
        if self.was.blob.is_some() { self.was.bytes } else { self.text.len() as u64 }
    }
}

/// The segments of `documents`, which are in path order.
fn segments(documents: &[New]) -> Result<Vec<NewSegment>, Error> {
    let mut built = Vec::new();
    let mut builder = Builder::new()?;
    for new in documents {
        if builder.is_full(new.text.len()) {
            built.extend(std::mem::replace(&mut builder, Builder::new()?).finish()?);
        }
        builder.push(&Document {
            path: &new.path,
            path_on_disk: new.was.path_on_disk.as_deref(),
            kind: new.was.kind,
            sha256: *new.sha256.as_bytes(),
            modified_ms: new.modified_ms,
            generation: 0,
            replaces: new.replaces,
            body: new.body(),
        })?;
    }
    built.extend(builder.finish()?);
    Ok(built.into_iter().map(NewSegment::from).collect())
}

impl ChangeSet for MoveChange<'_> {
    type Error = Error;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Option<Derived>, Error> {
        let head = writing::published(head)?;
        let (note, rewritten) = self.found(head).await?;
        let mut derived = Derived { totals: head.manifest().totals, ..Derived::default() };
        derived.changes = Changes { added: 1, changed: rewritten.others.len() as u64, removed: 1 };
        let others = rewritten.others.iter().map(|(at, new)| (*at, &new.was));
        for ((segment, document), was) in others.chain([(note.document, &note.record)]) {
            derived.deleted.push((segment, vec![document]));
            derived.totals.remove(was.kind, was.bytes);
        }
        let notes = rewritten.others.len() + usize::from(rewritten.own.is_some());
        let new = self.at_new_path(note, rewritten.own)?;
        let moved = Moved { sha256: new.sha256, links: rewritten.links, notes };
        let mut documents: Vec<New> = rewritten.others.into_iter().map(|(_, new)| new).chain([new]).collect();
        documents.iter().for_each(|new| derived.totals.add(new.was.kind, new.bytes()));
        documents.sort_by(|one, other| one.path.cmp(&other.path));
        derived.segments = segments(&documents)?;
        merge::fold(head, merge::SMALL, &mut derived).await?;
        self.last.changes(moved, derived)
    }
}
