//! Calls that wait for approval, for the person at this terminal.

use std::error::Error;
use std::io;

use atlas_tools::access::approve::Approve;
use atlas_tools::access::list_approvals::ListApprovals;
use atlas_tools::access::refuse::Refuse;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::color::Color;
use crate::compared;
use crate::local::{Local, given};
use crate::output;

/// Digits of an id.
const ID: usize = 32;
/// Least digits of an id that a person must type.
const LEAST: usize = 4;
/// Digits of an id that are shown, unless more are needed to distinguish it.
const SHOWN: usize = 8;
/// Most calls of a page, and most pages.
const MOST: u64 = 100;
const MOST_PAGES: usize = 1000;

/// The wanted calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Those with this status.
    pub(crate) status: &'a str,
    /// Those of this session, if given.
    pub(crate) session: Option<&'a str>,
    /// With the lines that would change.
    pub(crate) diffs: bool,
}

/// Pages of calls, the newest first.
pub(crate) struct Pages<'a> {
    wanted: Wanted<'a>,
    /// The call after which the next page begins.
    last: Option<String>,
    left: usize,
}

impl<'a> Pages<'a> {
    pub(crate) const fn of(wanted: Wanted<'a>) -> Self {
        Self { wanted, last: None, left: MOST_PAGES }
    }

    /// The next page, if there is one.
    pub(crate) async fn next(&mut self, local: &Local) -> Result<Option<Value>, Box<dyn Error>> {
        if self.left == 0 {
            return Ok(None);
        }
        let call = given([
            ("status", Some(self.wanted.status.into())),
            ("of_session", self.wanted.session.map(Value::from)),
            ("diffs", Some(self.wanted.diffs.into())),
            ("before", self.last.take().map(Value::from)),
            ("limit", Some(MOST.into())),
        ]);
        let page = local.call(atlas_tools::entry::<ListApprovals>(), call).await?;
        self.last = after(&page);
        self.left = if self.last.is_some() { self.left - 1 } else { 0 };
        Ok(Some(page))
    }
}

/// The call after which another page begins, if there is one.
fn after(page: &Value) -> Option<String> {
    let last = list(page, "approvals").last().filter(|_| page["truncated"] == true)?;
    last["id"].as_str().map(str::to_owned)
}

/// All wanted calls, as one page.
pub(crate) async fn calls(local: &Local, wanted: Wanted<'_>) -> Result<Value, Box<dyn Error>> {
    let mut pages = Pages::of(wanted);
    let mut all = Vec::new();
    let mut last = Value::Null;
    while let Some(mut page) = pages.next(local).await? {
        if let Some(calls) = page["approvals"].as_array_mut() {
            all.append(calls);
        }
        last = page;
    }
    last["approvals"] = Value::Array(all);
    Ok(last)
}

/// The id of the call that this became of, one of `statuses`, and whose id begins so.
///
/// # Errors
/// When none does, or several.
pub(crate) async fn whole_id(local: &Local, typed: &str, statuses: &[&str]) -> Result<String, Box<dyn Error>> {
    if typed.len() == ID {
        return Ok(typed.to_owned());
    }
    if typed.len() < LEAST {
        return Err(format!("write at least {LEAST} digits of the id, as `atlas approvals` shows it").into());
    }
    let mut found = Vec::new();
    for status in statuses {
        let listed = calls(local, Wanted { status, session: None, diffs: false }).await?;
        let ids = list(&listed, "approvals").iter().filter_map(|call| call["id"].as_str());
        found.extend(ids.filter(|id| id.starts_with(typed)).map(str::to_owned));
    }
    let mut found = found.into_iter();
    let problem = match (found.next(), found.next()) {
        (Some(id), None) => return Ok(id),
        (Some(_), Some(_)) => "several calls that wait have such an id: write more of it",
        (None, _) => "no call that waits has an id that begins so: `atlas approvals` lists them",
    };
    Err(format!("{typed}: {problem}").into())
}

/// Approves the call with this id.
pub(crate) async fn approve(local: &Local, id: &str) -> Result<Value, Box<dyn Error>> {
    local.call(atlas_tools::entry::<Approve>(), json!({ "id": id })).await
}

/// Refuses the call with this id.
pub(crate) async fn refuse(local: &Local, id: &str, reason: Option<&str>) -> Result<Value, Box<dyn Error>> {
    let call = given([("id", Some(id.into())), ("reason", reason.map(Value::from))]);
    local.call(atlas_tools::entry::<Refuse>(), call).await
}

/// The shortest beginning of an id that distinguishes it from the others of `calls`.
pub(crate) fn short<'a>(id: &'a str, calls: &[Value]) -> &'a str {
    let others = || calls.iter().filter_map(|call| call["id"].as_str()).filter(|other| *other != id);
    let is_told =
        |digits: &usize| id.get(..*digits).is_some_and(|begin| !others().any(|other| other.starts_with(begin)));
    let digits = (SHOWN..ID).find(is_told).unwrap_or(ID);
    id.get(..digits).unwrap_or(id)
}

/// Prints a call, and its changes.
pub(crate) fn print(call: &Value, id: &str) {
    let text = |name: &str| call[name].as_str().unwrap_or_default();
    let by = match call["client"].as_str() {
        Some(client) => format!("{} (through {client})", text("caller")),
        None => text("caller").to_owned(),
    };
    let session = call["session"].as_str().map_or_else(String::new, |session| format!(" [{session}]"));
    let is_pending = text("status") == "pending";
    let status = if is_pending { String::new() } else { format!("  {}", text("status")) };
    let asked = text("asked_at").parse::<Timestamp>().unwrap_or_default();
    output::line(format_args!("{id}  {by}{session}  {}  {asked:.0}{status}", text("operation")));
    output::line(format_args!("  with {}", call["arguments"]));
    if let Some(by) = call["decided_by"].as_str() {
        let why = call["reason"].as_str().map_or_else(String::new, |reason| format!(": {reason}"));
        let what = if text("status") == "refused" { "refused" } else { "approved" };
        output::line(format_args!("  {what} by {by}{why}"));
    }
    if call["lapsed"] == true {
        output::line("  a file has changed since: when the call is repeated, it waits again");
    }
    let is_current = is_pending && call["lapsed"] != true;
    list(call, "files").iter().for_each(|file| print_file(file, is_current));
    if let Some(more) = call["more_files"].as_u64() {
        output::line(format_args!("and {more} files more"));
    }
}

fn print_file(file: &Value, is_current: bool) {
    let text = |name: &str| file[name].as_str().unwrap_or_default();
    let path = text("path");
    let title = match text("change") {
        "created" => format!("{path} would be new"),
        "moved" => format!("{path} would be moved here from {}", text("from")),
        "trashed" => format!("{path} would go into the trash"),
        "deleted" => format!("{path} would be deleted permanently"),
        _ => format!("{path} would change"),
    };
    let color = Color::of(&io::stdout());
    output::painted(&color.path(&title));
    if let Some(diff) = file["diff"].as_str() {
        compared::print_diff(color, diff);
    }
    if file["next_line"].is_u64() {
        let lines = |name: &str| file[name].as_u64().unwrap_or_default();
        let (added, removed) = (lines("lines_added"), lines("lines_removed"));
        output::line(format_args!("  in all +{added} -{removed} lines: `atlas ui` opens the page that shows the rest"));
    } else if file["left_out"] == true && is_current {
        let bytes = |name: &str| file[name].as_u64().unwrap_or_default();
        let (before, after) = (bytes("bytes_before"), bytes("bytes_after"));
        output::line(format_args!("  its text is not shown here: {before} bytes now, {after} then"));
    }
}

/// A list in an answer.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_cut_is_followed_by_that_after_its_last_call() {
        let page = |truncated: bool, ids: &[&str]| {
            let calls: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
            json!({ "approvals": calls, "truncated": truncated })
        };
        assert_eq!(after(&page(true, &["b", "a"])).as_deref(), Some("a"));
        assert_eq!((after(&page(false, &["b", "a"])), after(&page(true, &[]))), (None, None));
    }
}
