//! `list_approvals`: the calls that wait for approval, and their changes.

use std::cmp::Reverse;

use atlas_ops::arguments::{self, Bounded, Exact, Given, ReadPath, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::approvals::{self, Record, Status};
use atlas_ops::pipeline::response_limit::{AROUND_TEXT, bytes_of, cut, fitting};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::waiting::{self, RequestedFiles, ShownLines};
use crate::changed_file::{ChangedFile, SharedRoom};

/// Lists the calls that wait for approval, and their changes.
pub struct ListApprovals;

/// Which calls to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only the call with this id; if not given, the newest ones.
    #[serde(default)]
    id: Given<Exact<32>>,
    /// Only calls with this status; `pending` if neither this nor an id is given.
    #[serde(default)]
    status: Given<WantedStatus>,
    /// Only calls of this session; of all sessions if not given.
    #[serde(default)]
    of_session: Given<Text<200>>,
    /// Whether to include the lines that would change.
    #[serde(default = "arguments::yes")]
    diffs: bool,
    /// Only this file of the calls.
    #[serde(default)]
    path: Given<ReadPath>,
    /// The first line of diffs to return, counted from 0: the `next_line` of the page before.
    #[serde(default)]
    from_line: u64,
    /// Only calls made before the one with this id: the last of the page before.
    #[serde(default)]
    before: Given<Exact<32>>,
    /// Most calls to return; 20 if not given.
    #[serde(default)]
    limit: Bounded<1, 100, 20>,
}

/// The status of the calls to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WantedStatus {
    /// Those that wait for a person.
    Pending,
    /// Those that a person approved, and the caller has not repeated yet.
    Approved,
    /// Those that a person refused.
    Refused,
    /// Those that were repeated, and passed.
    Used,
    /// Those that were not decided or not repeated in time.
    Expired,
    /// All.
    Any,
}

impl WantedStatus {
    const fn takes(self, status: Status) -> bool {
        matches!(
            (self, status),
            (Self::Any, _)
                | (Self::Pending, Status::Pending)
                | (Self::Approved, Status::Approved)
                | (Self::Refused, Status::Refused)
                | (Self::Used, Status::Used)
                | (Self::Expired, Status::Expired)
        )
    }
}

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ListedStatus {
    /// It waits for a person.
    Pending,
    /// A person approved it, and the caller has not repeated it yet.
    Approved,
    /// A person refused it.
    Refused,
    /// It was repeated, and passed.
    Used,
    /// It was not decided or not repeated in time.
    Expired,
}

impl From<Status> for ListedStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Approved => Self::Approved,
            Status::Refused => Self::Refused,
            Status::Used => Self::Used,
            Status::Expired => Self::Expired,
        }
    }
}

/// The calls.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The calls, the newest first.
    approvals: Vec<Waiting>,
    /// The number of all calls that wait, on this page or not.
    waiting: usize,
    /// The number of calls that are not listed, since they read or would change notes that the caller may not read.
    #[serde(skip_serializing_if = "is_zero")]
    hidden: usize,
    /// Whether there are more calls.
    truncated: bool,
}

/// A call.
#[derive(Debug, Serialize, JsonSchema)]
struct Waiting {
    /// The id for `approve` and `refuse`.
    id: String,
    /// Its status.
    status: ListedStatus,
    /// The operation's name.
    operation: String,
    /// Its arguments, shortened.
    arguments: Value,
    /// The caller's name.
    caller: String,
    /// The client program, if the token names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The caller's name for the work that the call belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// When the call was first made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    asked_at: Timestamp,
    /// When the request expires.
    #[schemars(with = "String", extend("format" = "date-time"))]
    expires_at: Timestamp,
    /// The files before and after the call, by path.
    files: Vec<ChangedFile>,
    /// The number of other files that would change.
    #[serde(skip_serializing_if = "is_zero")]
    more_files: usize,
    /// Whether a file has changed since, so that the call needs a new approval.
    lapsed: bool,
    /// The person who decided on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    /// When they decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    decided_at: Option<Timestamp>,
    /// The reason for a refusal, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Operation for ListApprovals {
    const INFO: Info = Info {
        name: "list_approvals",
        title: "List calls to approve",
        description: "Lists the calls that wait for a person's approval because they may destroy text: the caller, the arguments, and the changes of each note as a diff. The newest come first. To decide on one, take approve or refuse. For administrators; a person at the host runs `atlas approvals`. Example: {\"status\": \"pending\"}",
        scopes: &[Scope::ReadVault, Scope::ApproveVault],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let mirror = &context.vault.mirror;
        let (mut records, has_more) = match arguments.id.as_ref() {
            Some(id) => {
                let record = approvals::get(mirror, id.as_str()).await?;
                (vec![record.ok_or_else(|| approvals::missing(id.as_str()))?], false)
            }
            None => approvals::list(mirror, context.now).await?,
        };
        records.sort_by(|a, b| place(a).cmp(&place(b)));
        // It may have been decided since, and be listed no more.
        let first = match arguments.before.as_ref() {
            Some(id) => {
                let before = approvals::get(mirror, id.as_str()).await?;
                let before = before.ok_or_else(|| approvals::missing(id.as_str()))?;
                records.partition_point(|record| place(record) <= place(&before))
            }
            None => 0,
        };
        let may_see = |record: &&Record| waiting::may_see(context, &record.request);
        let is_pending = |record: &&Record| record.status(context.now) == Status::Pending;
        let waits = records.iter().filter(is_pending).filter(may_see).count();
        let status = match (*arguments.status, arguments.id.is_some()) {
            (None, false) => Some(WantedStatus::Pending),
            (status, _) => status,
        };
        let session = arguments.of_session.as_ref().map(Text::as_str);
        let is_wanted = |record: &Record| {
            status.is_none_or(|status| status.takes(record.status(context.now)))
                && session.is_none_or(|session| record.request.session.as_deref() == Some(session))
        };
        let wanted: Vec<Record> = records.into_iter().skip(first).filter(is_wanted).collect();
        let all = wanted.len();
        let mut seen: Vec<Record> =
            wanted.into_iter().filter(|record| waiting::may_see(context, &record.request)).collect();
        let hidden = all.saturating_sub(seen.len());
        let mut truncated = has_more || seen.len() > arguments.limit.get();
        seen.truncate(arguments.limit.get());
        // The calls come first; their lines share the room that is left.
        let path = arguments.path.as_ref().map(|path| path.as_str());
        let mut room = context.limits.max_response_bytes.saturating_sub(AROUND_TEXT);
        let fits = |record: &&Record| {
            let rest = room.checked_sub(waiting::bytes_without_lines(record, path));
            room = rest.unwrap_or_default();
            rest.is_some()
        };
        let count = seen.iter().take_while(fits).count().max(1).min(seen.len());
        truncated |= count < seen.len();
        let mut shared = SharedRoom::new(room, count);
        let mut approvals = Vec::with_capacity(count);
        for record in seen.into_iter().take(count) {
            let lines = ShownLines { from: arguments.from_line, room: shared.part() };
            let lines = Some(lines).filter(|_| arguments.diffs);
            let seen = waiting::seen(context, &record.request, path, lines).await?;
            shared.take(seen.bytes);
            approvals.push(Waiting::of(record, seen, context));
        }
        truncated |= cut(&mut approvals, context);
        Ok(Answer { value: Output { approvals, waiting: waits, hidden, truncated }, generation: None })
    }
}

/// The place of a call in the list: the newest come first.
fn place(record: &Record) -> (Reverse<Timestamp>, &str) {
    (Reverse(record.request.asked), &record.id)
}

impl Waiting {
    fn of(record: Record, seen: RequestedFiles, context: &Context<'_>) -> Self {
        let RequestedFiles { files, is_current, .. } = seen;
        let status: ListedStatus = record.status(context.now).into();
        let Record { id, request, decision, .. } = record;
        let is_open = matches!(status, ListedStatus::Pending | ListedStatus::Approved);
        let mut waiting = Self {
            id,
            status,
            operation: request.operation,
            arguments: request.arguments,
            caller: request.caller,
            client: request.client,
            session: request.session,
            asked_at: request.asked,
            expires_at: request.expires,
            files,
            more_files: request.more_files,
            lapsed: is_open && !is_current,
            decided_by: decision.as_ref().map(|decision| decision.by.clone()),
            decided_at: decision.as_ref().map(|decision| decision.at),
            reason: decision.and_then(|decision| decision.reason),
        };
        waiting.more_files += cut_beside(&mut waiting, context.limits.max_response_bytes);
        waiting
    }
}

/// Cuts the files of a call to those that fit into an answer with it alone; returns the number of others.
fn cut_beside(waiting: &mut Waiting, max_bytes: usize) -> usize {
    let around = bytes_of(waiting).saturating_sub(bytes_of(&waiting.files));
    let all = waiting.files.len();
    waiting.files.truncate(fitting(&waiting.files, max_bytes.saturating_sub(around + AROUND_TEXT)));
    all.saturating_sub(waiting.files.len())
}
