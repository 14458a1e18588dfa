//! `find_unresolved_links`: the links that lead nowhere.

use std::collections::BTreeMap;

use atlas_ops::arguments::{Given, Root, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the links and embeds that lead to no file, by target, or by note and target, with their lines.
pub struct FindUnresolvedLinks;

/// Which links to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only links in notes of this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Whether there is one item per target, with all its notes, or one per note and target.
    #[serde(default)]
    group_by: GroupBy,
    /// Most items to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// The grouping of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// One item per target.
    #[default]
    Target,
    /// One item per note and target.
    Source,
}

/// A target without a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unresolved {
    /// As written in links, without the part after `#`.
    target: String,
    /// The notes with such links, by path, at most 1,000.
    sources: Vec<LinkSource>,
}

/// The place of a link.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkSource {
    /// The note.
    path: String,
    /// The number of the line with its first link to the target, counted from 1.
    line: u32,
}

/// Most notes of a target that are listed.
const MAX_SOURCES: usize = 1000;

impl Operation for FindUnresolvedLinks {
    const INFO: Info = Info {
        name: "find_unresolved_links",
        title: "Find unresolved links",
        description: "Lists the links and embeds that lead to no file, by target, or by note and target, with their lines. Example: {\"root\": \"Projects\"}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        aliases: &[Alias::Name("folder", "root")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<Unresolved>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { root, group_by, limit, cursor } = arguments;
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &root, group_by))?;
        let root = Root::of("root", &root)?;
        let page = |view: View| {
            let (root, paging) = (&root, &paging);
            async move {
                let generation = view.generation();
                let graph = Graph::fetch_with(context, view.clone(), &[SectionName::LinkLines]).await?;
                let found = unresolved(&graph, root, group_by)?;
                nearest::check_found(context, view, root, found.len()).await?;
                let mut items = Vec::new();
                for (target, linking) in paging.of(&found) {
                    context.work.check()?;
                    let mut sources = Vec::new();
                    for (document, first) in linking.iter().take(MAX_SOURCES) {
                        let path = graph.path(*document)?;
                        let lines = graph.facts().link_lines(document.segment)?.of(document.document);
                        let line = lines.get(*first as usize).copied().unwrap_or_default();
                        sources.push(LinkSource { path, line: line.saturating_add(1) });
                    }
                    items.push(Unresolved { target: target.clone(), sources });
                }
                paging.page(context, generation, found.len(), items)
            }
        };
        paging.read(context, page).await
    }
}

/// A note, and the index of its first link to a target.
type Linking = (DocumentRef, u32);

/// The targets without a file, in the order of the items, each with the notes that link to it.
fn unresolved(graph: &Graph, root: &Root, group_by: GroupBy) -> Result<Vec<(String, Vec<Linking>)>, Error> {
    let mut below = Vec::new();
    for segment in graph.index().segments() {
        below.push(graph.facts().below(segment, root)?);
    }
    let mut targets: BTreeMap<String, Vec<Linking>> = BTreeMap::new();
    graph.each_target(|from, (target, links), meant| {
        if meant.is_none() && below.get(from.segment).is_some_and(|below| below.contains(&from.document)) {
            match targets.get_mut(target) {
                Some(sources) => sources.push((from, links.first)),
                None => drop(targets.insert(target.to_owned(), vec![(from, links.first)])),
            }
        }
        Ok(())
    })?;
    if group_by == GroupBy::Source {
        let single = |(target, sources): (String, Vec<Linking>)| {
            sources.into_iter().map(move |source| (target.clone(), vec![source]))
        };
        let mut all: Vec<(String, Vec<Linking>)> = targets.into_iter().flat_map(single).collect();
        let path = |sources: &[Linking]| sources.first().and_then(|(source, _)| graph.path(*source).ok());
        all.sort_by_cached_key(|(target, sources)| (path(sources), target.clone()));
        return Ok(all);
    }
    let mut all: Vec<(String, Vec<Linking>)> = targets.into_iter().collect();
    for (_, sources) in &mut all {
        graph.index().sort_by_path(sources, |(source, _)| *source);
    }
    Ok(all)
}
