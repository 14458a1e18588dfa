//! The plugins of the vault's Obsidian: which are turned on, their settings, and the language of dates that they and the
//! deployment's configuration say.

use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::settings::document;
use atlas_ops::read::view::View;
use atlas_vault::date_format::Locale;
use futures::future::{try_join, try_join3};
use jiff::civil::Weekday;
use serde_json::Value;

/// The list of plugins that are turned on.
const ENABLED: &str = ".obsidian/community-plugins.json";
const APP: &str = ".obsidian/app.json";

/// The settings of a plugin; [`None`] if it has none or is turned off.
pub(crate) async fn settings(view: &View, plugin: &str) -> Result<Option<Value>, Error> {
    let path = format!(".obsidian/plugins/{plugin}/data.json");
    let (enabled, settings) = try_join(document(view, ENABLED), document(view, &path)).await?;
    Ok(settings.filter(|_| is_enabled(enabled.as_ref(), plugin)))
}

/// Whether the list names the plugin. Mirrors of before have no list: there a plugin with settings counts.
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
    /// The language that the configuration says, or else a plugin; the first day of weeks that a plugin says.
    pub(crate) async fn read(context: &Context<'_>, view: &View) -> Result<Self, Error> {
        let configured = context.locale()?;
        // Of Periodic Notes, these settings are in Obsidian's own file.
        let (calendar, periodic, app) =
            try_join3(settings(view, "calendar"), settings(view, "periodic-notes"), document(view, APP)).await?;
        Ok(Self::of(configured, [calendar, app.filter(|_| periodic.is_some())]))
    }

    fn of(configured: Option<Locale>, plugins: [Option<Value>; 2]) -> Self {
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
    use serde_json::json;

    #[test]
    fn a_plugin_counts_unless_the_list_leaves_it_out() {
        let list = json!(["calendar", "quickadd"]);
        assert!(is_enabled(Some(&list), "quickadd") && !is_enabled(Some(&list), "periodic-notes"));
        assert!(is_enabled(None, "quickadd") && is_enabled(Some(&json!({})), "quickadd"));
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
            assert_eq!(Dates::of(configured, plugins), Dates { locale, is_said });
        }
    }
}
