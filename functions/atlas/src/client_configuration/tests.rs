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

/// The file `there` after the change; a second change leaves it as it is.
fn written(snippet: &Snippet, there: &str) -> String {
    let written = snippet.written(Some(there)).unwrap().unwrap();
    assert_eq!(snippet.written(Some(&written)), Ok(None), "{written}");
    written
}

#[test]
fn a_file_that_is_not_there_gets_the_server_alone() {
    let written = snippet(Client::Cursor, &program()).written(None).unwrap().unwrap();
    let expected = json!({ "mcpServers": { "atlas": { "command": "atlas", "args": ["mcp"] } } });
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);
    assert!(written.lines().count() > 5, "{written}");
    for empty in ["", "\n", "{}"] {
        let written = self::written(&snippet(Client::Cursor, &program()), empty);
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);
    }
}

#[test]
fn comments_order_and_numbers_of_a_json_file_stay_as_written() {
    let there = "{\n  // mine\n  \"z\": 12345678901234567890123, /* two */ \"y\": 1.50e3,\n  \"mcpServers\": {\n    \"other\": { \"url\": \"x\" }, // last\n  },\n}\n";
    let written = written(&snippet(Client::Cursor, &program()), there);
    for piece in
        ["// mine\n", "12345678901234567890123, /* two */", "1.50e3", "\"other\": { \"url\": \"x\" }", "// last"]
    {
        assert!(written.contains(piece), "{piece} is not in {written}");
    }
    assert!(written.find("\"z\"") < written.find("mcpServers"), "{written}");
    assert!(written.contains("\"command\": \"atlas\""), "{written}");
}

#[test]
fn of_a_server_that_is_there_only_how_it_is_reached_changes() {
    let there =
        r#"{"mcpServers": {"atlas": {"type": "stdio", "command": "old", "env": {"A": "b"}, "disabled": true}}}"#;
    let atlas = |written: &str| serde_json::from_str::<Value>(written).unwrap()["mcpServers"]["atlas"].clone();
    let first = written(&snippet(Client::ClaudeCode, &program()), there);
    let expected =
        json!({ "type": "stdio", "command": "atlas", "env": { "A": "b" }, "disabled": true, "args": ["mcp"] });
    assert_eq!(atlas(&first), expected);
    let second = written(&snippet(Client::ClaudeCode, &address()), &first)
        .replace("\"Authorization\"", "\"X\": \"y\", \"Authorization\"");
    let third =
        written(&snippet(Client::ClaudeCode, &address()), &second.replace("a.example/mcp", "a.example/old/mcp"));
    let headers = json!({ "X": "y", "Authorization": "Bearer ${NOTES_TOKEN}" });
    let expected = json!({ "env": { "A": "b" }, "disabled": true, "type": "http", "url": "https://a.example/mcp", "headers": headers });
    assert_eq!(atlas(&third), expected);
    let back = atlas(&written(&snippet(Client::ClaudeCode, &program()), &third));
    assert_eq!(back, json!({ "env": { "A": "b" }, "disabled": true, "command": "atlas", "args": ["mcp"] }));
}

/// An entry with the credentials of an old address, in the client's format.
fn with_credentials(client: Client, url: &str) -> String {
    match client {
        Client::Codex => format!(
            "[mcp_servers.atlas]\nurl = '{url}'\nbearer_token_env_var = 'OLD'\nenabled = true\n\n[mcp_servers.atlas.http_headers]\nA = 'OLD'\n\n[mcp_servers.atlas.env_http_headers]\nB = 'OLD'\n"
        ),
        _ => {
            let member = if client == Client::Vscode { "servers" } else { "mcpServers" };
            let entry = json!({ "url": url, "headers": { "Authorization": "Bearer OLD" }, "auth": { "CLIENT_SECRET": "OLD" }, "enabled": true });
            json!({ member: { "atlas": entry } }).to_string()
        }
    }
}

#[test]
fn an_address_of_another_origin_gets_no_credentials_of_the_old_one() {
    for client in [Client::ClaudeCode, Client::Codex, Client::Cursor, Client::Vscode] {
        for token in [None, Some("NEW".to_owned())] {
            let server = Server::Address { url: "https://a.example/mcp".to_owned(), token };
            let after = |url: &str| written(&snippet(client, &server), &with_credentials(client, url));
            for old in ["https://b.example/mcp", "http://a.example/mcp", "https://a.example:8443/mcp", "${ADDRESS}", ""]
            {
                let after = after(old);
                assert!(!after.contains("OLD") && after.contains("enabled"), "{client:?} of {old}: {after}");
            }
            let kept = after("https://a.example:443/old");
            assert!(kept.contains("OLD") && kept.contains("https://a.example/mcp"), "{client:?}: {kept}");
        }
        let program = client.snippet(&program(), Path::new(""), Path::new("")).unwrap();
        assert!(!written(&program, &with_credentials(client, "https://a.example/mcp")).contains("OLD"), "{client:?}");
    }
}

#[test]
fn an_input_of_vs_code_is_there_once() {
    let snippet = snippet(Client::Vscode, &address());
    let written = written(&snippet, r#"{"inputs": [{"id": "atlas-token", "description": "mine"}, {"id": "x"}]}"#);
    let whole: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(whole["inputs"], json!([{ "id": "atlas-token", "description": "mine" }, { "id": "x" }]));
}

#[test]
fn a_file_that_cannot_be_edited_is_refused_with_what_to_do() {
    let json = snippet(Client::Cursor, &program());
    for text in [
        "{",
        "[]",
        r#"{"mcpServers": []}"#,
        r#"{"mcpServers": {"atlas": 1}}"#,
        "{a: 1}",
        r#"{"mcpServers": {"atlas": {"url": /* mine */ "x"}}}"#,
    ] {
        assert!(json.written(Some(text)).unwrap_err().contains("by hand"), "{text}");
    }
    let twice = json.written(Some(r#"{"mcpServers": {}, "mcpServers": {}}"#)).unwrap_err();
    assert!(twice.contains("remove one of them"), "{twice}");
    let toml = snippet(Client::Codex, &program());
    let commented = "[mcp_servers.atlas]\n# mine\nurl = 'x'";
    for text in ["a = ", commented, "mcp_servers = 1", "[[mcp_servers]]\na = 1", "mcp_servers.atlas = 1"] {
        assert!(toml.written(Some(text)).unwrap_err().contains("by hand"), "{text}");
    }
}

#[test]
fn a_toml_file_gets_a_table_at_its_end() {
    let snippet = snippet(Client::Codex, &address());
    let expected = "[mcp_servers.atlas]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = \"NOTES_TOKEN\"\n";
    assert_eq!(snippet.written(None), Ok(Some(expected.to_owned())));
    assert_eq!(written(&snippet, "model = \"x\""), format!("model = \"x\"\n\n{expected}"));
    let there = "# mine\nmodel = \"x\" # which\n\n[mcp_servers.other]\nurl = 'y'\n\n[tools]\na = 0x10\n";
    let written = written(&snippet, there);
    for line in there.lines().chain(expected.lines()) {
        assert!(written.contains(line), "{line} is not in {written}");
    }
}

#[test]
fn in_whatever_form_toml_has_the_server_there_is_one_after() {
    let forms = [
        "[mcp_servers.atlas] # mine\ncommand = \"old\" # why\n",
        "[mcp_servers.\"atlas\"]\ncommand = 'old'\n",
        "[ mcp_servers.atlas ]\ncommand = 'old'\nenabled = false\n",
        "[mcp_servers]\natlas = { command = \"old\", env = { A = \"b\" } }\n",
        "mcp_servers.atlas.command = \"old\"\nmodel = 'x'\n",
        "mcp_servers.other.command = \"old\"\n",
        "mcp_servers = { a = { command = \"x\" } }\n",
        "mcp_servers = {}\n",
        "[mcp_servers]\n",
        "[mcp_servers.other]\nurl = 'x'\n\n[last]\na = 1\n",
        "[mcp_servers.atlas]\nurl = 'x'\n[mcp_servers.atlas.env_http_headers]\nA = 'B'\n",
        "[mcp_servers.atlas.env]\nA = 'B'\n",
    ];
    for there in forms {
        for server in [program(), address()] {
            // With the key the comment would go.
            if server == address() && there.contains("# why") {
                assert!(snippet(Client::Codex, &server).written(Some(there)).unwrap_err().contains("by hand"));
                continue;
            }
            let written = written(&snippet(Client::Codex, &server), there);
            let whole: toml_edit::DocumentMut = written.parse().unwrap_or_else(|error| panic!("{error}: {written}"));
            let atlas = &whole["mcp_servers"]["atlas"];
            let is_program = matches!(server, Server::Program { .. });
            let has = |key: &str| atlas.get(key).is_some();
            assert_eq!((has("command"), has("args"), has("url")), (is_program, is_program, !is_program), "{written}");
            assert!(is_program || !has("env"), "{written}");
            assert!(!is_program || !has("env_http_headers"), "{written}");
            let comments = |text: &str| ["# mine", "enabled = false", "model = 'x'"].map(|piece| text.contains(piece));
            assert_eq!(comments(&written), comments(there), "{written}");
        }
    }
    let written = written(&snippet(Client::Codex, &program()), forms[0]);
    assert_eq!(written, "[mcp_servers.atlas] # mine\ncommand = \"atlas\" # why\nargs = [\"mcp\"]\n");
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
