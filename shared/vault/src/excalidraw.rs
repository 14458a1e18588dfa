//! Drawings of the plugin Excalidraw (<https://github.com/zsviczian/obsidian-excalidraw-plugin>): notes that hold a drawing as JSON, plain or
//! compressed, with the texts of its elements above it; and `.excalidraw` files, which are such JSON. A change leaves every other byte of the
//! note and of the JSON as it is, and fields that this module does not know stay.

mod block;
mod element;
mod scene;
mod sections;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use crate::json_items::{Ids, ItemsError, id, set_fields};
use crate::json_text::{JsonError, JsonText, Layout};
use crate::lines::{Lines, fit, spliced};
use crate::lz_string;

use block::{BLOCK_END, Block, COMPRESSED, HEADINGS, MARK, PLAIN, block, compressed};
use scene::{ELEMENT, Scene};
use sections::{Edits, ID_CHARS, Part, Sections, is_heading};

pub use crate::json_items::Fields;
pub use block::{unpacked, without_drawing};

/// Longest drawing, in bytes of its JSON.
pub const MAX_BYTES: usize = 16 << 20;

const WARNING: &str = "==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠== You can decompress Drawing data with the command palette: 'Decompress current Excalidraw file'. For more info check in plugin settings under 'Saving'";

/// Why a drawing cannot be read, or not be changed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrawingError {
    /// The note is of no drawing.
    #[error("it is no drawing of Excalidraw: it has no property excalidraw-plugin")]
    NoDrawing,
    /// The note has no block with the drawing.
    #[error("the drawing is missing: there is no block json or compressed-json below a heading Drawing")]
    NoBlock,
    /// The drawing is too large.
    #[error("the drawing has more than {MAX_BYTES} bytes of JSON")]
    TooLarge,
    /// The drawing cannot be decompressed.
    #[error("line {line}: the compressed drawing cannot be read: {problem}")]
    Compressed {
        /// The line where it begins, from 1.
        line: u32,
        /// The problem.
        problem: lz_string::LzError,
    },
    /// The JSON is no drawing. The place is in the file, or in the JSON if that is compressed.
    #[error("the JSON is no drawing: {0}")]
    Scene(JsonError),
    /// An element of the change is not allowed.
    #[error("{0}")]
    Change(String),
}

/// How a drawing is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As a file that is JSON.
    File,
    /// As JSON in a note.
    Json,
    /// As compressed JSON in a note.
    CompressedJson,
}

/// A drawing.
#[derive(Debug)]
pub struct Drawing<'a> {
    text: &'a str,
    form: Form,
    /// Where the JSON stands in the text, plain or compressed.
    block: Range<usize>,
    json: Cow<'a, str>,
    sections: Sections,
    scene: Scene,
}

/// A file that a drawing shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedFile {
    /// The id by which elements name it.
    pub id: String,
    /// A link to it, a URL or a formula; its type if the drawing holds it itself.
    pub name: String,
}

/// A change of a drawing.
#[derive(Debug, Default)]
pub struct Change {
    /// Elements to add, in front of the others. One without an `id` gets one, and each what Excalidraw expects besides.
    pub add: Vec<Fields>,
    /// Ids of elements to remove.
    pub remove: Vec<String>,
    /// Fields of elements to set, by id; null removes one.
    pub update: BTreeMap<String, Fields>,
    /// Fields of the state of the app to set; null removes one.
    pub app_state: Fields,
}

/// The result of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// The file after it.
    pub text: String,
    /// The ids of the elements that were added, in their order.
    pub added: Vec<String>,
    /// How many elements went.
    pub removed: usize,
}

impl<'a> Drawing<'a> {
    /// Reads a drawing: a note, or a file that is JSON.
    ///
    /// # Errors
    /// When it is none, or two elements have one id: with the place.
    pub fn read(text: &'a str, is_note: bool) -> Result<Self, DrawingError> {
        if !is_note {
            if text.len() > MAX_BYTES {
                return Err(DrawingError::TooLarge);
            }
            let scene = Scene::read(text).map_err(scene_error)?;
            let block = 0..text.len();
            return Ok(Self { text, form: Form::File, block, json: text.into(), sections: Sections::default(), scene });
        }
        let Block { heading, form, range } = block(text)?;
        let written = text.get(range.clone()).unwrap_or_default();
        let line = |offset: usize| Lines::new(text).at(offset);
        let json: Cow<'a, str> = match form {
            Form::CompressedJson => {
                let json = lz_string::decompress_from_base64(written, MAX_BYTES);
                let json = json.map_err(|problem| match problem {
                    lz_string::LzError::TooLong(_) => DrawingError::TooLarge,
                    problem => DrawingError::Compressed { line: line(range.start) + 1, problem },
                })?;
                json.into()
            }
            _ => written.into(),
        };
        if json.len() > MAX_BYTES {
            return Err(DrawingError::TooLarge);
        }
        let scene = Scene::read(&json).map_err(|error| match (scene_error(error), form) {
            (DrawingError::Scene(mut error), Form::Json) => {
                error.line += line(range.start) as usize;
                DrawingError::Scene(error)
            }
            (error, _) => error,
        })?;
        Ok(Self { text, form, block: range, json, sections: Sections::read(text, heading), scene })
    }

    /// How it is kept.
    #[must_use]
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Its elements, the last in front, without those that were deleted.
    pub fn elements(&self) -> impl Iterator<Item = &Fields> {
        self.scene.elements.fields().iter().filter(|element| !element::is_deleted(element))
    }

    /// The texts of its elements, as the note has them, with line breaks as in its JSON.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let noted: BTreeMap<&str, &str> = self.noted(&self.sections.texts).collect();
        let texts = self.elements().filter(|element| element::is_text(element));
        texts.map(move |element| {
            let noted = id(element).and_then(|id| noted.get(id));
            with_feeds(noted.copied().unwrap_or_else(|| element::text(element)))
        })
    }

    /// The files that it shows.
    #[must_use]
    pub fn embedded_files(&self) -> Vec<EmbeddedFile> {
        let file =
            |(id, written): (&str, &str)| EmbeddedFile { id: id.to_owned(), name: file_name(written).to_owned() };
        let held = self.scene.files.iter().map(|(id, kind)| EmbeddedFile { id: id.clone(), name: kind.clone() });
        self.noted(&self.sections.files).map(file).chain(held).collect()
    }

    /// The state of the app, if it has one.
    #[must_use]
    pub const fn app_state(&self) -> Option<&Fields> {
        self.scene.app_state.as_ref()
    }

    fn noted<'b>(&'b self, entries: &'b [sections::Entry]) -> impl Iterator<Item = (&'b str, &'b str)> {
        entries.iter().map(|entry| (entry.id.as_str(), self.text.get(entry.value.clone()).unwrap_or_default()))
    }

    /// The drawing after `change`, made at `now`, in milliseconds. Ids and other numbers are made from `seed`.
    ///
    /// # Errors
    /// When an id is not there, or is there already, or an element would be nothing that Excalidraw can show, or its text nothing that a
    /// note can keep.
    pub fn change(&self, change: &Change, seed: u64, now: i64) -> Result<Changed, DrawingError> {
        let elements = &self.scene.elements;
        let gone = elements.places(&change.remove).map_err(scene_error)?;
        let mut ids = Ids::new(seed, ID_CHARS, elements.ids());
        let new = ids.named(&change.add, ELEMENT).map_err(scene_error)?;
        let mut added = Vec::with_capacity(new.len());
        for given in &new {
            element::check(id(given).unwrap_or_default(), given, true)?;
            added.push(element::whole(given, &mut ids, now));
        }
        let mut updates = BTreeMap::new();
        for (id, given) in &change.update {
            element::check(id, given, false)?;
            let before = elements.get(id).cloned().unwrap_or_default();
            updates.insert(id.clone(), element::completed(&before, given, &mut ids, now));
        }
        let updated = elements.updated(&updates, &gone).map_err(scene_error)?;

        let mut json = JsonText::read(&self.json).map_err(DrawingError::Scene)?;
        self.write(&mut json, &gone, &added, &updates, &change.app_state).map_err(DrawingError::Scene)?;
        let json = json.finish();
        let changed = Changed {
            text: String::new(),
            added: added.iter().filter_map(id).map(str::to_owned).collect(),
            removed: gone.len(),
        };
        if self.form == Form::File {
            return Ok(Changed { text: json, ..changed });
        }
        let mut edits = Edits::default();
        for id in &change.remove {
            self.sections.set_text(id, None, &mut edits);
            self.sections.set_link(id, None, &mut edits);
        }
        for after in &updated {
            self.note_update(after, &updates, &mut edits);
        }
        for after in &added {
            self.note_new(after, &mut edits)?;
        }
        let said = std::mem::take(&mut edits.said);
        let with_breaks = |(range, new): (Range<usize>, String)| (range, fit(self.text, &new).into_owned());
        let mut edits: Vec<_> = self.sections.edits(edits).into_iter().map(with_breaks).collect();
        let written = match (json == self.json, self.form) {
            (true, _) => self.text.get(self.block.clone()).unwrap_or_default().to_owned(),
            (false, Form::CompressedJson) => fit(self.text, &compressed(&json)).into_owned(),
            (false, _) => json,
        };
        edits.push((self.block.clone(), written.clone()));
        let text = spliced(self.text, edits);
        kept(&text, &written, &said)?;
        Ok(Changed { text, ..changed })
    }

    /// Writes the change into the JSON.
    fn write(
        &self,
        json: &mut JsonText<'_>,
        gone: &[usize],
        added: &[Fields],
        updates: &BTreeMap<String, Fields>,
        app_state: &Fields,
    ) -> Result<(), JsonError> {
        let root = json.root();
        let members = json.members(&root)?;
        self.scene.elements.write(json, updates, Layout::Indented)?;
        let mut new = Vec::new();
        new.extend(self.scene.elements.change(json, gone, added, Layout::Indented));
        if !app_state.is_empty() {
            let state = members.iter().rfind(|member| member.name == "appState");
            match state {
                Some(state) if self.scene.app_state.is_some() => {
                    set_fields(json, &state.value, app_state, Layout::Indented)?;
                }
                Some(state) => json.replace(&state.value, &Value::Object(app_state.clone())),
                None => new.push(("appState", Value::Object(app_state.clone()))),
            }
        }
        if !new.is_empty() {
            let new: Vec<(&str, &Value)> = new.iter().map(|(name, value)| (*name, value)).collect();
            json.add_members(&root, &members, &new, Layout::Indented);
        }
        Ok(())
    }

    /// The note's texts of an updated element.
    fn note_update(&self, after: &Fields, updates: &BTreeMap<String, Fields>, edits: &mut Edits) {
        let Some((id, given)) = id(after).and_then(|id| Some((id, updates.get(id)?))) else { return };
        let names = |names: &[&str]| names.iter().any(|name| given.contains_key(*name));
        if element::is_deleted(after) {
            self.sections.set_text(id, None, edits);
            self.sections.set_link(id, None, edits);
            return;
        }
        if names(&element::TEXTS) || names(&["isDeleted", "type"]) {
            let text = element::is_text(after).then(|| element::text(after)).filter(|_| is_noted(id));
            self.sections.set_text(id, text, edits);
        }
        if names(&["link", "isDeleted"]) {
            let link = after.get("link").and_then(Value::as_str).filter(|link| !link.is_empty() && is_noted(id));
            self.sections.set_link(id, link, edits);
        }
    }

    fn note_new(&self, after: &Fields, edits: &mut Edits) -> Result<(), DrawingError> {
        let id = id(after).unwrap_or_default();
        if element::is_text(after) {
            if !is_noted(id) {
                let message = format!(
                    "element {id:?}: the id of a text is {ID_CHARS} letters or digits, by which the note names it: leave it out to get one"
                );
                return Err(DrawingError::Change(message));
            }
            self.sections.set_text(id, Some(element::text(after)), edits);
        }
        let link = after.get("link").and_then(Value::as_str).filter(|link| !link.is_empty() && is_noted(id));
        if let Some(link) = link {
            self.sections.set_link(id, Some(link), edits);
        }
        Ok(())
    }
}

/// A new drawing of these elements.
///
/// # Errors
/// As [`Drawing::change`].
pub fn create(form: Form, elements: &[Fields], seed: u64, now: i64) -> Result<Changed, DrawingError> {
    let scene = "{\n\t\"type\": \"excalidraw\",\n\t\"version\": 2,\n\t\"source\": \"https://excalidraw.com\",\n\t\"elements\": [],\n\t\"appState\": {\n\t\t\"theme\": \"light\",\n\t\t\"viewBackgroundColor\": \"#ffffff\"\n\t},\n\t\"files\": {}\n}";
    let (fence, block) = match form {
        Form::CompressedJson => (COMPRESSED, compressed(scene)),
        Form::File | Form::Json => (PLAIN, scene.to_owned()),
    };
    let note = || {
        format!(
            "---\n\n{MARK}: parsed\ntags: [excalidraw]\n\n---\n{WARNING}\n\n\n# Excalidraw Data\n\n## Text Elements\n{END}\n{}\n{fence}\n{block}\n{BLOCK_END}\n{END}",
            HEADINGS[0],
            END = "%%",
        )
    };
    let text = if form == Form::File { block } else { note() };
    let change = Change { add: elements.to_vec(), ..Change::default() };
    Drawing::read(&text, form != Form::File)?.change(&change, seed, now)
}

/// A text with `\n` for its line breaks.
fn with_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Fails if the note after a change does not say what it should: a text may look like the end of another, or like a heading.
fn kept(text: &str, written: &str, said: &[(Part, String, String)]) -> Result<(), DrawingError> {
    let Block { heading, range, .. } = block(text)?;
    let is_there = text.get(range) == Some(written);
    let sections = Sections::read(text, heading);
    let is_lost = |(part, id, said): &&(Part, String, String)| {
        let mut before_the_last = said.lines().rev().skip(1);
        !is_there
            || before_the_last.any(is_heading)
            || sections
                .said(text, *part, id)
                .is_none_or(|found| with_feeds(found.trim_end()) != with_feeds(said.trim_end()))
    };
    match said.iter().find(is_lost) {
        None => Ok(()),
        Some((_, id, _)) => Err(DrawingError::Change(format!(
            "element {id:?}: the note cannot keep this text or link: no line of it may end like ^{id} or be a heading of Excalidraw's"
        ))),
    }
}

/// Whether a note can name an element by its id.
fn is_noted(id: &str) -> bool {
    id.len() == ID_CHARS && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The text for a file, without the brackets of its link.
fn file_name(written: &str) -> &str {
    let link = written.trim_start_matches('!').strip_prefix("[[").and_then(|rest| rest.split_once("]]"));
    link.map_or(written.trim(), |(name, _)| name)
}

fn scene_error(error: ItemsError) -> DrawingError {
    match error {
        ItemsError::File(error) => DrawingError::Scene(error),
        ItemsError::Change(message) => DrawingError::Change(message),
    }
}

#[cfg(test)]
mod tests;
