//! `patch_note`: replaces text that occurs once in a note, or a given number of times; or changes the part at an
//! anchor.

mod anchored;

use std::num::NonZeroU32;

use atlas_access::Access;
use atlas_ops::arguments::{Bounded, Exact, Given, Message, Text, Versions, WritePath, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_ops::write::writable::{MAX_NOTE_BYTES, text_of};
use atlas_vault::VaultPath;
use atlas_vault::edit::{Edit, apply};
use atlas_vault::note::{MAX_BODY_BYTES, MAX_ITEMS};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::anchored::{Change, PartOperation};
use super::anchor::Anchor;

/// Replaces text that is in a note exactly once, or changes one of its sections or blocks.
pub struct PatchNote;

/// The replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// Only without an operation, or with replace_text: the exact text in the note, including line breaks.
    #[serde(default)]
    old_string: Given<Exact<1_000_000>>,
    /// Only with old_string: its replacement.
    #[serde(default)]
    new_string: Given<String>,
    /// How often the text must occur; 1 if not given. All are replaced. Only without an operation.
    #[serde(default)]
    expected_occurrences: Bounded<1, 100_000>,
    /// The change of the part; if not given, old_string is replaced in the whole note.
    #[serde(default)]
    operation: Given<PartOperation>,
    /// Only with an operation, which needs it or target_heading: the part.
    #[serde(default)]
    anchor: Given<Anchor>,
    /// Only with an operation: the part below the heading with this name, instead of an anchor.
    #[serde(default)]
    target_heading: Given<Text<500>>,
    /// Only with an operation: the text to append or prepend, or the part's new text.
    #[serde(default)]
    content: Given<String>,
    #[serde(default)]
    if_match: Given<Versions>,
    #[serde(default)]
    message: Given<Message>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// When it was changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// The number of replacements; 0 if a part was changed without a text to replace.
    occurrences_replaced: usize,
    /// SHA-256 of the note's bytes, in hex.
    content_hash: String,
    /// The generation that wrote this version.
    generation: u64,
}

impl Operation for PatchNote {
    const INFO: Info = Info {
        name: "patch_note",
        title: "Replace text in a note",
        description: "Changes one place of a note and no other byte: replaces text that is in it exactly once (old_string, new_string); or, with operation and anchor, adds to or replaces one section or block. If that is not clear nothing is changed, and the error lists what it could be. To make several edits at once take edit_note, to add lines append_note. Example: {\"path\": \"Projects/Atlas.md\", \"old_string\": \"- [ ] Call Ada\", \"new_string\": \"- [x] Call Ada\"}",
        // Errors reveal parts of the note.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["notes"],
        aliases: &[Alias::Name("prev_hash", "if_match"), Alias::Ignored("confirm_replace")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // That depends on the position of the text.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let message = arguments.message.as_ref().map(Message::as_str);
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let change = arguments.change()?;
        let decide = |found: Option<&Found>| {
            let note = text_of(found.ok_or_else(|| notes::missing(path.as_str()))?)?;
            condition.check(path.as_str(), found)?;
            let patched = change.made_in(note)?.into_bytes();
            let old = arguments.old_string.as_ref().map(Exact::as_str);
            let is_judged = old.is_some_and(|old| goes_over_heading(note, old));
            Ok(if is_judged { NoteUpdate::IfConfirmed(patched) } else { NoteUpdate::Text(patched) })
        };
        let Answer { value, generation } =
            update::write(context, &Self::INFO, &path, message, KnownInput::Nothing, decide).await?;
        let output = Output {
            path: path.as_str().to_owned(),
            updated_at: value.at,
            occurrences_replaced: arguments.occurrences(),
            content_hash: value.sha256.to_string(),
            generation: value.generation,
        };
        Ok(Answer { value: output, generation })
    }
}

/// A change of a note.
enum Patch {
    Text(Edit),
    Part(Change),
}

impl Patch {
    /// `note` with the change.
    fn made_in(&self, note: &str) -> Result<String, Error> {
        match self {
            Self::Text(edit) => replaced(note, edit, Some("expected_occurrences")),
            Self::Part(change) => change.made_in(note),
        }
    }
}

/// `note` with `old_string` replaced; `count` is the argument that says how often it must occur, if there is one.
fn replaced(note: &str, edit: &Edit, count: Option<&'static str>) -> Result<String, Error> {
    let made = apply(note, std::slice::from_ref(edit), MAX_NOTE_BYTES);
    made.map_err(|error| editing::unedited("old_string", &error.counted_by(count)))
}

impl Arguments {
    /// The number of replacements.
    fn occurrences(&self) -> usize {
        match *self.operation {
            None => self.expected_occurrences.get(),
            Some(PartOperation::ReplaceText) => 1,
            Some(_) => 0,
        }
    }

    /// The change of the note.
    fn change(&self) -> Result<Patch, Error> {
        let (old, new) = (self.old_string.as_ref().map(Exact::as_str), self.new_string.as_deref());
        let Some(operation) = *self.operation else {
            let is_given = [self.anchor.is_some(), self.target_heading.is_some(), self.content.is_some()];
            if is_given.contains(&true) {
                return Err(invalid_input(
                    "operation",
                    "say what to do with the part: append, prepend, replace or replace_text",
                ));
            }
            let needed =
                |field| move || invalid_input(field, "give old_string and new_string, or an operation with an anchor");
            let (find, replace) = (old.ok_or_else(needed("old_string"))?, new.ok_or_else(needed("new_string"))?);
            let count = u32::try_from(self.occurrences()).ok().and_then(NonZeroU32::new);
            return Ok(Patch::Text(Edit::ReplaceText { find: find.to_owned(), replace: replace.to_owned(), count }));
        };
        if self.expected_occurrences.get() != 1 {
            return Err(invalid_input(
                "expected_occurrences",
                "leave it out with an operation: the text must occur once",
            ));
        }
        let anchor = match (&*self.anchor, &*self.target_heading) {
            (Some(anchor), None) => anchor.clone(),
            (None, Some(heading)) => Anchor::Heading { heading: heading.clone(), occurrence: Given::default() },
            (Some(_), Some(_)) => return Err(invalid_input("target_heading", "give it or an anchor, not both")),
            (None, None) => {
                return Err(invalid_input("anchor", "say which part: {\"type\": \"heading\", \"heading\": \"Tasks\"}"));
            }
        };
        if operation == PartOperation::ReplaceText && self.content.is_some() {
            return Err(invalid_input("content", "give old_string and new_string with the operation replace_text"));
        }
        if operation != PartOperation::ReplaceText && (old.is_some() || new.is_some()) {
            return Err(invalid_input("content", "give content, not old_string or new_string, with this operation"));
        }
        let (old, new) = (old.map(str::to_owned), new.map(str::to_owned));
        Ok(Patch::Part(Change { operation, anchor, content: (*self.content).clone(), old, new }))
    }
}

/// Whether any occurrence of `old` in `note` contains both text of a heading and text beside it, or the note is too
/// long to find its headings.
fn goes_over_heading(note: &str, old: &str) -> bool {
    let parsed = atlas_vault::parse(note);
    let headings = parsed.headings;
    let body_start = parsed.frontmatter.map_or(0, |frontmatter| frontmatter.body_start);
    let looked_to = match headings.last() {
        Some(last) if headings.len() >= MAX_ITEMS => last.end,
        _ => body_start.saturating_add(MAX_BODY_BYTES),
    };
    let before = old.len() - old.trim_start().len();
    let length = old.trim().len();
    note.match_indices(old).any(|(at, _)| {
        let (start, end) = (at + before, at + before + length);
        // If it contains text of several, the first counts.
        let first = headings.partition_point(|heading| heading.end <= start);
        let first = headings.get(first).filter(|heading| heading.offset < end);
        end > looked_to || first.is_some_and(|heading| start < heading.offset || heading.end < end)
    })
}

#[cfg(test)]
mod tests {
    use super::{MAX_BODY_BYTES, goes_over_heading};

    #[test]
    fn a_text_within_a_section_or_a_heading_goes_over_none() {
        let note = "above\n\n# One\n\ntext of one\n\nTwo\n===\n\nof two\n";
        for (old, expected) in [
            ("text of one", false),
            ("One", false),
            ("# One\n", false),
            ("\n# One\n\n", false),
            ("above\n\n#", true),
            ("# One\n\ntext", true),
            ("one\n\nTwo", true),
            ("Two\n===", false),
            ("===\n\nof two", true),
        ] {
            assert_eq!(goes_over_heading(note, old), expected, "{old:?}");
        }
        assert!(goes_over_heading("a # b\n# c\n# d\n", "c\n# d"));
    }

    #[test]
    fn where_no_headings_are_looked_for_there_may_be_some() {
        let note = format!("near\n{}\nfar\n", "x".repeat(MAX_BODY_BYTES));
        assert!(goes_over_heading(&note, "far") && !goes_over_heading(&note, "near"));
    }

    #[test]
    fn many_matches_and_many_headings_are_no_matter() {
        // Comparing each match with each heading would never end.
        let note = "# a\n\nb\n\n".repeat(80_000);
        assert!(!goes_over_heading(&note, "b"));
    }
}
