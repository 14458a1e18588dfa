//! `add_observation`: adds a fact to an entity.

use atlas_access::Access;
use atlas_ops::arguments::Text;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::write::editing;
use atlas_vault::entity::{Entity, with_observation};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Id, missing, path, refused};

/// Adds a fact to an entity.
pub struct AddObservation;

/// Which fact, and to which entity.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The entity's id, as create_entity or get_entity gave it.
    entity_id: Id,
    /// One fact, in one line; links in it count as links of its note.
    observation: Text<10_000>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The entity.
    entity_id: String,
    /// How many observations it has now.
    observation_count: usize,
    /// When its note was changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
}

impl Operation for AddObservation {
    const INFO: Info = Info {
        name: "add_observation",
        title: "Remember a fact",
        description: "Adds one fact to an entity of the memory, at the end of those that are known, and leaves the rest of its note as it is. The same fact can be added twice: give an idempotency_key if you may send a call again. Example: {\"entity_id\": \"memory/person/Ada Lovelace.md\", \"observation\": \"Leads the crane project\"}",
        // It tells how many there are.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["memory"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path("entity_id", &arguments.entity_id)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { entity_id, observation } = arguments;
        let path = path("entity_id", &entity_id)?;
        let is_inside = context.vault.memory().holds(path.as_str());
        let edit = |text: Option<&str>| {
            let text = text.filter(|text| is_inside && Entity::read(text).is_some());
            let text = text.ok_or_else(|| missing("entity_id", path.as_str()))?;
            with_observation(text, observation.as_str()).map_err(|error| refused("observation", &error))
        };
        let Answer { value: edited, generation } = editing::edit_or_create(context, &Self::INFO, &path, edit).await?;
        let value = Output {
            entity_id: path.as_str().to_owned(),
            observation_count: edited.told,
            updated_at: edited.updated_at,
        };
        Ok(Answer { value, generation })
    }
}
