//! `find_similar`: the notes that mean something similar to a note.

use std::collections::HashSet;

use atlas_access::Access;
use atlas_embeddings::Vector;
use atlas_ops::arguments::{Bounded, Given, ReadPath, Root};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::meaning::model;
use super::nearest::{nearest, vectors_of, waiting};
use super::search_semantic::rounded;

/// Finds notes like a note.
pub struct FindSimilar;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the note.
    path: ReadPath,
    /// Most notes to return; 10 if not given.
    #[serde(default)]
    limit: Given<Bounded<1, 100>>,
    /// Only in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
}

/// The notes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note.
    path: String,
    /// The others, the most similar first.
    items: Vec<Similar>,
    /// Notes that cannot be found so yet, this one among them if `items` is empty for that reason: the next sync embeds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
}

/// A similar note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Similar {
    /// Its path.
    path: String,
    /// How similar its nearest passage is to the whole note: the cosine of the angle between the vectors.
    score: f64,
    /// The first line of that passage, counted from 1.
    line: u64,
}

impl Operation for FindSimilar {
    const INFO: Info = Info {
        name: "find_similar",
        title: "Similar notes",
        description: "Finds the notes whose passages mean something similar to a whole note, the most similar first. The vault needs an embedding model (`atlas model add`); else take suggest_links or search. Example: {\"path\": \"Projects/Atlas.md\", \"limit\": 5}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { path, limit, root } = arguments;
        let (path, limit) = (VaultPath::from(path), limit.map_or(10, Bounded::get));
        let root = Filter::Root(Root::of("root", &root)?);
        let (path, root) = (&path, &root);
        context.read(|view| find(view, path, limit, root)).await
    }
}

async fn find(view: View, path: &VaultPath, limit: usize, root: &Filter) -> Result<Output, Error> {
    model(&view)?;
    let index = Index::fetch(view, Want { vectors: true, ..Want::default() }).await?;
    let own = index.find(path.as_str())?.ok_or_else(|| notes::missing(path.as_str()))?;
    let vectors = vectors_of(&index, own).await?;
    let takes = |document: DocumentRef| Ok(document != own && Filter::takes(Some(root), &index.path(document)?));
    let found = match mean(&vectors) {
        Some(query) => nearest(&index, &query, &[], takes).await?,
        None => Vec::new(),
    };
    let mut items = Vec::new();
    let mut known = HashSet::new();
    for near in found.iter().filter(|near| known.insert(near.document)).take(limit) {
        let path = index.path(near.document)?;
        items.push(Similar { path, score: rounded(near.similarity), line: u64::from(near.lines.0) + 1 });
    }
    let waiting = Some(waiting(&index)?).filter(|waiting| *waiting > 0);
    Ok(Output { path: path.as_str().to_owned(), items, waiting })
}

/// The mean of vectors; [`None`] if there are none, or it is 0.
pub(crate) fn mean(vectors: &[Vector]) -> Option<Vector> {
    let mut sum = vec![0.0f32; vectors.first()?.values().len()];
    for vector in vectors {
        sum.iter_mut().zip(vector.values()).for_each(|(sum, value)| *sum += value);
    }
    Vector::normalised(sum).filter(|vector| !vector.is_zero())
}
