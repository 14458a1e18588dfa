//! The start of a sync: opens the folder and the last sync's state, and checks that both fit each other and the mirror.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas_mirror::{Mirror, MirrorError, Snapshot};

use crate::error::SyncError;
use crate::folder::Folder;
use crate::guard::{self, Ancestry, Danger, Loss, SeenGeneration, Side};
use crate::rules;
use crate::state::{State, StateFolder};

/// Most generations whose chain of parents is followed. Beyond that, and where one between is lost, the numbered manifests are trusted.
const MAX_WALK: u64 = 64;

/// The start of a sync.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) folder: Arc<Folder>,
    pub(crate) states: StateFolder,
    /// The state of the last sync.
    pub(crate) before: Option<State>,
    /// Whether the last sync was interrupted.
    pub(crate) was_interrupted: bool,
    /// The mount point of the folder's file system.
    pub(crate) mount_point: PathBuf,
}

impl Session {
    /// Opens the folder `root` and the state folder `state`, and locks the latter. A sync that `only_pushes` ignores
    /// the state of another folder.
    pub(crate) fn open(root: &Path, state: &Path, mirror: &Mirror, only_pushes: bool) -> Result<Self, SyncError> {
        let folder = Folder::open(root)?;
        if is_inside(&folder, state) {
            return Err(SyncError::StateInside { root: folder.path().to_owned() });
        }
        let states = StateFolder::lock(state)?;
        let (mut before, was_interrupted) = (states.load()?, states.was_interrupted());
        let missing = |error| SyncError::RootMissing { root: root.to_owned(), error };
        let mount_point = folder.mount_point().map_err(missing)?;
        let fits = |before: &State| -> Result<(), SyncError> {
            if before.root != folder.path().to_string_lossy() || before.vault != mirror.vault().as_str() {
                let (root, vault) = (before.root.clone().into(), before.vault.clone());
                return Err(Danger::OtherState { state: states.path().to_owned(), root, vault }.into());
            }
            Ok(guard::check_mount(Path::new(&before.mount_point), &mount_point, folder.path(), states.path())?)
        };
        match before.as_ref().map_or(Ok(()), fits) {
            Err(_) if only_pushes => before = None,
            result => result?,
        }
        Ok(Self { folder: Arc::new(folder), states, before, was_interrupted, mount_point })
    }

    /// The earlier losses of one side.
    pub(crate) fn losses(&self, side: Side) -> &[Loss] {
        self.before.as_ref().map_or(&[], |before| match side {
            Side::Folder => &before.losses,
            Side::Mirror => &before.head_losses,
        })
    }

    /// Checks that the mirror's newest generation descends from the one that the last sync saw. Returns the latter.
    pub(crate) async fn check_ancestry(
        &self,
        mirror: &Mirror,
        head: Option<&Arc<Snapshot>>,
    ) -> Result<Option<Arc<Snapshot>>, SyncError> {
        let Some(before) = &self.before else {
            return Ok(None);
        };
        let other = |reason| Danger::OtherMirror { reason, state: self.states.path().to_owned() };
        let ancestry = guard::compare(&before.seen, head.map(|head| seen(head)).as_ref()).map_err(other)?;
        let (Ancestry::Later, Some(head)) = (ancestry, head) else { return Ok(head.cloned()) };
        let generation = before.seen.generation;
        let Some(found) = ancestor(mirror, head, generation).await? else {
            return Err(Danger::Forgotten { generation, state: self.states.path().to_owned() }.into());
        };
        guard::check_ancestor(&before.seen, found.hash()).map_err(other)?;
        Ok(Some(found))
    }
}

/// The identity of a generation, for the next sync.
pub(crate) fn seen(head: &Snapshot) -> SeenGeneration {
    SeenGeneration {
        lineage: head.manifest().lineage.to_string(),
        generation: head.generation(),
        manifest: *head.hash().as_bytes(),
    }
}

/// The newest generation; [`None`] when there is none.
///
/// # Errors Those of reading the mirror.
pub async fn newest(mirror: &Mirror) -> Result<Option<Arc<Snapshot>>, SyncError> {
    match mirror.head().await {
        Ok(head) => Ok(Some(head)),
        Err(MirrorError::NotPublished { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The ancestor of `head` with the number `generation`.
async fn ancestor(mirror: &Mirror, head: &Snapshot, generation: u64) -> Result<Option<Arc<Snapshot>>, SyncError> {
    let distance = head.generation().saturating_sub(generation);
    if distance <= MAX_WALK {
        let chain = mirror.chain(head.generation(), usize::try_from(distance).unwrap_or(0) + 1).await?;
        if chain.first().is_none_or(|first| first.hash() != head.hash()) {
            return Ok(None);
        }
        if let Some(last) = chain.into_iter().next_back().filter(|last| last.generation() == generation) {
            return Ok(Some(last));
        }
    }
    Ok(mirror.chain(generation, 1).await?.pop())
}

/// Whether `path`, which need not exist, is within the vault's files.
pub fn is_inside(folder: &Folder, path: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else {
        return false;
    };
    let Some((existing, real)) = path.ancestors().find_map(|path| Some((path, fs::canonicalize(path).ok()?))) else {
        return false;
    };
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let real = real.join(rest).join("state");
    let Ok(relative) = real.strip_prefix(folder.path()) else {
        return false;
    };
    relative.to_str().is_none_or(|relative| rules::class_of(relative).is_some())
}
