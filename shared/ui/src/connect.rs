//! The configuration that each client needs to reach this service.

use axum::http::header::HOST;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::json;

use crate::frame::Section;
use crate::session::cookie::is_local;
use crate::visit::Visit;

/// The placeholder for the visitor's token.
const TOKEN: &str = "TOKEN";

/// A client, where its configuration goes, and what that is.
struct Snippet {
    id: &'static str,
    client: &'static str,
    place: &'static str,
    text: String,
}

/// The page.
pub(crate) async fn page(visit: Visit) -> Response {
    let address = address(&visit);
    let takes_signed = visit.app().gate.takes_signed();
    let snippets = snippets(&format!("{address}/mcp"), &address);
    let content = html! {
        h1 { "Connect" }
        p.lead { "Agents reach your notes at " code { (address) "/mcp" } "." }
        section.card {
            h2 { "1. A token for each client" }
            @if takes_signed {
                p { "Its scopes say what the client may do; " code { "read:vault" } " alone lets it change nothing." }
                (command("token", "atlas token --scopes read:vault,write:vault"))
            } @else {
                p { "So commits say who made them, and you can revoke one alone. Run this in the folder of your notes:" }
                (command("token", "atlas clients add NAME"))
            }
            p.hint { "Put it where the snippets say " code { (TOKEN) } ". Whatever would destroy what others wrote waits under Approvals first." }
        }
        section.card {
            h2 { "2. The client" }
            @for snippet in &snippets {
                h3 { (snippet.client) } p.hint { (snippet.place) }
                (command(snippet.id, &snippet.text))
            }
        }
    };
    visit.page(Section::Connect, "Connect", content)
}

/// A text to copy.
fn command(id: &str, text: &str) -> Markup {
    html! {
        pre.command tabindex="0" { code id=(id) { (text) } }
        button type="button" data-copy=(id) hidden { "Copy" }
    }
}

/// This service's address.
fn address(visit: &Visit) -> String {
    if let Some(page) = &visit.app().page {
        return page.trim_end_matches("/ui").to_owned();
    }
    let host = visit.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    format!("{}://{host}", if is_local(&visit.headers) { "http" } else { "https" })
}

fn snippets(mcp: &str, address: &str) -> Vec<Snippet> {
    let bearer = format!("Bearer {TOKEN}");
    let entry = json!({ "type": "http", "url": mcp, "headers": { "Authorization": bearer } });
    let pretty = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default();
    vec![
        Snippet {
            id: "claude-code",
            client: "Claude Code",
            place: "In a terminal:",
            text: format!("claude mcp add --transport http atlas {mcp} --header \"Authorization: {bearer}\""),
        },
        Snippet {
            id: "cursor",
            client: "Cursor",
            place: "In .cursor/mcp.json:",
            text: pretty(&json!({ "mcpServers": { "atlas": entry } })),
        },
        Snippet {
            id: "vscode",
            client: "Visual Studio Code",
            place: "In .vscode/mcp.json:",
            text: pretty(&json!({ "servers": { "atlas": entry } })),
        },
        Snippet {
            id: "codex",
            client: "Codex",
            place: "In ~/.codex/config.toml; the token goes into the variable ATLAS_TOKEN:",
            text: format!("[mcp_servers.atlas]\nurl = \"{mcp}\"\nbearer_token_env_var = \"ATLAS_TOKEN\""),
        },
        Snippet {
            id: "rest",
            client: "A program, over REST",
            place: "In a terminal:",
            text: format!(
                "curl -s {address}/search -H 'content-type: application/json' -H 'authorization: {bearer}' -d '{{\"query\":\"harbour\"}}'"
            ),
        },
    ]
}
