//! `suggest_links`: links that a note could have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use atlas_access::Access;
use atlas_ops::arguments::{Bounded, ReadPath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::excerpt::{TextLines, cut_at};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::{DocumentRef, Want};
use atlas_ops::read::network::{Network, Node};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::text::decoded;
use atlas_vault::mentions::{Mention, mentions};
use atlas_vault::relink::shortest_target;
use atlas_vault::words::is_unspaced;
use atlas_vault::{VaultPath, fold, frontmatter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{node, path};
use crate::search::find_similar::mean;
use crate::search::nearest::{nearest, vectors_of};
use crate::search::search_semantic::rounded;

/// Suggests links for a note.
pub struct SuggestLinks;

/// The note, and limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// Most suggestions to return; 20 if not given.
    #[serde(default)]
    limit: Bounded<1, 200, 20>,
}

/// Suggested links of a note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note.
    path: String,
    /// The number of suggestions, including those not returned.
    total: usize,
    /// The best first.
    suggestions: Vec<Suggestion>,
}

/// A file that the note does not link to yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Suggestion {
    /// Its path.
    path: String,
    /// Its score: each line that mentions it counts 10, up to three of them; each note that links to both 2, each note in between 1; and the note nearest in meaning 10, the next 9, and so on.
    score: usize,
    /// The number of notes that link to both.
    co_citation: usize,
    /// The number of notes between: the note links to them, and they link to this file.
    two_hop: usize,
    /// How similar the two are, if it is among the ten notes nearest in meaning: the cosine of the angle between the vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    /// The lines that mention its name or an alias without a link, at most 10.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mentions: Vec<MentionedAt>,
}

/// A line that mentions a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MentionedAt {
    /// Its number, counted from 1.
    line: u32,
    /// The line; a long one cut around the name, the cuts marked with `…`.
    text: String,
    /// The name as written there.
    name: String,
    /// The link to write instead of the name; none if no wikilink can lead there.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

/// The evidence for a suggestion.
#[derive(Default)]
struct Signs<'a> {
    co_citation: usize,
    two_hop: usize,
    mentions: Vec<&'a Mention<Node>>,
    /// What its nearness in meaning counts, and the similarity.
    meant: Option<(usize, f32)>,
}

impl Signs<'_> {
    fn score(&self) -> usize {
        let meant = self.meant.map_or(0, |(counts, _)| counts);
        10 * self.mentions.len().min(3) + 2 * self.co_citation + self.two_hop + meant
    }
}

/// Most lines of a suggestion, and most bytes of a line.
const MAX_MENTIONS: usize = 10;
const LINE_BYTES: usize = 400;
/// Fewest characters of a name that is searched for; in scripts without spaces fewer.
const MIN_CHARS: usize = 3;
const MIN_UNSPACED_CHARS: usize = 2;
/// Notes that are suggested for their meaning.
const MEANT: usize = 10;
/// Most pairs of links that are followed.
const MAX_STEPS: usize = 500_000;

impl Operation for SuggestLinks {
    const INFO: Info = Info {
        name: "suggest_links",
        title: "Suggest links",
        description: "Suggests links that a note lacks: files whose name or alias its text mentions, with the lines and the links to write there, and files that are near it in the graph, or in meaning where there is an embedding model. Write one with edit_note or link_add. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let note = VaultPath::from(arguments.path);
        let limit = arguments.limit.get();
        let suggest = |view: View| {
            let note = &note;
            async move {
                let vectors = view.snapshot().manifest().embeddings.is_some();
                let want = Want { vectors, ..Want::default() };
                let graph = Graph::fetch_wanting(context, view, &[SectionName::Properties], want).await?;
                let network = graph.network(context)?;
                let own = node(&graph, &network, "path", note)?;
                let texts = graph.index().texts(&[graph.file(note)?]).await?;
                let text = texts.first().map(|text| decoded(text)).unwrap_or_default();
                let aliases = aliases(&graph)?;
                let mentioned = match note.is_note() {
                    true => {
                        mentions(&text, |name| Names { graph: &graph, aliases: &aliases, note }.node(&network, name))
                    }
                    false => Vec::new(),
                };
                let mut found = signs(&network, own, &mentioned);
                if vectors {
                    add_meant(&graph, &network, own, graph.file(note)?, &mut found).await?;
                }
                let mut best: Vec<(&Node, &Signs<'_>)> = found.iter().collect();
                best.sort_by_key(|(_, signs)| std::cmp::Reverse(signs.score()));
                let lines = TextLines::new(text.as_bytes());
                let suggestion = |(to, signs): &(&Node, &Signs<'_>)| {
                    let path = path(&graph, &network, **to)?;
                    let mentions = mentioned_at(&graph, note, &path, &text, &lines, &signs.mentions)?;
                    let (co_citation, two_hop) = (signs.co_citation, signs.two_hop);
                    let similarity = signs.meant.map(|(_, similarity)| rounded(similarity));
                    Ok(Suggestion { path, score: signs.score(), co_citation, two_hop, similarity, mentions })
                };
                let suggestions = best.iter().take(limit).map(suggestion).collect::<Result<_, Error>>()?;
                Ok(Output { path: note.as_str().to_owned(), total: best.len(), suggestions })
            }
        };
        context.read(suggest).await
    }
}

/// The names by which a note's text may mention files.
struct Names<'a> {
    graph: &'a Graph,
    aliases: &'a HashMap<String, BTreeSet<DocumentRef>>,
    note: &'a VaultPath,
}

impl Names<'_> {
    /// The file that a folded name means: the one that a link with it would lead to, else the only one with this alias.
    fn node(&self, network: &Network, name: &str) -> Option<Node> {
        let least = if name.contains(is_unspaced) { MIN_UNSPACED_CHARS } else { MIN_CHARS };
        if name.chars().count() < least {
            return None;
        }
        let by_alias = || self.aliases.get(name).filter(|named| named.len() == 1)?.first().copied();
        let by_name =
            if self.graph.has_note_named(name) { self.graph.meant(name, self.note).ok().flatten() } else { None };
        network.node(by_name.or_else(by_alias)?)
    }
}

/// By folded alias: the notes that have it.
fn aliases(graph: &Graph) -> Result<HashMap<String, BTreeSet<DocumentRef>>, Error> {
    let mut aliases: HashMap<String, BTreeSet<DocumentRef>> = HashMap::new();
    for segment in graph.index().segments() {
        for column in graph.facts().properties(segment)?.iter() {
            let values = column.iter().filter(|_| frontmatter::has_aliases(column.key()));
            let values = values.map(|(document, value)| (DocumentRef { segment, document }, value));
            for (document, value) in values.filter(|(document, _)| graph.index().shows(*document)) {
                for alias in frontmatter::aliases_of(value) {
                    aliases.entry(fold(&alias)).or_default().insert(document);
                }
            }
        }
    }
    Ok(aliases)
}

/// The evidence for each file that the note at `own` does not link to.
fn signs<'a>(network: &Network, own: Node, mentioned: &'a [Mention<Node>]) -> BTreeMap<Node, Signs<'a>> {
    let mut known: BTreeSet<Node> = network.outgoing(own).collect();
    known.insert(own);
    let mut signs: BTreeMap<Node, Signs<'_>> = BTreeMap::new();
    let two_hops = network.outgoing(own).flat_map(|via| network.outgoing(via)).map(|to| (to, false));
    let co_cited = network.incoming(own).flat_map(|via| network.outgoing(via)).map(|to| (to, true));
    for (to, is_co_cited) in two_hops.take(MAX_STEPS).chain(co_cited.take(MAX_STEPS)) {
        if !known.contains(&to) {
            let signs = signs.entry(to).or_default();
            signs.co_citation += usize::from(is_co_cited);
            signs.two_hop += usize::from(!is_co_cited);
        }
    }
    for mention in mentioned.iter().filter(|mention| !known.contains(&mention.meaning)) {
        let mentions = &mut signs.entry(mention.meaning).or_default().mentions;
        if mentions.last().is_none_or(|last| last.line != mention.line) {
            mentions.push(mention);
        }
    }
    signs
}

/// Adds the notes nearest in meaning to the note at `own`, which is `document`, that it does not link to.
async fn add_meant(
    graph: &Graph,
    network: &Network,
    own: Node,
    document: DocumentRef,
    signs: &mut BTreeMap<Node, Signs<'_>>,
) -> Result<(), Error> {
    let index = graph.index();
    let Some(query) = mean(&vectors_of(index, document).await?) else { return Ok(()) };
    let known: BTreeSet<DocumentRef> =
        network.outgoing(own).chain([own]).filter_map(|node| network.document(node)).collect();
    let near = nearest(index, &query, &[], |document| Ok(!known.contains(&document))).await?;
    let mut seen = BTreeSet::new();
    let best = near.into_iter().filter(|near| seen.insert(near.document)).take(MEANT);
    for (near, counts) in best.zip((1..=MEANT).rev()) {
        if let Some(node) = network.node(near.document) {
            signs.entry(node).or_default().meant = Some((counts, near.similarity));
        }
    }
    Ok(())
}

/// The lines of a note's `text` that mention the file at `to`, each with the link to write.
fn mentioned_at(
    graph: &Graph,
    note: &VaultPath,
    to: &str,
    text: &str,
    lines: &TextLines<'_>,
    mentions: &[&Mention<Node>],
) -> Result<Vec<MentionedAt>, Error> {
    if mentions.is_empty() {
        return Ok(Vec::new());
    }
    let meant = VaultPath::parse(to).map_err(|_| atlas_ops::read::notes::missing(to))?;
    let target = shortest_target(&meant, note, &graph.rivals(&meant)?);
    let at = |mention: &&Mention<Node>| {
        let name = text.get(mention.range.clone())?;
        let before = text.get(..mention.range.start)?;
        let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
        let link = target.as_ref().map(|target| match target == name {
            true => format!("[[{target}]]"),
            false => format!("[[{target}|{name}]]"),
        });
        let shown = cut_at(lines.get(mention.line as usize)?, column, LINE_BYTES);
        Some(MentionedAt { line: mention.line + 1, text: shown, name: name.to_owned(), link })
    };
    Ok(mentions.iter().filter_map(at).take(MAX_MENTIONS).collect())
}
