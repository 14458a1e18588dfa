//! `get_attachment`: what a file is, and its bytes.

use atlas_access::Access;
use atlas_mirror::BlobKey;
use atlas_segment::Kind;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mime;
use crate::arguments::{self, Bounded, invalid_input};
use crate::editing;
use crate::error::{Code, Error};
use crate::governor::AROUND_TEXT;
use crate::notes::{self, Found};
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::view::View;

/// Most bytes of a file in an answer, if nothing is said.
const DEFAULT_BYTES: usize = 5_000_000;

/// The operation.
pub struct GetAttachment;

/// Which file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GetAttachmentRequest")]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: String,
    /// Also its bytes.
    #[serde(default)]
    include_data: bool,
    /// Most bytes to return; 5,000,000 if not given, and never more than an answer may have.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<1, { u32::MAX }>")]
    max_bytes: Option<Bounded<1, { u32::MAX }>>,
}

/// The file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GetAttachmentResponse")]
pub struct Output {
    /// Its path.
    path: String,
    /// Its size in bytes.
    size_bytes: u64,
    /// Its media type, by its extension.
    mime: &'static str,
    /// When it was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    mtime: Timestamp,
    /// SHA-256 of its bytes, in hex.
    content_hash: String,
    /// Its bytes, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

impl Operation for GetAttachment {
    const INFO: Info = Info {
        name: "get_attachment",
        title: "Get an attachment",
        description: "Tells size, media type, time and hash of a file that is no note; with include_data also its bytes, in base64. All of them come or none: a file that is too large is refused.",
        scopes: &[Scope::ReadVault],
        destructive: false,
        tags: &["attachments"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Arguments) -> Result<Vec<Touch>, Error> {
        Ok(vec![(Access::Read, arguments::path("path", &arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = arguments::path("path", &arguments.path)?;
        let most = arguments.max_bytes.map_or(DEFAULT_BYTES, Bounded::get);
        // Of three bytes base64 makes four.
        let most = most.min(context.limits.max_response_bytes.saturating_sub(AROUND_TEXT) / 4 * 3);
        let with_data = arguments.include_data;
        let find = |view: View| {
            let path = &path;
            async move {
                let found = notes::find(view.snapshot(), path.as_str(), |_| with_data).await?;
                found.filter(|found| found.record.kind != Kind::Config).ok_or_else(|| missing(path.as_str()))
            }
        };
        let Answer { value: found, generation } = context.read(find).await?;
        let data = if with_data { Some(BASE64.encode(bytes(context, &found, most).await?)) } else { None };
        let value = Output {
            content_hash: found.sha256(),
            size_bytes: found.record.bytes,
            mime: mime(&found.record.path),
            mtime: editing::modified(&found),
            data_base64: data,
            path: found.record.path,
        };
        Ok(Answer { value, generation })
    }
}

/// The error for a file that is not there.
pub(super) fn missing(path: &str) -> Error {
    Error::not_found(notes::MISSING, format!("there is no file at {path}")).with("path", path)
}

/// The bytes of a file, if they are no more than `most`.
async fn bytes(context: &Context<'_>, found: &Found, most: usize) -> Result<Vec<u8>, Error> {
    let size = found.record.bytes;
    if size > most as u64 {
        let message = format!("the file has {size} bytes; at most {most} are returned: leave out include_data");
        return Err(invalid_input("max_bytes", &message).with("size_bytes", size));
    }
    let Some(name) = &found.record.blob else { return Ok(found.text.to_vec()) };
    let damaged = || Error::new(Code::Internal, "internal", "the file's object is not what its record says");
    let key = name.parse::<BlobKey>().map_err(|_| damaged())?;
    let mut pieces = context.vault.mirror.get_blob(&key).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.try_next().await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            return Err(damaged());
        }
    }
    Ok(bytes)
}
