//! A running Obsidian: what operations ask of it, how it fails, and how a vault's app is reached: directly, or by requests in the bucket
//! that the host of the app takes and answers.
//!
//! # Layout
//! - this file: what is asked, what goes wrong, and what knows how to ask
//! - [`client`]: asks the app through its plugin; [`ask`]: asks that of a call's vault, after whatever a person has to confirm
//! - [`letters`]: requests and answers in the bucket; [`host`]: takes and answers them

pub mod ask;
pub mod client;
pub mod host;
pub mod letters;

use std::fmt;
use std::sync::Arc;

use atlas_access::Secret;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::client::Client;
use crate::error::{Code, Error, Reason};

/// The community plugin that all of it goes through.
pub const REST_API: &str = "obsidian-local-rest-api";
/// The plugin that adds what that one has no route for.
pub const COMPANION: &str = "obsidian-tc-companion";

/// The command that saves the workspace that is open.
pub(crate) const SAVE_WORKSPACE: &str = "workspaces:save";
/// The plugin that has a command for each workspace.
pub const WORKSPACES_PLUS: &str = "workspaces-plus";

/// The requests that an app takes. A request in the bucket can be no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The commands that there are: `{"items": [{"id", "name"}]}`.
    ListCommands {},
    /// To run a command: `{}`.
    Execute {
        /// Its id.
        command: String,
    },
    /// To switch to a saved layout of its windows: `{}`.
    OpenWorkspace {
        /// Its name.
        name: String,
        /// Whether to save the one that is open first.
        save_first: bool,
    },
    /// How its windows are laid out now: an object.
    Layout {},
    /// A route that only the companion has.
    Companion {
        /// The route.
        route: Route,
        /// Its arguments.
        body: Value,
    },
}

/// A route of the companion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is called what its route is called")]
pub enum Route {
    OcrAttachment,
    OcrBulk,
    MakemdSpaces,
    MakemdQuery,
}

impl Route {
    /// Its path below the companion's.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::OcrAttachment => "ocr/attachment",
            Self::OcrBulk => "ocr/bulk",
            Self::MakemdSpaces => "makemd/spaces",
            Self::MakemdQuery => "makemd/query",
        }
    }

    /// The plugin that answers behind it, as the companion calls it.
    #[must_use]
    pub const fn plugin(self) -> &'static str {
        match self {
            Self::OcrAttachment | Self::OcrBulk => "text-extractor",
            Self::MakemdSpaces | Self::MakemdQuery => "make-md",
        }
    }
}

impl Request {
    /// Whether the app does something for it, and not only tells.
    #[must_use]
    pub const fn acts(&self) -> bool {
        matches!(self, Self::Execute { .. } | Self::OpenWorkspace { .. })
    }

    /// Whether a person has to confirm it, where these commands are `safe`.
    #[must_use]
    pub fn needs_person(&self, safe: &[String]) -> bool {
        let is_safe = |command: &str| safe.iter().any(|one| one == command);
        match self {
            Self::Execute { command } => !is_safe(command),
            // It replaces the saved layout that is open.
            Self::OpenWorkspace { save_first, .. } => *save_first && !is_safe(SAVE_WORKSPACE),
            _ => false,
        }
    }

    /// The plugin that answers it.
    #[must_use]
    pub const fn plugin(&self) -> &'static str {
        match self {
            Self::ListCommands {} | Self::Execute { .. } | Self::Layout {} => REST_API,
            Self::OpenWorkspace { .. } => WORKSPACES_PLUS,
            Self::Companion { route, .. } => route.plugin(),
        }
    }
}

/// A request that waits for the host that the app runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pending {
    /// Its name.
    pub request_id: String,
    /// Until when the host may take it.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires_at: Timestamp,
    /// When to make the same call again, which then gets the answer.
    pub retry_after_seconds: u32,
}

/// Why the app did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// A plugin is not there.
    Missing {
        /// Which one.
        plugin: String,
    },
    /// Nobody answered, or not as the plugin does.
    Unreachable {
        /// The name of the missing part.
        plugin: String,
        /// Why, for people.
        why: String,
    },
    /// The companion speaks another version.
    Incompatible {
        /// Its version.
        version: String,
        /// The version of its interface.
        interface: String,
    },
    /// The named thing does not exist.
    NotFound {
        /// Why, for people.
        why: String,
    },
    /// The app rejects the request.
    Wrong {
        /// Why, for people.
        why: String,
    },
    /// The host does not let it pass.
    NotAllowed {
        /// Why, for people.
        why: String,
    },
    /// The answer is larger than answers may be.
    TooLarge {},
    /// The app was told to act, and it is unknown whether it did.
    Unknown {},
}

/// The version of the companion's interface that is spoken here.
pub const INTERFACE: &str = "1";

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Missing { plugin } => {
                let message = format!(
                    "this needs the Obsidian app with {plugin}, which is not reachable from here: use a tool that works on the vault's files"
                );
                Self::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", plugin)
            }
            Failure::Unreachable { plugin, why } => {
                let message =
                    format!("{plugin} did not answer ({why}): see that Obsidian runs, and make the call again");
                Self::new(Code::Unavailable, Reason::PluginUnreachable, message)
                    .with("plugin", plugin)
                    .with("retry_after_seconds", 5)
            }
            Failure::Incompatible { version, interface } => {
                let message = format!(
                    "{COMPANION} {version} speaks version {interface} of its interface, and here version {INTERFACE} is spoken: the person has to update one of them"
                );
                Self::new(Code::NotFound, Reason::PluginIncompatible, message)
                    .with("plugin", COMPANION)
                    .with("version", version)
                    .with("expected", INTERFACE)
            }
            Failure::Unknown {} => lost(),
            Failure::NotFound { why } => Self::not_found(Reason::NoteNotFound, why),
            Failure::Wrong { why } => Self::bad_request(Reason::InvalidInput, why),
            Failure::NotAllowed { why } => Self::new(Code::Forbidden, Reason::ElicitRequired, why),
            Failure::TooLarge {} => Self::new(
                Code::TooLarge,
                Reason::Overflow,
                "the app's answer is larger than answers may be: ask for less",
            ),
        }
    }
}

/// The error for a request that may have had its effect.
pub(crate) fn lost() -> Error {
    let message = "the app was asked for this before, and it is not known what came of it: look in the app, then call with a new key";
    Error::new(Code::Unavailable, Reason::CommitUnknown, message)
}

/// How the app of a vault is reached; by default not at all.
#[derive(Clone, Default)]
pub struct Reach {
    /// The app, where the process can reach it.
    pub app: Option<Arc<Client>>,
    /// The key that seals requests and answers in the bucket, where the app is reached through it.
    pub secret: Option<Secret>,
    /// The ids of commands that run without a person's confirmation.
    pub safe_commands: Arc<[String]>,
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").field("safe_commands", &self.safe_commands).finish_non_exhaustive()
    }
}

impl Reach {
    /// Whether it is reached somehow.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.app.is_some() || self.secret.is_some()
    }
}
