//! `inspect_acl`: whether a caller's scopes and the access list allow a call at a path, and why.

use atlas_access::Access;
use atlas_ops::arguments::{Exact, Given, ReadPath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::assumed;
use crate::notes::delete_note::DeleteNote;
use crate::notes::read_note::ReadNote;
use crate::notes::write_note::WriteNote;
use crate::obsidian::ocr_attachment::OcrAttachment;

/// Returns whether a call with some scopes may read, write or delete at a path of the vault, and why.
pub struct InspectAcl;

/// The path, and the caller.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A path from the root of the vault; it need not exist.
    path: ReadPath,
    /// The kind of call: `read_note`, `write_note`, `delete_note`, or for `execute` `ocr_attachment`, which asks the Obsidian app.
    op: Op,
    /// The scopes of the assumed caller; your own if left out.
    #[serde(default)]
    #[schemars(with = "Vec<Exact<100>>", length(max = 64))]
    scopes: Given<Vec<Exact<100>>>,
}

/// The access of a call at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Op {
    Read,
    Write,
    Delete,
    Execute,
}

impl Op {
    /// The scopes and the access that the call requires.
    const fn asks(self) -> (&'static [Scope], Access) {
        match self {
            Self::Read => (ReadNote::INFO.scopes, Access::Read),
            Self::Write => (WriteNote::INFO.scopes, Access::Write),
            Self::Delete => (DeleteNote::INFO.scopes, Access::Delete),
            Self::Execute => (OcrAttachment::INFO.scopes, Access::Read),
        }
    }
}

/// The decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vault.
    vault: String,
    /// The path, as access lists see it.
    path: String,
    /// The operation.
    op: Op,
    /// Whether it is allowed.
    allowed: bool,
    /// The glob of the rule that determines the path's scopes; absent if no rule matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_rule: Option<String>,
    /// Whether the vault is read-only.
    kill_switch: bool,
    /// Why it is denied: `scopes` (those of the operation), `closed_folder`, `readOnly`, `readPaths`, `writePaths`,
    /// `deletePaths`, `strictReadDefault`, `token_folders`, `defaultScopes`, `rules: ` with the glob of the rule, `dot_name` (nothing is
    /// changed below a name that begins with a dot), or `plugin_missing`; absent if it is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    denied_by: Option<String>,
    /// The scopes that the operation and the path require.
    required_scopes: Vec<String>,
    /// The missing ones of them.
    missing_scopes: Vec<String>,
}

impl Operation for InspectAcl {
    const INFO: Info = Info {
        name: "inspect_acl",
        title: "Inspect the access list",
        description: "Returns whether a call with some scopes may read, write or delete at a path of the vault, and why: the scopes that the operation requires, or a part of the access list. The answer does not depend on whether the path exists. Example: {\"path\": \"Projects/Atlas.md\", \"op\": \"write\"}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let scopes = assumed(context, &arguments.scopes)?;
        let (asked, access) = arguments.op.asks();
        let acl = context.vault.acl();
        let is_missing = |scope: &&str| !scopes.holds_named(scope);
        let mut required: Vec<&str> = asked.iter().map(|scope| scope.as_str()).collect();
        // In the order of the gates.
        let denied_by = if required.iter().any(is_missing) {
            Some("scopes".to_owned())
        } else if let Err(denied) = acl.check(access, path.as_str(), &scopes) {
            Some(denied.to_string())
        } else {
            // Nothing is changed below a name that begins with a dot, and the app may not be reachable.
            let is_dotted = access != Access::Read && path.as_str().split('/').any(|name| name.starts_with('.'));
            let by = if is_dotted {
                Some("dot_name")
            } else {
                (arguments.op == Op::Execute && !context.vault.app.is_some()).then_some("plugin_missing")
            };
            by.map(str::to_owned)
        };
        required.extend(acl.required(path.as_str()));
        required.sort_unstable();
        required.dedup();
        let named = |scopes: Vec<&str>| scopes.into_iter().map(str::to_owned).collect();
        let output = Output {
            vault: context.vault.id.clone(),
            path: path.as_str().to_owned(),
            op: arguments.op,
            allowed: denied_by.is_none(),
            matched_rule: acl.rule(path.as_str()).map(str::to_owned),
            kill_switch: acl.is_read_only(),
            denied_by,
            missing_scopes: named(required.iter().copied().filter(is_missing).collect()),
            required_scopes: named(required),
        };
        Ok(Answer { value: output, generation: None })
    }
}
