//! `append_to_periodic_note`: adds text to the note of a period, which is created if missing.

use atlas_access::Access;
use atlas_ops::arguments::{self, Exact, Given, Text, Zone, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_ops::write::writable::MAX_NOTE_BYTES;
use atlas_vault::edit::{Edit, EditError, Problem, apply, fit};
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Period, PeriodicDay, PeriodicNote};
use crate::notes::anchor::{called, heading_called};

/// Adds text at the end of the daily, weekly, monthly, quarterly or yearly note of a day, or of one of its sections,
/// and creates the note first if it is missing.
pub struct AppendToPeriodicNote;

/// The text, and the note.
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
    /// The text.
    content: Exact<1_000_000>,
    /// Put the text on lines of its own; true if not given, and always true under a heading.
    #[serde(default = "arguments::yes")]
    ensure_newline: bool,
    /// The heading under which to add it, at the end of its section; a missing one is created at the end of the note. Without a section if not given.
    #[serde(default)]
    heading: Given<Text<500>>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The period of the note.
    period: Period,
    /// The requested day.
    #[schemars(with = "String", extend("format" = "date"))]
    date: Date,
    /// Its path.
    path: String,
    /// When it was last changed: now.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// The number of added bytes, including line breaks and a created heading; without a template's text.
    appended_bytes: usize,
    /// Whether the note was created.
    created: bool,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Operation for AppendToPeriodicNote {
    const INFO: Info = Info {
        name: "append_to_periodic_note",
        title: "Append to a periodic note",
        description: "Adds text to today's daily note, or to the daily, weekly, monthly, quarterly or yearly note of a day: at its end, or at the end of the section of a heading. A missing note or heading is created. Example: {\"period\": \"daily\", \"heading\": \"Tasks\", \"content\": \"- [ ] Call Ada\"}",
        // The result reveals whether the heading exists.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["periodic", "notes"],
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
        let append = |there: Option<&str>| {
            let before = there.map_or_else(|| place.new_text(), Ok)?;
            let after = appended(before, &arguments)?;
            let bytes = after.len().saturating_sub(before.len());
            Ok((after, bytes))
        };
        let made = editing::edit_or_create(context, &Self::INFO, &place.path, append).await?;
        let value = Output {
            period: which.period,
            date: which.date,
            path: place.path.as_str().to_owned(),
            updated_at: made.value.updated_at,
            appended_bytes: made.value.told,
            created: made.value.created,
            content_hash: made.value.content_hash.to_string(),
        };
        Ok(Answer { value, generation: made.generation })
    }
}

fn appended(text: &str, arguments: &Arguments) -> Result<String, Error> {
    let content = arguments.content.as_str();
    let Some(heading) = &*arguments.heading else {
        if !arguments.ensure_newline {
            return Ok(format!("{text}{}", fit(text, content)));
        }
        return editing::apply(text, &[Edit::Append { text: ended(content) }], "content");
    };
    let name = called(text, heading.as_str());
    let target = heading_called(text, heading.as_str());
    match apply(text, &[Edit::AppendToSection { target, text: ended(content) }], MAX_NOTE_BYTES) {
        Ok(after) => Ok(after),
        Err(EditError::Refused { problem, .. }) if matches!(*problem, Problem::HeadingMissing { .. }) => {
            if name.is_empty() || name.contains(['\n', '\r']) {
                return Err(invalid_input("heading", "write the text of a heading, in one line"));
            }
            let signs = heading.as_str().trim().chars().take_while(|sign| *sign == '#').count();
            let signs = if signs == 0 { 2 } else { signs.min(6) };
            let written = format!("{} {name}", "#".repeat(signs));
            let space = if text.trim().is_empty() { "" } else { "\n" };
            editing::apply(text, &[Edit::Append { text: format!("{space}{written}\n\n{}", ended(content)) }], "content")
        }
        Err(error) => Err(editing::unedited("heading", &error)),
    }
}

/// The text, ending with a line break.
fn ended(content: &str) -> String {
    if content.ends_with('\n') { content.to_owned() } else { format!("{content}\n") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_added_has_the_line_breaks_of_the_note() {
        let given = json!({ "period": "daily", "content": "two\nthree", "ensure_newline": false });
        let arguments: Arguments = serde_json::from_value(given).unwrap();
        assert_eq!(appended("one\r\n", &arguments).unwrap(), "one\r\ntwo\r\nthree");
    }
}
