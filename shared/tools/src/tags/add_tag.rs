//! `add_tag`: adds a tag to a note.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Text, Versions, WritePath, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::VaultPath;
use atlas_vault::edit;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds a tag to a note.
pub struct AddTag;

/// The note, and the tag.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The tag, with or without `#`.
    tag: Text<500>,
    /// The place of the tag.
    #[serde(default)]
    location: Location,
    /// With `inline-end`: the byte of the note at which to put it, as counted by `get_note_tags`; on a line of its own at the end if not given.
    #[serde(default)]
    inline_position: Given<u32>,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// A place for a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Location {
    /// In the frontmatter's list, in its style.
    #[default]
    Frontmatter,
    /// In the text, at its end.
    #[serde(alias = "inline")]
    InlineEnd,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// When the note was last changed: now, unless it had the tag.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// Whether the tag was added; false if the note had it, in any case.
    added: bool,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Operation for AddTag {
    const INFO: Info = Info {
        name: "add_tag",
        title: "Add a tag",
        description: "Adds a tag to a note: to the list in its frontmatter, in its style, or with location inline-end to its text. Nothing is written if the note already has the tag there, in any case. Example: {\"path\": \"Projects/Atlas.md\", \"tag\": \"urgent\"}",
        // The result reveals whether the note has it.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["tags", "notes"],
        idempotent: true,
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let name = super::name(arguments.tag.as_str())?;
        let at = arguments.inline_position.map(|at| at as usize);
        if at.is_some() && arguments.location == Location::Frontmatter {
            return Err(invalid_input("inline_position", "give it with location inline-end only"));
        }
        let add = |text: &str| {
            let (edited, field) = match arguments.location {
                Location::Frontmatter => (edit::add_tag(text, name), "tag"),
                Location::InlineEnd if at.is_some() => (edit::add_inline_tag(text, name, at), "inline_position"),
                Location::InlineEnd => (edit::add_inline_tag(text, name, None), "location"),
            };
            let edited = edited.map_err(|problem| editing::refused(field, &problem))?;
            let added = edited.is_some();
            Ok((edited.unwrap_or_else(|| text.to_owned()), added))
        };
        let Answer { value: edited, generation } = editing::edit(context, &Self::INFO, &path, &condition, add).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            updated_at: edited.updated_at,
            added: edited.told,
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}
