//! Tasks: list items with a check box, with the fields of the Tasks plugin or of Dataview.

pub mod list_tasks;
pub mod tasks_filter;
pub mod update_task;

use atlas_ops::error::Error;
use atlas_ops::read::view::View;
use atlas_segment::facts::Task;
use atlas_vault::task::{Priority, Settings, Status, TaskFields};
use schemars::JsonSchema;
use serde::Serialize;

use crate::plugins::Documents;

const PLUGIN: &str = "obsidian-tasks-plugin";

/// The settings of the plugin Tasks; those of a vault without it if there are none, or if the plugin is turned off.
async fn settings(view: &View) -> Result<Settings, Error> {
    let mut documents = Documents::fetch(view, &[PLUGIN], &[]).await?;
    Ok(documents.plugin(PLUGIN)?.as_ref().map(Settings::read).unwrap_or_default())
}

/// A task.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedTask {
    /// The path of its note.
    pub(crate) path: String,
    /// The number of its line, counted from 1.
    pub(crate) line: u32,
    #[serde(flatten)]
    pub(crate) state: TaskState,
}

impl ListedTask {
    /// The task of the note at `path`.
    pub(crate) fn of(path: String, task: &Task, status: Status, fields: TaskFields<'_>) -> Self {
        Self { path, line: task.line.saturating_add(1), state: TaskState::of(status, fields) }
    }
}

/// The fields of a task. Dates are as written, `YYYY-MM-DD`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TaskState {
    /// Its status.
    pub(crate) status: Status,
    /// Its description, with its tags.
    pub(crate) description: String,
    /// The day on which it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<String>,
    /// The day on which it is scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scheduled: Option<String>,
    /// The day on which it can start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<String>,
    /// The day on which it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<String>,
    /// The day on which it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) done: Option<String>,
    /// The day on which it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled: Option<String>,
    /// How important it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<Priority>,
    /// Its recurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recur: Option<String>,
    /// Its tags, without `#`.
    pub(crate) tags: Vec<String>,
}

impl TaskState {
    pub(crate) fn of(status: Status, fields: TaskFields<'_>) -> Self {
        let owned = |value: Option<&str>| value.map(str::to_owned);
        Self {
            status,
            due: owned(fields.due),
            scheduled: owned(fields.scheduled),
            start: owned(fields.start),
            created: owned(fields.created),
            done: owned(fields.done),
            cancelled: owned(fields.cancelled),
            priority: fields.priority,
            recur: owned(fields.recurrence),
            tags: fields.tags.into_iter().map(str::to_owned).collect(),
            description: fields.description.into_owned(),
        }
    }
}
