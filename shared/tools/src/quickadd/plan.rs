//! The notes that an action writes.

use std::collections::BTreeMap;

use atlas_access::Access;
use atlas_ops::arguments::{WritePath, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::notes;
use atlas_ops::read::settings::document;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use atlas_vault::date_format::Locale;
use atlas_vault::edit::fit;
use atlas_vault::quickadd::capture::{InsertAt, insert};
use atlas_vault::quickadd::format::{FormatError, Values, fill, include};
use atlas_vault::quickadd::{Action, Capture, Existing, InsertAfter, Template};
use atlas_vault::template::templater;
use jiff::civil::DateTime;
use serde_json::{Map, Value};

use super::needs_app;
use crate::{periodic, templates};

/// Most templates that include each other.
const MAX_TEMPLATES: usize = 20;
/// Most names that are tried for a note.
const MAX_NAMES: usize = 50;
/// Where Obsidian's own settings are.
const APP: &str = ".obsidian/app.json";

/// The writes of an action.
pub(super) struct Plan {
    pub path: VaultPath,
    pub write: Write,
}

/// How it writes it.
pub(super) enum Write {
    /// A note with this text; where there is one, what becomes of that.
    Note(String, Existing),
    /// A text that is added to a note.
    Capture {
        text: String,
        /// Below which line; if below none, at the end or not.
        after: Option<InsertAfter>,
        is_at_end: bool,
        /// The text of a new note; none if no note is made.
        new: Option<String>,
    },
}

/// The inputs of a run.
pub(super) struct Run<'a> {
    pub context: &'a Context<'a>,
    pub view: &'a View,
    pub now: DateTime,
    /// The language of dates.
    pub locale: Locale,
    pub given: &'a Map<String, Value>,
    pub globals: &'a Map<String, Value>,
    /// The folder that the caller chose.
    pub folder: Option<&'a str>,
    pub seed: u64,
}

/// The steps of an action that need a person at the app.
pub(super) fn needs_person(action: &Action) -> Option<&'static str> {
    match action {
        Action::Macro => Some("a macro"),
        Action::Unknown => Some("an action of an unknown kind"),
        Action::Capture(capture) if capture.capture_to_active_file => Some("a capture to the note that is open"),
        Action::Capture(capture) if capture.new_line_capture.enabled => Some("a capture at the cursor"),
        Action::Capture(capture)
            if capture.capture_to.trim().starts_with('#') || capture.capture_to.trim().ends_with('/') =>
        {
            Some("a capture to a note that the person chooses")
        }
        Action::Capture(capture) if capture.insert_before.enabled => Some("a capture before a line"),
        Action::Capture(capture)
            if capture.insert_after.enabled
                && (capture.insert_after.inline || capture.insert_after.replace_existing) =>
        {
            Some("a capture within a line")
        }
        _ => None,
    }
}

/// The format of the name of a new note.
pub(super) fn name_format(template: &Template) -> &str {
    if template.file_name_format.enabled { &template.file_name_format.format } else { "{{VALUE}}" }
}

/// The format of what is captured.
pub(super) fn capture_format(capture: &Capture) -> &str {
    if capture.format.enabled { &capture.format.format } else { "{{VALUE}}" }
}

impl Run<'_> {
    pub(super) async fn plan(&self, action: &Action) -> Result<Plan, Error> {
        if let Some(what) = needs_person(action) {
            return Err(needs_app(&format!("{what} needs QuickAdd in the Obsidian app")));
        }
        match action {
            Action::Template(template) => self.note(template).await,
            Action::Capture(capture) => self.capture(capture).await,
            Action::Multi(_) | Action::Macro | Action::Unknown => {
                Err(needs_app("this needs QuickAdd in the Obsidian app"))
            }
        }
    }

    async fn note(&self, template: &Template) -> Result<Plan, Error> {
        let existing = template.existing();
        let name = self.filled(name_format(template), None).await?;
        let folder = self.filled(&self.folder(template).await?, None).await?;
        let mut path = note_path(&folder, &name)?;
        if existing == Existing::Increment {
            path = self.free(path).await?;
        }
        let text = self.of_template(&template.template_path, &path).await?;
        Ok(Plan { path, write: Write::Note(text, existing) })
    }

    /// The folder of a new note, with its places.
    async fn folder(&self, template: &Template) -> Result<String, Error> {
        let folders = &template.folder;
        let is_free = folders.choose_when_creating_note
            || folders.choose_from_subfolders
            || folders.create_in_same_folder_as_active_file;
        match (self.folder, folders.enabled) {
            (Some(folder), true) if is_free || folders.folders.iter().any(|one| same_folder(one, folder)) => {
                Ok(folder.to_owned())
            }
            (Some(_), true) if !self.view.is_whole() => {
                Err(invalid_input("folder", "this action does not write there: ask the person for one of its folders"))
            }
            (Some(_), true) => Err(invalid_input("folder", &format!("this action writes to {:?}", folders.folders))),
            (Some(_), false) => Err(invalid_input("folder", "this action lets nobody choose the folder")),
            (None, true) => match folders.folders.as_slice() {
                [only] if !is_free || folders.choose_from_subfolders => Ok(only.clone()),
                _ if is_free => Err(invalid_input("folder", "name the folder of the note: here the person chooses it")),
                [] => Ok(String::new()),
                _ if !self.view.is_whole() => {
                    Err(invalid_input("folder", "name the folder of the note: ask the person for those of the action"))
                }
                several => Err(invalid_input("folder", &format!("name one of {several:?}: here the person chooses"))),
            },
            (None, false) => {
                let app = document(self.view, APP).await?.unwrap_or_default();
                let text = |name: &str| app.get(name).and_then(Value::as_str).unwrap_or_default();
                let is_set = text("newFileLocation") == "folder";
                Ok(if is_set { text("newFileFolderPath").to_owned() } else { String::new() })
            }
        }
    }

    /// The first path of a note that is not there: `path`, or with a number behind its name.
    async fn free(&self, path: VaultPath) -> Result<VaultPath, Error> {
        let stem = path.as_str().strip_suffix(".md").unwrap_or(path.as_str());
        let digits = stem.len() - stem.trim_end_matches(|one: char| one.is_ascii_digit()).len();
        // A date is no number that is counted on.
        let (name, first) = match stem.split_at_checked(stem.len() - digits) {
            Some((name, digits)) if (1..=3).contains(&digits.len()) && !name.ends_with(['-', '.']) => {
                (name, digits.parse().unwrap_or(0))
            }
            _ => (stem, 0_u32),
        };
        let mut tried = path.clone();
        for number in 1..=MAX_NAMES as u32 {
            // One that the caller may not write is refused later, whether it is there or not.
            let is_denied = self.context.check(Access::Write, &tried).is_err();
            if is_denied || notes::find(self.view.snapshot(), tried.as_str(), |_| false).await?.is_none() {
                return Ok(tried);
            }
            tried = note_path("", &format!("{name}{}", first + number))?;
        }
        let message = format!("{path} and {MAX_NAMES} other names are taken: give another");
        Err(Error::new(Code::Conflict, Reason::NoteExists, message))
    }

    async fn capture(&self, capture: &Capture) -> Result<Plan, Error> {
        let path = note_path("", &self.filled(&capture.capture_to, None).await?)?;
        let title = Some(path.stem());
        let format = capture_format(capture);
        let mut text = self.filled(format, title).await?.replace("\\n", "\n");
        if capture.task {
            text = format!("- [ ] {}\n", text.trim_end());
        }
        let after = match capture.insert_after.enabled {
            true => {
                let after = self.filled(&capture.insert_after.after, title).await?;
                Some(InsertAfter { after, ..capture.insert_after.clone() })
            }
            false => None,
        };
        let create = &capture.create_file_if_it_doesnt_exist;
        let new = match create.enabled {
            true if create.create_with_template && !create.template.is_empty() => {
                Some(self.of_template(&create.template, &path).await?)
            }
            true => Some(String::new()),
            false => None,
        };
        if text.trim().is_empty() {
            return Err(invalid_input("args", "what the action would add is empty: give it a value"));
        }
        Ok(Plan { path, write: Write::Capture { text, after, is_at_end: capture.prepend, new } })
    }

    /// The text of a note at `path` that is made from a template.
    async fn of_template(&self, template: &str, path: &VaultPath) -> Result<String, Error> {
        let at = self.filled(template, None).await?;
        let text = self.with_templates(&self.template(&at).await?).await?;
        let title = Some(path.stem());
        // So that an error is told; what is given is no command.
        self.fill(&text, title)?;
        let properties = atlas_vault::parse(&text).properties().cloned().unwrap_or_default();
        let surroundings =
            templater::Surroundings { now: self.now, locale: self.locale, path, properties: &properties };
        let fill = |part: &str| self.fill(part, title).unwrap_or_default();
        let expanded = templater::expand(&text, &surroundings, fill);
        let expanded = expanded
            .map_err(|error| templates::refused(&template_path(&at).unwrap_or_else(|_| path.clone()), &error))?;
        Ok(fit(&text, &expanded).into_owned())
    }

    /// The text of a template that the settings name.
    async fn template(&self, written: &str) -> Result<String, Error> {
        let path = template_path(written)?;
        let missing = || {
            let message =
                "the action names a template that is not there: a person can change it in QuickAdd's settings";
            Error::bad_request(Reason::TemplateUnusable, message)
        };
        // One that the caller may not read is as if it were not there.
        self.context.check(Access::Read, &path).map_err(|_| missing())?;
        self.context.reads(&path);
        periodic::text(self.view, &path).await?.ok_or_else(missing)
    }

    /// A text with its places filled, and the templates that it includes.
    async fn filled(&self, text: &str, title: Option<&str>) -> Result<String, Error> {
        self.fill(&self.with_templates(text).await?, title)
    }

    fn fill(&self, text: &str, title: Option<&str>) -> Result<String, Error> {
        let Self { now, locale, given, globals, seed, .. } = *self;
        fill(text, &Values { now, locale, given, globals, title, seed }).map_err(|error| unfilled(&error))
    }

    /// A text with the templates that it includes.
    async fn with_templates(&self, text: &str) -> Result<String, Error> {
        let mut templates = BTreeMap::new();
        loop {
            match include(text, &templates) {
                Err(FormatError::Template(path)) if templates.len() < MAX_TEMPLATES => {
                    let included = self.template(&path).await?;
                    templates.insert(path, included);
                }
                included => return included.map_err(|error| unfilled(&error)),
            }
        }
    }
}

/// The error for an action with a place that is not filled.
fn unfilled(error: &FormatError) -> Error {
    match error {
        FormatError::NeedsApp(_) => needs_app(&error.to_string()),
        FormatError::Missing(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            invalid_input("args", &format!("give {}", names.join(", ")))
        }
        FormatError::Template(_) | FormatError::Wrong(_) => {
            Error::bad_request(Reason::TemplateUnusable, format!("the action: {error}"))
        }
    }
}

impl Write {
    /// The note after it, and whether a person has to confirm it; none if nothing is to be done.
    pub(super) fn of(&self, path: &VaultPath, before: Option<&str>) -> Result<Option<(String, bool)>, Error> {
        let exists = || {
            let message = format!(
                "there is a note at {path} already, and the action asks the person what becomes of it: give other args"
            );
            Error::new(Code::Conflict, Reason::NoteExists, message).with("path", path.as_str())
        };
        match (self, before) {
            (Self::Note(text, _), None) => Ok(Some((text.clone(), false))),
            (Self::Note(text, existing), Some(before)) => match existing {
                Existing::Ask | Existing::Increment => Err(exists()),
                Existing::Nothing => Ok(None),
                Existing::Overwrite => Ok(Some((text.clone(), !before.trim().is_empty()))),
                Existing::Top => Ok(insert(before, text, InsertAt::Top).map(|text| (text, false))),
                Existing::Bottom => Ok(insert(before, text, InsertAt::Bottom).map(|text| (text, false))),
            },
            (Self::Capture { text, after, is_at_end, new }, before) => {
                let Some(before) = before.or(new.as_deref()) else { return Err(notes::missing(path.as_str())) };
                let place = match after {
                    Some(after) => InsertAt::After {
                        line: &after.after,
                        at_end: after.insert_at_end,
                        with_subsections: after.consider_subsections,
                        create: after.create_if_not_found.then(|| after.create_if_not_found_location != "bottom"),
                    },
                    None if *is_at_end => InsertAt::Bottom,
                    None => InsertAt::Top,
                };
                match insert(before, text, place) {
                    Some(text) => Ok(Some((text, true))),
                    None => {
                        let line = after.as_ref().map(|after| after.after.as_str()).unwrap_or_default();
                        let message =
                            format!("{path} has no line {line:?}, below which the action writes: add it first");
                        Err(invalid_input("action_name", &message))
                    }
                }
            }
        }
    }
}

fn same_folder(one: &str, other: &str) -> bool {
    one.trim_matches('/') == other.trim_matches('/')
}

fn template_path(written: &str) -> Result<VaultPath, Error> {
    parsed(written.trim().trim_matches('/'))
}

/// The path of a note of this name in a folder.
fn note_path(folder: &str, name: &str) -> Result<VaultPath, Error> {
    let name = name.trim();
    let path = [folder.trim_matches('/'), name.trim_matches('/')].join("/");
    parsed(path.trim_start_matches('/'))
}

fn parsed(path: &str) -> Result<VaultPath, Error> {
    let path = if path.ends_with(".md") { path.to_owned() } else { format!("{path}.md") };
    let path = WritePath::parse(&path).map_err(|problem| {
        Error::bad_request(Reason::PathInvalid, format!("the action's path {path:?} is none of a note: {problem}"))
    })?;
    Ok(path.into())
}
