//! `update_excalidraw`: adds, removes and changes elements of a drawing, and leaves every other byte as it is.

use std::collections::BTreeMap;

use atlas_access::Access;
use atlas_ops::arguments::{Given, Versions};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::excalidraw::{Change, Drawing, Fields};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{path, refused};
use crate::canvas::{MAX_REMOVED, seed};
use crate::formats::check_count;

/// Changes a drawing.
pub struct UpdateExcalidraw;

/// Which drawing, and what becomes of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.excalidraw.md`, `.md` or `.excalidraw`.
    path: String,
    /// Elements to add, in front of the others: as for create_excalidraw; none if not given.
    #[serde(default)]
    add_elements: Vec<Fields>,
    /// Ids of elements to remove; none if not given.
    #[serde(default)]
    remove_element_ids: Vec<String>,
    /// Fields to set, by the id of their element; null removes a field; none if not given.
    #[serde(default)]
    update_elements: BTreeMap<String, Fields>,
    /// Fields of the state of the app to set, such as `viewBackgroundColor`; null removes a field; none if not given.
    #[serde(default)]
    update_app_state: Fields,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The drawing's path.
    path: String,
    /// When it was last changed: now, unless it is as it was.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// How many elements changed.
    applied: Applied,
    /// The ids of the elements that were added, in the order of the argument.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    added_element_ids: Vec<String>,
    /// SHA-256 of the file, in hex.
    content_hash: String,
}

/// How many elements changed.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Applied {
    added: usize,
    removed: usize,
    updated: usize,
}

impl Operation for UpdateExcalidraw {
    const INFO: Info = Info {
        name: "update_excalidraw",
        title: "Change a drawing",
        description: "Adds, removes and changes elements of a drawing of the plugin Excalidraw by their ids, and leaves every other byte of the note and of the drawing as it is; the note says the texts and links of its elements too, and they are changed with them. Read the ids with read_excalidraw. A person has to confirm that more than 10 elements are removed. Example: {\"path\": \"Drawings/Plan.excalidraw.md\", \"update_elements\": {\"tide0001\": {\"text\": \"High tide\"}}}",
        // It tells what is there.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["excalidraw"],
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path("path", &arguments.path)?)])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        arguments.remove_element_ids.len() > MAX_REMOVED
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path("path", &arguments.path)?;
        let Arguments { add_elements, remove_element_ids, update_elements, update_app_state, if_match, .. } = arguments;
        let condition = Condition::of_existing(if_match.as_ref())?;
        for (field, count) in [
            ("add_elements", add_elements.len()),
            ("remove_element_ids", remove_element_ids.len()),
            ("update_elements", update_elements.len()),
            ("update_app_state", update_app_state.len()),
        ] {
            check_count(field, count)?;
        }
        let updated = update_elements.len();
        let change = Change {
            add: add_elements,
            remove: remove_element_ids,
            update: update_elements,
            app_state: update_app_state,
        };
        let now = context.first_made.as_millisecond();
        let edit = |before: &str| {
            let drawing = Drawing::read(before, path.is_note()).map_err(|error| refused(&path, &error))?;
            let changed = drawing.change(&change, seed(&path, before), now).map_err(|error| refused(&path, &error))?;
            let applied = Applied { added: changed.added.len(), removed: changed.removed, updated };
            Ok((changed.text, (applied, changed.added)))
        };
        let Answer { value: edited, generation } = editing::edit(context, &Self::INFO, &path, &condition, edit).await?;
        let (applied, added_element_ids) = edited.told;
        let value = Output {
            path: path.as_str().to_owned(),
            updated_at: edited.updated_at,
            applied,
            added_element_ids,
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}
