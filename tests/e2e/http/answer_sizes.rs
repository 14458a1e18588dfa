//! The limit of answers, at the doors that send an answer in more bytes: MCP sends it twice, the Bridge as text.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment};

#[derive(Clone, Copy, Debug)]
enum Door {
    Mcp,
    Bridge,
}

const DOORS: [Door; 2] = [Door::Mcp, Door::Bridge];

/// The text that is longest in JSON, and again in a JSON string.
const HARD: &str = "\"\\潮\u{1}\n";

impl Door {
    /// A tool's result, in a response of at most `max_bytes`.
    async fn answer(self, client: &Client, max_bytes: usize, tool: &str, arguments: &Value) -> Value {
        let (reply, text) = match self {
            Self::Mcp => {
                let agent = Agent::new(client, ERAS[0]);
                let reply = agent.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
                let result = reply.ok()["result"].clone();
                assert_eq!(result["isError"], false, "{tool}: {result}");
                (reply, result["content"][0]["text"].clone())
            }
            Self::Bridge => {
                let call = json!({ "arguments": arguments });
                let reply = client.post(&format!("/bridge/v1/tools/{tool}/call"), call).await;
                let body = reply.ok();
                assert_eq!(body["success"], true, "{tool}: {body}");
                (reply, body["content"][0]["text"].clone())
            }
        };
        let bytes = reply.body.len();
        assert!(bytes <= max_bytes, "{tool} through {self:?}: {bytes} bytes");
        serde_json::from_str(text.as_str().unwrap()).unwrap()
    }

    /// The items of all pages, each page with the `cursor` of the one before.
    async fn items(
        self,
        client: &Client,
        max_bytes: usize,
        tool: &str,
        mut arguments: Value,
        field: &str,
    ) -> Vec<Value> {
        let mut items = Vec::new();
        loop {
            let page = self.answer(client, max_bytes, tool, &arguments).await;
            let found = page[field].as_array().unwrap();
            assert!(!found.is_empty(), "{tool}: a page with nothing on it");
            items.extend(found.iter().cloned());
            match page.get("cursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => return items,
            }
        }
    }
}

#[tokio::test]
async fn a_long_note_is_read_in_pages_that_fit() {
    let prose = "Tides of a year. ".repeat(15_000);
    let hard = HARD.repeat(100_000);
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("prose.md", &prose).note("hard.md", &hard)).await;
    let client = deployment.client();
    // A page of prose has as much as through REST, a page of the longest text a third.
    for (path, text, most_pages) in [("prose.md", &prose, 2), ("hard.md", &hard, 7)] {
        for door in DOORS {
            let (mut whole, mut pages, mut offset) = (String::new(), 0, json!(0));
            while !offset.is_null() {
                let note = json!({ "path": path, "offset": offset });
                let page = door.answer(&client, 1_000_000, "read_note", &note).await;
                whole.push_str(page["content"].as_str().unwrap());
                pages += 1;
                offset = page["next_offset"].clone();
            }
            assert!(whole == *text, "{path} through {door:?}: {} bytes", whole.len());
            assert!(pages <= most_pages, "{path} through {door:?}: {pages} pages");
        }
    }
    let agent = Agent::new(&client, ERAS[0]);
    let (mut whole, mut address) = (String::new(), json!("atlas://main/hard.md"));
    while !address.is_null() {
        let reply = agent.ask("resources/read", json!({ "uri": address })).await;
        assert!(reply.body.len() <= 1_000_000, "{} bytes", reply.body.len());
        let page = reply.ok()["result"]["contents"][0].clone();
        whole.push_str(page["text"].as_str().unwrap());
        address = page["_meta"]["atlas-mirror/next"].clone();
    }
    assert!(whole == hard, "{} bytes", whole.len());
}

#[tokio::test]
async fn lists_come_in_pages_that_fit() {
    const MAX: usize = 50_000;
    let line = format!("tide {}", HARD.trim_end().repeat(40));
    let vault = (0..60).fold(VaultBuilder::new(), |vault, n| {
        vault.note(&format!("{} {n:02}.md", "潮".repeat(40)), &format!("[[hub]] {line}\n{line}\n"))
    });
    let deployment = Deployment::of_vault(&vault.note("hub.md", "hub")).await;
    let client = deployment.with_limits(|limits| limits.max_response_bytes = MAX).client();
    for door in DOORS {
        for (tool, arguments, field, count) in [
            ("search", json!({ "query": "tide", "limit": 1000 }), "results", 60),
            (
                "search",
                json!({ "query": "tide", "limit": 1000, "mode": "literal", "context_lines": 2 }),
                "results",
                120,
            ),
            ("list_notes", json!({ "limit": 1000 }), "items", 61),
            ("backlinks_search", json!({ "path": "hub.md", "limit": 100 }), "results", 60),
        ] {
            let items = door.items(&client, MAX, tool, arguments, field).await;
            let mut places: Vec<_> = items.iter().map(|item| format!("{} {}", item["path"], item["line"])).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!((items.len(), places.len()), (count, count), "{tool} through {door:?}");
        }
        let lines = door.answer(&client, MAX, "vault_search", &json!({ "query": "tide" })).await;
        assert!(lines["partial"].is_string() && lines["results"].as_array().unwrap().len() > 10, "{lines}");
        let pack = door.answer(&client, MAX, "atlas_pack", &json!({ "task": "tide", "budget": 1_000_000 })).await;
        assert!(pack["files"].as_array().unwrap().len() > 3, "{pack}");
    }
}

#[tokio::test]
async fn what_has_no_pages_and_does_not_fit_is_refused() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", &"x".repeat(7_000))).await;
    let client = deployment.with_limits(|limits| limits.max_response_bytes = 10_000).client();
    let note = json!({ "path": "a.md" });
    assert_eq!(Agent::new(&client, ERAS[0]).failure("note_read", note.clone()).await["code"], "overflow");
    Door::Bridge.answer(&client, 10_000, "note_read", &note).await;
}
