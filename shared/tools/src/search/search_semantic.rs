//! `search_semantic`: the passages that mean something similar to a question.

use atlas_embeddings::Vector;
use atlas_ops::arguments::{Bounded, Exact, Given, Root};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::nearest;
use atlas_ops::read::view::View;
use futures::future::try_join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chunks::{chunk_id, contents};
use super::filter::Filter;
use super::meaning::{UNKNOWN, embed, model};
use super::near::{Near, ROWS};
use super::nearest::{nearest_rows, waiting};

/// Finds passages by meaning.
pub struct SearchSemantic;

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The question, in your own words.
    query: Exact<1000>,
    /// Most passages to return; 10 if not given.
    #[serde(default)]
    k: Given<Bounded<1, 100>>,
    /// Only in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Leave out passages that are less similar: -1 to 1; if not given none is left out.
    #[serde(default)]
    min_score: Given<f64>,
    /// Whether the texts of passages are returned.
    #[serde(default = "yes")]
    return_content: bool,
}

fn yes() -> bool {
    true
}

/// The passages.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The passages, the most similar first.
    items: Vec<Chunk>,
    /// Notes that cannot be found so yet: the next sync embeds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
    /// Why nothing was found, if the model does not know the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<&'static str>,
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Chunk {
    /// Its note's path, and its first line after a colon.
    chunk_id: String,
    /// Its note.
    path: String,
    /// Its first line, counted from 1.
    line: u64,
    /// How similar it is: the cosine of the angle between the vectors.
    score: f64,
    /// Its text, at most 4 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The model.
    embedding_model: String,
}

impl Operation for SearchSemantic {
    const INFO: Info = Info {
        name: "search_semantic",
        title: "Search by meaning",
        description: "Finds the passages of notes that mean something similar to a question, the most similar first, with their texts. The vault needs an embedding model (`atlas model add`); else take search, which finds notes by words, and by both where there is a model. Example: {\"query\": \"why do we test restores\", \"k\": 5}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        aliases: &[Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let root = Root::of("root", &arguments.root)?;
        let least = arguments.min_score.unwrap_or(-1.0);
        if !(-1.0..=1.0).contains(&least) {
            let message = "min_score: say a number from -1 to 1";
            return Err(Error::bad_request(Reason::InvalidInput, message).with("field", "min_score"));
        }
        let (arguments, root) = (&arguments, &root);
        context.read(|view| find(context, view, arguments, root, least)).await
    }
}

async fn find(
    context: &Context<'_>,
    view: View,
    arguments: &Arguments,
    root: &Root,
    least: f64,
) -> Result<Output, Error> {
    let embeddings = model(&view)?.clone();
    let (index, query) = seen(context, view.clone(), arguments.query.as_str()).await?;
    let below = Filter::Root(root.clone());
    let takes = |document: DocumentRef| Ok(Filter::takes(Some(&below), &index.path(document)?));
    let most = arguments.k.map_or(10, Bounded::get);
    let mut found = nearest_rows(&index, &query, most.max(ROWS), &[], takes).await?;
    found.retain(|near| f64::from(near.similarity) >= least);
    found.truncate(most);
    nearest::check_found(context, view, root, found.len()).await?;
    let texts = if arguments.return_content { contents(&index, &found).await? } else { Vec::new() };
    let mut texts = texts.into_iter();
    let chunk = |near: &Near| {
        let path = index.path(near.document)?;
        Ok(Chunk {
            chunk_id: chunk_id(&path, near.lines),
            path,
            line: u64::from(near.lines.0) + 1,
            score: rounded(near.similarity),
            content: texts.next(),
            embedding_model: embeddings.model.clone(),
        })
    };
    let mut items = found.iter().map(chunk).collect::<Result<Vec<Chunk>, Error>>()?;
    items.truncate(fitting(&items, context.limits.max_response_bytes));
    let waiting = Some(waiting(&index)?).filter(|waiting| *waiting > 0);
    Ok(Output { items, waiting, notice: query.is_zero().then_some(UNKNOWN) })
}

/// The index with its vectors, and the vector of a question.
pub(crate) async fn seen(context: &Context<'_>, view: View, query: &str) -> Result<(Index, Vector), Error> {
    let embeddings = model(&view)?.clone();
    let want = Want { vectors: true, ..Want::default() };
    try_join(Index::fetch(view, want), embed(context, &embeddings, query)).await
}

/// To the digits that distinguish passages.
pub(crate) fn rounded(similarity: f32) -> f64 {
    (f64::from(similarity) * 1e4).round() / 1e4
}
