//! The vault's memory: entities, which are notes below one folder (`vaults[].memory.folder`) that have a type. The id of an entity is its note's
//! path, so that access lists, links and moves mean the same for it as for every note.

pub mod add_observation;
pub mod create_entity;
pub mod get_entity;
mod known;
pub mod link_entities;
pub mod query_entity_graph;
mod relations;

use atlas_ops::arguments::{Text, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::entity::EntityError;

/// An entity's id, as an argument.
type Id = Text<1024>;

/// The path of the note of the entity that argument `field` names.
fn path(field: &str, id: &Id) -> Result<VaultPath, Error> {
    let path = VaultPath::parse(id.as_str()).ok().filter(VaultPath::is_note);
    path.ok_or_else(|| {
        invalid_input(field, "take an entity_id that create_entity or get_entity gave: the path of a note")
    })
}

/// The error for an entity that argument `field` names and that is not there.
fn missing(field: &str, what: &str) -> Error {
    let message =
        format!("there is no entity {what}: look for it by name with get_entity, or make it with create_entity");
    invalid_input(field, &message)
}

/// The error for what argument `field` says and an entity cannot have.
fn refused(field: &str, error: &EntityError) -> Error {
    match error {
        EntityError::TooLong => Error::new(Code::TooLarge, Reason::NoteTooLarge, error.to_string()),
        error => invalid_input(field, &error.to_string()),
    }
}
