//! Templates: those of Obsidian's core plugin, and of Templater as far as they run no program.

pub mod execute_template;
pub mod list_templates;

use atlas_ops::arguments::invalid_input;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use atlas_vault::date_format::{Locale, MAX_FORMAT_BYTES};
use atlas_vault::template::templater;
use jiff::civil::DateTime;
use serde_json::{Map, Value};

use crate::plugins::Documents;

const CORE: &str = ".obsidian/templates.json";
const TEMPLATER: &str = "templater-obsidian";

/// The vault's settings of templates.
struct Settings {
    /// The folders of templates, each with a slash at its end.
    folders: Vec<String>,
    date_format: String,
    time_format: String,
    /// The language of dates.
    locale: Locale,
}

impl Settings {
    async fn read(context: &Context<'_>, view: &View) -> Result<Self, Error> {
        let mut documents = Documents::with_dates(view, TEMPLATER, &[CORE]).await?;
        let dates = documents.dates(context)?;
        let (core, templater) = (documents.file(CORE)?, documents.plugin(TEMPLATER)?);
        let (core, templater) = (core.unwrap_or_default(), templater.unwrap_or_default());
        let text = |settings: &Value, name: &str| {
            let text = settings.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        let folders = [text(&core, "folder"), text(&templater, "templates_folder")];
        let mut folders: Vec<String> =
            folders.into_iter().flatten().map(|folder| format!("{}/", folder.trim_matches('/'))).collect();
        folders.dedup();
        let format = |name: &str, usual: &str| {
            text(&core, name).filter(|format| format.len() <= MAX_FORMAT_BYTES).unwrap_or_else(|| usual.to_owned())
        };
        Ok(Self {
            folders,
            date_format: format("dateFormat", "YYYY-MM-DD"),
            time_format: format("timeFormat", "HH:mm"),
            locale: dates.locale,
        })
    }

    /// The core plugin's value of `{{name}}` or `{{name:format}}`, in a note with this title.
    fn value(&self, name: &str, format: Option<&str>, title: &str, now: DateTime) -> Option<String> {
        let format = format.filter(|format| format.len() <= MAX_FORMAT_BYTES);
        match name.to_ascii_lowercase().as_str() {
            "date" => Some(self.locale.write(format.unwrap_or(&self.date_format), now)),
            "time" => Some(self.locale.write(format.unwrap_or(&self.time_format), now)),
            "title" => Some(title.to_owned()),
            _ => None,
        }
    }
}

/// The names of placeholders that the core plugin fills in.
const CORE_NAMES: [&str; 3] = ["date", "time", "title"];

/// The error if no folder of templates is set.
fn not_set_up() -> Error {
    let message =
        "the vault has no folder of templates: a person sets it in Obsidian, in the settings of Templates or Templater";
    Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", "templater")
}

/// Most values of `args`.
const MAX_ARGUMENTS: usize = 200;

/// Fails unless `args` has few values, each a text, a number or a boolean.
pub(crate) fn check(args: &Map<String, Value>) -> Result<(), Error> {
    if args.len() > MAX_ARGUMENTS {
        return Err(invalid_input("args", &format!("give at most {MAX_ARGUMENTS}")));
    }
    match args.iter().find(|(_, value)| value.is_object() || value.is_array() || value.is_null()) {
        Some((name, _)) => Err(invalid_input("args", &format!("{name} is a string, a number or a boolean"))),
        None => Ok(()),
    }
}

/// The error for a template with commands that are not evaluated.
pub(crate) fn refused(template: &VaultPath, error: &templater::TemplaterError) -> Error {
    match error {
        templater::TemplaterError::NeedsApp { .. } => {
            let message = format!("{template}, {error}, which is not reachable from here: write the note with write_note, or let the person use the template");
            Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", "templater")
        }
        templater::TemplaterError::Wrong { .. } => {
            Error::bad_request(Reason::TemplateUnusable, format!("{template}, {error}"))
        }
    }
    .with("path", template.as_str())
}
