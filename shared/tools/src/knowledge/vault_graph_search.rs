//! `vault_graph_search`: the passages that mean something similar to a question, and those of notes that links bring from there.

use std::collections::{HashMap, HashSet, VecDeque};

use atlas_embeddings::Vector;
use atlas_ops::arguments::{Bounded, Exact, Given};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::{DocumentRef, Want};
use atlas_ops::read::view::View;
use futures::future::try_join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::chunks::{chunk_id, contents};
use crate::search::meaning::{UNKNOWN, embed, model};
use crate::search::near::{Near, ROWS};
use crate::search::nearest::{nearest_of, nearest_rows, waiting};
use crate::search::search_semantic::rounded;

/// Passages that are found directly.
const SEEDS: usize = 30;
/// Links that are followed, one after the other.
const HOPS: u32 = 2;
/// Notes that are reached at most.
const MAX_REACHED: usize = 500;
/// Passages of reached notes.
const MAX_EXPANSION: usize = 50;
/// Least similarity of a passage of a reached note.
const LEAST: f32 = 0.2;
/// The part of a passage's similarity that is left after a link.
const PER_HOP: f32 = 0.85;

/// Finds passages by meaning and by links.
pub struct VaultGraphSearch;

/// The question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The question, in your own words.
    query: Exact<1000>,
    /// Most passages to return; 30 if not given.
    #[serde(default)]
    final_top_k: Given<Bounded<1, 100>>,
}

/// The passages.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vault.
    vault: String,
    /// The question.
    query: String,
    /// The passages, best first.
    results: Vec<Found>,
    /// Notes that cannot be found so yet: the next sync embeds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
    /// Why nothing was found, if the model does not know the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<&'static str>,
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Its note's path, and its first line after a colon.
    chunk_id: String,
    /// Its note.
    path: String,
    /// Its text, at most 4 KiB.
    content: String,
    /// How it was found: `seed` by its meaning, `expansion` by links from there.
    source: &'static str,
    /// How many links lead to it; 0 for a seed.
    hop: u32,
    /// The last link; null for a seed.
    via_edge: Option<Edge>,
    /// The note of the seed from which links lead to it; null for a seed.
    root_seed: Option<String>,
    /// Its rank: its similarity, less for each link.
    rerank_score: f64,
}

/// A link.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Edge {
    /// Its kind: `links_to`, or `linked_from` if it is followed backwards.
    r#type: &'static str,
    /// The note before it.
    source_path: String,
    /// Always null: links are as the notes have them.
    provenance: Option<String>,
}

/// How a note was reached.
#[derive(Clone, Copy)]
struct Reached {
    hop: u32,
    from: DocumentRef,
    root: DocumentRef,
    kind: &'static str,
}

impl Operation for VaultGraphSearch {
    const INFO: Info = Info {
        name: "vault_graph_search",
        title: "Search by meaning and links",
        description: "Finds the passages of notes that mean something similar to a question (source seed), and those of notes that up to two links bring from there (source expansion, with hop, via_edge and root_seed). The vault needs an embedding model (`atlas model add`); else take search and graph_neighbors. Example: {\"query\": \"what do storms mean for the harbour\", \"final_top_k\": 10}",
        scopes: &[Scope::ReadVault],
        tags: &["knowledge", "search"],
        aliases: &[Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { query, final_top_k } = arguments;
        let (query, most) = (query.as_str(), final_top_k.map_or(SEEDS, Bounded::get));
        context.read(|view| find(context, view, query, most)).await
    }
}

async fn find(context: &Context<'_>, view: View, query: &str, most: usize) -> Result<Output, Error> {
    let embeddings = model(&view)?.clone();
    let want = Want { vectors: true, ..Want::default() };
    let graph = Graph::fetch_wanting(context, view, &[], want);
    let (graph, vector) = try_join(graph, embed(context, &embeddings, query)).await?;
    let index = graph.index();
    let seeds = seeds_of(nearest_rows(index, &vector, SEEDS, &[], |_| Ok(true)).await?);
    let reached = reached(context, &graph, &seeds)?;
    let expansion = expansion(&graph, &vector, &reached).await?;
    let mut all: Vec<(f32, Near, Option<Reached>)> = seeds.iter().map(|near| (near.similarity, *near, None)).collect();
    all.extend(
        expansion
            .into_iter()
            .map(|(near, reached)| (near.similarity * PER_HOP.powi(reached.hop.cast_signed()), near, Some(reached))),
    );
    let mut ranked = Vec::with_capacity(all.len());
    for (score, near, reached) in all {
        ranked.push((score, index.path(near.document)?, near, reached));
    }
    ranked.sort_by(|one, other| {
        let by_place = || (&one.1, one.2.lines).cmp(&(&other.1, other.2.lines));
        other.0.total_cmp(&one.0).then_with(by_place)
    });
    ranked.truncate(most);
    let passages: Vec<Near> = ranked.iter().map(|(_, _, near, _)| *near).collect();
    let mut texts = contents(index, &passages).await?.into_iter();
    let mut results = Vec::with_capacity(ranked.len());
    for (score, path, near, reached) in ranked {
        let edge = |reached: Reached| {
            Ok::<_, Error>(Edge { r#type: reached.kind, source_path: index.path(reached.from)?, provenance: None })
        };
        results.push(Found {
            chunk_id: chunk_id(&path, near.lines),
            path,
            content: texts.next().unwrap_or_default(),
            source: if reached.is_some() { "expansion" } else { "seed" },
            hop: reached.map_or(0, |reached| reached.hop),
            via_edge: reached.map(edge).transpose()?,
            root_seed: reached.map(|reached| index.path(reached.root)).transpose()?,
            rerank_score: rounded(score),
        });
    }
    results.truncate(fitting(&results, context.limits.max_response_bytes));
    let waiting = Some(waiting(index)?).filter(|waiting| *waiting > 0);
    let vault = context.vault.mirror.vault().to_string();
    let notice = vector.is_zero().then_some(UNKNOWN);
    Ok(Output { vault, query: query.to_owned(), results, waiting, notice })
}

/// The passages from whose notes links are followed: some of each note, so that links lead from several, and more only where these are few.
fn seeds_of(found: Vec<Near>) -> Vec<Near> {
    let mut counts: HashMap<DocumentRef, usize> = HashMap::new();
    let (mut seeds, further): (Vec<Near>, Vec<Near>) = found.into_iter().partition(|near| {
        let count = counts.entry(near.document).or_default();
        *count += 1;
        *count <= ROWS
    });
    seeds.extend(further);
    seeds.truncate(SEEDS);
    seeds
}

/// The notes that links lead to from those of `seeds`, by the fewest links, from the best seed first. The caller sees all of them, and all
/// between.
fn reached(context: &Context<'_>, graph: &Graph, seeds: &[Near]) -> Result<HashMap<DocumentRef, Reached>, Error> {
    let network = graph.network(context)?;
    let mut known: HashSet<DocumentRef> = seeds.iter().map(|near| near.document).collect();
    let mut roots = HashSet::new();
    let roots = seeds.iter().map(|near| near.document).filter(|document| roots.insert(*document));
    let mut queue: VecDeque<(DocumentRef, DocumentRef, u32)> = roots.map(|document| (document, document, 0)).collect();
    let mut found = HashMap::new();
    while let Some((document, root, hop)) = queue.pop_front() {
        let Some(node) = network.node(document).filter(|_| hop < HOPS) else { continue };
        let forwards = network.outgoing(node).map(|next| (next, "links_to"));
        let backwards = network.incoming(node).map(|next| (next, "linked_from"));
        for (next, kind) in forwards.chain(backwards) {
            let Some(next) = network.document(next).filter(|next| graph.index().shows(*next)) else { continue };
            if found.len() >= MAX_REACHED {
                return Ok(found);
            }
            if known.insert(next) {
                found.insert(next, Reached { hop: hop + 1, from: document, root, kind });
                queue.push_back((next, root, hop + 1));
            }
        }
    }
    Ok(found)
}

/// The best passage of each note that was reached, if it is similar enough.
async fn expansion(
    graph: &Graph,
    vector: &Vector,
    reached: &HashMap<DocumentRef, Reached>,
) -> Result<Vec<(Near, Reached)>, Error> {
    if reached.is_empty() {
        return Ok(Vec::new());
    }
    let mut documents: Vec<DocumentRef> = reached.keys().copied().collect();
    documents.sort_unstable();
    let near = nearest_of(graph.index(), vector, &documents).await?;
    let mut known = HashSet::new();
    let best = near.into_iter().filter(|near| near.similarity >= LEAST && known.insert(near.document));
    Ok(best.take(MAX_EXPANSION).filter_map(|near| Some((near, *reached.get(&near.document)?))).collect())
}
