//! `inspect_acl`: what the access list says of a path, and which part of it decides.

use atlas_access::acl::Denied;
use atlas_access::{Access, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Exact};
use crate::error::Error;
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};

/// Most scopes that one call asks about.
const MAX_SCOPES: usize = 64;

/// The operation.
pub struct InspectAcl;

/// Which path, and who.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A path from the root of the vault, whether or not there is a note.
    path: String,
    /// What a call would do there.
    op: Op,
    /// The scopes of whoever would make the call; those of the caller if left out.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Vec<Exact<100>>", length(max = 64))]
    scopes: Option<Vec<Exact<100>>>,
}

/// What a call does at a path.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Op {
    Read,
    Write,
    Delete,
}

/// What is decided.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vault.
    vault: String,
    /// The path, as access lists see it.
    path: String,
    /// What the call would do.
    op: Op,
    /// Whether it may.
    allowed: bool,
    /// The glob of the rule that decides which scopes the path asks for; absent if no rule has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_rule: Option<String>,
    /// Whether nothing of the vault may be changed.
    kill_switch: bool,
    /// What denies it: `closed_folder`, `readOnly`, `readPaths`, `writePaths`, `deletePaths`, `strictReadDefault`, `defaultScopes`, or
    /// `rules: ` with the glob of the rule that decides; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    denied_by: Option<String>,
    /// The scopes that the path asks for, besides what the operation asks for.
    required_scopes: Vec<String>,
    /// Those of them that are missing.
    missing_scopes: Vec<String>,
}

impl Operation for InspectAcl {
    const INFO: Info = Info {
        name: "inspect_acl",
        title: "Inspect the access list",
        description: "Tells whether a call with some scopes may read, write or delete at a path of the vault, and which part of the access list decides. The answer does not depend on what there is at the path.",
        scopes: &[Scope::Admin],
        destructive: false,
        tags: &["admin"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(_: &Arguments) -> Result<Vec<Touch>, Error> {
        Ok(Vec::new())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = arguments::path("path", &arguments.path)?;
        let scopes = match &arguments.scopes {
            None => context.caller.scopes().clone(),
            Some(names) if names.len() <= MAX_SCOPES => Scopes::named(names.iter().map(Exact::as_str)),
            Some(_) => {
                let message = format!("scopes: write at most {MAX_SCOPES}");
                return Err(Error::bad_request("validation_error", message).with("field", "scopes"));
            }
        };
        let access = match arguments.op {
            Op::Read => Access::Read,
            Op::Write => Access::Write,
            Op::Delete => Access::Delete,
        };
        let acl = context.vault.acl();
        let denied = acl.check(access, path.as_str(), &scopes).err();
        let missing = match &denied {
            Some(Denied::Scopes { missing, .. }) => missing.iter().map(|scope| (*scope).to_owned()).collect(),
            _ => Vec::new(),
        };
        let output = Output {
            vault: context.vault.id.clone(),
            path: path.as_str().to_owned(),
            op: arguments.op,
            allowed: denied.is_none(),
            matched_rule: acl.rule(path.as_str()).map(str::to_owned),
            kill_switch: acl.is_read_only(),
            denied_by: denied.map(|denied| denied.to_string()),
            required_scopes: acl.required(path.as_str()).into_iter().map(str::to_owned).collect(),
            missing_scopes: missing,
        };
        Ok(Answer { value: output, generation: None })
    }
}
