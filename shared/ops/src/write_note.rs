//! `write_note`: creates a note, or replaces the version of it that the caller has seen.

use atlas_access::Access;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{self, Text};
use crate::error::Error;
use crate::notes::Found;
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::precondition::Condition;
use crate::writing::{self, Become, Beforehand, Written};

/// The operation.
pub struct WriteNote;

/// What to write, and instead of what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WriteNoteRequest")]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: String,
    /// Its whole text, properties included unless they are given apart.
    content: String,
    /// Its properties, written above the text.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Map<String, Value>")]
    frontmatter: Option<Map<String, Value>>,
    /// Replace the note only if its SHA-256 is this one, or one of these, parted by commas; `*` for whatever is there.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    if_match: Option<Text<4096>>,
    /// `*`: write the note only if there is none at the path.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    if_none_match: Option<Text<4096>>,
    /// Why, for the log.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    message: Option<Text<4096>>,
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WrittenNote")]
pub struct Output {
    /// The note's path.
    path: String,
    /// SHA-256 of its bytes, in hex: what the next `if_match` names.
    sha256: String,
    /// Its size in bytes.
    bytes: u64,
    /// The generation that wrote this version.
    generation: u64,
    /// Whether it was not there before.
    created: bool,
}

impl Output {
    /// What was written at `path`.
    pub(crate) fn of(path: &VaultPath, written: Answer<Written>) -> Answer<Self> {
        let Answer { value, generation } = written;
        let output = Self {
            path: path.as_str().to_owned(),
            sha256: value.sha256.to_string(),
            bytes: value.bytes,
            generation: value.generation,
            created: value.created,
        };
        Answer { value: output, generation }
    }
}

impl Operation for WriteNote {
    const INFO: Info = Info {
        name: "write_note",
        title: "Write a note",
        description: "Creates the note at a path, or replaces it whole. To replace one, read it first and pass its sha256 as if_match: if someone changed it meanwhile nothing is written, and the error has the sha256 that is there.",
        scopes: &[Scope::WriteVault],
        destructive: true,
        tags: &["notes"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Self::Arguments) -> Result<Vec<Touch>, Error> {
        Ok(vec![(Access::Write, writing::path("path", &arguments.path)?)])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        // Without it nothing is replaced.
        arguments.if_match.is_some()
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = writing::path("path", &arguments.path)?;
        let condition = Condition::of(arguments.if_match.as_ref(), arguments.if_none_match.as_ref())?;
        let message = arguments.message.as_ref().map(Text::as_str);
        let text = writing::with_properties(arguments.frontmatter.as_ref(), &arguments.content)?;
        let decide = |found: Option<&Found>| {
            condition.check(path.as_str(), found)?;
            Ok(Become::Text(text.clone().into_bytes()))
        };
        let answer =
            writing::write(context, &Self::INFO, &path, message, Beforehand::Written(text.as_bytes()), decide).await?;
        Ok(Output::of(&path, answer))
    }
}
