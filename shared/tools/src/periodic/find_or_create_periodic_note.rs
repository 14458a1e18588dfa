//! `find_or_create_periodic_note`: the note of a period, which is created if missing.

use atlas_access::Access;
use atlas_ops::arguments::{self, Given, Text, Zone};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Period, PeriodicDay, PeriodicNote, Shown};

/// Returns the daily, weekly, monthly, quarterly or yearly note of a day, and creates it first if it is missing.
pub struct FindOrCreatePeriodicNote;

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
    /// Its path.
    path: String,
    /// Whether it was created now.
    created: bool,
    #[serde(flatten)]
    shown: Shown,
}

impl Operation for FindOrCreatePeriodicNote {
    const INFO: Info = Info {
        name: "find_or_create_periodic_note",
        title: "Find or create a periodic note",
        description: "Returns the daily, weekly, monthly, quarterly or yearly note of a day, and creates it first if it is missing: at the path and from the template in the vault's own settings. To add to it take append_to_periodic_note. Example: {\"period\": \"daily\"}",
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["periodic", "notes"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let which = PeriodicDay::of(context, arguments.period, arguments.date.as_ref(), arguments.timezone.as_ref())?;
        let find = |view: View| {
            let which = &which;
            async move { PeriodicNote::find(context, &view, which, None).await }
        };
        let place = context.read(find).await?.value;
        super::check(context, Access::Write, &place.path)?;
        let find = |there: Option<&str>| {
            let text = there.map_or_else(|| place.new_text(), Ok)?.to_owned();
            Ok((text.clone(), text))
        };
        let made = editing::edit_or_create(context, &Self::INFO, &place.path, find).await?;
        let shown = arguments.include_content.then(|| Shown::of(context, &made.value.told));
        let value = Output {
            period: which.period,
            date: which.date,
            path: place.path.as_str().to_owned(),
            created: made.value.created,
            shown: shown.unwrap_or_default(),
        };
        Ok(Answer { value, generation: made.generation })
    }
}
