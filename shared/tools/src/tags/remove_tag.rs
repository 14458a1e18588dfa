//! `remove_tag`: removes a tag from a note.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Text, Versions, WritePath};
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

use super::TagPlace;

/// Removes a tag from a note, in any case.
pub struct RemoveTag;

/// The note, and the tag.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The tag, with or without `#`, in any case. Tags below it stay: `#a/b` differs from `#a`.
    tag: Text<500>,
    /// The places to remove it from.
    #[serde(default)]
    from: From,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// The places to remove a tag from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum From {
    /// The frontmatter's list.
    Frontmatter,
    /// The text.
    Inline,
    /// Both.
    #[default]
    All,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// When the note was last changed: now, unless it did not have the tag.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// The places of the tag; empty if there were none.
    removed_from: Vec<TagPlace>,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Operation for RemoveTag {
    const INFO: Info = Info {
        name: "remove_tag",
        title: "Remove a tag",
        description: "Removes a tag from a note, in any case: from the list in its frontmatter, from its text (with one space before it, or with its line if that has nothing else), or both. Nothing is written if the note does not have it. Example: {\"path\": \"Projects/Atlas.md\", \"tag\": \"urgent\"}",
        // The result reveals whether the note has it.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["tags", "notes"],
        idempotent: true,
        aliases: &[Alias::Name("location", "from"), Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // All other text stays.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let name = super::name(arguments.tag.as_str())?;
        let remove = |text: &str| {
            let mut edited = text.to_owned();
            let mut places = Vec::new();
            if arguments.from != From::Inline
                && let Some(rest) =
                    edit::remove_tag(&edited, name).map_err(|problem| editing::refused("from", &problem))?
            {
                edited = rest;
                places.push(TagPlace::Frontmatter);
            }
            if arguments.from != From::Frontmatter
                && let Some(rest) =
                    edit::remove_inline_tag(&edited, name).map_err(|problem| editing::refused("from", &problem))?
            {
                edited = rest;
                places.push(TagPlace::Inline);
            }
            Ok((edited, places))
        };
        let Answer { value: edited, generation } =
            editing::edit(context, &Self::INFO, &path, &condition, remove).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            updated_at: edited.updated_at,
            removed_from: edited.told,
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}
