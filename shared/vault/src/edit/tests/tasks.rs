//! One task of a note.

use super::*;
use crate::edit::{ChangedTask, Problem};
use crate::task::{Change, Field, Settings, Status};
use serde_json::json;

const NOTE: &str = "# Tasks\r\n- [ ] one\r\n> 1. [X]  two 📅 2026-01-02  \r\n- [x]\r\n- plain\r\n";

/// Changes a task of a vault without the plugin.
fn change_task(text: &str, line: u32, status: Option<Status>, wanted: &Change) -> Result<ChangedTask, Problem> {
    crate::edit::change_task(text, line, status, wanted, &Settings::default())
}

#[test]
fn only_what_is_named_of_the_line_changes() {
    let due = Change { fields: vec![(Field::Due, Some("2026-05-06".to_owned()))], ..Change::default() };
    let changed = |line, status, wanted: &Change| change_task(NOTE, line, status, wanted).unwrap();
    let ChangedTask { text, before, after } = changed(3, Some(Status::Todo), &due);
    assert_eq!(text, NOTE.replace("[X]  two 📅 2026-01-02", "[ ]  two 📅 2026-05-06"));
    assert_eq!((before.0, after.0), ('X', ' '));
    assert_eq!((before.1.as_str(), after.1.as_str()), ("two 📅 2026-01-02", "two 📅 2026-05-06"));
    assert_eq!(changed(3, Some(Status::Done), &Change::default()).text, NOTE);
    assert_eq!(changed(4, None, &due).text, NOTE.replace("- [x]\r\n", "- [x] 📅 2026-05-06\r\n"));
    assert_eq!(changed(2, Some(Status::Cancelled), &Change::default()).text, NOTE.replace("- [ ] one", "- [-] one"));
    // In the format of the note's other tasks.
    let text = "- [ ] a\n- [ ] b [due:: 2026-01-02]\n";
    let changed = change_task(text, 1, None, &due).unwrap();
    assert_eq!(changed.text, "- [ ] a  [due:: 2026-05-06]\n- [ ] b [due:: 2026-01-02]\n");
}

#[test]
fn only_what_the_note_has_as_a_tag_is_taken_out() {
    let without = Change { remove_tags: vec!["x".to_owned()], ..Change::default() };
    let text = "- [ ] a #x `b #x` %%c #x\nd%% #x\n- [ ] `e #x\n  f` #x\n";
    let first = change_task(text, 1, None, &without).unwrap().text;
    assert_eq!(first, text.replacen(" #x", "", 1));
    assert_eq!(change_task(text, 3, None, &without).unwrap().text, text);
    // Tags of a new description are removed too.
    let said = Change { description: Some("`g #x` #x".to_owned()), ..without };
    assert_eq!(change_task("- [ ] h #x", 1, None, &said).unwrap().text, "- [ ] `g #x`");
}

#[test]
fn what_is_no_task_is_told_with_those_that_are() {
    for line in [0, 1, 5, 6, u32::MAX] {
        let problem = change_task(NOTE, line, None, &Change::default()).unwrap_err();
        assert_eq!(candidates(&problem), ["2 one", "3 two 📅 2026-01-02", "4 "]);
    }
    let problem = change_task("text\n", 1, None, &Change::default()).unwrap_err();
    assert_eq!(problem.to_string(), "line 1 is not a task, and the note has none");
}

#[test]
fn a_change_is_written_as_the_settings_of_the_plugin_say() {
    let custom = json!([{ "symbol": "c", "name": "Dropped", "type": "CANCELLED" }, { "symbol": ">", "type": "DONE" }]);
    let settings = json!({ "taskFormat": "dataview", "statusSettings": { "customStatuses": custom } });
    let settings = Settings::read(&settings);
    let due = Change { fields: vec![(Field::Due, Some("2026-12-01".to_owned()))], ..Change::default() };
    let text = "- [ ] pay rent\n- [>] other 📅 2026-01-01\n";
    let changed =
        |line, status, wanted: &Change| crate::edit::change_task(text, line, status, wanted, &settings).unwrap().text;
    assert_eq!(changed(1, None, &due), text.replace("rent", "rent  [due:: 2026-12-01]"));
    assert_eq!(changed(2, None, &due), text.replace("2026-01-01", "2026-12-01"));
    assert_eq!(changed(1, Some(Status::Cancelled), &Change::default()), text.replace("[ ]", "[c]"));
    assert_eq!(changed(2, Some(Status::Done), &Change::default()), text);
    let problem = crate::edit::change_task(text, 1, Some(Status::InProgress), &Change::default(), &settings);
    assert!(problem.unwrap_err().to_string().contains("no status in_progress"));
}
