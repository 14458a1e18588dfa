//! Everyday commands, in a synced folder.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::programs::{Place, json_of, refusal_of};

/// A synced folder of notes, as a person has it at a terminal.
struct Home {
    place: Place,
    notes: PathBuf,
}

impl Home {
    fn new() -> Self {
        let place = Place::new();
        let notes = place.path("notes");
        fs::create_dir_all(notes.join("log")).unwrap();
        fs::write(notes.join("boats.md"), "# Boats\n\nThe ferry leaves at nine.\n").unwrap();
        fs::write(notes.join("log/monday.md"), "# Monday\n\nFog.\n").unwrap();
        let home = Self { place, notes };
        home.run(&["sync", "."]);
        home
    }

    /// The output of a command that succeeds or leaves something to look at.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.place.in_folder(&self.notes).args(arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.notes.join(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.notes.join(path)).unwrap()
    }

    /// Both sides change a note, which creates a conflict copy.
    fn conflict(&self) -> String {
        self.write("boats.md", "# Boats\n\nThe ferry leaves at noon.\n");
        let before = self.run(&["where", "--only", "store"]);
        // Another host, whose change comes first.
        let other = self.place.path("other");
        self.place.in_folder(&self.notes).args(["export", "--to"]).arg(&other).status().unwrap();
        let sync = || {
            let arguments = ["sync", ".", "--store", before.trim()];
            assert!(self.place.in_folder(&other).args(arguments).output().unwrap().status.success());
        };
        sync();
        fs::write(other.join("boats.md"), "# Boats\n\nThe ferry leaves at eight.\n").unwrap();
        sync();
        self.run(&["sync"]);
        let status = json_of(self.place.in_folder(&self.notes).args(["status", "--json"]));
        status["copies"][0].as_str().unwrap().to_owned()
    }
}

#[test]
fn notes_are_found_and_read() {
    let home = Home::new();
    assert_eq!(home.run(&["read", "log/monday.md"]), home.read("log/monday.md"));
    let found = home.run(&["search", "ferry"]);
    assert!(found.contains("boats.md:3:The ferry leaves at nine."), "{found}");
    assert_eq!(home.run(&["search", "-F", "Fog."]), "log/monday.md:3:Fog.\n");
    assert_eq!(home.run(&["search", "-e", "^F..", "-g", "log/*"]), "log/monday.md:3:Fog.\n");
    assert_eq!(home.run(&["search", "-F", "Fog.", "-C", "1"]), "log/monday.md-2-\nlog/monday.md:3:Fog.\n");
    let table = home.run(&["table", "TABLE file.size AS size FROM \"log\""]);
    assert_eq!(table, "File,size\r\nlog/monday.md,15\r\n");
    let lines = home.run(&["table", "LIST WITHOUT ID file.name", "-f", "jsonl", "-n", "1"]);
    assert_eq!(lines, "{\"file.name\":\"boats\"}\n");
    assert!(refusal_of(home.place.in_folder(&home.notes).args(["table", "LISTS"])).contains("line 1, column"));
    let none = home.place.in_folder(&home.notes).args(["search", "submarine"]).output().unwrap();
    assert_eq!((none.status.code(), none.stdout.is_empty(), none.stderr.is_empty()), (Some(1), true, true));
    assert!(
        refusal_of(home.place.in_folder(&home.notes).args(["read", "none.md"])).contains("there is no note at none.md")
    );
}

#[test]
fn results_are_painted_on_terminals_whose_owner_wants_it() {
    let home = Home::new();
    let atlas = home.place.in_folder(&home.notes).get_program().to_str().unwrap().to_owned();
    // `script` gives the program a terminal of its own.
    let on_terminal = |set: &[(&str, &str)], line: &str| {
        let mut command = home.place.in_folder(&home.notes);
        let mut script = Command::new("script");
        script.current_dir(&home.notes).env_remove("NO_COLOR").env("TERM", "xterm-256color");
        script.envs(command.env("COLUMNS", "80").get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.envs(set.iter().copied()).args(["-qec", &format!("'{atlas}' {line}"), "/dev/null"]);
        String::from_utf8(script.stdin(Stdio::null()).output().unwrap().stdout).unwrap().replace("\r\n", "\n")
    };
    let painted =
        "\u{1b}[35mboats.md\u{1b}[0m  Boats\n\u{1b}[32m3\u{1b}[0m:The \u{1b}[1;31mferry\u{1b}[0m leaves at nine.\n";
    assert_eq!(on_terminal(&[], "search -F ferry"), painted.replace("  Boats", ""));
    assert!(on_terminal(&[], "search ferry").ends_with(painted));
    for unwanted in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert_eq!(on_terminal(&[unwanted], "search -F ferry"), "boats.md\n3:The ferry leaves at nine.\n");
    }
    home.write("boats.md", "# Boats\n\nThe ferry leaves at ten.\n");
    let diff = on_terminal(&[], "diff");
    assert!(diff.contains("\u{1b}[31m-The ferry leaves at nine.\u{1b}[0m\n\u{1b}[32m+The ferry"), "{diff}");
    assert!(!home.run(&["diff"]).contains('\u{1b}'));
}

#[test]
fn a_diff_shows_what_waits_on_either_side() {
    let home = Home::new();
    assert_eq!(home.run(&["diff"]), "");
    home.write("boats.md", "# Boats\n\nThe ferry leaves at ten.\n");
    home.write("log/red.md", "\u{1b}[2Jx\n");
    let diff = home.run(&["diff"]);
    assert!(
        diff.contains("boats.md (to the mirror)\n@@")
            && diff.contains("-The ferry leaves at nine.\n+The ferry leaves at ten.\n")
    );
    assert!(!diff.contains('\u{1b}'), "{diff:?}");
    let only = home.run(&["diff", "log"]);
    assert!(only.contains("red.md") && !only.contains("boats.md"), "{only}");
}

/// The exit status of `atlas` with these arguments.
fn status_of(home: &Home, arguments: &[&str]) -> Option<i32> {
    home.place.in_folder(&home.notes).args(arguments).output().unwrap().status.code()
}

#[test]
fn every_command_says_in_the_same_way_that_something_waits() {
    let home = Home::new();
    let all = |expected: [i32; 3]| {
        for (arguments, expected) in [&["status"][..], &["diff"], &["approvals"]].into_iter().zip(expected) {
            assert_eq!(status_of(&home, arguments), Some(expected), "{arguments:?}");
        }
    };
    all([0, 0, 0]);
    home.write("boats.md", "# Boats\n");
    all([3, 3, 0]);
    home.run(&["sync"]);
    // The plan of an undo waits for a yes.
    assert_eq!((status_of(&home, &["undo", "2"]), status_of(&home, &["undo", "2", "--json"])), (Some(3), Some(3)));
    assert_eq!(status_of(&home, &["undo", "2", "--yes"]), Some(0));
    home.run(&["sync"]);
    home.write("boats.md", "# Boats\n");
    assert_eq!((status_of(&home, &["diff", "log"]), status_of(&home, &["diff", "bots.md"])), (Some(0), Some(1)));
    home.write("boats.md", "# Boats\n\nThe ferry leaves at nine.\n");
    let copy = home.conflict();
    assert_eq!((status_of(&home, &["status"]), status_of(&home, &["resolve", "bots.md"])), (Some(3), Some(1)));
    assert_eq!(status_of(&home, &["resolve", "--keep", "mine", &copy]), Some(0));
}

#[test]
fn what_both_sides_changed_is_in_the_diff() {
    let home = Home::new();
    let store = home.run(&["where", "--only", "store"]);
    let other = home.place.path("other");
    let on_other = |arguments: &[&str]| {
        let mut command = home.place.in_folder(&other);
        assert!(command.args(arguments).args(["--store", store.trim()]).output().unwrap().status.success());
    };
    home.place.in_folder(&home.notes).args(["export", "--to"]).arg(&other).status().unwrap();
    on_other(&["sync", "."]);
    fs::write(other.join("boats.md"), "# Boats\n\nThe ferry leaves at eight.\n").unwrap();
    fs::write(other.join("log/monday.md"), "# Monday, the first\n\nFog.\n").unwrap();
    on_other(&["sync", "."]);
    home.write("boats.md", "# Boats\n\nThe ferry leaves at noon.\n");
    home.write("log/monday.md", "# Monday\n\nFog.\n\nNo boats.\n");
    let diff = home.run(&["diff"]);
    let fate = "the mirror's version becomes a conflict copy, since both sides changed line 3";
    assert!(diff.contains(&format!("boats.md (on both sides: folder -, mirror +; {fate})\n")), "{diff}");
    assert!(diff.contains("-The ferry leaves at noon.\n+The ferry leaves at eight.\n"), "{diff}");
    // A merge is shown once, as the folder would get it.
    let merge = "log/monday.md (both sides changed it: a merge, which goes to both; against the folder)\n";
    assert!(diff.contains(merge) && diff.matches("log/monday.md").count() == 1, "{diff}");
    assert!(diff.contains("-# Monday\n+# Monday, the first\n") && !diff.contains("No boats.\n+"), "{diff}");
    let status = home.run(&["status"]);
    assert!(
        status.contains("changed on both sides: log/monday.md; its changes do not meet, so they are merged\n"),
        "{status}"
    );
    assert!(status.contains(&format!("changed on both sides: boats.md; {fate}\n")), "{status}");
    let status = json_of(home.place.in_folder(&home.notes).args(["status", "--json"]));
    assert_eq!(
        (&status["merged"][0]["path"], &status["conflicts"][0]["path"]),
        (&"log/monday.md".into(), &"boats.md".into())
    );
    // With merging off both would be conflicts.
    let status = home.run(&["status", "--merge", "never"]);
    assert!(
        status.contains("changed on both sides: log/monday.md; the mirror's version becomes a conflict copy\n"),
        "{status}"
    );
    assert!(home.run(&["diff", "--merge", "never"]).contains("log/monday.md (on both sides: folder -, mirror +; "));
    home.run(&["sync"]);
    assert_eq!(home.read("log/monday.md"), "# Monday, the first\n\nFog.\n\nNo boats.\n");
}

#[test]
fn a_conflict_is_resolved_as_the_person_says() {
    for (keep, left, thrown) in
        [("mine", "at noon", Some("at eight")), ("theirs", "at eight", Some("at noon")), ("both", "at noon", None)]
    {
        let home = Home::new();
        let copy = home.conflict();
        assert!(home.read(&copy).contains("at eight") && home.read("boats.md").contains("at noon"));
        assert!(refusal_of(home.place.in_folder(&home.notes).arg("resolve")).contains("--keep mine, theirs or both"));
        let said = home.run(&["resolve", "--keep", keep]);
        assert!(said.contains("-The ferry leaves at noon.\n+The ferry leaves at eight.\n"), "{said}");
        assert!(home.read("boats.md").contains(left) && !home.notes.join(&copy).exists());
        match thrown {
            Some(thrown) => assert!(home.read(".trash/boats.md").contains(thrown)),
            None => assert!(home.read("boats 2.md").contains("at eight")),
        }
        home.run(&["sync"]);
        assert_eq!(home.run(&["resolve"]), "");
        assert!(home.run(&["read", "boats.md"]).contains(left));
    }
}

#[test]
fn what_a_commit_did_is_taken_back() {
    let home = Home::new();
    home.write("boats.md", "gone\n");
    home.write("new.md", "new\n");
    home.run(&["sync"]);
    let plan = json_of(home.place.in_folder(&home.notes).args(["undo", "2", "--json"]));
    assert_eq!((plan["dry_run"].as_bool(), plan["undone"].as_array().unwrap().len()), (Some(true), 2));
    assert!(home.run(&["undo", "2"]).contains("~ boats.md (as generation 1 wrote it)\n- new.md (into the trash)\n"));
    assert_eq!(home.run(&["read", "boats.md"]), "gone\n");
    let told = home.run(&["undo", "2", "--yes", "--message", "by mistake"]);
    assert!(told.contains("1 file restored, 1 file put into the trash: generation 3"), "{told}");
    home.run(&["sync"]);
    assert!(home.read("boats.md").contains("at nine") && !home.notes.join("new.md").exists());
    assert!(home.run(&["log"]).contains("undo_changes"));
}

#[test]
fn as_much_is_printed_beside_results_as_is_wanted() {
    let home = Home::new();
    // A link out of the vault is reported beside the result.
    std::os::unix::fs::symlink(home.place.path("elsewhere"), home.notes.join("link.md")).unwrap();
    let sync = |verbosity: &[&str]| {
        home.write("boats.md", &format!("# Boats\n\nThe ferry leaves {verbosity:?}.\n"));
        let output = home.place.in_folder(&home.notes).arg("sync").args(verbosity).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (result, beside) = sync(&[]);
    assert!(result.contains("to the mirror") && !result.contains("boats.md"), "{result}{beside}");
    assert!(beside.contains("link.md: it is a symbolic link"), "{beside}");
    let (result, beside) = sync(&["-q"]);
    assert!(result.contains("to the mirror") && beside.is_empty(), "{result}{beside}");
    let (result, beside) = sync(&["-v"]);
    assert!(format!("{result}{beside}").contains("~ boats.md"), "{result}{beside}");
    let both = home.place.in_folder(&home.notes).args(["-q", "-v", "sync"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_client_is_connected_by_what_is_printed_or_written() {
    let home = Home::new();
    let printed: serde_json::Value = serde_json::from_str(&home.run(&["connect", "cursor"])).unwrap();
    let server = &printed["mcpServers"]["atlas"];
    let arguments: Vec<&str> = server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    // Started from anywhere, as clients do, it serves these notes.
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let mut command = home.place.in_folder(&home.place.path(""));
    assert_eq!(server["command"], command.get_program().to_str().unwrap());
    let mut started = command.args(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    started.stdin.take().unwrap().write_all(format!("{hello}\n").as_bytes()).unwrap();
    let answer = started.wait_with_output().unwrap();
    assert!(String::from_utf8(answer.stdout).unwrap().contains("\"atlas-mirror\""));

    let file = home.place.path(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, r#"{"mcpServers": {"other": {"url": "x"}}}"#).unwrap();
    for _ in 0..2 {
        assert_eq!(home.run(&["connect", "cursor", "--write"]), "");
        let written: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(written["mcpServers"]["atlas"], *server);
        assert_eq!(written["mcpServers"]["other"]["url"], "x");
    }
    fs::write(&file, "{ // mine\n}").unwrap();
    home.run(&["connect", "cursor", "--write"]);
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.contains("// mine") && written.contains("\"atlas\""), "{written}");
    fs::write(&file, "{ mine").unwrap();
    let mut refused = home.place.in_folder(&home.notes);
    assert!(refusal_of(refused.args(["connect", "cursor", "--write"])).contains("by hand"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ mine");
    let remote = ["connect", "codex", "--url", "https://notes.example/", "--token-env", "NOTES_TOKEN"];
    assert!(home.run(&remote).contains("url = \"https://notes.example/mcp\"\nbearer_token_env_var = \"NOTES_TOKEN\""));
}

#[test]
fn a_client_reaches_the_store_of_this_shell_without_its_variables() {
    let home = Home::new();
    let store = format!("file://{}", home.place.path("elsewhere").display());
    let in_shell = |arguments: &[&str]| {
        let mut command = home.place.in_folder(&home.notes);
        command.args(arguments).envs([("ATLAS_STORE", store.as_str()), ("ATLAS_VAULT", "work")]);
        command
    };
    let said = refusal_of(&mut in_shell(&["connect", "cursor"]));
    assert!(said.contains("the vault work is not published"), "{said}");
    assert!(in_shell(&["sync", "."]).output().unwrap().status.success());
    // Now the folder has another store again.
    let before = format!("file://{}", home.place.path("again").display());
    home.run(&["sync", ".", "--store", &before, "--vault", "main"]);
    let printed = json_of(&mut in_shell(&["connect", "cursor"]));
    let arguments = &printed["mcpServers"]["atlas"]["args"];
    let root = home.notes.canonicalize().unwrap();
    let expected = ["mcp", "--root", root.to_str().unwrap(), "--store", &store, "--vault", "work"];
    assert_eq!(*arguments, serde_json::json!(expected));
}

#[test]
fn to_look_at_what_a_sync_would_do_makes_no_store() {
    let home = Home::new();
    let none = home.place.path("none");
    let store = format!("file://{}", none.display());
    for arguments in [&["status"][..], &["diff"], &["sync", "--dry-run"]] {
        let said = home.run(&[arguments, &["--store", &store]].concat());
        assert!(said.contains("boats.md") || said.contains("+2"), "{said}");
    }
    assert!(!none.exists());
}

#[test]
fn a_folder_of_code_is_served_as_such_and_a_vault_is_not() {
    let home = Home::new();
    let code = home.place.path("code");
    for folder in [code.clone(), home.place.path("vault/.obsidian")] {
        fs::create_dir_all(folder).unwrap();
    }
    let mcp = |arguments: &[&str]| {
        let mut command = home.place.in_folder(&home.place.path(""));
        command.arg("mcp").args(arguments).stdin(Stdio::null());
        command
    };
    let served = mcp(&["--root", "code"]).output().unwrap();
    let told = String::from_utf8(served.stderr).unwrap();
    assert!(served.status.success() && told.contains("is served read-only as code"), "{told}");
    assert!(refusal_of(&mut mcp(&["--root", "vault"])).contains("run `atlas sync "));
    assert!(refusal_of(mcp(&[]).current_dir(home.place.path("vault"))).contains("--code"));
    assert!(code.join(".atlas").exists() && !home.place.path("vault/.atlas").exists());
    assert!(mcp(&["--root", "vault", "--code"]).output().unwrap().status.success());
}

#[test]
fn without_a_home_folder_it_is_said_which_variable_is_missing() {
    let home = Home::new();
    for arguments in [&["log"][..], &["status"], &["sync", "."], &["up", "."], &["mcp"], &["clients", "list"]] {
        let mut command = home.place.in_folder(&home.notes);
        let said = refusal_of(command.args(arguments).env_remove("HOME").stdin(Stdio::null()));
        assert!(said.contains("set HOME"), "{arguments:?}: {said}");
    }
    assert!(!home.notes.join(".atlas").exists());
}
