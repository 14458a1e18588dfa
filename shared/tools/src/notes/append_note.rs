//! `append_note`: adds text to the end or the start of a note, or of one of its sections.

use atlas_access::Access;
use atlas_ops::arguments::{self, Given, Message, Text, Versions, WritePath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::gates;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_ops::write::writable::text_of;
use atlas_vault::VaultPath;
use atlas_vault::edit::{Edit, Target, fit};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::anchor::heading_called;

/// Adds text to the end of a note, to its start, or to the end of one of its sections.
pub struct AppendNote;

/// The text, and its position.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The text to add.
    content: String,
    /// Add it to the section of this heading, `Parent > Child` for one of several; to the whole note if not given.
    #[serde(default)]
    heading: Given<Text<500>>,
    /// The position: `end` if not given.
    #[serde(default)]
    position: Position,
    /// At the start: below the properties, if there are some.
    #[serde(default = "arguments::yes")]
    after_frontmatter: bool,
    /// Whether to put it on lines of its own; else it is added unchanged, but for its line breaks.
    #[serde(default = "arguments::yes")]
    ensure_newline: bool,
    /// Create a missing note; not with heading.
    #[serde(default)]
    create_if_missing: bool,
    #[serde(default)]
    if_match: Given<Versions>,
    #[serde(default)]
    message: Given<Message>,
}

/// A position in a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Position {
    /// At the end.
    #[default]
    End,
    /// At the start.
    Start,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// The position used.
    position_used: Position,
    /// When it was added.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// SHA-256 of the note's bytes, in hex.
    content_hash: String,
    /// The number of added bytes.
    inserted_bytes: u64,
    /// The generation that wrote this version.
    generation: u64,
}

impl Operation for AppendNote {
    const INFO: Info = Info {
        name: "append_note",
        title: "Add to a note",
        description: "Adds text at the end or start (position) of a note or of a section (heading). A blank line keeps it out of a list, table or quote. For a daily or weekly note take append_to_periodic_note; to create one, write_note. Example: {\"path\": \"Projects/Atlas.md\", \"heading\": \"Tasks\", \"content\": \"- [ ] Call Ada\"}",
        scopes: &[Scope::WriteVault],
        tags: &["notes"],
        aliases: &[Alias::Name("prev_hash", "if_match"), Alias::Only("provenance", "\"authored\"")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        if arguments.heading.is_some() {
            // The result reveals whether the heading exists.
            gates::may_run(context.caller, &Info { scopes: &[Scope::ReadVault], ..Self::INFO })?;
        }
        let path: VaultPath = arguments.path.clone().into();
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let message = arguments.message.as_ref().map(Message::as_str);
        let decide = |found: Option<&Found>| {
            if found.is_none() && arguments.creates() {
                return Ok(NoteUpdate::Text(arguments.content.clone().into_bytes()));
            }
            let note = found.ok_or_else(|| notes::missing(path.as_str()))?;
            condition.check(path.as_str(), found)?;
            Ok(NoteUpdate::Text(arguments.added(text_of(note)?)?.into_bytes()))
        };
        let Answer { value, generation } =
            update::write(context, &Self::INFO, &path, message, KnownInput::Nothing, decide).await?;
        let output = Output {
            path: path.as_str().to_owned(),
            position_used: arguments.position,
            updated_at: value.at,
            content_hash: value.sha256.to_string(),
            inserted_bytes: value.bytes.saturating_sub(value.before.map_or(0, |before| before.bytes)),
            generation: value.generation,
        };
        Ok(Answer { value: output, generation })
    }
}

impl Arguments {
    /// Whether a missing note is created: only if neither a part nor a version of it is named.
    const fn creates(&self) -> bool {
        self.create_if_missing && self.heading.0.is_none() && self.if_match.0.is_none()
    }

    /// `note` with the text added.
    fn added(&self, note: &str) -> Result<String, Error> {
        let text = self.content.clone();
        let is_end = self.position == Position::End;
        if let Some(heading) = &*self.heading {
            let target = heading_called(note, heading.as_str());
            let edit = if is_end { Edit::AppendToSection { target, text } } else { Edit::InsertAfter { target, text } };
            return editing::apply(note, &[edit], "heading");
        }
        if !self.ensure_newline {
            let at = if is_end { note.len() } else { self.start_of(note) };
            let (before, after) = note.split_at_checked(at).unwrap_or((note, ""));
            return Ok([before, &*fit(note, &text), after].concat());
        }
        let edit = match (is_end || note.is_empty(), self.after_frontmatter) {
            (true, _) => Edit::Append { text },
            (false, true) => Edit::Prepend { text },
            (false, false) => Edit::InsertBefore { target: Target::Lines([1, 1]), text },
        };
        editing::apply(note, &[edit], "content")
    }

    /// The start of `note`, below the properties if requested.
    fn start_of(&self, note: &str) -> usize {
        let frontmatter = atlas_vault::parse(note).frontmatter.filter(|_| self.after_frontmatter);
        let mark = if note.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        frontmatter.map_or(mark, |frontmatter| frontmatter.body_start)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_added_has_the_line_breaks_of_the_note() {
        let given = json!({ "path": "a.md", "content": "two\nthree", "ensure_newline": false });
        let arguments: Arguments = serde_json::from_value(given).unwrap();
        assert_eq!(arguments.added("one\r\n").unwrap(), "one\r\ntwo\r\nthree");
    }
}
