//! `find_orphans`: the notes that no other note links to.

use std::collections::HashSet;

use atlas_ops::arguments::{Given, Root, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::filter::Excluded;

/// Lists the notes that no other note links to or embeds, by path.
pub struct FindOrphans;

/// Which notes to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only notes in this folder; links from everywhere count.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Without these notes, and those in these folders: paths from the root of the vault, or globs of either,
    /// `Templates/*` or `*.excalidraw.md`; none are left out if not given.
    #[serde(default)]
    #[schemars(length(max = 100))]
    exclude_paths: Vec<String>,
    /// Most notes to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Orphan {
    /// Its path.
    path: String,
    /// The number of distinct targets of its links.
    outgoing_count: usize,
}

/// Most excluded paths.
const MAX_EXCLUDED: usize = 100;

impl Operation for FindOrphans {
    const INFO: Info = Info {
        name: "find_orphans",
        title: "Find orphans",
        description: "Lists the notes that no other note links to or embeds, by path. For files that are not notes take list_attachments with orphans_only. Example: {\"root\": \"Projects\"}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        aliases: &[Alias::Name("folder", "root"), Alias::Only("require_no_outgoing", "false")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<Orphan>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { root, exclude_paths, limit, cursor } = arguments;
        if exclude_paths.len() > MAX_EXCLUDED {
            let message = format!("exclude_paths: name at most {MAX_EXCLUDED}");
            return Err(Error::bad_request(Reason::InvalidInput, message).with("field", "exclude_paths"));
        }
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &root, &exclude_paths))?;
        let root = Root::of("root", &root)?;
        let excluded = Excluded::of("exclude_paths", &exclude_paths)?;
        let page = |view: View| {
            let (root, paging, excluded) = (&root, &paging, &excluded);
            async move {
                let generation = view.generation();
                let graph = Graph::fetch(context, view.clone()).await?;
                let mut linked = HashSet::new();
                graph.each_target(|from, _, meant| {
                    linked.extend(meant.filter(|meant| *meant != from));
                    Ok(())
                })?;
                let orphans = graph.notes(root, |document, path| !linked.contains(&document) && !excluded.has(path))?;
                nearest::check_found(context, view, root, orphans.len()).await?;
                let item = |document: &DocumentRef| {
                    let outgoing_count = graph.count_outgoing(*document);
                    Ok(Orphan { path: graph.path(*document)?, outgoing_count })
                };
                let items = paging.of(&orphans).iter().map(item).collect::<Result<_, Error>>()?;
                paging.page(context, generation, orphans.len(), items)
            }
        };
        paging.read(context, page).await
    }
}
