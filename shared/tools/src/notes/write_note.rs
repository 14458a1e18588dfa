//! `write_note`: creates a note, or replaces the version that the caller has seen.

use atlas_access::Access;
use atlas_ops::arguments::{self, Given, Message, Text, Versions, WritePath};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::notes::Found;
use atlas_ops::write::precondition::{Condition, Mode};
use atlas_ops::write::update::{self, KnownInput, NoteUpdate, WriteResult};
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Creates the note at a path, or replaces it whole.
pub struct WriteNote;

/// The content, and the condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// Its whole text, including properties unless `frontmatter` is given.
    content: String,
    /// Its properties, written above the text.
    #[serde(default)]
    frontmatter: Given<Map<String, Value>>,
    /// Replace the note only if its SHA-256 is this one, or one of these, comma-separated; `*` for any version.
    #[serde(default)]
    if_match: Given<Versions>,
    /// `*`: write the note only if there is none at the path.
    #[serde(default)]
    if_none_match: Given<Text<4096>>,
    /// `create` writes the note only if there is none at the path; `overwrite` only replaces the note that is there; `upsert` does either. A person has to confirm what `overwrite` replaces, and an `upsert` that takes away most of a note. If it is left out, `if_match` and `if_none_match` decide; without these too, it is `create`. With a mode give `expected_hash`, not `if_match` or `if_none_match`.
    #[serde(default)]
    mode: Given<Mode>,
    /// Only with a mode: where it replaces a note, only if its SHA-256 is this one. The mode `create` replaces none.
    #[serde(default)]
    expected_hash: Given<Text<64>>,
    /// Ignored: a folder exists as soon as it has a note.
    #[serde(default = "arguments::yes")]
    #[expect(dead_code, reason = "it means nothing")]
    create_dirs: bool,
    #[serde(default)]
    message: Given<Message>,
}

/// The written note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// SHA-256 of its bytes, in hex, for the next `if_match`.
    sha256: String,
    /// Equal to `sha256`.
    content_hash: String,
    /// Its size in bytes.
    bytes: u64,
    /// The generation that wrote this version.
    generation: u64,
    /// Whether it is new.
    created: bool,
    /// When it was created, if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    created_at: Option<Timestamp>,
    /// When it was changed, if it existed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    updated_at: Option<Timestamp>,
    /// SHA-256 of the newer version that the text was merged with, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_with: Option<String>,
}

impl Output {
    /// The result of a write at `path`.
    pub(crate) fn of(path: &VaultPath, written: Answer<WriteResult>) -> Answer<Self> {
        let Answer { value, generation } = written;
        let output = Self {
            path: path.as_str().to_owned(),
            sha256: value.sha256.to_string(),
            content_hash: value.sha256.to_string(),
            bytes: value.bytes,
            generation: value.generation,
            created: value.created,
            created_at: value.created.then_some(value.at),
            updated_at: (!value.created).then_some(value.at),
            merged_with: value.before.filter(|_| value.is_merged).map(|before| before.sha256.to_string()),
        };
        Answer { value: output, generation }
    }
}

/// The note, and the mode.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Response {
    #[serde(flatten)]
    note: Output,
    /// The mode used; `overwrite` for `if_match`.
    mode_used: Mode,
    /// Whether it is new.
    was_created: bool,
    /// SHA-256 of the note before the write; absent for callers who may not read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_hash: Option<String>,
}

impl Operation for WriteNote {
    const INFO: Info = Info {
        name: "write_note",
        title: "Write a note",
        description: "Creates the note at a path; or replaces it whole, with if_match and the sha256 that you read. If a note already exists, or it changed meanwhile, nothing is written, and the error has its sha256. To change a part of a note take patch_note, to add to one append_note. Example: {\"path\": \"Ideas/New.md\", \"content\": \"# New\\n\\nFirst thoughts\\n\"}",
        scopes: &[Scope::WriteVault],
        destructive: true,
        tags: &["notes"],
        idempotent: true,
        aliases: &[Alias::Name("prev_hash", "expected_hash"), Alias::Only("provenance", "\"authored\"")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Response;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        // Without a condition nothing is replaced, or that depends on the existing note.
        arguments.if_match.is_some()
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Response>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        if arguments.mode.is_none() && arguments.expected_hash.is_some() {
            let message = "expected_hash: give it with mode overwrite or upsert, or give the hash as if_match";
            return Err(Error::bad_request(Reason::InvalidInput, message).with("field", "expected_hash"));
        }
        let condition = match (*arguments.mode, arguments.if_match.as_ref(), arguments.if_none_match.as_ref()) {
            (None, if_match, if_none_match) => Condition::of(if_match, if_none_match)?,
            (Some(mode), None, None) => Condition::Mode(mode, arguments.expected_hash.as_ref().map(Text::as_str)),
            (Some(_), ..) => {
                return Err(Error::bad_request(
                    Reason::InvalidInput,
                    "mode: give it without if_match and if_none_match",
                )
                .with("field", "mode"));
            }
        };
        let message = arguments.message.as_ref().map(Message::as_str);
        let text = writable::with_properties(arguments.frontmatter.as_ref(), &arguments.content)?;
        let decide = |found: Option<&Found>| {
            condition.check(path.as_str(), found)?;
            let text = text.clone().into_bytes();
            Ok(if condition.needs_confirmation(found) { NoteUpdate::IfConfirmed(text) } else { NoteUpdate::Text(text) })
        };
        let answer =
            update::write(context, &Self::INFO, &path, message, KnownInput::Written(text.as_bytes()), decide).await?;
        let before = answer.value.before.filter(|_| context.caller.scopes().holds(Scope::ReadVault));
        let Answer { value: note, generation } = Output::of(&path, answer);
        let (mode_used, was_created) = (condition.mode(), note.created);
        let prev_hash = before.map(|before| before.sha256.to_string());
        Ok(Answer { value: Response { note, mode_used, was_created, prev_hash }, generation })
    }
}
