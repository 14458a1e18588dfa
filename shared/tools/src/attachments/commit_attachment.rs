//! `commit_attachment`: adds a file whose bytes were uploaded to a URL of `upload_attachment`.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, BlobKey, ChangeSet, MirrorError, Snapshot, Uploaded};
use atlas_ops::arguments::{Bounded, Given, Message, Text, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::{Batch, Content, NewDocument};
use atlas_ops::write::commit;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::{Condition, Mode};
use atlas_ops::write::update::{self, WriteResult};
use atlas_ops::write::writable::{self, Version};
use atlas_vault::VaultPath;
use atlas_vault::file_kind::{MAX_TEXT_BYTES, may_be_text};
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt as _;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::mime;
use super::upload_attachment::{MAX_BYTES, check, hash, key, path};

/// Adds a file whose bytes were uploaded to a URL of upload_attachment within the last hour.
pub struct CommitAttachment;

/// The upload, with the same values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file's path from the root of the vault, with its extension.
    path: String,
    /// The id of the upload, from `upload_attachment`.
    upload: Text<32>,
    /// SHA-256 of its bytes, in hex, in lower case.
    sha256: Text<64>,
    /// Its size in bytes.
    size_bytes: Bounded<0, MAX_BYTES>,
    /// `create` only where there is no file, `overwrite` the file that is there, or `upsert` either way.
    #[serde(default)]
    mode: Mode,
    /// Replace a file only if its SHA-256 is this one; any version if not given.
    #[serde(default)]
    expected_hash: Given<Text<64>>,
    #[serde(default)]
    message: Given<Message>,
}

/// The file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// Its size in bytes.
    size_bytes: u64,
    /// Its media type, by its extension.
    mime: &'static str,
    /// When it was last changed: by this call, unless it already had this content.
    #[schemars(with = "String", extend("format" = "date-time"))]
    mtime: Timestamp,
    /// SHA-256 of its bytes, in hex.
    content_hash: String,
    /// Whether it is new.
    created: bool,
    /// SHA-256 of the version before.
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_hash: Option<String>,
    /// The generation that wrote this version.
    generation: u64,
}

impl Operation for CommitAttachment {
    const INFO: Info = Info {
        name: "commit_attachment",
        title: "Commit an uploaded attachment",
        description: "Adds a file whose bytes were uploaded to a URL of upload_attachment within the last hour, after checking their size and SHA-256; the next sync writes it into the folder. With mode overwrite or upsert it replaces an existing file, if that has the expected_hash and a person has confirmed it. A file that already has this content stays unchanged, so the same call can be repeated. Example: {\"path\": \"media/plan.png\", \"upload\": \"…\", \"sha256\": \"…\", \"size_bytes\": 5120}",
        // The result reveals whether the file already has this content.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["attachments"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path(&arguments.path)?)])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // That depends on the existing file.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path(&arguments.path)?;
        let upload = arguments.upload.as_str().parse();
        let upload =
            upload.map_err(|_| invalid_input("upload", "must be what upload_attachment gave: 32 hex digits"))?;
        let key = key(context, &path, hash(&arguments.sha256)?, upload);
        let change = Upload {
            context,
            path: &path,
            key,
            bytes: arguments.size_bytes.get() as u64,
            condition: Condition::Mode(arguments.mode, arguments.expected_hash.as_ref().map(Text::as_str)),
            text: OnceCell::new(),
        };
        // Reading a large file may exceed a commit's deadline. A repeated call must get its old answer, so errors are
        // left to the commit.
        let _ = change.read_ahead().await;
        let message = arguments.message.as_ref().map(Message::as_str);
        let answer = update::commit_note(context, &Self::INFO, message, &change).await?.0;
        Ok(answer.map(|written| Output {
            mime: mime(path.as_str()),
            path: path.as_str().to_owned(),
            size_bytes: written.bytes,
            mtime: editing::time(written.at.as_millisecond()),
            content_hash: written.sha256.to_string(),
            created: written.created,
            prev_hash: written.before.map(|before| before.sha256.to_string()),
            generation: written.generation,
        }))
    }
}

struct Upload<'a> {
    context: &'a Context<'a>,
    path: &'a VaultPath,
    key: BlobKey,
    bytes: u64,
    condition: Condition<'a>,
    /// The checked upload: its text, if it is stored as text.
    text: OnceCell<Result<Option<Bytes>, Error>>,
}

impl Upload<'_> {
    /// Reads the upload, unless it is not needed.
    async fn read_ahead(&self) -> Result<(), Error> {
        let head = self.context.vault.mirror.head().await?;
        let found = notes::find(&head, self.path.as_str(), |_| false).await?;
        if !self.is_there(found.as_ref()) {
            check(&self.condition, self.path, found.as_ref())?;
            self.text.get_or_init(|| self.read()).await;
        }
        Ok(())
    }

    fn is_there(&self, found: Option<&Found>) -> bool {
        found.is_some_and(|found| found.record.sha256 == *self.key.sha256.as_bytes())
    }

    /// Checks the upload against its hash and size.
    async fn read(&self) -> Result<Option<Bytes>, Error> {
        let mirror = &self.context.vault.mirror;
        match mirror.uploaded(&self.key, self.context.now).await? {
            Uploaded::Fresh(bytes) if bytes == self.bytes => {}
            Uploaded::Fresh(bytes) => return Err(self.is_another(&format!("has {bytes} bytes"))),
            Uploaded::Stale => {
                let message = "the upload is over an hour old, and may be deleted soon: upload the bytes again";
                return Err(Error::new(Code::Conflict, Reason::UploadExpired, message));
            }
            Uploaded::Missing => {
                let message = "nothing was uploaded for this path with this id: PUT the bytes to the URL that upload_attachment gave you, then make this call again";
                return Err(Error::not_found(Reason::UploadMissing, message));
            }
        }
        let keeps_text = may_be_text(self.path.file_name()) && self.bytes <= MAX_TEXT_BYTES;
        let (mut text, mut length) = (BytesMut::new(), 0);
        let mut pieces = mirror.get_blob(&self.key).await.map_err(|error| self.unlike(error))?;
        while let Some(piece) = pieces.try_next().await.map_err(|error| self.unlike(error))? {
            length += piece.len() as u64;
            if length > self.bytes {
                break;
            }
            if keeps_text {
                text.extend_from_slice(&piece);
            }
        }
        if length != self.bytes {
            return Err(self.is_another("has another size"));
        }
        Ok(Some(text.freeze()).filter(|text| keeps_text && memchr::memchr(0, text).is_none()))
    }

    /// The error of reading an upload that was not checked before.
    fn unlike(&self, error: MirrorError) -> Error {
        match error {
            MirrorError::Damaged { .. } => self.is_another("has another SHA-256"),
            error => error.into(),
        }
    }

    fn is_another(&self, what: &str) -> Error {
        let message = format!("the uploaded file {what}: upload the right bytes, with another upload_attachment");
        Error::new(Code::Conflict, Reason::UploadMismatch, message).with("path", self.path.as_str())
    }
}

impl ChangeSet for Upload<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<WriteResult>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let found = notes::find(head, self.path.as_str(), |_| false).await?;
        let found = found.as_ref();
        let sha256 = self.key.sha256;
        if let Some(found) = found.filter(|found| self.is_there(Some(found))) {
            return Ok(Attempt::nothing(WriteResult::unchanged(found).into()));
        }
        check(&self.condition, self.path, found)?;
        let text = self.text.get_or_init(|| self.read()).await.clone()?;
        let at = self.context.now;
        let content = match text {
            Some(text) => Content::Text(text),
            None => Content::Blob(self.key.to_string(), self.bytes, Bytes::new()),
        };
        let mut batch = Batch::on(head, self.context);
        // The trash keeps no replaced attachment.
        if found.is_some_and(|found| found.record.bytes > 0) {
            batch.require_confirmation();
        }
        batch.put(NewDocument::written(self.path.clone(), content, sha256, found, at), found);
        let (created, before) = (found.is_none(), found.map(Version::of));
        let written = WriteResult {
            sha256,
            bytes: self.bytes,
            generation: 0,
            is_replayed: false,
            created,
            at,
            before,
            is_merged: false,
        };
        Ok(Attempt::changes(batch.derived().await?, written.into()))
    }
}
