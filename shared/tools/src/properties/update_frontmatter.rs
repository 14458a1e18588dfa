//! `update_frontmatter`: changes properties of a note, and keeps every other byte.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Text, Versions, WritePath, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::VaultPath;
use atlas_vault::edit::{self, Edit};
use atlas_vault::parse;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Changes a note's properties and keeps every other byte, including comments and quoting.
pub struct UpdateFrontmatter;

/// The note, and the change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The change.
    mode: Mode,
    /// The property, to set or remove.
    #[serde(default)]
    key: Given<Text<1000>>,
    /// Its value, to set: a string, number, boolean, null, list or map.
    #[serde(default)]
    value: Given<Value>,
    /// The properties to merge, by name; null removes one.
    #[serde(default)]
    patch: Given<Map<String, Value>>,
    /// All properties, which replace the existing ones.
    #[serde(default)]
    frontmatter: Given<Map<String, Value>>,
    /// Only to merge or replace: instead of patch or frontmatter.
    #[serde(default)]
    properties: Given<Map<String, Value>>,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// A change of a note's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Set one.
    Set,
    /// Remove one.
    Remove,
    /// Set and remove some.
    Merge,
    /// Replace all.
    Replace,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// The mode that was used.
    mode_used: Mode,
    /// When the note was last changed: now, unless nothing changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// SHA-256 of the note, in hex.
    content_hash: String,
    #[serde(flatten)]
    told: PropertyChanges,
}

/// The values before, and the changes.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct PropertyChanges {
    /// The value before, when one was set or removed; absent if it was missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_value: Option<Value>,
    /// The properties that a merge set.
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<Map<String, Value>>,
    /// The properties that a merge removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<Vec<String>>,
    /// The properties before they were replaced; absent if the note had none that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_frontmatter: Option<Map<String, Value>>,
}

/// The arguments of a mode.
enum Task<'a> {
    Set(&'a str, &'a Value),
    Remove(&'a str),
    Merge(&'a Map<String, Value>),
    Replace(&'a Map<String, Value>),
}

impl Arguments {
    /// The change given by the arguments; the error names a missing or extra argument.
    fn task(&self) -> Result<Task<'_>, Error> {
        let missing = |field| invalid_input(field, &format!("the mode {} needs it", self.mode.as_str()));
        let key = self.key.as_ref().map(Text::as_str);
        let (task, own): (_, &[&str]) = match self.mode {
            Mode::Set => {
                let value = self.value.as_ref().ok_or_else(|| missing("value"))?;
                (Task::Set(key.ok_or_else(|| missing("key"))?, value), &["key", "value"])
            }
            Mode::Remove => (Task::Remove(key.ok_or_else(|| missing("key"))?), &["key"]),
            Mode::Merge => (Task::Merge(self.given("patch", &self.patch)?), &["patch", "properties"]),
            Mode::Replace => {
                (Task::Replace(self.given("frontmatter", &self.frontmatter)?), &["frontmatter", "properties"])
            }
        };
        let given = [
            ("key", self.key.is_some()),
            ("value", self.value.is_some()),
            ("patch", self.patch.is_some()),
            ("frontmatter", self.frontmatter.is_some()),
            ("properties", self.properties.is_some()),
        ];
        match given.iter().find(|(name, is_given)| *is_given && !own.contains(name)) {
            Some((name, _)) => Err(invalid_input(name, &format!("the mode {} takes none", self.mode.as_str()))),
            None => Ok(task),
        }
    }
}

impl Arguments {
    /// The properties in argument `name`, or in `properties` instead.
    fn given<'a>(&'a self, name: &str, own: &'a Given<Map<String, Value>>) -> Result<&'a Map<String, Value>, Error> {
        match (own.as_ref(), self.properties.as_ref()) {
            (Some(_), Some(_)) => Err(invalid_input("properties", &format!("give {name} or properties, not both"))),
            (Some(own), None) => Ok(own),
            (None, Some(properties)) => Ok(properties),
            (None, None) => Err(invalid_input(name, &format!("the mode {} needs it", self.mode.as_str()))),
        }
    }
}

impl Mode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Remove => "remove",
            Self::Merge => "merge",
            Self::Replace => "replace",
        }
    }
}

impl Operation for UpdateFrontmatter {
    const INFO: Info = Info {
        name: "update_frontmatter",
        title: "Change properties",
        description: "Changes the properties (frontmatter) of a note and keeps every other byte. Modes: set (key, value), remove (key), merge (patch; null removes), replace (frontmatter: all others are removed, and a person has to confirm it). Returns the values before. Example: {\"path\": \"Projects/Atlas.md\", \"mode\": \"set\", \"key\": \"status\", \"value\": \"done\"}",
        // The result contains the values before.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["properties", "notes"],
        idempotent: true,
        aliases: &[
            Alias::Name("operation", "mode"),
            Alias::Name("prev_hash", "if_match"),
            Alias::Only("create_if_missing", "false"),
            Alias::Only("nested", "false"),
        ],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        arguments.mode == Mode::Replace
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let task = arguments.task()?;
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let Answer { value: edited, generation } =
            editing::edit(context, &Self::INFO, &path, &condition, |text| changed(text, &task)).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            mode_used: arguments.mode,
            updated_at: edited.updated_at,
            content_hash: edited.content_hash.to_string(),
            told: edited.told,
        };
        Ok(Answer { value, generation })
    }
}

/// The note after the change, and the result.
fn changed(text: &str, task: &Task<'_>) -> Result<(String, PropertyChanges), Error> {
    let before = parse(text).properties().cloned();
    let has = |name: &str| before.as_ref().is_some_and(|properties| properties.contains_key(name));
    let prev_value = |name: &str| before.as_ref().and_then(|properties| properties.get(name)).cloned();
    let remove = |name: &str| Edit::RemoveProperty { name: name.to_owned() };
    Ok(match task {
        Task::Set(name, value) => {
            let set = Edit::SetProperty { name: (*name).to_owned(), value: (*value).clone() };
            (
                editing::apply(text, &[set], "value")?,
                PropertyChanges { prev_value: prev_value(name), ..PropertyChanges::default() },
            )
        }
        Task::Remove(name) => {
            // If the properties cannot be read, the edit's error explains why.
            let unread = before.is_none() && parse(text).frontmatter.is_some();
            let edits = if has(name) || unread { vec![remove(name)] } else { Vec::new() };
            (
                editing::apply(text, &edits, "key")?,
                PropertyChanges { prev_value: prev_value(name), ..PropertyChanges::default() },
            )
        }
        Task::Merge(patch) => {
            let (gone, properties): (Vec<_>, Vec<_>) = patch.iter().partition(|(_, value)| value.is_null());
            let mut removed: Vec<String> =
                gone.into_iter().map(|(name, _)| name.clone()).filter(|name| has(name)).collect();
            removed.sort_unstable();
            let applied: Map<String, Value> =
                properties.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let merged = editing::apply(text, &[Edit::MergeProperties { properties: applied.clone() }], "patch")?;
            let edited =
                edit::remove_properties(&merged, &removed).map_err(|problem| editing::refused("patch", &problem))?;
            (edited, PropertyChanges { applied: Some(applied), removed: Some(removed), ..PropertyChanges::default() })
        }
        Task::Replace(properties) => {
            if before.is_none() && parse(text).frontmatter.is_some() {
                let message = "the note's frontmatter cannot be read, so it could not be returned: correct it with patch_note first";
                return Err(invalid_input("frontmatter", message));
            }
            let edited = edit::replace_frontmatter(text, properties)
                .map_err(|problem| editing::refused("frontmatter", &problem))?;
            (edited, PropertyChanges { prev_frontmatter: before, ..PropertyChanges::default() })
        }
    })
}
