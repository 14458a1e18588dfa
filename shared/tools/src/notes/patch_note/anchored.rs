//! Changes of one part of a note, given by an anchor.

use atlas_ops::arguments::invalid_input;
use atlas_ops::error::Error;
use atlas_ops::write::editing;
use atlas_vault::edit::{Edit, Target};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::notes::anchor::{Anchor, Part};

/// A change of a part of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartOperation {
    /// Add content at its end.
    Append,
    /// Add content at its start.
    Prepend,
    /// Replace it; a heading's line stays.
    Replace,
    /// Replace text that occurs in it exactly once.
    ReplaceText,
}

/// The change, and its part.
pub(super) struct Change {
    pub(super) operation: PartOperation,
    pub(super) anchor: Anchor,
    pub(super) content: Option<String>,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

impl Change {
    /// `note` with the change.
    pub(super) fn made_in(&self, note: &str) -> Result<String, Error> {
        let part = self.anchor.find(note)?;
        if self.operation == PartOperation::ReplaceText {
            return self.replaced(note, &part);
        }
        let text = self.content.clone().ok_or_else(|| invalid_input("content", "give the text for this operation"))?;
        let edit = match (self.operation, part) {
            (PartOperation::Append, Part::At(target)) => Edit::AppendToSection { target, text },
            (PartOperation::Prepend, Part::At(target @ Target::Block(_))) => Edit::InsertBefore { target, text },
            (PartOperation::Prepend, Part::At(target)) => Edit::InsertAfter { target, text },
            (_, Part::At(target)) | (PartOperation::Replace, Part::Preamble { lines: Some(target), .. }) => {
                Edit::ReplaceSection { target, text }
            }
            (PartOperation::Append, Part::Preamble { lines: Some(target), .. }) => Edit::InsertAfter { target, text },
            (PartOperation::Append, Part::Preamble { heading: None, .. }) => Edit::Append { text },
            (_, Part::Preamble { .. }) => Edit::Prepend { text },
        };
        editing::apply(note, &[edit], "anchor")
    }

    /// `note` with text replaced that occurs once in the part.
    fn replaced(&self, note: &str, part: &Part) -> Result<String, Error> {
        let needed = |field| move || invalid_input(field, "give it with the operation replace_text");
        let find = self.old.clone().ok_or_else(needed("old_string"))?;
        let replace = self.new.clone().ok_or_else(needed("new_string"))?;
        let range = part.range(note)?;
        let (before, rest) = note.split_at_checked(range.start).unwrap_or(("", note));
        let (within, after) = rest.split_at_checked(range.len()).unwrap_or((rest, ""));
        let within = super::replaced(within, &Edit::ReplaceText { find, replace, count: None }, None)?;
        Ok([before, &within, after].concat())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOTE: &str =
        "---\na: 1\n---\nabove\n\n# One\n\nof one\n\n## Sub\n\nof sub one ^b\n\n# two\n\n## Sub\n\nof sub two\n";

    fn changed(operation: Value, anchor: Value, content: &str) -> Result<String, String> {
        changed_in(NOTE, operation, anchor, content)
    }

    fn changed_in(note: &str, operation: Value, anchor: Value, content: &str) -> Result<String, String> {
        let anchor: Anchor = serde_json::from_value(anchor).unwrap();
        let operation: PartOperation = serde_json::from_value(operation).unwrap();
        let (old, new) = content.split_once("=>").map(|(old, new)| (old.to_owned(), new.to_owned())).unzip();
        let change = Change { operation, anchor, content: Some(content.to_owned()), old, new };
        change.made_in(note).map_err(|error| error.message)
    }

    #[test]
    fn a_part_is_changed_and_no_other() {
        let heading = |name: &str| json!({ "type": "heading", "heading": name });
        for (operation, anchor, content, there, becomes) in [
            ("append", heading("two"), "x", "of sub two\n", "of sub two\nx\n"),
            ("append", heading("## TWO"), "x", "of sub two\n", "of sub two\nx\n"),
            ("prepend", heading("One"), "x", "# One\n", "# One\nx\n"),
            ("replace", heading("two > Sub"), "x", "of sub two", "x"),
            ("replace", heading("One > Sub (line 10)"), "x", "of sub one ^b", "x"),
            ("replace", heading("sub (line 16)"), "x", "of sub two", "x"),
            ("replace", json!({ "type": "heading", "heading": "Sub", "occurrence": 1 }), "x", "of sub one ^b", "x"),
            ("replace", json!({ "type": "block", "block_id": "b" }), "x ^b", "of sub one ^b", "x ^b"),
            ("append", json!({ "type": "block", "block_id": "b" }), "x", "one ^b\n", "one ^b\nx\n"),
            ("prepend", json!({ "type": "block", "block_id": "b" }), "x", "of sub one", "x\nof sub one"),
            ("replace", json!({ "type": "frontmatter" }), "x", "above", "x"),
            ("append", json!({ "type": "frontmatter" }), "x", "above\n", "above\nx\n"),
            ("prepend", json!({ "type": "frontmatter" }), "x", "above\n", "x\nabove\n"),
            ("replace_text", heading("One"), "one ^=>1 ^", "one ^b", "1 ^b"),
        ] {
            let expected = NOTE.replacen(there, becomes, 1);
            assert_eq!(changed(json!(operation), anchor.clone(), content), Ok(expected), "{operation} {anchor}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_text_above_the_first_heading() {
        for operation in ["replace", "append", "prepend"] {
            let anchor = json!({ "type": "frontmatter" });
            let changed = changed_in("\u{feff}# Title\n\ntext\n", json!(operation), anchor, "Intro");
            assert_eq!(changed.as_deref(), Ok("\u{feff}Intro\n# Title\n\ntext\n"), "{operation}");
        }
    }

    #[test]
    fn a_heading_that_begins_with_a_tag_is_named_with_or_without_its_signs() {
        let note = "# #todo\n\nx\n\n# todo\n\ny\n";
        for (name, expected) in
            [("#todo", "x\nz"), ("# #todo", "x\nz"), ("todo", "y\nz"), ("# todo", "y\nz"), ("##todo", "y\nz")]
        {
            let anchor = json!({ "type": "heading", "heading": name });
            let changed = changed_in(note, json!("append"), anchor, "z").unwrap();
            assert!(changed.contains(expected), "{name}: {changed}");
        }
    }

    #[test]
    fn what_is_not_clear_changes_nothing() {
        let heading = |name: &str| json!({ "type": "heading", "heading": name });
        for (operation, anchor, content, message) in [
            ("append", heading("Sub"), "x", "write it as one of One > Sub (line 10), two > Sub (line 16)"),
            ("append", heading("Sub (line 11)"), "x", "there is no heading"),
            ("append", heading("two > Sub (line 6)"), "x", "there is no heading"),
            ("append", json!({ "type": "heading", "heading": "Sub", "occurrence": 3 }), "x", "2 headings of this name"),
            ("append", heading("Three"), "x", "there is no heading"),
            ("replace_text", heading("two"), "o=>x", "write more of the text around it: "),
            ("replace_text", heading("two"), "above=>x", "not in the note"),
            ("replace_text", heading("two"), "no arrow", "old_string"),
        ] {
            let error = changed(json!(operation), anchor, content).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
