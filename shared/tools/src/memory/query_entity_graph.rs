//! `query_entity_graph`: which entities are related to one, over some steps.

use std::collections::{HashMap, HashSet};

use atlas_access::Access;
use atlas_ops::arguments::{Bounded, Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::paging::{Limit, Paging, PartialPage};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::known::{Described, Known};
use super::relations::{Edge, Relations};
use super::{Id, missing, path};

/// Follows relations from an entity.
pub struct QueryEntityGraph;

/// From which entity, and how far.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the entity to begin at.
    seed_entity_id: Id,
    /// How many steps to go, 5 at most; 2 if not given.
    #[serde(default)]
    depth: Bounded<1, 5, 2>,
    /// Only follow relations of these kinds; all if not given.
    #[serde(default)]
    #[schemars(length(max = 50))]
    relation_types: Vec<Text<200>>,
    /// Only go to entities of these types, and on from them; to all if not given.
    #[serde(default)]
    #[schemars(length(max = 50))]
    entity_types: Vec<Text<100>>,
    /// Follow relations from where they begin (`out`), from where they lead to (`in`), or `both`; both if not given.
    #[serde(default)]
    direction: Direction,
    /// Most entities to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the page before.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// Which way relations are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From where they begin.
    Out,
    /// From where they lead to.
    In,
    /// Either way.
    #[default]
    Both,
}

/// An entity that was reached.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Its id.
    entity_id: String,
    /// The kind of thing.
    #[serde(rename = "type")]
    kind: String,
    /// Its name.
    name: String,
    /// How many steps away it is, at least.
    distance: usize,
    /// A shortest way to it: the entity that each step begins at, and the relation that it takes.
    path: Vec<Step>,
}

/// A step on the way to an entity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Step {
    /// The entity that it begins at.
    via_entity_id: String,
    /// The kind of relation that it takes.
    via_relation: String,
}

/// Most entities that are reached.
const MAX_REACHED: usize = 5000;
/// Why there are not all.
const CUT: &str =
    "too many notes would be read: go fewer steps, name relation_types or entity_types, or begin elsewhere";

impl Operation for QueryEntityGraph {
    const INFO: Info = Info {
        name: "query_entity_graph",
        title: "Follow relations of entities",
        description: "Lists the entities of the memory that are related to one, over up to five steps, the nearest first, each with a shortest way to it. Relations are followed both ways unless direction says otherwise, and only those of relation_types to entities of entity_types, where these are given. For the facts about one take get_entity. Example: {\"seed_entity_id\": \"memory/person/Ada Lovelace.md\", \"depth\": 2}",
        scopes: &[Scope::ReadVault],
        tags: &["memory"],
        aliases: &[Alias::Ignored("include_retired")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = PartialPage<Item>;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, path("seed_entity_id", &arguments.seed_entity_id)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let seed = path("seed_entity_id", &arguments.seed_entity_id)?;
        let Arguments { depth, relation_types, entity_types, direction, limit, cursor, .. } = &arguments;
        let listing = (Self::INFO.name, seed.as_str(), depth, relation_types, entity_types, direction);
        let paging = Paging::new(*limit, cursor.as_ref(), &listing)?;
        let page = |view: View| {
            let (seed, arguments, paging) = (&seed, &arguments, &paging);
            async move {
                let generation = view.generation();
                let graph = Graph::fetch_with(context, view, &[SectionName::Properties]).await?;
                let known = Known { facts: graph.facts(), folder: context.vault.memory() };
                let (start, entity) = known.at(seed)?.ok_or_else(|| missing("seed_entity_id", seed.as_str()))?;
                let mut walk = Walk::new(arguments, known, start, entity);
                walk.run(context, &graph).await?;
                // The seed is the first.
                let places: Vec<usize> = (1..walk.reached.len()).collect();
                let items = paging.of(&places).iter().filter_map(|place| walk.item(*place)).collect();
                let page = paging.page(context, generation, places.len(), items)?;
                Ok(PartialPage { page, partial: walk.is_cut.then_some(CUT) })
            }
        };
        paging.read(context, page).await
    }
}

/// An entity that was reached: from where, by which relation, and after how many steps.
struct Reached {
    document: DocumentRef,
    entity: Described,
    from: usize,
    relation: String,
    distance: usize,
}

/// The entities that are reached, in the order of their distance.
struct Walk<'a> {
    arguments: &'a Arguments,
    known: Known<'a>,
    reached: Vec<Reached>,
    seen: HashSet<DocumentRef>,
    is_cut: bool,
}

impl<'a> Walk<'a> {
    fn new(arguments: &'a Arguments, known: Known<'a>, document: DocumentRef, entity: Described) -> Self {
        let seed = Reached { document, entity, from: 0, relation: String::new(), distance: 0 };
        Self { arguments, known, reached: vec![seed], seen: HashSet::from([document]), is_cut: false }
    }

    async fn run(&mut self, context: &Context<'_>, graph: &Graph) -> Result<(), Error> {
        let mut relations = Relations::new(graph, self.known);
        let mut from = 0;
        for distance in 1..=self.arguments.depth.get() {
            let level: Vec<DocumentRef> =
                self.reached.get(from..).unwrap_or_default().iter().map(|reached| reached.document).collect();
            let mut sources: HashMap<DocumentRef, Vec<DocumentRef>> = HashMap::new();
            // Links in the entities' own notes come first.
            let mut wanted = if self.arguments.direction == Direction::In { Vec::new() } else { level.clone() };
            for document in &level {
                context.work.check()?;
                if self.arguments.direction != Direction::Out {
                    // Those that were reached before lead nowhere new.
                    let mut of_it = relations.sources(*document)?;
                    of_it.retain(|source| !self.seen.contains(source));
                    wanted.extend(&of_it);
                    sources.insert(*document, of_it);
                }
            }
            self.is_cut |= !relations.read(context, &wanted).await?;
            for (at, document) in (from..).zip(&level) {
                let follows_out = self.arguments.direction != Direction::In;
                let outgoing = relations.outgoing(*document).iter().filter(|_| follows_out).cloned();
                let of_it = sources.get(document).map(Vec::as_slice).unwrap_or_default();
                for edge in outgoing.chain(relations.incoming(*document, of_it)) {
                    self.take(edge, at, distance)?;
                }
            }
            from += level.len();
        }
        Ok(())
    }

    /// Goes over a relation, if it is one to follow.
    fn take(&mut self, (relation, document): Edge, from: usize, distance: usize) -> Result<(), Error> {
        let is_among = |list: &[Text<200>], text: &str| list.is_empty() || list.iter().any(|one| one.as_str() == text);
        if self.seen.contains(&document) || !is_among(&self.arguments.relation_types, &relation) {
            return Ok(());
        }
        let types = &self.arguments.entity_types;
        let is_wanted = |entity: &Described| types.is_empty() || types.iter().any(|one| one.as_str() == entity.kind);
        let Some(entity) = self.known.of(document)?.filter(is_wanted) else { return Ok(()) };
        if self.reached.len() > MAX_REACHED {
            self.is_cut = true;
            return Ok(());
        }
        self.seen.insert(document);
        self.reached.push(Reached { document, entity, from, relation, distance });
        Ok(())
    }

    fn item(&self, place: usize) -> Option<Item> {
        let Reached { entity, distance, .. } = self.reached.get(place)?;
        let (mut at, mut path) = (place, Vec::new());
        while at != 0 {
            let Reached { from, relation, .. } = self.reached.get(at)?;
            let via_entity_id = self.reached.get(*from)?.entity.id.clone();
            path.push(Step { via_entity_id, via_relation: relation.clone() });
            at = *from;
        }
        path.reverse();
        let Described { id, kind, name } = entity.clone();
        Some(Item { entity_id: id, kind, name, distance: *distance, path })
    }
}
