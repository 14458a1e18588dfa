//! `get_entity`: what the memory knows of an entity.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::{bytes_of, fitting};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_segment::SectionName;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;
use atlas_vault::entity::Entity;
use futures::future::try_join;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::known::{Described, Known};
use super::relations::{Edge, Relations};
use super::{Id, missing, path};

/// Tells what the memory knows of an entity.
pub struct GetEntity;

/// Which entity.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id; if not given, name it.
    #[serde(default)]
    entity_id: Given<Id>,
    /// Its type, for `name`; any type if not given.
    #[serde(default, rename = "type")]
    kind: Given<Text<100>>,
    /// Its name, as written; not needed with entity_id. Without `type` only one entity may have it. If not given, send entity_id.
    #[serde(default)]
    name: Given<Text<500>>,
}

/// The entity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its id: the path of its note.
    entity_id: String,
    /// The kind of thing.
    #[serde(rename = "type")]
    kind: String,
    /// Its name.
    name: String,
    /// Its observations, in the order of its note.
    observations: Vec<String>,
    /// How many observations it has.
    observation_count: usize,
    /// How it is related to other entities: its own relations first, then those of others to it.
    relations: Vec<Related>,
    /// The path of its note.
    vault_path: String,
    /// When it was created, if its note says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    created_at: Option<Timestamp>,
    /// When its note was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// Whether it has more than an answer has room for: observations are in its note, relations in query_entity_graph.
    truncated: bool,
}

/// Another entity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Related {
    /// Its id.
    target_id: String,
    /// Its name.
    target_name: String,
    /// The kind of thing.
    target_type: String,
    /// How the two are related.
    relation_type: String,
    /// `out` if the relation leads to it, `in` if it begins there.
    direction: &'static str,
}

/// Most relations that are told.
const MAX_RELATIONS: usize = 500;
/// Most entities that an error names.
const MAX_CANDIDATES: usize = 20;

impl Operation for GetEntity {
    const INFO: Info = Info {
        name: "get_entity",
        title: "Recall an entity",
        description: "Tells what the memory knows of an entity: its observations, and how it is related to others. Name it by entity_id, by type and name, or by name alone if only one has it. For notes of other kinds take read_note. Example: {\"type\": \"person\", \"name\": \"Ada Lovelace\"}",
        scopes: &[Scope::ReadVault],
        tags: &["memory"],
        aliases: &[Alias::Ignored("include_retired")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        let path = arguments.entity_id.as_ref().map(|id| path("entity_id", id)).transpose()?;
        Ok(path.map(|path| (Access::Read, path)).into_iter().collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let wanted = Wanted::of(&arguments)?;
        let tell = |view: View| {
            let wanted = &wanted;
            async move {
                let graph = Graph::fetch_with(context, view, &[SectionName::Properties]).await?;
                let known = Known { facts: graph.facts(), folder: context.vault.memory() };
                let (document, entity) = wanted.find(known)?;
                told(context, &graph, known, document, entity).await
            }
        };
        context.read(tell).await
    }
}

/// Which entity is meant.
enum Wanted<'a> {
    At(VaultPath),
    Named(Option<&'a str>, &'a str),
}

impl<'a> Wanted<'a> {
    fn of(arguments: &'a Arguments) -> Result<Self, Error> {
        match (arguments.entity_id.as_ref(), arguments.kind.as_ref(), arguments.name.as_ref()) {
            (Some(id), None, None) => Ok(Self::At(path("entity_id", id)?)),
            (None, kind, Some(name)) => Ok(Self::Named(kind.map(Text::as_str), name.as_str())),
            _ => Err(invalid_input("entity_id", "give either entity_id, or name, or type and name")),
        }
    }

    fn find(&self, known: Known<'_>) -> Result<(DocumentRef, Described), Error> {
        match self {
            Self::At(path) => known.at(path)?.ok_or_else(|| missing("entity_id", path.as_str())),
            Self::Named(kind, name) => {
                let mut found = known.all()?;
                found.retain(|(_, entity)| entity.name == *name && kind.is_none_or(|kind| entity.kind == kind));
                if found.len() > 1 {
                    let named = found.iter().take(MAX_CANDIDATES);
                    let candidates: Vec<_> =
                        named.map(|(_, entity)| json!({ "entity_id": entity.id, "type": entity.kind })).collect();
                    let message =
                        format!("{} entities have this name: give the entity_id of one of candidates", found.len());
                    return Err(invalid_input("name", &message).with("candidates", candidates));
                }
                found.pop().ok_or_else(|| missing("name", &format!("called {name:?}")))
            }
        }
    }
}

async fn told(
    context: &Context<'_>,
    graph: &Graph,
    known: Known<'_>,
    document: DocumentRef,
    described: Described,
) -> Result<Output, Error> {
    let own = [document];
    let (texts, records) = try_join(graph.index().texts(&own), graph.index().records(&own)).await?;
    let entity = texts.first().and_then(|text| Entity::read(&decoded(text)));
    let entity = entity.ok_or_else(|| missing("entity_id", &described.id))?;
    let mut relations = Relations::new(graph, known);
    let sources = relations.sources(document)?;
    let mut is_cut = !relations.read(context, &sources).await?;
    let outgoing = relations.of(document, &entity)?;
    let all = outgoing.iter().cloned().map(|edge| (edge, "out"));
    let all = all.chain(relations.incoming(document, &sources).map(|edge| (edge, "in")));
    let mut related = Vec::new();
    for (edge, direction) in all.take(MAX_RELATIONS + 1) {
        related.extend(Related::of(known, edge, direction)?);
    }
    is_cut |= related.len() > MAX_RELATIONS;
    related.truncate(MAX_RELATIONS);
    let mut observations = entity.observations;
    let observation_count = observations.len();
    // Half of the room for each, and what relations leave of theirs for observations.
    let room = context.limits.max_response_bytes;
    related.truncate(fitting(&related, room / 2));
    observations.truncate(fitting(&observations, room.saturating_sub(bytes_of(&related))));
    let modified = records.first().map_or(0, |record| record.modified_ms);
    Ok(Output {
        entity_id: described.id.clone(),
        kind: described.kind,
        name: described.name,
        truncated: is_cut || observations.len() < observation_count,
        observations,
        observation_count,
        relations: related,
        vault_path: described.id,
        created_at: entity.created.and_then(|created| created.parse().ok()),
        updated_at: editing::time(modified),
    })
}

impl Related {
    fn of(known: Known<'_>, (relation_type, other): Edge, direction: &'static str) -> Result<Option<Self>, Error> {
        let Some(other) = known.of(other)? else { return Ok(None) };
        let Described { id, kind, name } = other;
        Ok(Some(Self { target_id: id, target_name: name, target_type: kind, relation_type, direction }))
    }
}
