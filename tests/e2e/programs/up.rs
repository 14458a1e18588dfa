//! `atlas up`, and the commands that find the vault of the current folder.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::deployment::demo;
use crate::support::programs::{Place, Running, curl, json_of, refusal_of, until};

const SOON: Duration = Duration::from_secs(20);

/// `atlas up` over a copy of the demo vault.
struct Up {
    place: Place,
    notes: PathBuf,
    running: Running,
    url: String,
    token: String,
    /// The lines that it printed at the start.
    lines: Vec<String>,
}

impl Up {
    fn start() -> Self {
        let place = Place::new();
        let notes = place.path("notes");
        copy(&demo(), &notes);
        Self::over(place, notes)
    }

    fn over(place: Place, notes: PathBuf) -> Self {
        Self::over_while(place, notes, |_| {})
    }

    /// Like [`over`](Self::over); `meanwhile` changes the folder after it was published, and before the program waits
    /// for changes.
    fn over_while(place: Place, notes: PathBuf, mut meanwhile: impl FnMut(&Path)) -> Self {
        let mut command = place.in_folder(&notes);
        command.args(["up", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        let printed = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut lines = Vec::new();
        for line in printed {
            if lines.is_empty() {
                meanwhile(&notes);
            }
            let is_last = line.starts_with("Stop ");
            lines.push(line);
            if is_last {
                break;
            }
        }
        assert!(lines.last().is_some_and(|line| line.starts_with("Stop")), "{lines:?}");
        let mcp = lines.iter().find(|line| line.starts_with("MCP ")).unwrap();
        let word = |start: &str| mcp.split([' ', '"']).find(|word| word.starts_with(start)).unwrap().to_owned();
        let url = word("http://").trim_end_matches("/mcp").to_owned();
        Self { token: word("atlas_"), url, lines, place, notes, running }
    }

    fn write(&self, path: &str, text: &str) -> u16 {
        let body = json!({ "content": text }).to_string();
        let (url, bearer) = (format!("{}/notes/{path}", self.url), format!("authorization: Bearer {}", self.token));
        let answer = curl(&["-X", "POST", &url, "-H", &bearer, "-H", "content-type: application/json", "-d", &body]);
        answer.unwrap().0
    }

    fn search(&self, query: &str) -> String {
        let body = json!({ "query": query }).to_string();
        curl(&[&format!("{}/search", self.url), "-H", "content-type: application/json", "-d", &body]).unwrap().1
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.in_folder(&self.notes);
        command.args(arguments);
        command
    }

    /// Stops it like Ctrl-C; returns its standard error.
    fn stop(mut self) -> (Place, PathBuf, String) {
        Command::new("kill").args(["-INT", &self.running.0.id().to_string()]).status().unwrap();
        let mut said = String::new();
        self.running.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.running.0.wait().unwrap().success(), "{said}");
        (self.place, self.notes, said)
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-R").arg(from).arg(to).status().unwrap().success());
}

#[test]
fn what_either_side_writes_is_soon_on_the_other() {
    let up = Up::start();
    assert_eq!(up.write("inbox/idea.md", "A fog horn.\n"), 201);
    let idea = up.notes.join("inbox/idea.md");
    until(SOON, "the agent's note in the folder", || {
        fs::read_to_string(&idea).map(|text| assert_eq!(text, "A fog horn.\n"))
    });
    fs::write(up.notes.join("inbox/mine.md"), "A zebrafish.\n").unwrap();
    until(SOON, "the person's note in an answer", || {
        let found = up.search("zebrafish");
        if found.contains("inbox/mine.md") { Ok(()) } else { Err(found) }
    });
    let log = json_of(&mut up.command(&["log", "--json"]));
    let authors: Vec<&str> = log.as_array().unwrap().iter().map(|line| line["author"].as_str().unwrap()).collect();
    assert!(authors.contains(&"claude"), "{authors:?}");
}

#[test]
fn what_is_saved_while_the_first_sync_ends_is_not_left_for_later() {
    let place = Place::new();
    let notes = place.path("notes");
    copy(&demo(), &notes);
    let up = Up::over_while(place, notes, |notes| fs::write(notes.join("early.md"), "A narwhal.\n").unwrap());
    until(SOON, "the early note in an answer", || {
        let found = up.search("narwhal");
        if found.contains("early.md") { Ok(()) } else { Err(found) }
    });
}

#[test]
fn every_line_works_as_it_is_printed() {
    let up = Up::start();
    assert!(
        up.lines[0].contains(" notes published in ")
            && up.lines[0].contains("store: ~/.local/share/atlas-mirror/notes-")
    );
    let rest = up.lines.iter().find_map(|line| line.strip_prefix("REST")).unwrap();
    let found: Value = json_of(Command::new("bash").arg("-c").arg(rest));
    assert!(!found["results"].as_array().unwrap().is_empty(), "{found}");
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "append_note", "arguments": { "path": "vault/Home.md", "content": "x", "idempotency_key": "1" } },
    });
    let mcp = |token: Option<&str>| {
        let header = token.map(|token| format!("authorization: Bearer {token}"));
        let (url, call) = (format!("{}/mcp", up.url), call.to_string());
        let mut arguments = vec![url.as_str(), "-H", "content-type: application/json", "-d", &call];
        arguments.extend(["-H", "accept: application/json, text/event-stream"]);
        arguments.extend(header.iter().flat_map(|header| ["-H", header]));
        curl(&arguments).unwrap()
    };
    let (_, refused) = mcp(None);
    assert!(refused.contains("token_missing"), "{refused}");
    let (_, done) = mcp(Some(&up.token));
    assert!(!done.contains("token_missing") && !done.contains("\"isError\":true"), "{done}");
}

#[test]
fn what_an_agent_asks_for_is_told_and_done_once_it_is_approved() {
    let up = Up::start();
    let home = up.notes.join("vault/Home.md");
    let delete = || {
        let bearer = format!("authorization: Bearer {}", up.token);
        curl(&["-X", "DELETE", &format!("{}/notes/vault/Home.md", up.url), "-H", &bearer]).unwrap()
    };
    assert_eq!(delete().0, 403);
    let listed = json_of(&mut up.command(&["approvals", "--json"]));
    let call = &listed["approvals"][0];
    assert_eq!((&call["caller"], &call["files"][0]["change"]), (&json!("claude"), &json!("trashed")), "{listed}");
    let diff = call["files"][0]["diff"].as_str().unwrap();
    assert!(fs::read_to_string(&home).unwrap().lines().all(|line| diff.contains(&format!("-{line}\n"))), "{diff}");
    let id = call["id"].as_str().unwrap();
    // It is checked every two seconds.
    std::thread::sleep(Duration::from_secs(5));
    assert!(up.command(&["approve", &id[..8]]).status().unwrap().success());
    assert_eq!(delete().0, 200);
    until(SOON, "the note in the trash", || if home.exists() { Err("it is there") } else { Ok(()) });
    let (.., said) = up.stop();
    assert!(said.contains("claude asks for your approval: delete_note would change 1 file;"), "{said}");
}

#[test]
fn calls_whose_files_have_changed_are_dismissed_together() {
    let up = Up::start();
    let bearer = format!("authorization: Bearer {}", up.token);
    let delete =
        |path: &str| curl(&["-X", "DELETE", &format!("{}/notes/vault/{path}", up.url), "-H", &bearer]).unwrap().0;
    assert_eq!((delete("Home.md"), delete("planning/now.md")), (403, 403));
    fs::write(up.notes.join("vault/Home.md"), "# Home\n\nWritten anew.\n").unwrap();
    let with = |status: &str| {
        let listed = json_of(&mut up.command(&["approvals", "--status", status, "--json"]));
        listed["approvals"].as_array().unwrap().clone()
    };
    let status = |more: &[&str]| up.command(&[&["approvals", "--list"], more].concat()).status().unwrap().code();
    assert_eq!((status(&[]), status(&["--json"])), (Some(3), Some(3)));
    let has_lapsed = || with("pending").iter().any(|call| call["lapsed"] == true);
    until(SOON, "a lapsed call", || if has_lapsed() { Ok(()) } else { Err("there is none") });
    let dismissed = up.command(&["approvals", "--dismiss-lapsed"]).output().unwrap();
    assert_eq!((dismissed.status.code(), dismissed.stdout.as_slice()), (Some(0), b"dismissed: 1\n".as_slice()));
    let (refused, waiting) = (with("refused"), with("pending"));
    assert_eq!((refused.len(), waiting.len()), (1, 1), "{refused:?} {waiting:?}");
    assert_eq!(
        (&refused[0]["files"][0]["path"], &refused[0]["reason"], &waiting[0]["files"][0]["path"]),
        (&json!("vault/Home.md"), &json!("a file has changed since"), &json!("vault/planning/now.md"))
    );
}

#[test]
fn the_page_opens_by_each_link_once_until_all_sessions_are_ended() {
    let up = Up::start();
    let link = up.lines.iter().find_map(|line| line.strip_prefix("Page")).unwrap().trim().to_owned();
    assert!(link.starts_with(&format!("{}/ui/open/", up.url)), "{link}");
    let jar = up.place.path("cookies");
    let jar = jar.to_str().unwrap();
    let page = |address: &str| curl(&["--location", "--cookie", jar, "--cookie-jar", jar, address]).unwrap();
    let (status, approvals) = page(&link);
    assert!(status == 200 && approvals.contains("Nothing waits for you"), "{approvals}");
    assert_eq!(curl(&[&link]).unwrap().0, 403);
    assert!(up.command(&["ui", "--sign-out"]).status().unwrap().success());
    assert_eq!(page(&format!("{}/ui", up.url)).0, 401);
    let other = up.command(&["ui", "--url", &up.url]).output().unwrap();
    let other = String::from_utf8(other.stdout).unwrap();
    assert_eq!(page(other.trim()).0, 200);
    // The command finds the server itself, whatever its port.
    let found = up.command(&["ui"]).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(found.starts_with(&up.url) && page(found.trim()).0 == 200, "{found}");
    // The agent is told where the person decides.
    let bearer = format!("authorization: Bearer {}", up.token);
    let refused = curl(&["-X", "DELETE", &format!("{}/notes/vault/Home.md", up.url), "-H", &bearer]).unwrap().1;
    let refused: Value = serde_json::from_str(&refused).unwrap();
    let url = refused["error"]["details"]["approval"]["url"].as_str().unwrap();
    assert!(page(url).1.contains("delete a note"), "{url}");
    let (place, notes, _) = up.stop();
    // At this port nothing is.
    let said = refusal_of(place.in_folder(&notes).arg("ui").env("ATLAS_PORT", "1"));
    assert!(said.contains("nothing on this machine serves the vault main"), "{said}");
}

#[test]
fn a_client_whose_token_is_revoked_is_refused_at_its_next_request() {
    let up = Up::start();
    assert_eq!(up.write("inbox/one.md", "x"), 201);
    let clients = json_of(&mut up.command(&["clients", "list", "--json"]));
    assert_eq!(clients[0]["name"], "claude");
    assert!(up.command(&["clients", "revoke", "claude"]).status().unwrap().success());
    assert_eq!(up.write("inbox/two.md", "x"), 401);
    let other = up.command(&["clients", "add", "cursor"]).output().unwrap();
    let other = String::from_utf8(other.stdout).unwrap().trim().to_owned();
    let up = Up { token: other, ..up };
    assert_eq!(up.write("inbox/two.md", "x"), 201);
    // A page of another site may not ask for what anybody at the host may read.
    let asked = |origin: &str| {
        let body = "{\"arguments\":{\"term\":\"tide\"}}";
        let address = format!("{}/bridge/v1/tools/find/call", up.url);
        let origin = format!("origin: {origin}");
        curl(&[&address, "-H", &origin, "-H", "content-type: text/plain", "-d", body]).unwrap().0
    };
    assert_eq!((asked("https://elsewhere.example"), asked(&up.url)), (403, 200));
}

#[test]
fn commands_in_the_folder_find_its_vault_also_after_it_was_stopped() {
    let up = Up::start();
    let found = json_of(&mut up.command(&["where", "--json"]));
    assert_eq!(found["folder"], up.notes.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(found["store"]["given_by"], "remembered");
    let settings = json_of(&mut up.command(&["config", "show", "--json"]));
    let mut rows = settings.as_array().unwrap().iter();
    let store = rows.find(|row| row["setting"] == "ATLAS_STORE").unwrap();
    assert_eq!((&store["value"], &store["source"]), (&found["store"]["value"], &json!("remembered")));
    assert_eq!(up.write("inbox/last.md", "The last word.\n"), 201);
    let (place, notes, said) = up.stop();
    assert!(said.contains("stopped; folder and mirror are in sync"), "{said}");
    assert_eq!(fs::read_to_string(notes.join("inbox/last.md")).unwrap(), "The last word.\n");
    let inside = notes.join("vault/planning");
    let status = json_of(place.in_folder(&inside).args(["status", "--json"]));
    assert_eq!((status["to_mirror"]["added"].as_u64(), status["to_folder"]["added"].as_u64()), (Some(0), Some(0)));
    for command in [["log", "--json"], ["doctor", "--json"]] {
        assert!(json_of(place.in_folder(&inside).args(command)).as_array().is_some_and(|rows| !rows.is_empty()));
    }
    // A second start continues from the first one, with the same token.
    let again = Up::over(place, notes);
    assert!(again.lines[0].contains(" notes are in sync since "), "{:?}", again.lines);
    assert_eq!(again.write("inbox/again.md", "x"), 201);
}
