//! The settings of periodic notes: Obsidian's own for daily notes, and those of the plugin Periodic Notes.

use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::read::settings::document;
use atlas_ops::read::view::View;
use atlas_ops::write::writable;
use atlas_vault::{VaultPath, date_format, template};
use futures::future::try_join;
use jiff::civil::{Date, DateTime};
use jiff::{Span, ToSpan as _};
use serde_json::Value;

use super::Period;

/// The file of the settings.
const CORE: &str = ".obsidian/daily-notes.json";
const PLUGIN: &str = ".obsidian/plugins/periodic-notes/data.json";
const PLUGIN_NAME: &str = "periodic-notes";
/// The path and template of notes of a period.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// With a slash at its end; empty for the root.
    folder: String,
    format: String,
    template: String,
    /// The format of `{{date}}`; [`None`] for the note's name.
    date_format: Option<&'static str>,
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
    pub(super) async fn read(view: &View, period: Period) -> Result<Self, Error> {
        let core = async { if period == Period::Daily { document(view, CORE).await } else { Ok(None) } };
        let (plugin, core) = try_join(document(view, PLUGIN), core).await?;
        if let Some(found) = plugin.as_ref().and_then(|plugin| of_plugin(plugin, period)) {
            return Self::of(found, period, None);
        }
        if period == Period::Daily {
            return Self::of(&core.unwrap_or_default(), period, Some(Period::Daily.format()));
        }
        let message =
            "the plugin Periodic Notes is not set up for such notes in this vault: turn them on in its settings";
        Err(Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", PLUGIN_NAME))
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
        Ok(Self { folder, format: format.to_owned(), template, date_format })
    }

    /// The path of the note of the period that has this day.
    pub(super) fn path(&self, at: DateTime) -> Result<VaultPath, Error> {
        let name = date_format::write(&self.format, at);
        let path = format!("{}{}.md", self.folder, name.strip_suffix(".md").unwrap_or(&name));
        writable::path("format", &path)
            .map_err(|error| unusable(&format!("what it names cannot be a note: {}", error.message)))
    }

    /// The common prefix of the paths of all notes of the period.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// The first day of the period of the note at `path`, if it is one of them.
    pub(super) fn first_day(&self, path: &str) -> Option<Date> {
        let name = path.strip_prefix(&self.folder)?.strip_suffix(".md")?;
        date_format::read(self.format.strip_suffix(".md").unwrap_or(&self.format), name)
    }

    /// The template, if there is one.
    pub(super) fn template(&self) -> Option<VaultPath> {
        let name = self.template.strip_suffix(".md").unwrap_or(&self.template);
        (!name.is_empty()).then(|| VaultPath::parse(&format!("{name}.md")).ok())?
    }

    /// A template, filled in: `{{date}}`, `{{time}}`, `{{title}}`, `{{yesterday}}`, `{{tomorrow}}`, and the first two
    /// with a format. Everything else stays unchanged.
    pub(super) fn filled(&self, template: &str, path: &VaultPath, at: DateTime) -> String {
        template::fill(template, |name, format| self.value(name, format, path, at))
    }

    /// The value of `{{name}}` or `{{name:format}}`.
    fn value(&self, name: &str, format: Option<&str>, path: &VaultPath, at: DateTime) -> Option<String> {
        let beside =
            |days: Span| at.checked_add(days).map_or_else(|_| String::new(), |at| date_format::write(&self.format, at));
        Some(match (name.to_ascii_lowercase().as_str(), format) {
            ("date" | "time", Some(format)) if format.len() <= date_format::MAX_FORMAT_BYTES => {
                date_format::write(format, at)
            }
            ("date", None) => match self.date_format {
                Some(format) => date_format::write(format, at),
                None => path.stem().to_owned(),
            },
            ("time", None) => date_format::write("HH:mm", at),
            ("title", None) => path.stem().to_owned(),
            ("yesterday", None) => beside(-1.day()),
            ("tomorrow", None) => beside(1.day()),
            _ => return None,
        })
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
