//! `update_task`: changes one task of a note in place.

use atlas_access::Access;
use atlas_ops::arguments::{Bounded, Given, Text, Versions, WritePath, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::VaultPath;
use atlas_vault::edit::change_task;
use atlas_vault::task::{Change, Field, Priority, Status, fields};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TaskState, settings};

/// A task that was done at most this many days ago is reopened without a confirmation.
const DAYS_TO_REOPEN: i32 = 7;
/// Most tags to add or remove.
const MAX_TAGS: usize = 50;

/// Changes one task in place.
pub struct UpdateTask;

/// The task, and its changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The task's line, counted from 1.
    #[schemars(with = "Bounded<1, { u32::MAX }>")]
    line: Bounded<1, { u32::MAX }>,
    /// The changes; other fields stay.
    #[serde(default)]
    set: Set,
    /// The version in which the task is on that line. If the note changed since, another task may be.
    #[serde(default)]
    if_match: Given<Versions>,
}

/// Changes of a task. Null removes a date, priority or rule.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Set {
    /// Its status. Dates are separate fields: set `done` too.
    status: Given<Status>,
    /// Its description, with its tags.
    description: Given<Text<4096>>,
    /// The day on which it is due, `YYYY-MM-DD`.
    due: Given<Option<Text<10>>>,
    /// The day on which it is scheduled.
    scheduled: Given<Option<Text<10>>>,
    /// The day on which it can start.
    start: Given<Option<Text<10>>>,
    /// The day on which it was done.
    done: Given<Option<Text<10>>>,
    /// Its priority.
    priority: Given<Option<Priority>>,
    /// Its recurrence, such as `every week`.
    recur: Given<Option<Text<200>>>,
    /// Tags to add at the end of the description.
    #[schemars(length(max = 50))]
    add_tags: Vec<Text<500>>,
    /// Tags to remove.
    #[schemars(length(max = 50))]
    remove_tags: Vec<Text<500>>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// The task's line, counted from 1.
    line: usize,
    /// When the note was last changed: now, unless nothing changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// The task before.
    prev_state: TaskState,
    /// The task after.
    new_state: TaskState,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Set {
    /// The change of the task's text.
    fn change(&self) -> Result<Change, Error> {
        let mut fields = Vec::new();
        for (field, name, date) in [
            (Field::Start, "start", &self.start),
            (Field::Scheduled, "scheduled", &self.scheduled),
            (Field::Due, "due", &self.due),
            (Field::Done, "done", &self.done),
        ] {
            let Some(date) = &**date else { continue };
            let date = date.as_ref().map(|date| date.as_str().to_owned());
            if date.as_ref().is_some_and(|date| !field.accepts(date) || date.parse::<Date>().is_err()) {
                return Err(invalid_input(&format!("set.{name}"), "write a day as YYYY-MM-DD"));
            }
            fields.push((field, date));
        }
        if let Some(priority) = *self.priority {
            fields.push((Field::Priority, priority.map(|priority| priority.as_str().to_owned())));
        }
        if let Some(rule) = &*self.recur {
            fields.push((Field::Recurrence, rule.as_ref().map(|rule| rule.as_str().to_owned())));
        }
        let tags = |tags: &[Text<500>], name: &str| {
            if tags.len() > MAX_TAGS {
                return Err(invalid_input(name, &format!("write at most {MAX_TAGS}")));
            }
            Ok(tags.iter().map(|tag| tag.as_str().to_owned()).collect())
        };
        Ok(Change {
            description: self.description.as_ref().map(|text| text.as_str().to_owned()),
            fields,
            add_tags: tags(&self.add_tags, "set.add_tags")?,
            remove_tags: tags(&self.remove_tags, "set.remove_tags")?,
        })
    }
}

impl Operation for UpdateTask {
    const INFO: Info = Info {
        name: "update_task",
        title: "Change a task",
        description: "Changes one task in place: its status, description, dates, priority, rule of recurrence or tags, in its own format (the Tasks plugin's emoji, or Dataview's brackets). Nothing else changes: no date is set and no next task is created automatically. Lines count from 1. To reopen a task that was done more than 7 days ago, a person has to confirm it. Find the lines with list_tasks. Example: {\"path\": \"Projects/Atlas.md\", \"line\": 12, \"set\": {\"status\": \"done\"}}",
        // The result contains the task before.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["tasks", "notes"],
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let line = arguments.line.get();
        let change = arguments.set.change()?;
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let today = context.zone(None)?.to_datetime(context.now).date();
        let settings = context.read(async |view: View| settings(&view).await).await?.value;
        let changed = |text: Option<&str>| {
            let text = text.ok_or_else(|| notes::missing(path.as_str()))?;
            let number = u32::try_from(line).unwrap_or(u32::MAX);
            let changed = change_task(text, number, *arguments.set.status, &change, &settings)
                .map_err(|problem| editing::refused(field_of(&problem), &problem))?;
            let states = [&changed.before, &changed.after]
                .map(|(mark, text)| TaskState::of(settings.status(*mark), fields(text)));
            Ok((changed.text, states))
        };
        let reopens = |states: &[TaskState; 2]| reopens(states, today);
        let Answer { value: edited, generation } =
            editing::changed(context, &Self::INFO, &path, &condition, changed, reopens).await?;
        let [prev_state, new_state] = edited.told;
        let value = Output {
            path: path.as_str().to_owned(),
            line,
            updated_at: edited.updated_at,
            prev_state,
            new_state,
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}

/// The invalid argument.
fn field_of(problem: &atlas_vault::edit::Problem) -> &'static str {
    if let atlas_vault::edit::Problem::NoTask { .. } = problem { "line" } else { "set" }
}

/// Whether a task that was done long ago is reopened, or loses its date of completion.
fn reopens([before, after]: &[TaskState; 2], today: Date) -> bool {
    let done = before.done.as_ref().and_then(|date| date.parse::<Date>().ok());
    let long_ago = today.checked_sub(DAYS_TO_REOPEN.days()).unwrap_or(Date::MIN);
    let is_other = after.status != Status::Done || before.done != after.done;
    before.status == Status::Done && is_other && done.is_some_and(|done| done < long_ago)
}
