//! `explain_path`: why a file is found, or is not.

use atlas_access::Access;
use atlas_access::acl::is_closed_path;
use atlas_mirror::LeftOut;
use atlas_ops::arguments::{Exact, Given, ReadPath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::nearest::similar_paths;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::writable::TRASH;
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use atlas_vault::file_kind::is_left_out;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::assumed;

/// Says why a file is found, or is not.
pub struct ExplainPath;

/// The file, and the caller.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// The scopes of the caller who looks for it; your own if left out.
    #[serde(default)]
    #[schemars(with = "Vec<Exact<100>>", length(max = 64))]
    scopes: Given<Vec<Exact<100>>>,
}

/// The explanation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The path.
    path: String,
    /// What holds.
    verdict: Verdict,
    /// The same in a sentence, with what to do.
    message: String,
    /// The part of the access list that hides it, as `inspect_acl` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    denied_by: Option<String>,
    /// When the host last told what its syncs leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    told_at: Option<Timestamp>,
    /// Files with similar paths, if there is none at this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<String>,
}

/// Whether and why a file is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// By its name and its words.
    Found,
    /// By its name only: it is not text, or too large for the index.
    FoundByName,
    /// The access list hides it.
    Hidden,
    /// No vault has files of this folder or name.
    Closed,
    /// It is in the trash.
    Trashed,
    /// Syncs leave it out.
    LeftOut,
    /// The vault has no such file, or not yet.
    Unknown,
}

impl Operation for ExplainPath {
    const INFO: Info = Info {
        name: "explain_path",
        title: "Explain a path",
        description: "Says why a file is found or not: by its name and words, by its name only, hidden by the access list, in the trash, left out by syncs and by which rule, or not there. For administrators. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let scopes = assumed(context, &arguments.scopes)?;
        let newest = context.read(|view| async move { Ok(view) }).await?;
        let snapshot = newest.value.snapshot();
        let trash = format!("{TRASH}{path}");
        let mut found = notes::find_all(snapshot, &[path.as_str(), &trash], |_| false).await?;
        let (thrown, found) = (found.pop().flatten(), found.pop().flatten());
        let mut output = Output {
            path: path.as_str().to_owned(),
            verdict: Verdict::Unknown,
            message: String::new(),
            denied_by: None,
            told_at: None,
            suggestions: Vec::new(),
        };
        let acl = context.vault.acl();
        (output.verdict, output.message) = if is_closed_path(path.as_str()) {
            (Verdict::Closed, "Folders such as .obsidian, .git and .trash are closed to every caller.".to_owned())
        } else if let Err(denied) = acl.check(Access::Read, path.as_str(), &scopes) {
            // The same whether there is such a file or not.
            output.denied_by = Some(denied.to_string());
            (Verdict::Hidden, "The access list hides it from these scopes: they find nothing of it.".to_owned())
        } else {
            // Other scopes than the caller's show the caller no more.
            context.check(Access::Read, &path)?;
            if let Some(found) = &found {
                by_what(found)
            } else if let Some(told) = by_name(&path) {
                told
            } else if thrown.is_some() {
                (Verdict::Trashed, "It is in the trash: restore_note takes it out.".to_owned())
            } else {
                let left_out = context.vault.mirror.left_out().await?;
                output.told_at = left_out.as_ref().map(|told| told.time);
                output.suggestions = similar_paths(context, path.as_str()).await?;
                left_out.and_then(|told| by_sync(&told, path.as_str())).unwrap_or_else(|| {
                    let message = "The vault has no such file: its path is another, it is not in the folder, or no sync has taken it yet.";
                    (Verdict::Unknown, message.to_owned())
                })
            }
        };
        Ok(Answer { value: output, generation: newest.generation })
    }
}

/// How a file is found.
fn by_what(found: &Found) -> (Verdict, String) {
    let record = &found.record;
    let size = format!("{} bytes, written by generation {}", record.bytes, found.generation);
    match (record.kind, record.text.length) {
        (Kind::Note | Kind::Text, _) if record.blob.is_none() => {
            (Verdict::Found, format!("It is found by its path, its name, its headings and its words ({size})."))
        }
        (Kind::Attachment, 1..) => {
            (Verdict::Found, format!("It is found by its name, and by the text that was read in it ({size})."))
        }
        (Kind::Attachment, 0) => {
            (Verdict::FoundByName, format!("It is found by its name only, as it is not text ({size})."))
        }
        _ => {
            (Verdict::FoundByName, format!("It is found by its name only, as it is too large for the index ({size})."))
        }
    }
}

/// Why no sync takes a file of this name.
fn by_name(path: &VaultPath) -> Option<(Verdict, String)> {
    let is_hidden = path.as_str().split('/').any(|name| name.starts_with('.'));
    if is_hidden {
        return Some((Verdict::Closed, "Names that begin with a dot belong to no vault.".to_owned()));
    }
    is_left_out(path.file_name()).then(|| {
        (Verdict::Closed, "Files of this name hold keys or are a program's own, and belong to no vault.".to_owned())
    })
}

/// Why the host's syncs leave out the file, or a folder that it is in.
fn by_sync(told: &LeftOut, path: &str) -> Option<(Verdict, String)> {
    let (place, reason) = told.reason(path)?;
    let what = if place == path { String::new() } else { format!("{place}: ") };
    Some((Verdict::LeftOut, format!("Syncs leave it out. {what}{reason}")))
}
