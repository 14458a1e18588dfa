//! Configuration of MCP clients: the file, and its content.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value, json};

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
    entry: Value,
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
        Ok(Snippet { path, member, entry, others })
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
    /// The file with the server, where `there` is its current content; [`None`] if it already has this server.
    ///
    /// # Errors
    /// When the file cannot be changed without losing content.
    pub(crate) fn written(&self, there: Option<&str>) -> Result<Option<String>, String> {
        match self.member {
            Some(member) => self.in_json(member, there),
            None => self.in_toml(there),
        }
    }

    fn in_json(&self, member: &str, there: Option<&str>) -> Result<Option<String>, String> {
        let text = there.filter(|text| !text.trim().is_empty()).unwrap_or("{}");
        let refused = || "is not a JSON object, or has comments: write the lines into it by hand".to_owned();
        let mut whole: Value = serde_json::from_str(text).map_err(|_| refused())?;
        let members = whole.as_object_mut().ok_or_else(refused)?;
        for (name, value) in &self.others {
            let kept = members.entry(name).or_insert_with(|| json!([])).as_array_mut().ok_or_else(refused)?;
            let new = value.as_array().into_iter().flatten().filter(|new| !kept.contains(new));
            let new: Vec<Value> = new.cloned().collect();
            kept.extend(new);
        }
        let servers = members.entry(member).or_insert_with(|| json!({})).as_object_mut().ok_or_else(refused)?;
        if servers.get(NAME) == Some(&self.entry) {
            return Ok(None);
        }
        servers.insert(NAME.to_owned(), self.entry.clone());
        let written = serde_json::to_string_pretty(&whole).map_err(|error| error.to_string())?;
        Ok(Some(format!("{written}\n")))
    }

    fn in_toml(&self, there: Option<&str>) -> Result<Option<String>, String> {
        let header = format!("[mcp_servers.{NAME}]");
        let there = there.unwrap_or_default();
        let lines = self.entry.as_object().into_iter().flatten();
        // The JSON of texts and lists of texts is also TOML.
        let lines: String = lines.map(|(name, value)| format!("{name} = {value}\n")).collect();
        let section = format!("{header}\n{lines}");
        if there.contains(&section) {
            return Ok(None);
        }
        if there.lines().any(|line| line.trim() == header) {
            return Err(format!("has {header} already: write the lines into it by hand"));
        }
        let gap = match there {
            "" => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        Ok(Some(format!("{there}{gap}{section}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(client: Client, server: &Server) -> Snippet {
        client.snippet(server, Path::new("here"), Path::new("home")).unwrap()
    }

    fn program() -> Server {
        Server::Program { command: "atlas".to_owned(), arguments: vec!["mcp".to_owned()] }
    }

    fn address() -> Server {
        Server::Address { url: "https://a.example/mcp".to_owned(), token: Some("NOTES_TOKEN".to_owned()) }
    }

    #[test]
    fn what_the_file_has_stays_and_a_second_time_nothing_changes() {
        let snippet = snippet(Client::Cursor, &program());
        let there = r#"{"z": 1, "mcpServers": {"other": {"url": "x"}}}"#;
        let written = snippet.written(Some(there)).unwrap().unwrap();
        let expected = json!({ "z": 1, "mcpServers": { "other": { "url": "x" }, "atlas": { "command": "atlas", "args": ["mcp"] } } });
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);
        assert!(written.find("\"z\"") < written.find("mcpServers"), "the order stays");
        assert_eq!(snippet.written(Some(&written)), Ok(None));
        for text in ["// a comment\n{}", "[]", r#"{"mcpServers": []}"#] {
            assert!(snippet.written(Some(text)).unwrap_err().contains("by hand"), "{text}");
        }
    }

    #[test]
    fn toml_is_added_to_and_never_changed() {
        let snippet = snippet(Client::Codex, &address());
        let expected = "[mcp_servers.atlas]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = \"NOTES_TOKEN\"\n";
        assert_eq!(snippet.written(None), Ok(Some(expected.to_owned())));
        let written = snippet.written(Some("model = \"x\"")).unwrap().unwrap();
        assert_eq!(written, format!("model = \"x\"\n\n{expected}"));
        assert_eq!(snippet.written(Some(&written)), Ok(None));
        assert!(snippet.written(Some("[mcp_servers.atlas]\nurl = \"y\"\n")).is_err());
    }

    #[test]
    fn no_token_stands_in_a_file() {
        for client in Client::value_variants() {
            let Ok(snippet) = client.snippet(&address(), Path::new(""), Path::new("")) else {
                assert_eq!(*client, Client::ClaudeDesktop);
                continue;
            };
            let written = snippet.written(None).unwrap().unwrap();
            assert!(written.contains("https://a.example/mcp"), "{written}");
            assert!(written.contains("NOTES_TOKEN") || written.contains("${input:atlas-token}"), "{written}");
        }
    }
}
