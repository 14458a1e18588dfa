//! `link_entities`: says how an entity is related to another.

use atlas_access::Access;
use atlas_ops::arguments::{Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_segment::SectionName;
use atlas_vault::VaultPath;
use atlas_vault::entity::{Entity, relation_kind, with_relation};
use atlas_vault::resolve::{Files, resolve};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::known::{Described, Known};
use super::{Id, missing, path, refused};

/// Says how an entity is related to another.
pub struct LinkEntities;

/// Which entities, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the entity that the relation begins at.
    source_id: Id,
    /// The id of the entity that it leads to.
    target_id: Id,
    /// How the first is related to the second, as `works at`.
    relation_type: Text<200>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The entity that the relation begins at.
    source_id: String,
    /// The entity that it leads to.
    target_id: String,
    /// How they are related.
    relation_type: String,
    /// When the relation was made; absent if it was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    created_at: Option<Timestamp>,
    /// Whether it was there, so that nothing was changed.
    existed_already: bool,
}

impl Operation for LinkEntities {
    const INFO: Info = Info {
        name: "link_entities",
        title: "Relate two entities",
        description: "Says how one entity of the memory is related to another: a line with a link in the first one's note. Does nothing if the relation is there. See relations with get_entity, and follow them with query_entity_graph. Example: {\"source_id\": \"memory/person/Ada Lovelace.md\", \"target_id\": \"memory/project/Crane.md\", \"relation_type\": \"leads\"}",
        // It tells whether they are there.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["memory"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        let (source, target) = (path("source_id", &arguments.source_id)?, path("target_id", &arguments.target_id)?);
        Ok(vec![(Access::Write, source), (Access::Read, target)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { source_id, target_id, relation_type } = arguments;
        let (source, target) = (path("source_id", &source_id)?, path("target_id", &target_id)?);
        let kind = relation_kind(relation_type.as_str()).map_err(|error| refused("relation_type", &error))?;
        let (entity, files) = find(context, &target).await?;
        let is_inside = context.vault.memory().holds(source.as_str());
        let link = target_of_link(&source, &target, &files)?;
        let edit = |text: Option<&str>| {
            let known = text.filter(|_| is_inside).and_then(|text| Some((text, Entity::read(text)?)));
            let (text, known) = known.ok_or_else(|| missing("source_id", source.as_str()))?;
            let leads_there = |link: &str| resolve(link, &source, &files) == Some(&target);
            if known.relations.iter().any(|one| one.kind == kind && leads_there(&one.target)) {
                return Ok((text.to_owned(), true));
            }
            let after = with_relation(text, kind, &link, &entity.name);
            Ok((after.map_err(|error| refused("relation_type", &error))?, false))
        };
        let Answer { value: edited, generation } = editing::edit_or_create(context, &Self::INFO, &source, edit).await?;
        let value = Output {
            source_id: source.as_str().to_owned(),
            target_id: target.as_str().to_owned(),
            relation_type: kind.to_owned(),
            created_at: (!edited.told).then_some(edited.updated_at),
            existed_already: edited.told,
        };
        Ok(Answer { value, generation })
    }
}

/// The entity that the relation leads to, and the files that its link must be told from.
async fn find(context: &Context<'_>, target: &VaultPath) -> Result<(Described, Files), Error> {
    let look = |view: View| async move {
        let graph = Graph::fetch_with(context, view, &[SectionName::Properties]).await?;
        let known = Known { facts: graph.facts(), folder: context.vault.memory() };
        let (_, entity) = known.at(target)?.ok_or_else(|| missing("target_id", target.as_str()))?;
        Ok((entity, graph.rivals(target)?))
    };
    Ok(context.read(look).await?.value)
}

/// The link's target: the whole path, which stays unambiguous when others get the same name.
fn target_of_link(source: &VaultPath, target: &VaultPath, files: &Files) -> Result<String, Error> {
    let whole = target.as_str();
    let short = whole.len().checked_sub(".md".len()).and_then(|end| whole.get(..end)).unwrap_or(whole);
    let is_writable =
        |link: &&str| !link.contains(['#', '|', '[', ']', '^']) && resolve(link, source, files) == Some(target);
    let found = [short, whole].into_iter().find(is_writable).map(str::to_owned);
    found.ok_or_else(|| invalid_input("target_id", "no link can name its note: move it to a path without # | [ ] ^"))
}
