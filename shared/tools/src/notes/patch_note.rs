//! `patch_note`: replaces text that a note has once, or as often as the caller says.

use std::num::NonZeroU32;

use atlas_access::Access;
use atlas_ops::arguments::{Bounded, Exact, Given, Message, WritePath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::editing;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_ops::write::writable::text_of;
use atlas_vault::VaultPath;
use atlas_vault::edit::Edit;
use atlas_vault::note::{MAX_BODY_BYTES, MAX_ITEMS};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Replaces text that is in a note exactly once, or as often as expected_occurrences says.
pub struct PatchNote;

/// What to replace by what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The text as it stands in the note, line breaks included.
    old_string: Exact<1_000_000>,
    /// What to put in its place.
    new_string: String,
    /// How often the text must be there; 1 if not given. All are replaced.
    #[serde(default)]
    expected_occurrences: Bounded<1, 100_000>,
    #[serde(default)]
    message: Given<Message>,
}

/// What was replaced.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// When.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// How often.
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
        description: "Replaces text that is in a note exactly once, or as often as expected_occurrences says. If it is not there so often nothing is changed, and the error lists where it could be. A person has to confirm it where the old text goes over a heading.",
        // What cannot be done is told with what there is.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["notes"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // That depends on where the text is.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let message = arguments.message.as_ref().map(Message::as_str);
        let count = arguments.expected_occurrences.get();
        let old = arguments.old_string.as_str();
        let edit = Edit::ReplaceText {
            find: old.to_owned(),
            replace: arguments.new_string.clone(),
            count: u32::try_from(count).ok().and_then(NonZeroU32::new),
        };
        let decide = |found: Option<&Found>| {
            let note = text_of(found.ok_or_else(|| notes::missing(path.as_str()))?)?;
            let patched = editing::apply(note, std::slice::from_ref(&edit), "old_string")?.into_bytes();
            Ok(if goes_over_heading(note, old) { NoteUpdate::IfConfirmed(patched) } else { NoteUpdate::Text(patched) })
        };
        let Answer { value, generation } =
            update::write(context, &Self::INFO, &path, message, KnownInput::Nothing, decide).await?;
        let output = Output {
            path: path.as_str().to_owned(),
            updated_at: value.at,
            occurrences_replaced: count,
            content_hash: value.sha256.to_string(),
            generation: value.generation,
        };
        Ok(Answer { value: output, generation })
    }
}

/// Whether `old` stands somewhere in `note` so that it has both of a heading and of what is beside that, or where nobody looked for headings.
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
        // If it has of several it goes over the first of them.
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
        // Of each match against each heading nobody would see the end.
        let note = "# a\n\nb\n\n".repeat(80_000);
        assert!(!goes_over_heading(&note, "b"));
    }
}
