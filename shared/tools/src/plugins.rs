//! The plugins of the vault's Obsidian: which are turned on, their settings, and the language of dates that they and the
//! deployment's configuration say.

use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::settings;
use atlas_ops::read::view::View;
use atlas_vault::date_format::Locale;
use jiff::civil::Weekday;
use serde_json::Value;

/// The list of plugins that are turned on.
const ENABLED: &str = ".obsidian/community-plugins.json";
const APP: &str = ".obsidian/app.json";
/// Plugins that say the language of dates.
const CALENDAR: &str = "calendar";
pub(crate) const PERIODIC: &str = "periodic-notes";

/// Files of settings that an operation needs, fetched together. One that cannot be read fails only who asks for it.
pub(crate) struct Documents {
    /// The files, by their paths.
    files: Vec<(String, Result<Option<Value>, Error>)>,
}

impl Documents {
    /// Fetches the settings of `plugins`, and other `files`.
    pub(crate) async fn fetch(view: &View, plugins: &[&str], files: &[&str]) -> Result<Self, Error> {
        let plugins = plugins.iter().map(|plugin| of_plugin(plugin));
        let paths: Vec<String> = plugins.chain(files.iter().map(|path| (*path).to_owned())).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).chain([ENABLED]).collect();
        let found = settings::documents(view, &paths).await?;
        Ok(Self { files: paths.into_iter().map(str::to_owned).zip(found).collect() })
    }

    /// As [`fetch`](Self::fetch), with what says the language of dates.
    pub(crate) async fn with_dates(view: &View, plugin: &str, files: &[&str]) -> Result<Self, Error> {
        let mut plugins = vec![CALENDAR, PERIODIC];
        if !plugins.contains(&plugin) {
            plugins.push(plugin);
        }
        Self::fetch(view, &plugins, &[files, &[APP]].concat()).await
    }

    /// The document at a path, once; [`None`] if there is none.
    pub(crate) fn file(&mut self, path: &str) -> Result<Option<Value>, Error> {
        let found = self.files.iter_mut().find(|(other, _)| other == path);
        found.map_or(Ok(None), |(_, found)| std::mem::replace(found, Ok(None)))
    }

    /// The settings of a plugin, once; [`None`] if it has none or is turned off.
    pub(crate) fn plugin(&mut self, plugin: &str) -> Result<Option<Value>, Error> {
        if is_enabled(self.readable(ENABLED), plugin) { self.file(&of_plugin(plugin)) } else { Ok(None) }
    }

    /// The document at a path; [`None`] if there is none that can be read.
    fn readable(&self, path: &str) -> Option<&Value> {
        let found = self.files.iter().find(|(other, _)| other == path);
        found.and_then(|(_, found)| found.as_ref().ok()).and_then(Option::as_ref)
    }

    /// The language that the configuration says, or else a plugin; the first day of weeks that a plugin says.
    pub(crate) fn dates(&self, context: &Context<'_>) -> Result<Dates, Error> {
        let of =
            |plugin: &str| self.readable(&of_plugin(plugin)).filter(|_| is_enabled(self.readable(ENABLED), plugin));
        // Of Periodic Notes, these settings are in Obsidian's own file.
        let app = self.readable(APP).filter(|_| of(PERIODIC).is_some());
        Ok(Dates::of(context.locale()?, [of(CALENDAR), app]))
    }
}

/// The path of a plugin's settings.
fn of_plugin(plugin: &str) -> String {
    format!(".obsidian/plugins/{plugin}/data.json")
}

/// Whether the list names the plugin. Where there is no list, or none that can be read, a plugin with settings counts.
fn is_enabled(list: Option<&Value>, plugin: &str) -> bool {
    list.and_then(Value::as_array).is_none_or(|list| list.iter().any(|one| one == plugin))
}

/// The language of dates in the vault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dates {
    pub locale: Locale,
    /// Whether somebody said it; else it is English.
    pub is_said: bool,
}

impl Dates {
    fn of(configured: Option<Locale>, plugins: [Option<&Value>; 2]) -> Self {
        let said = |name: &'static str| {
            plugins.iter().flatten().filter_map(move |settings| settings.get(name).and_then(Value::as_str))
        };
        let named = configured.or_else(|| said("localeOverride").find_map(Locale::named));
        let locale = named.unwrap_or_default();
        let first_day = said("weekStart").find_map(weekday);
        Self { locale: first_day.map_or(locale, |day| locale.with_first_day(day)), is_said: named.is_some() }
    }
}

/// A day of the week by its English name.
pub(crate) fn weekday(name: &str) -> Option<Weekday> {
    Some(match name.to_ascii_lowercase().as_str() {
        "sunday" => Weekday::Sunday,
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlas_ops::error::Reason;
    use serde_json::json;

    #[test]
    fn a_plugin_counts_unless_the_list_leaves_it_out() {
        let list = json!(["calendar", "quickadd"]);
        assert!(is_enabled(Some(&list), "quickadd") && !is_enabled(Some(&list), "periodic-notes"));
        assert!(is_enabled(None, "quickadd") && is_enabled(Some(&json!({})), "quickadd"));
    }

    #[test]
    fn a_document_that_cannot_be_read_fails_who_asks_for_it_alone() {
        let unread = || Err(Error::bad_request(Reason::SettingsInvalid, "no JSON"));
        let files =
            [(ENABLED, unread()), (APP, Ok(Some(json!(1)))), (".obsidian/plugins/quickadd/data.json", unread())];
        let mut documents = Documents { files: files.map(|(path, found)| (path.to_owned(), found)).into() };
        assert_eq!(documents.file(APP).unwrap(), Some(json!(1)));
        assert_eq!(documents.plugin(CALENDAR).unwrap(), None);
        assert!(documents.plugin("quickadd").is_err(), "a list that cannot be read turns nothing off");
    }

    #[test]
    fn the_language_is_the_configured_one_or_else_a_plugins() {
        let of = |name| Locale::named(name).unwrap();
        let plugin = || Some(json!({ "localeOverride": "fr", "weekStart": "sunday" }));
        let system = || Some(json!({ "localeOverride": "system-default", "weekStart": "locale" }));
        for (configured, plugins, locale, is_said) in [
            (None, [None, None], of("en"), false),
            (None, [system(), None], of("en"), false),
            (Some(of("de")), [None, system()], of("de"), true),
            (Some(of("de")), [plugin(), None], of("de").with_first_day(Weekday::Sunday), true),
            (None, [system(), plugin()], of("fr").with_first_day(Weekday::Sunday), true),
        ] {
            assert_eq!(Dates::of(configured, plugins.each_ref().map(Option::as_ref)), Dates { locale, is_said });
        }
    }
}
