//! The settings of periodic notes: Obsidian's own for daily notes, and those of the plugin Periodic Notes.
//!
//! # Layout
//! - this file: the settings; `language`: the language of names; `placeholders`: those of templates

use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::view::View;
use atlas_ops::write::writable;
use atlas_vault::date_format::{self, Locale};
use atlas_vault::{VaultPath, template};
use jiff::civil::{Date, DateTime};
use serde_json::Value;

use super::Period;
use crate::plugins::{Documents, PERIODIC};

pub(super) mod language;
mod placeholders;

/// The file of the settings.
const CORE: &str = ".obsidian/daily-notes.json";

/// The path and template of notes of a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    period: Period,
    /// With a slash at its end; empty for the root.
    folder: String,
    format: String,
    template: String,
    /// The format of `{{date}}`; [`None`] for the note's name.
    date_format: Option<&'static str>,
    locale: Locale,
    /// Whether somebody says the language; else it is English, and may be another.
    is_said: bool,
    /// The language of most names that are there, if that is not English.
    guessed: Option<&'static str>,
}

impl Period {
    /// The default name of a note of this period.
    const fn format(self) -> &'static str {
        match self {
            Self::Daily => "YYYY-MM-DD",
            Self::Weekly => "gggg-[W]ww",
            Self::Monthly => "YYYY-MM",
            Self::Quarterly => "YYYY-[Q]Q",
            Self::Yearly => "YYYY",
        }
    }

    /// The names of its settings, and of those within one of the plugin's newer sets.
    const fn keys(self) -> [&'static str; 2] {
        match self {
            Self::Daily => ["daily", "day"],
            Self::Weekly => ["weekly", "week"],
            Self::Monthly => ["monthly", "month"],
            Self::Quarterly => ["quarterly", "quarter"],
            Self::Yearly => ["yearly", "year"],
        }
    }
}

impl Settings {
    /// The settings of `period`; Obsidian's own for daily notes unless the plugin has some.
    pub(super) async fn read(context: &Context<'_>, view: &View, period: Period) -> Result<Self, Error> {
        let core: &[&str] = if period == Period::Daily { &[CORE] } else { &[] };
        let mut documents = Documents::with_dates(view, PERIODIC, core).await?;
        let dates = documents.dates(context)?;
        let (plugin, core) = (documents.plugin(PERIODIC)?, documents.file(CORE)?);
        let mut settings = match plugin.as_ref().and_then(|plugin| of_plugin(plugin, period)) {
            Some(found) => Self::of(found, period, None)?,
            None if period == Period::Daily => {
                Self::of(&core.unwrap_or_default(), period, Some(Period::Daily.format()))?
            }
            None => {
                let message = "the plugin Periodic Notes is not set up for such notes in this vault: turn them on in its settings";
                return Err(Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", PERIODIC));
            }
        };
        (settings.locale, settings.is_said) = (dates.locale, dates.is_said);
        Ok(settings)
    }

    fn of(settings: &Value, period: Period, date_format: Option<&'static str>) -> Result<Self, Error> {
        let text = |name: &str| settings.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        let format = Some(text("format")).filter(|format| !format.is_empty()).unwrap_or(period.format());
        if format.len() > date_format::MAX_FORMAT_BYTES {
            return Err(unusable(&format!(
                "the format of its names has more than {} bytes",
                date_format::MAX_FORMAT_BYTES
            )));
        }
        let folder = text("folder").trim_matches('/');
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let template = [text("template"), text("templatePath")].into_iter().find(|path| !path.is_empty());
        let template = template.unwrap_or_default().trim_matches('/').to_owned();
        let (format, locale) = (format.to_owned(), Locale::default());
        let (is_said, guessed) = (true, None);
        Ok(Self { period, folder, format, template, date_format, locale, is_said, guessed })
    }

    /// The path of the note of the period that has this day.
    pub(super) fn path(&self, at: DateTime) -> Result<VaultPath, Error> {
        let name = self.locale.write(&self.format, at);
        let path = format!("{}{}.md", self.folder, name.strip_suffix(".md").unwrap_or(&name));
        writable::path("format", &path)
            .map_err(|error| unusable(&format!("what it names cannot be a note: {}", error.message)))
    }

    /// The common prefix of the paths of all notes of the period.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// A function from a path to the first day of its note's period, if it is a path of such a note.
    pub(super) fn first_day(&self) -> impl Fn(&str) -> Option<Date> {
        let reader = self.locale.reader(self.name_format());
        move |path| reader.as_ref()?.read(self.name(path)?)
    }

    /// The date in the path of a note in the folder.
    fn name<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.folder)?.strip_suffix(".md")
    }

    fn name_format(&self) -> &str {
        self.format.strip_suffix(".md").unwrap_or(&self.format)
    }

    /// The template, if there is one.
    pub(super) fn template(&self) -> Option<VaultPath> {
        let name = self.template.strip_suffix(".md").unwrap_or(&self.template);
        (!name.is_empty()).then(|| VaultPath::parse(&format!("{name}.md")).ok())?
    }

    /// A template, filled in. Everything else stays unchanged.
    pub(super) fn filled(&self, template: &str, path: &VaultPath, at: DateTime) -> String {
        template::fill(template, |name, format| self.value(name, format, path, at))
    }
}

/// The plugin's settings of `period`, if it is enabled.
fn of_plugin(plugin: &Value, period: Period) -> Option<&Value> {
    let [key, newer] = period.keys();
    let active = plugin.get("activeCalendarSet");
    let sets = plugin.get("calendarSets").and_then(Value::as_array);
    let set = sets.and_then(|sets| sets.iter().find(|set| set.get("id") == active).or_else(|| sets.first()));
    let found = set.and_then(|set| set.get(newer)).or_else(|| plugin.get(key))?;
    (found.get("enabled") == Some(&Value::Bool(true))).then_some(found)
}

fn unusable(problem: &str) -> Error {
    let message = format!("the vault's settings of periodic notes cannot be used: {problem}; change them in Obsidian");
    Error::bad_request(Reason::SettingsInvalid, message)
}

#[cfg(test)]
mod tests;
