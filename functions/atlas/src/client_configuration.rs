//! Configuration of MCP clients: the file, and its content.
//!
//! - [`json_file`], [`toml_file`]: the content of a file with the server in it

use std::path::{Path, PathBuf};

use atlas_outbound::{Origin, Url};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

mod json_file;
mod toml_file;

/// The name of the server in every client.
const NAME: &str = "atlas";

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code, in the project's `.mcp.json`
    ClaudeCode,
    /// The Claude application for desktops
    ClaudeDesktop,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Visual Studio Code, in the workspace's `.vscode/mcp.json`
    Vscode,
}

/// The connection of a client to the notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// It starts this program with these arguments.
    Program { command: String, arguments: Vec<String> },
    /// It calls this address, with the token in this environment variable.
    Address { url: String, token: Option<String> },
}

/// A piece of configuration, and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    /// The file.
    pub(crate) path: PathBuf,
    /// The member that contains the servers; [`None`] for a TOML file.
    member: Option<&'static str>,
    /// The server in the client's format.
    entry: Map<String, Value>,
    /// Whether the client starts a program.
    is_program: bool,
    /// Other members that the file needs.
    others: Map<String, Value>,
}

impl Client {
    /// The configuration for this client, in a file of the folder `here` or of the user's `home`.
    ///
    /// # Errors
    /// When the client cannot be configured for such a server by a file.
    pub(crate) fn snippet(self, server: &Server, here: &Path, home: &Path) -> Result<Snippet, String> {
        let path = match self {
            Self::ClaudeCode => here.join(".mcp.json"),
            Self::ClaudeDesktop if cfg!(target_os = "macos") => {
                home.join("Library/Application Support/Claude/claude_desktop_config.json")
            }
            Self::ClaudeDesktop => home.join(".config/Claude/claude_desktop_config.json"),
            Self::Codex => home.join(".codex/config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Vscode => here.join(".vscode/mcp.json"),
        };
        let member = match self {
            Self::Codex => None,
            Self::Vscode => Some("servers"),
            _ => Some("mcpServers"),
        };
        let (entry, others) = match server {
            Server::Program { command, arguments } => (json!({ "command": command, "args": arguments }), Map::new()),
            Server::Address { .. } if self == Self::ClaudeDesktop => {
                return Err("Claude takes addresses in Settings, Connectors, and not in a file".to_owned());
            }
            Server::Address { url, token } => self.address(url, token.as_deref()),
        };
        let Value::Object(entry) = entry else { return Err("the server has no configuration".to_owned()) };
        Ok(Snippet { path, member, entry, is_program: matches!(server, Server::Program { .. }), others })
    }

    /// The entry of a server at an address. It contains no token.
    fn address(self, url: &str, token: Option<&str>) -> (Value, Map<String, Value>) {
        let mut entry = match self {
            Self::Codex | Self::Cursor => json!({ "url": url }),
            _ => json!({ "type": "http", "url": url }),
        };
        let mut others = Map::new();
        let Some(token) = token else { return (entry, others) };
        let reference = match self {
            Self::Codex => {
                entry["bearer_token_env_var"] = token.into();
                return (entry, others);
            }
            Self::Cursor => format!("${{env:{token}}}"),
            Self::Vscode => {
                let input = json!({ "id": "atlas-token", "type": "promptString", "description": "Token of Atlas Mirror", "password": true });
                others.insert("inputs".to_owned(), json!([input]));
                "${input:atlas-token}".to_owned()
            }
            _ => format!("${{{token}}}"),
        };
        entry["headers"] = json!({ "Authorization": format!("Bearer {reference}") });
        (entry, others)
    }
}

impl Snippet {
    /// Whether its server is at an address of the same origin as `old`: to others no credentials are sent that were for that one.
    fn is_at_same_origin(&self, old: Option<&str>) -> bool {
        let origin = |url: &str| Origin::of(&url.parse::<Url>().ok()?);
        let new = self.entry.get("url").and_then(Value::as_str).and_then(origin);
        new.is_some() && new == old.and_then(origin)
    }

    /// The file with the server, where `there` is its current content; [`None`] if it already has this server. Of a server that it has, only what says
    /// how to reach the notes is changed; what the old address was to know of the client goes with its origin.
    ///
    /// # Errors
    /// When the file cannot be changed without losing content.
    pub(crate) fn written(&self, there: Option<&str>) -> Result<Option<String>, String> {
        let text = there.unwrap_or_default();
        let written = match self.member {
            Some(member) => json_file::with(text, member, self)?,
            None => toml_file::with(text, self)?,
        };
        Ok((Some(written.as_str()) != there).then_some(written))
    }
}

#[cfg(test)]
mod tests;
