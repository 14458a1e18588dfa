//! `generate_uri`: a link that triggers an action of the Obsidian app.

use std::collections::BTreeMap;

use atlas_ops::arguments::{Given, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The characters that stay unencoded in a value (RFC 3986, unreserved).
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Longest link, in bytes.
const MAX_URI: usize = 100_000;
/// Most parameters.
const MAX_PARAMS: usize = 50;

/// Makes an obsidian:// link that triggers an action of the Obsidian app: open, search, create and others.
pub struct GenerateUri;

/// The action of the app.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The vault's name in the app; the app chooses if not given.
    #[serde(default)]
    vault_name: Given<Text<200>>,
    /// The action.
    action: Action,
    /// Parameters of the action: strings, numbers and booleans by name; true is a name without a value, false omits it.
    /// `open`: file or path, heading, block, prepend, append, paneType. `search`: query. `new`: name, file or path,
    /// content, clipboard, silent, append, overwrite, prepend, paneType. `daily`: content, clipboard, silent, append,
    /// prepend, paneType. `command`: commandid or commandname, and filepath. `hookmark`: nothing. All but open and
    /// search take x-success and x-error. `advanced`: any parameters of the plugin Advanced URI.
    #[serde(default)]
    params: BTreeMap<String, Value>,
}

/// An action of the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Open a note, or the vault.
    Open,
    /// Search.
    Search,
    /// Create a note, or add to one.
    New,
    /// Open today's note.
    Daily,
    /// Run a command, with the plugin Advanced URI.
    Command,
    /// Return the address of the open note, for Hookmark.
    Hookmark,
    /// Another action of the plugin Advanced URI.
    Advanced,
}

/// The link.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The link.
    uri: String,
}

impl Action {
    /// The part after `obsidian://`.
    const fn host(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Search => "search",
            Self::New => "new",
            Self::Daily => "daily",
            Self::Command | Self::Advanced => "advanced-uri",
            Self::Hookmark => "hook-get-address",
        }
    }

    /// Its parameters; [`None`] for any.
    const fn takes(self) -> Option<&'static [&'static str]> {
        Some(match self {
            Self::Open => &["file", "path", "heading", "block", "prepend", "append", "paneType"],
            Self::Search => &["query"],
            Self::New => &[
                "name",
                "file",
                "path",
                "content",
                "clipboard",
                "silent",
                "append",
                "overwrite",
                "prepend",
                "paneType",
                "x-success",
                "x-error",
            ],
            Self::Daily => &["content", "clipboard", "silent", "append", "prepend", "paneType", "x-success", "x-error"],
            Self::Command => &["commandid", "commandname", "filepath", "x-success", "x-error"],
            Self::Hookmark => &["x-success", "x-error"],
            Self::Advanced => return None,
        })
    }

    /// Parameters of which it needs at least one.
    const fn needs(self) -> &'static [&'static str] {
        match self {
            Self::New => &["name", "file", "path"],
            Self::Command => &["commandid", "commandname"],
            _ => &[],
        }
    }
}

impl Operation for GenerateUri {
    const INFO: Info = Info {
        name: "generate_uri",
        title: "Make a link for the app",
        description: "Makes an obsidian:// link: in the Obsidian app of the person who follows it, it opens, searches, creates or runs something. Reads nothing of a vault. Example: {\"action\": \"open\", \"params\": {\"file\": \"Projects/Atlas.md\"}}",
        scopes: &[],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(_: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        Ok(Answer { value: Output { uri: uri(&arguments)? }, generation: None })
    }
}

fn uri(arguments: &Arguments) -> Result<String, Error> {
    let Arguments { vault_name, action, params } = arguments;
    let needs = action.needs();
    if params.len() > MAX_PARAMS {
        return Err(invalid_input("params", &format!("write at most {MAX_PARAMS}")));
    }
    if !needs.is_empty() && !needs.iter().any(|name| params.contains_key(*name)) {
        return Err(invalid_input("params", &format!("write one of {}", needs.join(", "))));
    }
    if let Some(takes) = action.takes()
        && let Some(name) = params.keys().find(|name| !takes.contains(&name.as_str()))
    {
        let message = format!("{name:?} is not known; this action takes {}", takes.join(", "));
        return Err(invalid_input("params", &message));
    }
    let mut parts = Vec::new();
    if let Some(vault) = &**vault_name {
        parts.push(format!("vault={}", encoded(vault.as_str())));
    }
    let is_open = *action == Action::Open;
    let file = params.get("file").filter(|_| is_open).map(|file| file_of(file, params)).transpose()?;
    for (name, value) in params {
        let value = match value {
            Value::String(_) if is_open && name == "file" => file.clone().unwrap_or_default(),
            _ if is_open && matches!(name.as_str(), "heading" | "block") => continue,
            Value::String(text) => encoded(text),
            Value::Number(number) => number.to_string(),
            Value::Bool(false) => continue,
            Value::Bool(true) => {
                parts.push(encoded(name));
                continue;
            }
            _ => return Err(invalid_input(&format!("params.{name}"), "write text, a number, true or false")),
        };
        parts.push(format!("{}={value}", encoded(name)));
    }
    if is_open && file.is_none() && ["heading", "block"].iter().any(|name| params.contains_key(*name)) {
        return Err(invalid_input("params", "a heading or block is of a file: write file too"));
    }
    let query = if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) };
    let uri = format!("obsidian://{}{query}", action.host());
    if uri.len() > MAX_URI {
        return Err(invalid_input("params", &format!("the link would have more than {MAX_URI} bytes")));
    }
    Ok(uri)
}

/// The file to open, with a heading or block.
fn file_of(file: &Value, params: &BTreeMap<String, Value>) -> Result<String, Error> {
    let text = |name: &str, value: &Value| {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| invalid_input(&format!("params.{name}"), "write text"))
    };
    let of = |name: &str| params.get(name).map(|value| text(name, value)).transpose();
    let subpath = match (of("heading")?, of("block")?) {
        (None, None) => String::new(),
        (Some(heading), None) => format!("#{}", heading.trim_start_matches('#').trim()),
        (None, Some(block)) => format!("#^{}", block.trim_start_matches(['#', '^'])),
        (Some(_), Some(_)) => return Err(invalid_input("params", "write a heading or a block")),
    };
    Ok(encoded(&format!("{}{subpath}", text("file", file)?)))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}
