//! Reads files of the source, and uploads those that are attachments.

use std::convert::Infallible;

use atlas_mirror::{Hash, Mirror, MirrorError};
use atlas_segment::Kind;
use atlas_sync::decide::Action;
use atlas_sync::folder::{kept_as, kind_of};
use atlas_sync::report::Reason;
use atlas_sync::rules::Class;
use atlas_vault::VaultPath;
use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::decision::action;
use crate::error::BuildError;
use crate::records::{Entry, Seen};
use crate::source::{Object, Source};

/// Objects read at once.
const PARALLEL: usize = 32;
/// Text up to this many bytes is hashed on the thread of the requests.
const SMALL: usize = 64 << 10;

/// A file to read.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) path: VaultPath,
    pub(crate) class: Class,
    pub(crate) object: Object,
    /// The last version that was equal in the source and in the mirror.
    pub(crate) ancestor: Option<Hash>,
    /// What the run before found.
    pub(crate) last: Option<Entry>,
    /// The mirror's version.
    pub(crate) head: Option<Seen>,
}

impl Wanted {
    /// The bytes of its text; 0 for an attachment.
    pub(crate) fn text_bytes(&self) -> u64 {
        match kept_as(self.class, self.object.bytes) {
            Ok(Kind::Attachment) | Err(_) => 0,
            Ok(_) => self.object.bytes,
        }
    }
}

/// A file to publish.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) path: VaultPath,
    pub(crate) entry: Entry,
    pub(crate) kind: Kind,
    pub(crate) modified_ms: i64,
    pub(crate) content: Content,
    pub(crate) replaces: Option<Seen>,
}

/// The content of a file to publish.
#[derive(Debug)]
pub(crate) enum Content {
    Text(Bytes),
    /// The name of its object.
    Blob(String),
}

/// What became of a file to read.
#[derive(Debug)]
pub(crate) enum Fetched {
    New(New),
    /// Its content is not to be published.
    Known {
        path: String,
        entry: Entry,
        action: Action,
    },
    Unread {
        path: String,
        reason: String,
        last: Option<Entry>,
    },
    /// It was deleted since it was listed; or it only marks a folder.
    Vanished {
        last: Option<Entry>,
    },
}

/// Reads for one shard.
pub(crate) struct Reader<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) source: &'a Source,
    /// The hash of the manifest that the run will probably extend.
    pub(crate) parent: Option<Hash>,
    pub(crate) now: Timestamp,
    /// For attachments, of which an upload keeps parts in memory.
    pub(crate) uploads: Semaphore,
}

/// Attachments that are read and uploaded at once.
pub(crate) const UPLOADS: usize = 4;

impl Reader<'_> {
    /// Reads files, and uploads the attachments among them.
    pub(crate) async fn fetch(&self, wanted: Vec<Wanted>) -> Result<Vec<Fetched>, BuildError> {
        let fetches: Vec<_> = wanted.into_iter().map(|wanted| self.fetch_one(wanted)).collect();
        stream::iter(fetches).buffered(PARALLEL).try_collect().await
    }

    async fn fetch_one(&self, wanted: Wanted) -> Result<Fetched, BuildError> {
        let kept = match kept_as(wanted.class, wanted.object.bytes) {
            Ok(kept) => kept,
            Err(reason) => return Ok(unread(wanted, reason)),
        };
        if kept == Kind::Attachment {
            return self.attachment(wanted).await;
        }
        let most = wanted.object.bytes;
        let Some((object, text)) = self.source.read(&wanted.object.key, most).await? else {
            return match self.source.has(&wanted.object.key).await? {
                true => Ok(unread(wanted, Reason::Unsteady)),
                false => Ok(Fetched::Vanished { last: wanted.last }),
            };
        };
        let sha256 = match text.len() {
            0..=SMALL => Hash::of(&text),
            _ => {
                let hashed = text.clone();
                tokio::task::spawn_blocking(move || Hash::of(&hashed)).await.map_err(broken)?
            }
        };
        let kind = match kind_of(wanted.class, wanted.path.as_str(), object.bytes, &text) {
            Ok(kind) => kind,
            Err(reason) => return Ok(unread(wanted, reason)),
        };
        let content = async |reader: &Self| match kind {
            Kind::Attachment => {
                let whole = stream::once(std::future::ready(Ok::<_, Infallible>(text.clone())));
                Ok(Content::Blob(reader.upload(sha256, object.bytes, whole).await?))
            }
            _ => Ok(Content::Text(text.clone())),
        };
        self.decided(wanted, &object, sha256, kind, content).await
    }

    /// An attachment is read twice: for its hash, which mostly says that the mirror has it, and for its upload.
    async fn attachment(&self, wanted: Wanted) -> Result<Fetched, BuildError> {
        let _permit = self.uploads.acquire().await.map_err(|error| BuildError::Broken(error.to_string()))?;
        let key = wanted.object.key.clone();
        let Some((object, mut body)) = self.source.stream(&key).await? else {
            return Ok(Fetched::Vanished { last: wanted.last });
        };
        let mut hasher = Sha256::new();
        while let Some(piece) = body.try_next().await? {
            hasher.update(&piece);
        }
        let sha256 = Hash::from_bytes(hasher.finalize().into());
        let content = async |reader: &Self| {
            let gone = || MirrorError::Conflict { reason: "it vanished while it was read".to_owned() };
            let (_, body) = reader.source.stream(&key).await?.ok_or_else(gone)?;
            Ok(Content::Blob(reader.upload(sha256, object.bytes, body).await?))
        };
        self.decided(wanted, &object, sha256, Kind::Attachment, content).await
    }

    async fn upload<E: std::fmt::Display>(
        &self,
        sha256: Hash,
        bytes: u64,
        body: impl futures::Stream<Item = Result<Bytes, E>>,
    ) -> Result<String, BuildError> {
        if let Some(left) = self.mirror.left_blob(self.parent, sha256, bytes, self.now).await {
            return Ok(left.to_string());
        }
        Ok(self.mirror.put_blob(self.parent, sha256, body).await?.to_string())
    }

    /// Decides about a file whose content is known, and prepares `content` if it is to be published.
    async fn decided(
        &self,
        wanted: Wanted,
        object: &Object,
        sha256: Hash,
        kind: Kind,
        content: impl AsyncFnOnce(&Self) -> Result<Content, BuildError>,
    ) -> Result<Fetched, BuildError> {
        let entry =
            Entry { key: object.key.clone(), etag: object.etag.clone(), bytes: object.bytes, sha256, differs: false };
        let action = action(wanted.ancestor, Some(sha256), wanted.head);
        if action != Action::Push {
            let entry = Entry { differs: action == Action::Conflict, ..entry };
            return Ok(Fetched::Known { path: wanted.path.as_str().to_owned(), entry, action });
        }
        let content = match content(self).await {
            Ok(content) => content,
            Err(BuildError::Mirror(MirrorError::Conflict { reason })) => {
                tracing::info!(key = object.key, reason, "a file is left for the next run");
                return Ok(unread(wanted, Reason::Unsteady));
            }
            Err(error) => return Err(error),
        };
        let Wanted { path, head: replaces, .. } = wanted;
        Ok(Fetched::New(New { path, entry, kind, modified_ms: object.modified_ms, content, replaces }))
    }
}

fn unread(wanted: Wanted, reason: Reason) -> Fetched {
    Fetched::Unread { path: wanted.path.as_str().to_owned(), reason: reason.to_string(), last: wanted.last }
}

fn broken(error: tokio::task::JoinError) -> BuildError {
    BuildError::Broken(error.to_string())
}
