use super::*;
use serde_json::{Value, json};

mod any_note;
mod joints;
mod lines;
mod lists;
mod properties;
mod request;
mod sections;
mod tags;
mod tasks;
mod text;

const ROOM: usize = 1 << 20;

/// The edits as an agent writes them.
fn edits(written: Value) -> Vec<Edit> {
    serde_json::from_value(written).unwrap()
}

/// The result of one edit of `text`.
#[track_caller]
fn edited(text: &str, edit: Value) -> String {
    apply(text, &edits(json!([edit])), ROOM).unwrap()
}

/// Why one edit is impossible.
#[track_caller]
fn refused(text: &str, edit: Value) -> Problem {
    match apply(text, &edits(json!([edit])), ROOM) {
        Err(EditError::Refused { edit: 1, problem }) => *problem,
        other => panic!("{other:?}"),
    }
}

/// The candidates, each as `line text`.
fn candidates(problem: &Problem) -> Vec<String> {
    problem.candidates().iter().map(|candidate| format!("{} {}", candidate.line, candidate.text)).collect()
}
