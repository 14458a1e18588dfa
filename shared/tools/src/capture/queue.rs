//! The queue of captures. A capture is one object of the store, which is made once; so is the mark that it was committed, so that all processes
//! agree. The mark that it is to be committed is written again by each try, with the generation up to which no commit made a note of it.
//!
//! The key of an object begins with its caller's pseudonym: a caller's own captures are listed alone. Those of others are an administrator's to
//! see, and of those only the ones that are meant for paths which the administrator may read.

use std::collections::BTreeSet;
use std::time::Duration;

use atlas_access::{Access, Scope};
use atlas_mirror::{CommitKey, Hash, Id, Mirror, MirrorError, StateObject};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_vault::VaultPath;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Where captures are kept.
const FOLDER: &str = "captures";
const BEGUN: &str = ".begun";
const COMMITTED: &str = ".committed";
/// A commit of a try that is older has its mark, unless its process ended in between and nobody tried again.
const MARKED_WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// How long a capture waits.
pub(super) const TIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Most captures of one caller that wait at once.
pub(super) const MAX_OF_CALLER: usize = 200;
/// Most bytes of a capture's text.
pub(super) const MAX_CONTENT: usize = 128 << 10;
/// Most bytes of its object: JSON may escape each byte as six.
const MAX_BYTES: u64 = 1 << 20;
/// Digits of a caller, and of a capture among theirs.
const DIGITS: usize = 16;

/// The captured text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Capture {
    /// The name of whoever captured it.
    pub(super) by: String,
    /// When.
    pub(super) at: Timestamp,
    /// The text.
    pub(super) content: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    /// The path that it is meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<VaultPath>,
}

/// The note that a capture became.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Committed {
    /// Its path.
    pub(super) path: VaultPath,
    /// When it was written.
    pub(super) at: Timestamp,
    /// SHA-256 of it.
    pub(super) sha256: Hash,
    /// Of the call that wrote it.
    pub(super) call: Hash,
    /// Whether the capture was to be taken out of the queue.
    pub(super) deletes: bool,
}

/// A try to commit a capture.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Begun {
    /// No commit up to this generation made a note of it.
    since: u64,
    /// When it was; long ago in marks of older versions.
    #[serde(default)]
    at: Timestamp,
}

/// The name of a capture: 16 digits of its own, then its caller's pseudonym.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CaptureId {
    own: String,
    caller: String,
}

impl CaptureId {
    /// A new one for a capture of the caller; always the same for a call with a key that is made again.
    pub(super) fn new(context: &Context<'_>) -> Result<Self, Error> {
        let digits = match context.key {
            Some(key) => Hash::of(format!("capture {}", key.hash).as_bytes()).to_string(),
            None => Id::random()?.to_string(),
        };
        let own = digits.get(..DIGITS).unwrap_or_default().to_owned();
        Ok(Self { own, caller: context.caller.pseudonym() })
    }

    /// The one that is written so.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (own, caller) = text.split_at_checked(DIGITS)?;
        let is_hex = |digits: &str| digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_one = caller.len() == DIGITS && is_hex(own) && is_hex(caller);
        is_one.then(|| Self { own: own.to_owned(), caller: caller.to_owned() })
    }

    /// As callers know it.
    pub(super) fn written(&self) -> String {
        format!("{}{}", self.own, self.caller)
    }

    fn name(&self) -> String {
        format!("{FOLDER}/{}/{}", self.caller, self.own)
    }
}

/// Whether the caller may see captures of the one with this pseudonym.
fn may_see(context: &Context<'_>, of: &str) -> bool {
    context.caller.scopes().holds(Scope::Admin) || of == context.caller.pseudonym()
}

/// Whether the caller sees a capture of somebody whose captures they may see.
pub(super) fn shows(context: &Context<'_>, capture: &Capture) -> bool {
    let is_readable = |hint: &VaultPath| context.check(Access::Read, hint).is_ok();
    context.now < ends(capture.at) && capture.hint.as_ref().is_none_or(is_readable)
}

fn ends(at: Timestamp) -> Timestamp {
    at.checked_add(TIME).unwrap_or(Timestamp::MAX)
}

/// Puts a capture into the queue. Returns when that was: a call with a key that is made again finds it there.
pub(super) async fn add(context: &Context<'_>, id: &CaptureId, capture: &Capture) -> Result<Timestamp, Error> {
    let mirror = &context.vault.mirror;
    mirror.check_writes_once().await?;
    if context.key.is_some()
        && let Some(there) = get(mirror, id).await?
    {
        return Ok(there.at);
    }
    check_room(context).await?;
    if mirror.create_state_if_absent(&id.name(), capture).await? {
        return Ok(capture.at);
    }
    Ok(get(mirror, id).await?.map_or(capture.at, |there| there.at))
}

async fn check_room(context: &Context<'_>) -> Result<(), Error> {
    let listed = context.vault.mirror.list_state(&format!("{FOLDER}/{}", context.caller.pseudonym()), None).await?;
    let marked: BTreeSet<&str> = listed.iter().filter_map(|made| made.name.strip_suffix(COMMITTED)).collect();
    let waits = |made: &&StateObject| {
        !made.name.contains('.') && !marked.contains(made.name.as_str()) && context.now < ends(made.written)
    };
    if listed.iter().filter(waits).count() < MAX_OF_CALLER {
        return Ok(());
    }
    let message = format!(
        "{MAX_OF_CALLER} of your captures are in the queue already: list them with list_capture_queue, and make notes of some with commit_capture"
    );
    Err(Error::new(Code::TooManyRequests, Reason::CapturesFull, message))
}

/// A capture of a listing: when it was made, by the store's clock.
#[derive(Clone, Debug)]
pub(super) struct QueuedCapture {
    /// Its id.
    pub(super) id: CaptureId,
    /// When it was made.
    pub(super) written: Timestamp,
}

/// The captures that the caller may see, by their ids; those that became notes if `are_committed`, and else those that did not. The newest come first.
pub(super) async fn list(context: &Context<'_>, are_committed: bool) -> Result<Vec<QueuedCapture>, Error> {
    let mirror = &context.vault.mirror;
    let own = context.caller.pseudonym();
    let listed: Vec<(String, StateObject)> = if context.caller.scopes().holds(Scope::Admin) {
        let all = mirror.list_state(FOLDER, None).await?;
        let of = |made: StateObject| {
            let (caller, name) = made.name.split_once('/')?;
            Some((caller.to_owned(), StateObject { name: name.to_owned(), written: made.written }))
        };
        all.into_iter().filter_map(of).collect()
    } else {
        let of_caller = mirror.list_state(&format!("{FOLDER}/{own}"), None).await?;
        of_caller.into_iter().map(|made| (own.clone(), made)).collect()
    };
    let mark = |(caller, made): &(String, StateObject)| {
        CaptureId::parse(&format!("{}{caller}", made.name.strip_suffix(COMMITTED)?))
    };
    let marked: BTreeSet<CaptureId> = listed.iter().filter_map(mark).collect();
    let named = |(caller, made): (String, StateObject)| {
        Some(QueuedCapture { id: CaptureId::parse(&format!("{}{caller}", made.name))?, written: made.written })
    };
    let wanted = listed.into_iter().filter_map(named).filter(|one| marked.contains(&one.id) == are_committed);
    let mut wanted: Vec<QueuedCapture> = wanted.collect();
    wanted.sort_by(|one, other| other.written.cmp(&one.written).then_with(|| one.id.cmp(&other.id)));
    Ok(wanted)
}

/// The capture of this id, if it is in the queue.
pub(super) async fn get(mirror: &Mirror, id: &CaptureId) -> Result<Option<Capture>, Error> {
    Ok(mirror.get_state_up_to(&id.name(), MAX_BYTES).await?)
}

/// The note that the capture of this id became, if it became one.
pub(super) async fn committed(mirror: &Mirror, id: &CaptureId) -> Result<Option<Committed>, Error> {
    Ok(mirror.get_state(&format!("{}{COMMITTED}", id.name())).await?)
}

/// A capture that is to become a note.
pub(super) enum CaptureStatus {
    /// It waits.
    Waiting(Capture),
    /// It became one.
    Committed(Committed),
}

/// The capture of this id, as the caller may see it.
pub(super) async fn find(context: &Context<'_>, id: &CaptureId) -> Result<Option<CaptureStatus>, Error> {
    let mirror = &context.vault.mirror;
    if !may_see(context, &id.caller) {
        return Ok(None);
    }
    if let Some(done) = committed(mirror, id).await? {
        let is_readable = context.check(Access::Read, &done.path).is_ok();
        return Ok(is_readable.then_some(CaptureStatus::Committed(done)));
    }
    Ok(get(mirror, id).await?.filter(|capture| shows(context, capture)).map(CaptureStatus::Waiting))
}

/// The key of the commit that makes a note of a capture: whoever else tries that finds the commit by it, and makes no other note.
pub(super) async fn commit_key(context: &Context<'_>, id: &CaptureId) -> Result<CommitKey, Error> {
    let mirror = &context.vault.mirror;
    mirror.check_writes_once().await?;
    let name = format!("{}{BEGUN}", id.name());
    let hash = Hash::of(format!("capture {}/{}", id.caller, id.own).as_bytes());
    let key = |since, is_executed| CommitKey { hash, since, is_executed };
    let own = Begun { since: mirror.head().await?.generation(), at: context.now };
    let Some(begun) = mirror.get_or_create_state(&name, &own).await? else { return Ok(key(own.since, false)) };
    match mirror.committed(key(begun.since, false)).await {
        Ok(Some(_)) => return Ok(key(begun.since, true)),
        Ok(None) => {}
        Err(MirrorError::Forgotten { .. }) if context.now.duration_since(begun.at) > MARKED_WITHIN => {}
        Err(error) => return Err(error.into()),
    }
    let own = Begun { since: own.since.max(begun.since), ..own };
    mirror.put_state(&name, &own).await?;
    Ok(key(own.since, false))
}

/// Marks a capture as committed. Functions may delete nothing of a store, so its object stays until it is collected.
pub(super) async fn finish(mirror: &Mirror, id: &CaptureId, done: &Committed) -> Result<(), Error> {
    mirror.create_state_if_absent(&format!("{}{COMMITTED}", id.name()), done).await?;
    Ok(())
}
