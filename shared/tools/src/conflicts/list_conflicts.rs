//! `list_conflicts`: the conflict copies, by path.

use atlas_ops::arguments::{Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_vault::conflict::{self, MARK, Original, original_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the conflict copies.
pub struct ListConflicts;

/// The page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Most copies to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A conflict copy.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedConflict {
    /// Its path, for `read_conflict` and `resolve_conflict`.
    path: String,
    /// The path of the file that it is another version of.
    original: String,
    /// Whether there is such a file.
    has_original: bool,
    /// The author in its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

impl Operation for ListConflicts {
    const INFO: Info = Info {
        name: "list_conflicts",
        title: "List conflicts",
        description: "Lists the conflict copies: where the folder and the mirror changed the same lines of a file, a sync keeps the mirror's version as a copy beside it. read_conflict compares the two, resolve_conflict keeps one, both, or a merge. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["sync"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<ListedConflict>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let paging = Paging::new(arguments.limit, arguments.cursor.as_ref(), &Self::INFO.name)?;
        let page = |view: View| {
            let paging = &paging;
            async move {
                let generation = view.generation();
                let index = Index::fetch(view, Want { names: true, ..Want::default() }).await?;
                let copies = copies(&index)?;
                let item = |path: &String| {
                    let Some(named) = original_of(path) else { return Err(super::not_a_copy(path)) };
                    let original = match (super::among(&index, &named)?, named) {
                        (Ok(original), _) | (Err(_), Original::At(original)) => original,
                        (Err(_), Original::Shortened(shortened)) => shortened.as_written(),
                    };
                    let found = index.find(&original)?.filter(|document| index.shows(*document));
                    let by = conflict::author_of(path).map(str::to_owned);
                    Ok(ListedConflict { path: path.clone(), original, has_original: found.is_some(), by })
                };
                let items = paging.of(&copies).iter().map(item).collect::<Result<_, Error>>()?;
                paging.page(context, generation, copies.len(), items)
            }
        };
        paging.read(context, page).await
    }
}

/// The paths of the copies, in order. Only the names of files are looked at.
fn copies(index: &Index) -> Result<Vec<String>, Error> {
    let mut copies = Vec::new();
    for segment in index.segments() {
        for document in index.names(segment)?.holding(MARK.as_bytes()) {
            let document = DocumentRef { segment, document };
            if !index.shows(document) {
                continue;
            }
            let path = index.path(document)?;
            if conflict::is_copy(&path) && !atlas_access::acl::is_closed_path(&path) {
                copies.push(path);
            }
        }
    }
    copies.sort_unstable();
    Ok(copies)
}
