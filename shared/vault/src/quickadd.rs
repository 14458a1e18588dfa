//! Choices of the plugin QuickAdd (<https://github.com/chhoumann/quickadd>), from its settings: templates and captures, and what they write.
//!
//! # Layout
//! - this file: the choices; [`format`](mod@format): places such as `{{DATE}}` in what they write; [`capture`]: where a capture goes

pub mod capture;
pub mod format;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Most choices, and how deep groups of them may nest.
const MAX_CHOICES: usize = 1000;
const MAX_DEPTH: usize = 10;

/// A choice.
#[derive(Debug)]
pub struct Choice {
    /// Its id; empty if it has none.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The name of the group that it is in, if it is in one.
    pub group: Option<String>,
    /// Its action.
    pub action: Action,
}

/// The action of a choice.
#[derive(Debug)]
pub enum Action {
    /// It makes a note.
    Template(Template),
    /// It adds to a note.
    Capture(Capture),
    /// It is a group of choices with these names.
    Multi(Vec<String>),
    /// It runs a program.
    Macro,
    /// Something that this module cannot read.
    Unknown,
}

/// How a note is made.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Template {
    /// Where the template is.
    pub template_path: String,
    /// The folders that it may go to.
    pub folder: Folder,
    /// Its name.
    pub file_name_format: Format,
    file_exists_mode: Option<Value>,
    set_file_exists_behavior: bool,
    increment_file_name: bool,
    file_exists_behavior: ExistsBehavior,
}

/// Where a note goes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Folder {
    /// Whether anything else counts.
    pub enabled: bool,
    /// Folders among which the person chooses.
    pub folders: Vec<String>,
    /// Whether the person chooses among all.
    pub choose_when_creating_note: bool,
    /// Whether it goes beside the note that is open.
    pub create_in_same_folder_as_active_file: bool,
    /// Whether the person chooses among the folders in these too.
    pub choose_from_subfolders: bool,
}

/// A text with places, if it is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Format {
    /// Whether it is used.
    pub enabled: bool,
    /// The text.
    pub format: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExistsBehavior {
    kind: String,
    mode: String,
}

/// The way to handle an existing note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The person is asked.
    Ask,
    /// The new note gets another name.
    Increment,
    /// The text is added at its end, …
    Bottom,
    /// … or below its properties.
    Top,
    /// It is replaced.
    Overwrite,
    /// It stays as it is.
    Nothing,
}

impl Template {
    /// The way to handle an existing note.
    #[must_use]
    pub fn existing(&self) -> Existing {
        let mode = match (self.file_exists_behavior.kind.as_str(), &self.file_exists_mode) {
            ("apply", _) => self.file_exists_behavior.mode.as_str(),
            ("", Some(Value::String(mode))) if self.set_file_exists_behavior => mode,
            ("", _) if self.increment_file_name => "increment",
            _ => return Existing::Ask,
        };
        let mode = mode.to_ascii_lowercase();
        let words = [
            ("increment", Existing::Increment),
            ("bottom", Existing::Bottom),
            ("top", Existing::Top),
            ("overwrite", Existing::Overwrite),
            ("nothing", Existing::Nothing),
        ];
        words.into_iter().find(|(word, _)| mode.contains(word)).map_or(Existing::Ask, |(_, existing)| existing)
    }
}

/// How something is added to a note.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Capture {
    /// The note, with places.
    pub capture_to: String,
    /// Whether it goes to the note that is open.
    pub capture_to_active_file: bool,
    /// Whether the note is made if it is not there, and of which template.
    pub create_file_if_it_doesnt_exist: CreateFile,
    /// The added text.
    pub format: Format,
    /// Whether it goes to the end; below the properties if not.
    pub prepend: bool,
    /// Whether it is a task.
    pub task: bool,
    /// Below which line it goes.
    pub insert_after: InsertAfter,
    /// Before which line it goes; this module does not do that.
    pub insert_before: Enabled,
    /// Whether it goes where the cursor is.
    pub new_line_capture: Enabled,
}

/// Whether a note is made if it is not there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateFile {
    /// Whether it is.
    pub enabled: bool,
    /// Whether of a template.
    pub create_with_template: bool,
    /// Where that is.
    pub template: String,
}

/// Below which line something goes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InsertAfter {
    /// Whether it does.
    pub enabled: bool,
    /// The line, with places.
    pub after: String,
    /// Whether to the end of that section.
    pub insert_at_end: bool,
    /// Whether the sections within belong to it.
    pub consider_subsections: bool,
    /// Whether the line is made if it is not there.
    pub create_if_not_found: bool,
    /// `top` or `bottom`.
    pub create_if_not_found_location: String,
    /// Whether it goes behind the words on the same line.
    pub inline: bool,
    /// Whether it replaces what is there.
    pub replace_existing: bool,
}

/// Something that is used or not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Enabled {
    /// Whether it is.
    pub enabled: bool,
}

/// The choices in QuickAdd's settings, each group before what is in it.
#[must_use]
pub fn choices(settings: &Value) -> Vec<Choice> {
    let mut found = Vec::new();
    add(settings, None, 0, &mut found);
    found
}

fn add(parent: &Value, group: Option<&str>, depth: usize, found: &mut Vec<Choice>) {
    let choices = parent.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for choice in choices.iter().filter(|choice| choice.is_object()) {
        if found.len() == MAX_CHOICES || depth == MAX_DEPTH {
            return;
        }
        let text = |name: &str| choice.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("name");
        let action = match text("type").as_str() {
            "Template" => read(choice, Action::Template),
            "Capture" => read(choice, Action::Capture),
            "Multi" => {
                let within = choice.get("choices").and_then(Value::as_array).into_iter().flatten();
                let names = within.filter_map(|choice| choice.get("name")?.as_str()).take(MAX_CHOICES);
                Action::Multi(names.map(str::to_owned).collect())
            }
            "Macro" => Action::Macro,
            _ => Action::Unknown,
        };
        found.push(Choice { id: text("id"), name: name.clone(), group: group.map(str::to_owned), action });
        add(choice, Some(&name), depth + 1, found);
    }
}

fn read<T: DeserializeOwned>(choice: &Value, action: fn(T) -> Action) -> Action {
    T::deserialize(choice).map_or(Action::Unknown, action)
}

#[cfg(test)]
mod tests;
