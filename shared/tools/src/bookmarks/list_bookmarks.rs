//! `list_bookmarks`: the bookmarks of Obsidian's core plugin.

use atlas_ops::arguments::{Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::settings::text;
use atlas_ops::read::view::View;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bookmark, FILE, Kind, Sight, read};

/// Lists the bookmarks of the vault.
pub struct ListBookmarks;

/// Which bookmarks to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only those of the group with this name, at any depth, and of its groups; all if not given.
    #[serde(default)]
    group: Given<Text<500>>,
    /// Most bookmarks to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A bookmark.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedBookmark {
    /// An id, which stays the same while the bookmark is not changed.
    id: String,
    /// The kind of target.
    #[serde(rename = "type")]
    kind: Kind,
    /// The title that a person set; its target if none.
    title: String,
    /// The path, with `#heading` or `#^block`; or the query, or the URL. Empty for the graph.
    target: String,
    /// Its groups, outermost first, separated by `/`; absent outside of groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// When it was created, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Option<Timestamp>,
}

impl Operation for ListBookmarks {
    const INFO: Info = Info {
        name: "list_bookmarks",
        title: "List bookmarks",
        description: "Lists the bookmarks that a person keeps in Obsidian, in their order: files, folders, headings, blocks, searches, graphs, web pages, each with its group. A vault without bookmarks has an empty list. Example: {\"limit\": 20}",
        scopes: &[Scope::ReadVault],
        tags: &["bookmarks"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<ListedBookmark>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { group, limit, cursor } = arguments;
        let group = group.as_ref().map(Text::as_str);
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, group))?;
        let page = |view: View| {
            let paging = &paging;
            async move {
                let generation = view.generation();
                let mut all = match text(&view, FILE).await? {
                    Some(text) => read(&text)?.into_found(),
                    None => Vec::new(),
                };
                all.retain(|bookmark| is_in(bookmark, group));
                let index = if view.is_whole() { None } else { Some(Index::fetch(view, Want::default()).await?) };
                let sight = Sight::of(context, index.as_ref());
                let mut shown = Vec::with_capacity(all.len());
                for bookmark in all {
                    if sight.shows(&bookmark)? {
                        shown.push(bookmark);
                    }
                }
                let items = paging.of(&shown).iter().cloned().map(listed).collect();
                paging.page(context, generation, shown.len(), items)
            }
        };
        paging.read(context, page).await
    }
}

fn is_in(bookmark: &Bookmark, group: Option<&str>) -> bool {
    group.is_none_or(|group| bookmark.groups.iter().any(|name| name == group))
}

fn listed(bookmark: Bookmark) -> ListedBookmark {
    let Bookmark { id, kind, title, target, groups, created, .. } = bookmark;
    let title = title.unwrap_or_else(|| target.clone());
    let group = (!groups.is_empty()).then(|| groups.join("/"));
    ListedBookmark { id, kind, title, target, group, created_at: created }
}
