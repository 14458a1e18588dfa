//! `get_periodic_note`: the note of a period, if it exists.

use atlas_access::Access;
use atlas_ops::arguments::{self, Given, Text, Zone};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::periodic::settings::Settings;
use crate::periodic::{Period, PeriodicDay, Shown};

/// Returns the path of the daily, weekly, monthly, quarterly or yearly note of a day, whether it exists, and its text.
pub struct GetPeriodicNote;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The period of the note.
    period: Period,
    /// A day of it, `YYYY-MM-DD`; today if not given.
    #[serde(default)]
    date: Given<Text<10>>,
    /// The time zone of today; the server's if not given.
    #[serde(default)]
    timezone: Given<Zone>,
    /// Also return its text and properties; true if not given.
    #[serde(default = "arguments::yes")]
    include_content: bool,
}

/// The note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The period of the note.
    period: Period,
    /// The requested day.
    #[schemars(with = "String", extend("format" = "date"))]
    date: Date,
    /// Its path, even if it does not exist.
    path: String,
    /// Whether it exists.
    exists: bool,
    #[serde(flatten)]
    shown: Shown,
}

impl Operation for GetPeriodicNote {
    const INFO: Info = Info {
        name: "get_periodic_note",
        title: "Get a periodic note",
        description: "Returns the path of the daily, weekly, monthly, quarterly or yearly note of a day, whether it exists, and its text. The path is that of the vault's own settings: Obsidian's for daily notes, and those of the plugin Periodic Notes. Creates nothing. Take it for today's note. Example: {\"period\": \"daily\"}",
        scopes: &[Scope::ReadVault],
        tags: &["periodic", "notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { period, date, timezone, include_content } = arguments;
        let which = PeriodicDay::of(context, period, date.as_ref(), timezone.as_ref())?;
        let find = |view: View| {
            let which = &which;
            async move {
                let mut settings = Settings::read(context, &view, which.period).await?;
                let path = settings.place(context, &view, which.at).await?.path;
                super::check(context, Access::Read, &path)?;
                let found = notes::find(view.snapshot(), path.as_str(), |_| include_content).await?;
                Ok((path, found))
            }
        };
        let Answer { value: (path, found), generation } = context.read(find).await?;
        let shown = found.as_ref().filter(|_| include_content);
        let shown = shown.map(|found| Shown::of(context, &String::from_utf8_lossy(&found.text)));
        let value = Output {
            period,
            date: which.date,
            path: path.as_str().to_owned(),
            exists: found.is_some(),
            shown: shown.unwrap_or_default(),
        };
        Ok(Answer { value, generation })
    }
}
