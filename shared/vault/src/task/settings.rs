//! The settings of the Tasks plugin: which items are tasks, in which format their fields are, and what the marks
//! between their brackets mean.

use std::borrow::Cow;

use serde_json::Value;

use super::fields::{TaskFields, fields_in};
use super::symbols::{Format, Status};

/// Most statuses that are read.
const MAX_STATUSES: usize = 1000;

/// Settings of the plugin. The default is a vault without the plugin: each item with a check box is a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Text that a task has; empty if any item with a check box is one.
    global_filter: String,
    /// [`None`] if both are read.
    format: Option<Format>,
    /// The statuses by their marks, of which the first counts; [`None`] for those that are usual.
    statuses: Option<Vec<(char, StatusType, String)>>,
}

/// A status type. The order is the sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum StatusType {
    InProgress,
    Todo,
    OnHold,
    Done,
    Cancelled,
    NonTask,
    Empty,
}

impl StatusType {
    const ALL: [Self; 7] =
        [Self::InProgress, Self::Todo, Self::OnHold, Self::Done, Self::Cancelled, Self::NonTask, Self::Empty];

    /// Its name in settings and queries.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "IN_PROGRESS",
            Self::Todo => "TODO",
            Self::OnHold => "ON_HOLD",
            Self::Done => "DONE",
            Self::Cancelled => "CANCELLED",
            Self::NonTask => "NON_TASK",
            Self::Empty => "EMPTY",
        }
    }

    /// The type of this name, in any case.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(name))
    }

    /// Whether a query takes such tasks as done.
    pub(super) const fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::NonTask)
    }
}

/// A status as the plugin knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedStatus<'a> {
    /// Its type.
    pub kind: StatusType,
    /// Its name.
    pub name: &'a str,
}

impl Settings {
    /// The plugin's settings as it keeps them.
    #[must_use]
    pub fn read(settings: &Value) -> Self {
        let text = |name: &str| settings.get(name).and_then(Value::as_str).unwrap_or_default();
        let format = if text("taskFormat") == "dataview" { Format::Dataview } else { Format::Emoji };
        let statuses = settings.get("statusSettings").map(|statuses| {
            let usual = |marks: [char; 2]| marks.map(|mark| (mark, usual(mark))).map(owned).to_vec();
            let set = |name: &str, marks| {
                let given = statuses.get(name).and_then(Value::as_array);
                given.map_or_else(|| usual(marks), |given| given.iter().filter_map(status).collect())
            };
            let mut all = set("coreStatuses", [' ', 'x']);
            all.extend(set("customStatuses", ['/', '-']));
            all.truncate(MAX_STATUSES);
            all
        });
        Self { global_filter: text("globalFilter").to_owned(), format: Some(format), statuses }
    }

    /// Whether an item with a check box and this text is a task.
    #[must_use]
    pub fn is_task(&self, text: &str) -> bool {
        text.contains(&self.global_filter)
    }

    /// The fields of a task, in the plugin's format.
    #[must_use]
    pub fn fields<'a>(&self, text: &'a str) -> TaskFields<'a> {
        fields_in(text, self.format)
    }

    /// The same as queries see them: without the text that each task has.
    #[must_use]
    pub fn queried<'a>(&self, text: &'a str) -> TaskFields<'a> {
        let mut fields = self.fields(text);
        if !self.global_filter.is_empty() {
            fields.tags.retain(|tag| self.global_filter.strip_prefix('#') != Some(tag));
            if fields.description.contains(&self.global_filter) {
                let without = fields.description.replacen(&self.global_filter, "", 1);
                fields.description = Cow::Owned(without.trim().to_owned());
            }
        }
        fields
    }

    /// The format of new fields, if the settings have one.
    #[must_use]
    pub const fn format(&self) -> Option<Format> {
        self.format
    }

    /// The status of a task with this mark between its brackets.
    #[must_use]
    pub fn named(&self, mark: char) -> NamedStatus<'_> {
        let Some(statuses) = &self.statuses else { return usual(mark) };
        let known = statuses.iter().find(|(known, ..)| *known == mark);
        known.map_or(UNKNOWN, |(_, kind, name)| NamedStatus { kind: *kind, name })
    }

    /// The same, as one of few.
    #[must_use]
    pub fn status(&self, mark: char) -> Status {
        if self.statuses.is_none() {
            return Status::of(mark);
        }
        match self.named(mark).kind {
            StatusType::Done | StatusType::NonTask => Status::Done,
            StatusType::Cancelled => Status::Cancelled,
            StatusType::InProgress => Status::InProgress,
            StatusType::Todo | StatusType::OnHold | StatusType::Empty if mark == Status::Scheduled.mark() => {
                Status::Scheduled
            }
            StatusType::Todo | StatusType::OnHold | StatusType::Empty => Status::Todo,
        }
    }

    /// The mark for a status: the usual one, unless it means another here; [`None`] if no mark means it.
    #[must_use]
    pub fn mark(&self, status: Status) -> Option<char> {
        let means = |mark: &char| self.status(*mark) == status && self.named(*mark).kind != StatusType::NonTask;
        let known = self.statuses.iter().flatten().map(|(mark, ..)| *mark);
        [status.mark()].into_iter().chain(known).find(means)
    }
}

const UNKNOWN: NamedStatus<'_> = NamedStatus { kind: StatusType::Todo, name: "Unknown" };

/// The status for a mark where the settings say nothing.
const fn usual(mark: char) -> NamedStatus<'static> {
    let (kind, name) = match Status::of(mark) {
        Status::Done => (StatusType::Done, "Done"),
        Status::Cancelled => (StatusType::Cancelled, "Cancelled"),
        Status::InProgress => (StatusType::InProgress, "In Progress"),
        Status::Scheduled => (StatusType::Todo, "Scheduled"),
        Status::Todo if mark == ' ' => (StatusType::Todo, "Todo"),
        Status::Todo => return UNKNOWN,
    };
    NamedStatus { kind, name }
}

fn owned((mark, NamedStatus { kind, name }): (char, NamedStatus<'_>)) -> (char, StatusType, String) {
    (mark, kind, name.to_owned())
}

/// A status of the settings, if its mark is one character.
fn status(given: &Value) -> Option<(char, StatusType, String)> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut symbol = text("symbol").chars();
    let (Some(mark), None) = (symbol.next(), symbol.next()) else { return None };
    let kind = StatusType::named(text("type")).unwrap_or(StatusType::Todo);
    Some((mark, kind, text("name").to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings() -> Settings {
        Settings::read(&json!({
            "globalFilter": "#task",
            "taskFormat": "dataview",
            "statusSettings": {
                "coreStatuses": [
                    { "symbol": " ", "name": "Open", "type": "TODO" },
                    { "symbol": "x", "name": "Done", "type": "DONE" },
                ],
                "customStatuses": [
                    { "symbol": "-", "name": "Question", "type": "NON_TASK" },
                    { "symbol": ">", "name": "Forwarded", "nextStatusSymbol": " ", "type": "DONE" },
                    { "symbol": ">", "name": "Again", "type": "TODO" },
                    { "symbol": "h", "name": "Waits", "type": "ON_HOLD" },
                    { "symbol": "c", "name": "Dropped", "type": "CANCELLED" },
                    { "symbol": "xx", "name": "No mark", "type": "DONE" },
                    { "symbol": "?" },
                ],
            },
        }))
    }

    #[test]
    fn marks_mean_what_the_settings_say() {
        let settings = settings();
        for (mark, kind, name, status) in [
            (' ', StatusType::Todo, "Open", Status::Todo),
            ('>', StatusType::Done, "Forwarded", Status::Done),
            ('h', StatusType::OnHold, "Waits", Status::Todo),
            ('-', StatusType::NonTask, "Question", Status::Done),
            ('/', StatusType::Todo, "Unknown", Status::Todo),
            ('?', StatusType::Todo, "", Status::Todo),
            ('<', StatusType::Todo, "Unknown", Status::Scheduled),
        ] {
            assert_eq!((settings.named(mark), settings.status(mark)), (NamedStatus { kind, name }, status), "{mark}");
        }
        let marks = [Status::Todo, Status::Done, Status::Cancelled, Status::InProgress, Status::Scheduled];
        let written = [Some(' '), Some('x'), Some('c'), None, Some('<')];
        assert_eq!(marks.map(|status| settings.mark(status)), written);
        for without in [Settings::default(), Settings::read(&json!({ "globalFilter": 1 }))] {
            assert_eq!(without.named('X'), NamedStatus { kind: StatusType::Done, name: "Done" });
            assert_eq!(marks.map(|status| without.mark(status)), marks.map(|status| Some(status.mark())));
        }
        let no_custom = Settings::read(&json!({ "statusSettings": {} }));
        assert_eq!((no_custom.status('/'), no_custom.status('X')), (Status::InProgress, Status::Todo));
    }

    #[test]
    fn a_task_has_the_global_filter_which_queries_do_not_see() {
        let settings = settings();
        assert!(settings.is_task("real #task 📅 2026-01-01") && !settings.is_task("shopping item"));
        let fields = settings.queried("real #task #home [due:: 2026-01-01]");
        assert_eq!(
            (fields.description.as_ref(), fields.tags, fields.due),
            ("real  #home", vec!["home"], Some("2026-01-01"))
        );
        assert!(Settings::default().is_task("") && Settings::read(&json!({})).is_task(""));
    }

    #[test]
    fn fields_are_those_of_the_plugins_format() {
        let (emoji, dataview) = ("a 📅 2026-01-01", "a [due:: 2026-01-01]");
        let due = |settings: &Settings, text: &'static str| settings.fields(text).due;
        assert_eq!((due(&settings(), emoji), due(&settings(), dataview)), (None, Some("2026-01-01")));
        let usual = Settings::read(&json!({ "taskFormat": "tasksPluginEmoji" }));
        assert_eq!((due(&usual, emoji), due(&usual, dataview)), (Some("2026-01-01"), None));
        assert!([emoji, dataview].iter().all(|text| Settings::default().fields(text).due.is_some()));
    }
}
