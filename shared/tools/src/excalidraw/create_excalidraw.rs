//! `create_excalidraw`: a new drawing.

use atlas_access::Access;
use atlas_ops::arguments;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::excalidraw::{self, Fields, Form};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{path, refused};
use crate::canvas::seed;
use crate::formats::{self, check_count};

/// Creates a drawing.
pub struct CreateExcalidraw;

/// Where, and what is on it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.excalidraw.md`, `.md` or `.excalidraw`.
    path: String,
    /// How a note keeps it; as plain JSON if not given.
    #[serde(default)]
    template: Template,
    /// Its elements, the last in front: each with `type` (`rectangle`, `ellipse`, `diamond`, `arrow`, `line`, `text`, …), `x`, `y`, and `text` or
    /// `points`; what else Excalidraw expects is added. One without an `id` gets one; none if not given.
    #[serde(default)]
    elements: Vec<Fields>,
    /// Replace the drawing that is there, which a person has to confirm.
    #[serde(default)]
    overwrite: bool,
    /// Ignored: a folder exists as soon as it has a file.
    #[serde(default = "arguments::yes")]
    #[expect(dead_code, reason = "it means nothing")]
    create_dirs: bool,
}

/// How a note keeps a new drawing.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// As JSON.
    #[default]
    Blank,
    /// As compressed JSON.
    CompressedJson,
    /// As JSON.
    Custom,
}

/// A drawing that was created.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// When it was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
    /// SHA-256 of the file, in hex.
    content_hash: String,
    /// Whether the plugin made it: never.
    plugin_used: bool,
    /// The ids of its elements, in the order of the argument.
    element_ids: Vec<String>,
}

impl Operation for CreateExcalidraw {
    const INFO: Info = Info {
        name: "create_excalidraw",
        title: "Create a drawing",
        description: "Creates a drawing of the plugin Excalidraw with elements, as a note (.excalidraw.md) or an .excalidraw file. If there is a file at the path, it fails; with overwrite it replaces it, once a person has confirmed it. To change a drawing take update_excalidraw. Example: {\"path\": \"Drawings/Plan.excalidraw.md\", \"elements\": [{\"type\": \"rectangle\", \"x\": 0, \"y\": 0, \"width\": 200, \"height\": 80}, {\"type\": \"text\", \"text\": \"Quay\", \"x\": 20, \"y\": 20}]}",
        scopes: &[Scope::WriteVault],
        destructive: true,
        tags: &["excalidraw"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path("path", &arguments.path)?)])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // Only where there is one, which is seen when it is written.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path("path", &arguments.path)?;
        let Arguments { template, elements, overwrite, .. } = arguments;
        check_count("elements", elements.len())?;
        let form = match template {
            _ if !path.is_note() => Form::File,
            Template::CompressedJson => Form::CompressedJson,
            Template::Blank | Template::Custom => Form::Json,
        };
        let now = context.first_made.as_millisecond();
        let make = |before: &str| {
            let created = excalidraw::create(form, &elements, seed(&path, before), now);
            let created = created.map_err(|error| refused(&path, &error))?;
            Ok((created.text, created.added))
        };
        let Answer { value: edited, generation } =
            formats::create(context, &Self::INFO, &path, overwrite, "update_excalidraw", make).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            created_at: edited.updated_at,
            content_hash: edited.content_hash.to_string(),
            plugin_used: false,
            element_ids: edited.told,
        };
        Ok(Answer { value, generation })
    }
}
