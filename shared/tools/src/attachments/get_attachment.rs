//! `get_attachment`: a file's metadata, and its bytes.

use atlas_access::Access;
use atlas_mirror::BlobKey;
use atlas_ops::arguments::{Bounded, Given, ReadPath, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::AROUND_TEXT;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_segment::Kind;
use atlas_vault::{VaultPath, pages};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::search::has_pages;

use super::{URL_TIME, is_picture, mime};

/// Most bytes of a picture that is scaled down.
const MAX_SCALED_BYTES: usize = 32 << 20;
/// The media type of a scaled picture.
pub(crate) const SCALED_MIME: &str = "image/jpeg";

/// Returns size, media type, time and hash of a file that is not a note.
pub struct GetAttachment;

/// The file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// Also its bytes.
    #[serde(default)]
    include_data: bool,
    /// Most bytes to return; 5,000,000 if not given, and never more than an answer may have.
    #[serde(default)]
    max_bytes: Bounded<1, { u32::MAX }, 5_000_000>,
    /// Also the text of this page, counted from 1, of a file with extracted text, such as a PDF; none if not given.
    #[serde(default)]
    page: Given<Bounded<1, { u32::MAX }>>,
    /// Also return a URL from which anyone can read the bytes for 15 minutes, whatever the size. Only buckets make such URLs.
    #[serde(default)]
    presign: bool,
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
    /// When it was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    mtime: Timestamp,
    /// SHA-256 of its bytes, in hex.
    content_hash: String,
    /// Its bytes, in base64; of a scaled picture, the scaled bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
    /// The media type of these bytes, if the picture was scaled down.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_mime: Option<&'static str>,
    /// Whether the page's text was cut to fit into the answer. Bytes are never cut: a file that is too large is scaled down, or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// The number of pages of extracted text, if a page was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<usize>,
    /// The text of the requested page.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// A URL to read its bytes with a GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// When the URL expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    expires_at: Option<Timestamp>,
}

impl Operation for GetAttachment {
    const INFO: Info = Info {
        name: "get_attachment",
        title: "Get an attachment",
        description: "Returns size, media type, time and hash of a file that is not a note; with include_data also its bytes, in base64, all or none: a picture that is too large is scaled down if the server can, any other file refused. With presign a URL to read them, which needs no token and expires after 15 minutes. With page the text of that page of a PDF. To read a note take read_note. Example: {\"path\": \"media/plan.png\", \"include_data\": true}",
        scopes: &[Scope::ReadVault],
        tags: &["attachments"],
        aliases: &[
            Alias::Only("encoding", "\"base64\""),
            Alias::Name("include_content", "include_data"),
            Alias::Only("include_references", "false"),
        ],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let most = arguments.max_bytes.get();
        // Base64 makes four bytes of three.
        let most = most.min(context.limits.max_response_bytes.saturating_sub(AROUND_TEXT) / 4 * 3);
        let with_data = arguments.include_data;
        let number = arguments.page.map(Bounded::get);
        let with_text = with_data || number.is_some();
        let find = |view: View| {
            let path = &path;
            async move {
                let found = notes::find(view.snapshot(), path.as_str(), |_| with_text).await?;
                found.filter(|found| found.record.kind != Kind::Config).ok_or_else(|| missing(path.as_str()))
            }
        };
        let Answer { value: found, generation } = context.read(find).await?;
        let data = if with_data { Some(data(context, &found, most).await?) } else { None };
        let page = number.map(|number| page(&found, number, context.limits.max_bytes)).transpose()?;
        let url = if arguments.presign { Some(url(context, &found).await?) } else { None };
        let value = Output {
            expires_at: url.as_ref().map(|_| context.now + URL_TIME),
            url,
            content_hash: found.sha256(),
            size_bytes: found.record.bytes,
            mime: mime(&found.record.path),
            mtime: editing::modified(&found),
            truncated: (data.is_some() || page.is_some()).then(|| page.as_ref().is_some_and(|page| page.is_cut)),
            data_mime: data.as_ref().filter(|data| data.is_scaled).map(|_| SCALED_MIME),
            pages: page.as_ref().map(|page| page.of),
            text: page.map(|page| page.text),
            data_base64: data.map(|data| BASE64.encode(data.bytes)),
            path: found.record.path,
        };
        Ok(Answer { value, generation })
    }
}

/// The error for a file that does not exist.
pub(super) fn missing(path: &str) -> Error {
    Error::not_found(Reason::NoteNotFound, format!("there is no file at {path}")).with("path", path)
}

/// The returned bytes of a file.
pub(crate) struct Data {
    pub(crate) bytes: Vec<u8>,
    /// Whether it is a picture that was scaled down, to [`SCALED_MIME`].
    pub(crate) is_scaled: bool,
}

/// The bytes of a file of at most `most` bytes; a larger picture is scaled down, if the program can.
pub(crate) async fn data(context: &Context<'_>, found: &Found, most: usize) -> Result<Data, Error> {
    let size = found.record.bytes;
    if size <= most as u64 {
        return Ok(Data { bytes: bytes(context, found, most).await?, is_scaled: false });
    }
    let is_scalable = is_picture(mime(&found.record.path));
    if let Some(scale) = context.atlas.scale_picture.filter(|_| is_scalable && size <= MAX_SCALED_BYTES as u64) {
        let picture = bytes(context, found, MAX_SCALED_BYTES).await?;
        if let Ok(Some(bytes)) = spawn_blocking(move || scale(&picture, most)).await {
            return Ok(Data { bytes, is_scaled: true });
        }
    }
    let message = format!(
        "the file has {size} bytes; at most {most} are returned: ask for a URL with presign, or leave out include_data"
    );
    Err(invalid_input("max_bytes", &message).with("size_bytes", size))
}

/// The bytes of a file of at most `most` bytes.
async fn bytes(context: &Context<'_>, found: &Found, most: usize) -> Result<Vec<u8>, Error> {
    let Some(name) = &found.record.blob else { return Ok(found.text.to_vec()) };
    let mut pieces = context.vault.mirror.get_blob(&key(name)?).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.try_next().await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            return Err(damaged());
        }
    }
    Ok(bytes)
}

/// A page of text.
struct Page {
    text: String,
    /// The number of pages.
    of: usize,
    is_cut: bool,
}

/// Page `number` of a file's extracted text, at most `most` bytes; an error if it does not exist.
fn page(found: &Found, number: usize, most: usize) -> Result<Page, Error> {
    let text = String::from_utf8_lossy(&found.text);
    let of = if has_pages(&found.record.path) { pages::count(&text) } else { 0 };
    let page = pages::page(&text, number).filter(|_| of > 0);
    let page = page.ok_or_else(|| {
        let message = match of {
            0 => "this file has no extracted text: leave page out, and use include_data".to_owned(),
            of => format!("the file has {of} pages of text"),
        };
        invalid_input("page", &message).with("pages", of)
    })?;
    let end = page.floor_char_boundary(most);
    Ok(Page { text: page.get(..end).unwrap_or_default().to_owned(), of, is_cut: end < page.len() })
}

/// A URL to read the bytes of a file, if they are a separate object in a store that makes URLs.
async fn url(context: &Context<'_>, found: &Found) -> Result<String, Error> {
    let url = match &found.record.blob {
        Some(name) => context.vault.mirror.url_to_read(&key(name)?, URL_TIME).await?,
        None => None,
    };
    url.ok_or_else(|| {
        let message = match found.record.blob {
            Some(_) => "the store is not a bucket, and makes no URLs: read the file with include_data",
            None => "the file has no object of its own, since it is text: read it with include_data",
        };
        Error::bad_request(Reason::PresignUnsupported, message).with("field", "presign")
    })
}

/// The key of the object with this name.
fn key(name: &str) -> Result<BlobKey, Error> {
    name.parse().map_err(|_| damaged())
}

fn damaged() -> Error {
    Error::new(Code::Internal, Reason::Internal, "the file's object is not what its record says")
}
