//! `create_periodic_note`: creates the note of a period.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Text, Zone};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Period, PeriodicDay, PeriodicNote};

/// Makes the daily, weekly, monthly, quarterly or yearly note of a day, where the vault's own settings say and from the template that they name, with {{date}}.
pub struct CreatePeriodicNote;

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
    /// The path of a template to use instead of the settings' one; that one if not given.
    #[serde(default)]
    template_override: Given<String>,
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
    /// When it was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
    /// The template used; null if there is none.
    template_used: Option<String>,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Operation for CreatePeriodicNote {
    const INFO: Info = Info {
        name: "create_periodic_note",
        title: "Create a periodic note",
        description: "Creates the daily, weekly, monthly, quarterly or yearly note of a day, at the path and from the template in the vault's own settings, with {{date}}, {{time}} and {{title}} filled in; placeholders of other plugins stay unchanged. Fails if the note exists. To get it in any case take find_or_create_periodic_note. Example: {\"period\": \"daily\"}",
        // The call reads a template.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["periodic", "notes"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let template = super::template(arguments.template_override.as_deref())?;
        Ok(template.into_iter().map(|path| (Access::Read, path)).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let which = PeriodicDay::of(context, arguments.period, arguments.date.as_ref(), arguments.timezone.as_ref())?;
        let template = super::template(arguments.template_override.as_deref())?;
        let find = |view: View| {
            let (which, template) = (&which, template.as_ref());
            async move { PeriodicNote::find(context, &view, which, template).await }
        };
        let place = context.read(find).await?.value;
        super::check(context, Access::Write, &place.path)?;
        let create = |there: Option<&str>| match there {
            Some(_) => {
                let message = format!("there is a note at {} already", place.path);
                Err(Error::new(Code::Conflict, Reason::NoteExists, message).with("path", place.path.as_str()))
            }
            None => Ok((place.new_text()?.to_owned(), ())),
        };
        let made = editing::edit_or_create(context, &Self::INFO, &place.path, create).await?;
        let value = Output {
            period: which.period,
            date: which.date,
            path: place.path.as_str().to_owned(),
            created_at: made.value.updated_at,
            template_used: place.template,
            content_hash: made.value.content_hash.to_string(),
        };
        Ok(Answer { value, generation: made.generation })
    }
}
