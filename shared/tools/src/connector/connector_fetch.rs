//! `connector_fetch`: `read_note` in the form that connectors of chat applications expect.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::notes::read_note::{self, ReadNote};
use crate::search::ranking::title;

/// Returns the text of a note found by connector_search, with its title and address.
pub struct ConnectorFetch;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id from connector_search: its path.
    id: ReadPath,
}

/// The note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its id.
    id: String,
    /// Its title.
    title: String,
    /// Its text.
    text: String,
    /// The address to cite: `atlas://vault/path`.
    url: String,
    /// Further data.
    metadata: Metadata,
}

/// Further data on a note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Metadata {
    /// Its properties; null if it has none or they cannot be read.
    frontmatter: Option<Map<String, Value>>,
    /// Its size in bytes.
    bytes: u64,
    /// SHA-256 of its bytes, in hex.
    sha256: String,
    /// Whether the text is cut.
    truncated: bool,
}

impl Operation for ConnectorFetch {
    const INFO: Info = Info {
        name: "connector_fetch",
        title: "Fetch, for connectors",
        description: "Returns the text of a note that connector_search found, with its title and address. Example: {\"id\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.id.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Answer { value, generation } = ReadNote::run(context, read_note::Arguments::of(arguments.id)).await?;
        let read_note::Output { path, content, frontmatter, bytes, sha256, next_offset, .. } = value;
        let (content, frontmatter) = (content.unwrap_or_default(), frontmatter.flatten());
        let headings = atlas_vault::parse(&content).headings;
        let title = title(&path, &content, headings.iter().map(|heading| (heading.level, heading.text.as_str())));
        let metadata = Metadata { frontmatter, bytes, sha256, truncated: next_offset.is_some() };
        let url = address(&context.vault.id, &path);
        Ok(Answer { value: Output { id: path, title, text: content, url, metadata }, generation })
    }
}

/// The address of a note of a vault.
pub(crate) fn address(vault: &str, path: &str) -> String {
    const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');
    format!("atlas://{vault}/{}", utf8_percent_encode(path, PATH))
}
