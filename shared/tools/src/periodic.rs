//! Periodic notes, in obsidian-tc's form: one for each day, week, month, quarter or year, at the path that the vault's
//! own settings define.
//!
//!
//! # Layout
//! - [`Period`], and the common parts of the tools' arguments and answers; `settings`: the paths and templates of notes

pub mod append_to_periodic_note;
pub mod create_periodic_note;
pub mod find_or_create_periodic_note;
pub mod get_periodic_note;
pub mod list_periodic_notes;
mod settings;

use atlas_access::Access;
use atlas_ops::arguments::{self, Text, Zone, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use atlas_vault::resolve::{Files, resolve};
use jiff::civil::{Date, DateTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::notes::read_note;
use crate::periodic::settings::Settings;

/// The period of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// A day.
    Daily,
    /// A week.
    Weekly,
    /// A month.
    Monthly,
    /// A quarter of a year.
    Quarterly,
    /// A year.
    Yearly,
}

/// A period and a day of it.
#[derive(Debug)]
struct PeriodicDay {
    period: Period,
    /// A day of the period.
    date: Date,
    /// That day, at the current time of day.
    at: DateTime,
}

impl PeriodicDay {
    /// The note of `date`, or of today in `timezone`.
    fn of(
        context: &Context<'_>,
        period: Period,
        date: Option<&Text<10>>,
        timezone: Option<&Zone>,
    ) -> Result<Self, Error> {
        // A call repeated after midnight means the same day.
        let now = context.zone(timezone)?.to_datetime(context.first_made);
        let date = date.map_or(Ok(now.date()), |date| day("date", date))?;
        Ok(Self { period, date, at: date.to_datetime(now.time()) })
    }
}

/// The path of today's note, whether it exists or not.
pub(crate) async fn todays_path(context: &Context<'_>, view: &View) -> Result<VaultPath, Error> {
    let now = context.zone(None)?.to_datetime(context.now);
    Ok(Settings::read(context, view, Period::Daily).await?.place(context, view, now).await?.path)
}

/// The day in argument `field`.
fn day(field: &str, text: &Text<10>) -> Result<Date, Error> {
    text.as_str().parse().map_err(|_| invalid_input(field, "write a day as YYYY-MM-DD"))
}

/// A periodic note that may not exist yet.
#[derive(Debug)]
struct PeriodicNote {
    path: VaultPath,
    /// The text of a new one, or why there can be none.
    new: Result<String, Unmade>,
    /// The template of that; [`None`] if there is none.
    template: Option<String>,
}

impl PeriodicNote {
    /// Finds the note in a vault as its caller sees it; a new one is made from `template`, if given, instead of the
    /// settings' template.
    async fn find(
        context: &Context<'_>,
        view: &View,
        which: &PeriodicDay,
        template: Option<&VaultPath>,
    ) -> Result<Self, Error> {
        let mut settings = Settings::read(context, view, which.period).await?;
        let place = settings.place(context, view, which.at).await?;
        let named = match template {
            Some(path) => Some(path.clone()),
            None => settings.template().filter(|path| context.check(Access::Read, path).is_ok()),
        };
        let found = match (&named, template) {
            (Some(path), None) => linked(view, path).await?,
            (Some(path), Some(_)) => text(view, path).await?.map(|text| (path.clone(), text)),
            (None, _) => None,
        };
        if let (Some(path), None) = (template, &found) {
            return Err(notes::missing(path.as_str()));
        }
        if let Some((path, _)) = &found {
            context.reads(path);
        }
        let used = found.as_ref().map(|(path, _)| path.as_str().to_owned());
        let (language, path) = (settings.other_language(view, &place).await?, place.path);
        let new = match (language, &named, &found) {
            (Some(language), ..) => Err(Unmade::Language(language)),
            (None, Some(named), None) => Err(Unmade::NoTemplate(named.clone())),
            (None, _, found) => {
                let filled = |(_, text): &(VaultPath, String)| settings.filled(text, &path, which.at);
                Ok(found.as_ref().map(filled).unwrap_or_default())
            }
        };
        Ok(Self { path, new, template: used })
    }

    /// The text of a new note.
    fn new_text(&self) -> Result<&str, Error> {
        self.new.as_deref().map_err(Unmade::error)
    }
}

/// Why no note can be made. One that exists is found nevertheless.
#[derive(Debug)]
enum Unmade {
    /// The language of its name is not known; it could be this one.
    Language(&'static str),
    /// The settings name a template that is not there.
    NoTemplate(VaultPath),
}

impl Unmade {
    fn error(&self) -> Error {
        match self {
            Self::Language(id) => {
                let message = format!(
                    "names of these notes are in another language than English, such as {id}: set context.locale in the configuration to Obsidian's language, so that no period gets two notes"
                );
                Error::bad_request(Reason::SettingsInvalid, message).with("field", "context.locale")
            }
            Self::NoTemplate(path) => {
                let message = format!(
                    "the settings name the template {path}, which is not there: a person can change it in Obsidian's settings, or create it"
                );
                Error::bad_request(Reason::TemplateUnusable, message).with("path", path.as_str())
            }
        }
    }
}

/// The note that the settings of a template mean, as a link from the root would, and its text.
async fn linked(view: &View, named: &VaultPath) -> Result<Option<(VaultPath, String)>, Error> {
    if let Some(found) = text(view, named).await? {
        return Ok(Some((named.clone(), found)));
    }
    let index = Index::fetch(view.clone(), Want::default()).await?;
    let name = named.file_name().to_lowercase();
    let mut files = Files::default();
    for (path, document) in settings::language::paths(&index, "")? {
        let is_namesake = path.rsplit('/').next().is_some_and(|last| last.to_lowercase() == name);
        if is_namesake
            && index.shows(document)
            && let Ok(path) = VaultPath::parse(&path)
        {
            files.insert(path);
        }
    }
    // Links from any note of the root mean the same.
    let Ok(root) = VaultPath::parse(named.file_name()) else { return Ok(None) };
    match resolve(named.as_str(), &root, &files) {
        Some(path) => Ok(text(view, path).await?.map(|text| (path.clone(), text))),
        None => Ok(None),
    }
}

/// Fails if the caller may not access a note whose path they did not name; the error does not reveal the path.
pub(crate) fn check(context: &Context<'_>, access: Access, path: &VaultPath) -> Result<(), Error> {
    context.check(access, path).map_err(|mut error| {
        if error.details.shift_remove("path").is_some() {
            error.message = format!("you may not {} this note", access.as_str());
        }
        error
    })
}

/// The text of the template at `path`.
pub(crate) async fn text(view: &View, path: &VaultPath) -> Result<Option<String>, Error> {
    let found = notes::find(view.snapshot(), path.as_str(), |_| true).await?;
    if found.as_ref().is_some_and(|found| found.record.blob.is_some()) {
        let message = format!("the template {path} is too large or not text: name another");
        return Err(Error::bad_request(Reason::TemplateUnusable, message).with("path", path.as_str()));
    }
    Ok(found.map(|found| String::from_utf8_lossy(&found.text).into_owned()))
}

/// A note in an answer.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Shown {
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// Whether the text is longer: `read_note` has all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Its properties; absent if it has none or they cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    frontmatter: Option<Map<String, Value>>,
}

impl Shown {
    fn of(context: &Context<'_>, text: &str) -> Self {
        let frontmatter = atlas_vault::parse(text).properties().cloned();
        // A new note is reported even if its text must be cut.
        let room = read_note::room(context.limits, frontmatter.as_ref());
        let end = text.floor_char_boundary(read_note::within(text.as_bytes(), context.limits.max_bytes, room));
        Self { content: text.get(..end).map(str::to_owned), truncated: end < text.len(), frontmatter }
    }
}

/// The template in an argument.
fn template(written: Option<&str>) -> Result<Option<VaultPath>, Error> {
    written.map(|path| arguments::path("template_override", path)).transpose()
}
