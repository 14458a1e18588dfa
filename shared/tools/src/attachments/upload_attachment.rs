//! `upload_attachment`: a URL to upload a file's bytes, so that they need not pass through the agent.

use std::collections::BTreeMap;

use atlas_access::Access;
use atlas_mirror::{BlobKey, Hash, Id};
use atlas_ops::arguments::{Bounded, Given, Text, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_ops::write::precondition::{Condition, Mode};
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::URL_TIME;
use super::get_attachment::missing;

/// Most bytes of an uploaded file: its commit reads them all, within its deadline.
pub(super) const MAX_BYTES: u32 = 256 << 20;

/// Returns a URL to which anyone can PUT the bytes of one file that is not a note within 15 minutes, without a token
/// and without passing them through here.
pub struct UploadAttachment;

/// The file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: String,
    /// SHA-256 of its bytes, in hex, in lower case.
    sha256: Text<64>,
    /// Its size in bytes. Larger files need `atlas sync`.
    #[expect(
        dead_code,
        reason = "one that is too large is refused where it is decoded; stores sign no size, so what was sent is told at the commit"
    )]
    size_bytes: Bounded<0, MAX_BYTES>,
    /// `create` only where there is no file, `overwrite` the file that is there, or `upsert` either way.
    #[serde(default)]
    mode: Mode,
    /// Replace a file only if its SHA-256 is this one; any version if not given.
    #[serde(default)]
    expected_hash: Given<Text<64>>,
}

/// How to upload its bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The id of the upload, for `commit_attachment`.
    upload: String,
    /// The URL for the bytes.
    url: String,
    /// The method of the request: PUT.
    method: &'static str,
    /// The exact headers that the request must have, besides those that clients set themselves.
    headers: BTreeMap<&'static str, String>,
    /// When the URL expires.
    #[schemars(with = "String", extend("format" = "date-time"))]
    expires_at: Timestamp,
}

impl Operation for UploadAttachment {
    const INFO: Info = Info {
        name: "upload_attachment",
        title: "Begin to upload an attachment",
        description: "Returns a URL to which anyone can PUT the bytes of one file that is not a note within 15 minutes, without a token and without passing them through here. Then commit_attachment adds the file to the vault, within the hour; until then nothing changes. The URL accepts only the bytes with this SHA-256, once. Only buckets make such URLs. Example: {\"path\": \"media/plan.png\", \"sha256\": \"…\", \"size_bytes\": 5120}",
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["attachments"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path(&arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path(&arguments.path)?;
        let sha256 = hash(&arguments.sha256)?;
        let condition = Condition::Mode(arguments.mode, arguments.expected_hash.as_ref().map(Text::as_str));
        let mirror = &context.vault.mirror;
        let upload = Id::random()?;
        let key = key(context, &path, sha256, upload);
        let unsupported = || {
            let message = "the store is not a bucket, and accepts no uploads: put the file into the folder that `atlas sync` publishes";
            Error::bad_request(Reason::UploadUnsupported, message)
        };
        let request = mirror.url_to_upload(&key, URL_TIME).await?.ok_or_else(unsupported)?;
        mirror.check_writes_once().await?;
        let look = |view: View| {
            let (path, condition) = (&path, &condition);
            async move {
                let found = notes::find(view.snapshot(), path.as_str(), |_| false).await?;
                check(condition, path, found.as_ref())
            }
        };
        let Answer { generation, .. } = context.read(look).await?;
        let value = Output {
            upload: upload.to_string(),
            url: request.url,
            method: "PUT",
            headers: request.headers.into_iter().collect(),
            expires_at: context.now + URL_TIME,
        };
        Ok(Answer { value, generation })
    }
}

/// The path of a file to upload.
pub(super) fn path(text: &str) -> Result<VaultPath, Error> {
    super::new_path("path", text, "uploaded", "write_note")
}

/// The key of an upload, which is bound to its caller and path. If the id were the nonce itself, a client that knows
/// only a file's hash could commit the object that a sync has just uploaded for it, and read it at a path of its own.
pub(super) fn key(context: &Context<'_>, path: &VaultPath, sha256: Hash, upload: Id) -> BlobKey {
    let bound = json!(["upload", upload, path.as_str(), context.caller.identity()]);
    BlobKey::bound(sha256, Hash::of(bound.to_string().as_bytes()))
}

/// The hash of an upload.
pub(super) fn hash(text: &Text<64>) -> Result<Hash, Error> {
    text.as_str().parse().map_err(|_| invalid_input("sha256", "must be 64 lower-case hex digits"))
}

/// Fails unless `found`, which is at `path`, satisfies the condition.
pub(super) fn check(condition: &Condition<'_>, path: &VaultPath, found: Option<&Found>) -> Result<(), Error> {
    match (condition.mode(), found) {
        (Mode::Overwrite, None) => Err(missing(path.as_str())),
        _ => condition.check(path.as_str(), found),
    }
}
