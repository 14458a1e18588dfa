//! `list_attachments`: the files of a folder that are not notes.

use std::collections::HashMap;

use atlas_ops::arguments::{Given, Root, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_media, mime};

/// Most extensions of one call.
const MAX_EXTENSIONS: usize = 50;

/// Lists pictures, PDF, sound and video, or other files by extension, by path, with the number of notes that link to
/// each.
pub struct ListAttachments;

/// Which files to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder; the whole vault if not given.
    #[serde(default)]
    root: String,
    /// File name extensions, with or without the dot, in any case; if not given pictures, PDF, sound and video are listed.
    #[serde(default)]
    #[schemars(with = "Vec<Text<50>>", length(max = 50))]
    extensions: Given<Vec<Text<50>>>,
    /// Only files that a note links to.
    #[serde(default)]
    referenced_only: bool,
    /// Only files that no note links to.
    #[serde(default)]
    orphans_only: bool,
    /// Most files to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Attachment {
    /// Its path.
    path: String,
    /// Its size in bytes.
    size_bytes: u64,
    /// Its media type, by its extension.
    mime: &'static str,
    /// When it was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    mtime: Timestamp,
    /// The number of notes that link to it.
    reference_count: usize,
}

impl Operation for ListAttachments {
    const INFO: Info = Info {
        name: "list_attachments",
        title: "List attachments",
        description: "Lists pictures, PDF, sound and video, or other files by extension, by path, with how many notes link to each; all of them, or only those with or without links to them. Example: {\"root\": \"media\", \"orphans_only\": true}",
        scopes: &[Scope::ReadVault],
        tags: &["attachments"],
        aliases: &[Alias::Name("folder", "root"), Alias::Ignored("include_reference_count")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<Attachment>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { root, extensions, referenced_only, orphans_only, limit, cursor } = arguments;
        if referenced_only && orphans_only {
            return Err(invalid_input("orphans_only", "give only one of referenced_only, orphans_only"));
        }
        if extensions.as_ref().is_some_and(|extensions| extensions.len() > MAX_EXTENSIONS) {
            return Err(invalid_input("extensions", &format!("name at most {MAX_EXTENSIONS}")));
        }
        let listing = (Self::INFO.name, &root, &extensions, referenced_only, orphans_only);
        let paging = Paging::new(limit, cursor.as_ref(), &listing)?;
        let root = Root::of("root", &root)?;
        let extensions: Option<Vec<String>> = extensions.0.map(|named| {
            named
                .iter()
                .map(|name| format!(".{}", name.as_str().trim_start_matches('.').to_ascii_lowercase()))
                .collect()
        });
        let is_wanted = |path: &str| {
            let path = path.to_ascii_lowercase();
            let is_note = path.ends_with(".md");
            let ends = |extensions: &Vec<String>| extensions.iter().any(|extension| path.ends_with(extension));
            !is_note && extensions.as_ref().map_or_else(|| is_media(mime(&path)), ends)
        };
        let page = |view: View| {
            let (root, paging, is_wanted) = (&root, &paging, &is_wanted);
            async move {
                let generation = view.generation();
                let graph = Graph::fetch(context, view.clone()).await?;
                let references = super::references(&graph)?;
                let is_linked = |document: &DocumentRef| references.contains_key(document);
                let mut found = files(graph.index(), root, is_wanted)?;
                found.retain(|document| {
                    (!referenced_only || is_linked(document)) && (!orphans_only || !is_linked(document))
                });
                nearest::check_found(context, view, root, found.len()).await?;
                let shown = paging.of(&found);
                let items = items(graph.index(), shown, &references).await?;
                paging.page(context, generation, found.len(), items)
            }
        };
        paging.read(context, page).await
    }
}

/// The files below `root` that are wanted, by path.
pub(crate) fn files(index: &Index, root: &Root, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<DocumentRef>, Error> {
    let mut found = Vec::new();
    for segment in index.segments() {
        for document in index.paths(segment)?.with_prefix(root.prefix()) {
            let document = DocumentRef { segment, document };
            if is_wanted(&index.path(document)?) && index.shows(document) {
                found.push(document);
            }
        }
    }
    index.sort_by_path(&mut found, |document| *document);
    Ok(found)
}

async fn items(
    index: &Index,
    documents: &[DocumentRef],
    references: &HashMap<DocumentRef, usize>,
) -> Result<Vec<Attachment>, Error> {
    let records = index.records(documents).await?;
    let item = |(document, record): (&DocumentRef, atlas_segment::Record)| Attachment {
        size_bytes: record.bytes,
        mime: mime(&record.path),
        mtime: editing::time(record.modified_ms),
        reference_count: references.get(document).copied().unwrap_or_default(),
        path: record.path,
    };
    Ok(documents.iter().zip(records).map(item).collect())
}
