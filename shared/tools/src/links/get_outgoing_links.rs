//! `get_outgoing_links`: the links of a note, and their targets.

use std::borrow::Cow;

use atlas_access::Access;
use atlas_ops::arguments::{self, Given, ReadPath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;
use atlas_vault::links::has_links;
use atlas_vault::{Link, LinkKind, frontmatter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the wikilinks, markdown links and embeds of a note that lead into the vault, with the files they mean, as in
/// Obsidian, and their positions.
pub struct GetOutgoingLinks;

/// The note, and options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.md`.
    path: ReadPath,
    /// Only links of these kinds.
    #[serde(default)]
    kinds: Given<Vec<Kind>>,
    /// Also return links that lead to no file; true if not given.
    #[serde(default = "arguments::yes")]
    include_unresolved: bool,
    /// Only links in properties, and those that begin at this byte of the text or later: the `offset` of a page of
    /// `read_note`.
    #[serde(default)]
    offset: usize,
    /// Only links in properties, and those that begin within so many bytes: the length of that page; to the end if not
    /// given.
    #[serde(default)]
    bytes: Given<usize>,
}

/// The kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `[[target]]`
    Wikilink,
    /// `[text](target)`
    Markdown,
    /// `![[target]]` or `![text](target)`
    Embed,
}

/// The links.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// Its links within the vault, those in properties first, then in the order of the text.
    links: Vec<OutgoingLink>,
    /// Whether there are more links than these.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    overflow: bool,
}

/// A link.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OutgoingLink {
    /// Its target as written, including the part after `#`.
    target: String,
    /// Its display text, or if it has none its target.
    display_text: String,
    /// Its kind.
    kind: Kind,
    /// Whether the file exists.
    resolved: bool,
    /// The file's path, if it exists. A link to a part of the note itself leads to the note.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_path: Option<String>,
    /// The number of its line, counted from 1.
    line: u32,
    /// The column of its beginning, in characters counted from 1.
    col: usize,
    /// Always false: code contains no links.
    in_codeblock: bool,
}

/// Most links in an answer.
const MAX_LINKS: usize = 5000;

impl Operation for GetOutgoingLinks {
    const INFO: Info = Info {
        name: "get_outgoing_links",
        title: "Get outgoing links",
        description: "Lists the notes and files that a note links to: its wikilinks, markdown links and embeds, with the files that they mean, as in Obsidian, and the lines. For the links to it take get_backlinks. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        aliases: &[Alias::Only("include_embeds", "true")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { path, kinds, include_unresolved, offset, bytes } = arguments;
        let path = VaultPath::from(path);
        let end = bytes.map_or(usize::MAX, |bytes| offset.saturating_add(bytes));
        let links = |view: View| {
            let (path, kinds) = (&path, &kinds);
            async move {
                let graph = Graph::fetch(context, view).await?;
                if !has_links(path) {
                    return Err(notes::missing(path.as_str()));
                }
                let document = graph.file(path)?;
                let texts = graph.index().texts(&[document]).await?;
                let stored: &[u8] = texts.first().map(AsRef::as_ref).unwrap_or_default();
                let text = decoded(stored);
                // Positions are those of the stored text, and decoding may have made it longer.
                let at = |byte: usize| match &text {
                    Cow::Borrowed(_) => byte,
                    Cow::Owned(_) => stored.get(..byte).map_or(usize::MAX, |before| decoded(before).len()),
                };
                let part = at(offset)..at(end);
                let properties = frontmatter::of(&text).filter(|_| path.is_note());
                let body = properties.map_or(0, |properties| properties.body_start);
                let is_wanted = |link: &&Link| {
                    let begin = link.range.start;
                    !link.is_external() && (begin < body || part.contains(&begin))
                };
                let mut found = Vec::new();
                let mut overflow = false;
                for link in atlas_vault::links(path, &text).iter().filter(is_wanted) {
                    let kind = kind(link);
                    if kinds.as_ref().is_some_and(|kinds| !kinds.contains(&kind)) {
                        continue;
                    }
                    let meant = match link.target.as_str() {
                        "" => Some(document),
                        target => graph.meant(target, path)?,
                    };
                    if meant.is_none() && !include_unresolved {
                        continue;
                    }
                    if found.len() == MAX_LINKS {
                        overflow = true;
                        break;
                    }
                    let target_path = meant.map(|meant| graph.path(meant)).transpose()?;
                    found.push(outgoing(link, kind, target_path, &text));
                }
                overflow |= cut(&mut found, context);
                Ok(Output { path: path.as_str().to_owned(), links: found, overflow })
            }
        };
        context.read(links).await
    }
}

const fn kind(link: &Link) -> Kind {
    match link.kind {
        LinkKind::Wikilink => Kind::Wikilink,
        LinkKind::Markdown => Kind::Markdown,
        LinkKind::Embed | LinkKind::MarkdownEmbed | LinkKind::CanvasFile => Kind::Embed,
    }
}

fn outgoing(link: &Link, kind: Kind, target_path: Option<String>, text: &str) -> OutgoingLink {
    let target = match &link.subpath {
        Some(subpath) => format!("{}#{subpath}", link.target),
        None => link.target.clone(),
    };
    let before = text.get(..link.range.start).unwrap_or_default();
    let on_line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
    OutgoingLink {
        display_text: link.display.clone().unwrap_or_else(|| target.clone()),
        target,
        kind,
        resolved: target_path.is_some(),
        target_path,
        line: link.line.saturating_add(1),
        col: on_line.chars().count() + 1,
        in_codeblock: false,
    }
}
