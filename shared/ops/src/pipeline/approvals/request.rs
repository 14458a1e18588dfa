//! Requests for approval: a call, and each file before and after it.

use std::time::Duration;

use atlas_access::Caller;
use atlas_mirror::Hash;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How long a request, and its decision, is valid.
pub(super) const TIME: Duration = Duration::from_secs(24 * 3600);
/// Most bytes of texts in a request: a person does not read more.
pub(crate) const MAX_TEXTS: usize = 512 << 10;
/// Most files that a request lists.
const MAX_FILES: usize = 1000;
/// Longest text in arguments that is shown whole, in bytes.
const MAX_TEXT: usize = 1000;
/// Most items of a list in arguments that are shown.
const MAX_ITEMS: usize = 50;
/// Most bytes of arguments that are shown.
const MAX_ARGUMENTS: usize = 32 << 10;
/// Greatest depth of arguments that is shown.
const MAX_DEPTH: usize = 16;

/// A version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// Its size.
    pub bytes: u64,
    /// Its text, if it is new and a person can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A file before and after a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    /// Its path.
    pub path: String,
    /// The current version; [`None`] if there is no file.
    pub before: Option<FileVersion>,
    /// The new version; [`None`] if the file is removed.
    pub after: Option<FileVersion>,
    /// The current path of the new version, if it is moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl PlannedFile {
    /// Its path, and the one before if it moves.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        [Some(self.path.as_str()), self.from.as_deref()].into_iter().flatten()
    }
}

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The vault's id.
    pub vault: String,
    /// The operation's name.
    pub operation: String,
    /// Its arguments, long ones shortened.
    pub arguments: Value,
    /// The caller's name.
    pub caller: String,
    /// The caller's pseudonym.
    pub caller_id: String,
    /// The client program, if the token names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The caller's name for the work that the call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The time of the first such call.
    pub asked: Timestamp,
    /// The time at which the request expires.
    pub expires: Timestamp,
    /// The files before and after the call, by path.
    pub files: Vec<PlannedFile>,
    /// The number of other files that would change.
    #[serde(default)]
    pub more_files: usize,
    /// Their paths, which a caller has to be allowed to read before deciding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_paths: Vec<String>,
    /// The other paths that the call names or reads, for the same. Requests of older versions lack them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// A hash that identifies the plan.
    pub(super) plan: Hash,
    /// A hash that identifies the call. Requests of older versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<Hash>,
}

/// A call that needs an approval.
pub(crate) struct PendingCall<'a> {
    pub(crate) vault: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) args_hash: &'a str,
    /// The arguments, shortened for display.
    pub(crate) arguments: &'a Value,
    pub(crate) caller: &'a Caller,
    pub(crate) session: Option<&'a str>,
    pub(crate) files: &'a [PlannedFile],
    /// The paths that the call names or reads.
    pub(crate) reads: &'a [String],
    pub(crate) now: Timestamp,
}

impl PendingCall<'_> {
    /// A hash that identifies the plan: the call, its caller, and each file before and after.
    pub(super) fn plan(&self) -> Hash {
        let sha256 = |version: &Option<FileVersion>| version.as_ref().map(|version| version.sha256.to_string());
        let files: Vec<Value> =
            self.files.iter().map(|file| json!([file.path, sha256(&file.before), sha256(&file.after)])).collect();
        let Self { vault, operation, args_hash, caller, .. } = self;
        let call = json!([vault, operation, args_hash, caller.identity(), caller.client(), files]);
        Hash::of(call.to_string().as_bytes())
    }

    /// The id of request number `round` for `plan`: it ends with the caller's pseudonym.
    pub(super) fn id(&self, plan: Hash, round: u32) -> String {
        let hash = Hash::of(format!("{plan} {round}").as_bytes()).to_string();
        format!("{}{}", hash.get(..16).unwrap_or_default(), self.caller.pseudonym())
    }

    /// A hash that identifies the call and its caller, whatever the plan.
    fn call(&self) -> Hash {
        let Self { vault, operation, args_hash, caller, .. } = self;
        let call = json!([vault, operation, args_hash, caller.identity(), caller.client()]);
        Hash::of(call.to_string().as_bytes())
    }

    /// Whether `request`, of a caller with this pseudonym, is for the same call, whatever its plan.
    pub(super) fn is_for(&self, request: &Request) -> bool {
        // Without the hash the arguments decide, though shortened: at worst, a call waits anew.
        request.call.map_or_else(
            || {
                request.operation == self.operation
                    && request.client.as_deref() == self.caller.client()
                    && request.arguments == *self.arguments
            },
            |call| call == self.call(),
        )
    }

    pub(super) fn request(&self, plan: Hash) -> Request {
        Request {
            vault: self.vault.to_owned(),
            operation: self.operation.to_owned(),
            arguments: self.arguments.clone(),
            caller: self.caller.name().to_owned(),
            caller_id: self.caller.pseudonym(),
            client: self.caller.client().map(str::to_owned),
            session: self.session.map(str::to_owned),
            asked: self.now,
            expires: self.now.checked_add(TIME).unwrap_or(Timestamp::MAX),
            files: self.files.iter().take(MAX_FILES).cloned().collect(),
            more_files: self.files.len().saturating_sub(MAX_FILES),
            more_paths: self.files.iter().skip(MAX_FILES).flat_map(PlannedFile::paths).map(str::to_owned).collect(),
            reads: self.reads.to_vec(),
            plan,
            call: Some(self.call()),
        }
    }
}

/// Arguments for display to a person: long texts and lists are cut, with a note.
pub(crate) fn shortened(arguments: &Value) -> Value {
    let mut room = MAX_ARGUMENTS;
    short(arguments, &mut room, MAX_DEPTH)
}

fn short(value: &Value, room: &mut usize, depth: usize) -> Value {
    const LEFT_OUT: &str = "(left out)";
    if depth == 0 || *room == 0 {
        return LEFT_OUT.into();
    }
    match value {
        Value::String(text) => {
            let end = text.floor_char_boundary(MAX_TEXT.min(*room));
            *room = room.saturating_sub(end.max(1));
            let shown = text.get(..end).unwrap_or_default();
            if end == text.len() { text.clone().into() } else { format!("{shown}... ({} bytes)", text.len()).into() }
        }
        Value::Array(items) => {
            let mut shown: Vec<Value> =
                items.iter().take(MAX_ITEMS).map(|item| short(item, room, depth.saturating_sub(1))).collect();
            if items.len() > MAX_ITEMS {
                shown.push(format!("(and {} more)", items.len().saturating_sub(MAX_ITEMS)).into());
            }
            Value::Array(shown)
        }
        Value::Object(members) => {
            let mut shown = Map::new();
            for (name, member) in members.iter().take(MAX_ITEMS) {
                let end = name.floor_char_boundary(MAX_TEXT.min(*room));
                *room = room.saturating_sub(end);
                let member = short(member, room, depth.saturating_sub(1));
                shown.insert(name.get(..end).unwrap_or_default().to_owned(), member);
            }
            Value::Object(shown)
        }
        plain => {
            *room = room.saturating_sub(8);
            plain.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_arguments_are_cut_and_say_so() {
        let small = json!({ "path": "a.md", "edits": [{ "op": "append", "text": "x" }], "n": 1.5, "b": null });
        assert_eq!(shortened(&small), small);
        let long = shortened(&json!({ "content": "ä".repeat(4000), "paths": vec!["x"; 60] }));
        assert!(long["content"].as_str().is_some_and(|text| text.len() < 1100 && text.ends_with("... (8000 bytes)")));
        assert_eq!(long["paths"][50], "(and 10 more)");
        let mut deep = json!("x");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(shortened(&deep).to_string().contains("(left out)"));
        let wide = json!((0..50).map(|_| vec!["x".repeat(1000); 50]).collect::<Vec<_>>());
        assert!(shortened(&wide).to_string().len() < 2 * MAX_ARGUMENTS + 50 * 50 * 16);
    }
}
