//! The page in Chromium: as a person uses it, with the mouse and with the keyboard alone; in both colour schemes and several widths; with
//! axe-core; and over a vault full of attacks.
//!
//! The pictures that it takes are in `ui` of the target folder. `ATLAS_WRITE_PICTURES=1` writes those of the README too.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atlas_testkit::project::{project, skip};
use serde_json::{Value, json};

use super::attacks;
use super::webdriver::{Browser, DOWN, ENTER, SOON};
use crate::support::deployment::{demo, encoded};
use crate::support::programs::{Place, Running, curl, target, until};

/// The version of axe-core that judges.
const AXE: &str = "axe-core@4.14.1";
pub(super) const WIDTHS: [u32; 3] = [320, 1280, 2560];
/// The pages that are judged.
const PAGES: [&str; 17] = [
    "/ui",
    "/ui/approvals?view=split",
    "/ui/approvals?view=rendered",
    "/ui/activity?by=claude",
    "/ui/activity/2",
    "/ui/undo?generation=2",
    "/ui/search?q=berth",
    "/ui/search?q=crane&filter=%23port&folder=vault",
    "/ui/search?folder=vault",
    "/ui/note?path=vault/Board.md",
    "/ui/conflict?path=vault/planning/now%20(conflict%202026-11-21%2014.03%20agent).md",
    "/ui/note?path=vault/planning/now.md",
    "/ui/history?path=vault/Home.md",
    "/ui/sync",
    "/ui/connect",
    "/ui/access?path=vault/Home.md&op=write&scopes=read:vault",
    "/ui/note?path=not/there.md",
];

/// A note with queries, and a conflict copy of a note, which the pages show too.
const BOARD: (&str, &str) = (
    "vault/Board.md",
    "# Board\n\n```dataview\nTABLE file.mtime AS Changed FROM \"vault\" SORT file.name LIMIT 8\n```\n\n```dataview\nTABLE FROM\n```\n",
);
const COPY: &str = "vault/planning/now (conflict 2026-11-21 14.03 agent).md";

/// `atlas up` over a folder, and an agent with a token.
struct Site {
    _running: Running,
    _place: Place,
    folder: PathBuf,
    url: String,
    link: String,
    token: String,
}

impl Site {
    fn over(folder_of: impl FnOnce(&Path)) -> Self {
        let place = Place::new();
        let folder = place.path("notes");
        folder_of(&folder);
        let mut command = place.in_folder(&folder);
        command.args(["up", "--port", "0"]).env("USER", "ada").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = Running(command.spawn().unwrap());
        let lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        let lines: Vec<String> = lines.take_while(|line| !line.starts_with("Stop")).collect();
        let word = |start: &str| {
            let mut words = lines.iter().flat_map(|line| line.split([' ', '"']));
            words.rfind(|word| word.starts_with(start)).unwrap_or_else(|| panic!("{lines:?}")).to_owned()
        };
        let link = word("http://127.0.0.1");
        let url = link.split("/ui/").next().unwrap().to_owned();
        Self { token: word("atlas_"), _running: running, _place: place, folder, url, link }
    }

    fn of_demo() -> Self {
        Self::over(|folder| assert!(Command::new("cp").arg("-R").arg(demo()).arg(folder).status().unwrap().success()))
    }

    /// A call by the agent: the status, and the answer.
    fn ask(&self, method: &str, path: &str, session: &str, body: &Value) -> (u16, String) {
        let (url, bearer) = (format!("{}{path}", self.url), format!("authorization: Bearer {}", self.token));
        let (session, body) = (format!("x-atlas-session: {session}"), body.to_string());
        let mut arguments = vec!["-X", method, &url, "-H", &bearer, "-H", &session];
        if method == "PUT" {
            arguments.extend(["-H", "if-match: *"]);
        }
        if method != "DELETE" {
            arguments.extend(["-H", "content-type: application/json", "-d", &body]);
        }
        curl(&arguments).unwrap()
    }

    fn rewrite(&self) -> u16 {
        let text = fs::read_to_string(demo().join("vault/Home.md")).unwrap();
        let text = text.replace("What we are doing", "What we do this week");
        let body = json!({ "content": text, "message": "The first line says what the list is about." });
        self.ask("PUT", "/notes/vault/Home.md", "tidy up", &body).0
    }

    fn delete(&self) -> (u16, String) {
        self.ask("DELETE", "/notes/vault/planning/backlog.md", "tidy up", &Value::Null)
    }

    /// A note with queries and a conflict copy come into the folder, and from there into the mirror.
    fn add_files(&self, browser: &Browser) {
        fs::write(self.folder.join(BOARD.0), BOARD.1).unwrap();
        let text = fs::read_to_string(demo().join("vault/planning/now.md")).unwrap();
        fs::write(self.folder.join(COPY), text.replace("the ", "this ") + "\nOne more line.\n").unwrap();
        until(SOON, "the conflict copy", || {
            browser.open(&format!("{}/ui/sync", self.url));
            let said = browser.text();
            if said.contains("1 copy") { Ok(()) } else { Err(said) }
        });
    }

    fn append(&self, path: &str, text: &str) {
        let (status, said) = self.ask(
            "POST",
            &format!("/notes/{path}"),
            "log",
            &json!({ "content": text, "message": "What happened today" }),
        );
        assert!((200..300).contains(&status), "{said}");
    }
}

/// Takes the picture `name` for a person to look at; and for the README, if it is one of its own.
fn picture(browser: &Browser, name: &str, is_own: bool) {
    browser.picture(&target().join("ui").join(format!("{name}.png")));
    if is_own && std::env::var_os("ATLAS_WRITE_PICTURES").is_some() {
        browser.picture(&project().join("tests/golden/ui").join(format!("{name}.png")));
    }
}

#[test]
fn a_person_decides_finds_and_takes_back() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of_demo();
    browser.resize(1120, 760);
    browser.open(&site.link);
    browser.sees("Nothing waits for you.");
    // The call appears by itself.
    assert_eq!(site.rewrite(), 403);
    browser.sees("claude wants to write a note");
    browser.sees("What we do this week");
    browser.run("document.activeElement.blur(); scrollTo(0, 0)");
    picture(&browser, "approvals", true);
    browser.click("//button[.='Approve']");
    browser.sees("Approved. The call passes when the agent makes it again.");
    assert_eq!(site.rewrite(), 200);
    browser.sees("approved by ada, and done");
    let home = site.folder.join("vault/Home.md");
    until(SOON, "the approved text in the folder", || {
        let text = fs::read_to_string(&home).unwrap();
        if text.contains("What we do this week") { Ok(()) } else { Err(text) }
    });
    // The next one is refused with the keyboard alone.
    assert_eq!(site.delete().0, 403);
    browser.sees("claude wants to delete a note");
    browser.tab_to("reason");
    browser.press("Keep it");
    browser.press(ENTER);
    browser.sees("Refused. The agent is told when it makes the call again.");
    assert!(site.delete().1.contains("ada refused this call: Keep it"));
    // Search, with the keyboard alone.
    browser.press("/");
    until(SOON, "the search", || if browser.address() == "/ui/search" { Ok(()) } else { Err(browser.address()) });
    browser.press("berth win");
    browser.sees("Berth windows, not slots");
    picture(&browser, "search", false);
    browser.press(DOWN);
    browser.press(ENTER);
    until(SOON, "a note", || {
        if browser.address().starts_with("/ui/note?path=") { Ok(()) } else { Err(browser.address()) }
    });
    browser.open(&format!("{}/ui/note?path=vault/planning/now.md", site.url));
    browser.sees("LINKED FROM");
    picture(&browser, "note", true);
    browser.click("//aside//a[.='Home']");
    browser.sees("What we do this week");
    // Two clicks take back the agent's last hour.
    site.append("vault/planning/now.md", "- the gate is mended");
    browser.open(&format!("{}/ui/activity?by=claude", site.url));
    browser.sees("What happened today");
    picture(&browser, "activity", true);
    browser.click("//a[starts-with(., 'Undo the last hour of claude')]");
    browser.sees("Nothing has changed yet.");
    browser.click("//button[.='Undo']");
    browser.sees("Taken back, in one new commit.");
    for path in ["vault/Home.md", "vault/planning/now.md", "vault/planning/backlog.md"] {
        let (was, file) = (fs::read_to_string(demo().join(path)).unwrap(), site.folder.join(path));
        until(SOON, path, || {
            let now = fs::read_to_string(&file).unwrap_or_default();
            if now == was { Ok(()) } else { Err(now) }
        });
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    browser.click("//button[.='Sign out']");
    browser.sees("atlas ui");
    browser.open(&site.link);
    browser.sees("This link was used before, or is too old.");
}

#[test]
fn every_page_is_fit_for_everybody_and_every_width() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of_demo();
    browser.open(&site.link);
    site.append("vault/planning/now.md", "- the gate is mended");
    assert_eq!((site.rewrite(), site.delete().0), (403, 403));
    site.add_files(&browser);
    let axe = axe();
    for (scheme, page) in ["light", "dark"].into_iter().flat_map(|scheme| PAGES.map(|page| (scheme, page))) {
        browser.prefer(scheme);
        browser.resize(1280, 800);
        browser.open(&format!("{}{page}", site.url));
        if let Some(axe) = &axe {
            judged_by(&browser, axe, &format!("{page}, {scheme}"));
        }
        for width in WIDTHS {
            browser.resize(width, 800);
            let wide = browser.run("return document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(width), "{page} is {wide} wide on a screen of {width}");
            let plain = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
            let name: String = page.trim_start_matches("/ui").chars().map(plain).collect();
            picture(&browser, &format!("{scheme}-{width}{name}"), false);
        }
    }
    // The page without a session.
    browser.open(&format!("{}/ui/sign-in", site.url));
    assert_eq!(
        browser.complaints().into_iter().filter(|said| !said.contains("404")).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}

#[test]
fn a_conflict_is_resolved_and_a_search_narrowed_with_the_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of_demo();
    browser.open(&site.link);
    browser.sees("Nothing waits for you.");
    site.add_files(&browser);
    let theirs = fs::read_to_string(site.folder.join(COPY)).unwrap();
    browser.tab_to("vault/planning/now.md");
    browser.press(ENTER);
    browser.sees("Both sides changed the same lines.");
    // The choice for a place makes another text.
    let text = "return document.getElementById('kept').value";
    assert!(!browser.run(text).as_str().unwrap().contains("One more line."));
    browser.run("document.querySelector('input[type=radio][value=theirs]:not(:checked)').focus()");
    browser.press(" ");
    browser.tab_to("Put these together");
    browser.press(ENTER);
    until(SOON, "the chosen text", || {
        if browser.address().contains("p0=theirs") { Ok(()) } else { Err(browser.address()) }
    });
    browser.open(&format!("{}/ui/conflict?path={}", site.url, encoded(COPY)));
    browser.tab_to("Keep theirs");
    browser.press(ENTER);
    browser.sees("Resolved, in one new commit.");
    let (original, copy) = (site.folder.join("vault/planning/now.md"), site.folder.join(COPY));
    until(SOON, "the kept text in the folder", || {
        let now = fs::read_to_string(&original).unwrap_or_default();
        if now == theirs && !copy.exists() { Ok(()) } else { Err(now) }
    });
    browser.open(&format!("{}/ui/search?q=crane", site.url));
    browser.tab_to("filter");
    browser.press("vault/planning");
    browser.press(ENTER);
    browser.sees("in vault/planning");
    browser.tab_to("Remove the filter");
    browser.press(ENTER);
    until(
        SOON,
        "no filter",
        || if browser.text().contains("Remove the filter") { Err(browser.text()) } else { Ok(()) },
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Has axe-core judge the page that the browser shows, if it can be had.
pub(super) fn judged(browser: &Browser, name: &str) {
    if let Some(axe) = axe() {
        judged_by(browser, &axe, name);
    }
}

fn judged_by(browser: &Browser, axe: &str, name: &str) {
    browser.run(axe);
    let judge = "const done = arguments[arguments.length - 1];\
                 axe.run(document).then((found) => done(found.violations.map((one) => \
                 one.id + ': ' + one.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; '))));";
    assert_eq!(browser.wait_for(judge), json!([]), "{name}");
}

/// axe-core from its registry; [`None`], with a message, if it cannot be had.
fn axe() -> Option<String> {
    let folder = target().join("axe");
    let file = folder.join("node_modules/axe-core/axe.min.js");
    if !file.exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-save", "--ignore-scripts", "--prefix"]).arg(&folder).arg(AXE);
        let _ = npm.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    let source = fs::read_to_string(file).ok();
    if source.is_none() {
        skip("the judgement of axe-core, because npm cannot install it");
    }
    source
}

#[test]
fn nothing_of_an_attack_runs_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::over(|folder| {
        let vault = attacks::vault();
        assert!(Command::new("cp").arg("-R").arg(vault.root()).arg(folder).status().unwrap().success());
    });
    let said = site
        .ask(
            "PUT",
            "/notes/Attack.md",
            attacks::ATTACK,
            &json!({ "content": attacks::ATTACK, "message": attacks::ATTACK }),
        )
        .1;
    let said: Value = serde_json::from_str(&said).unwrap();
    let id = said["error"]["details"]["approval"]["id"].as_str().unwrap().to_owned();
    site.append("new.md", attacks::ATTACK);
    browser.begin_with("window.alert = () => { document.documentElement.dataset.ran = 'yes'; }");
    browser.open(&site.link);
    browser.complaints();
    for place in attacks::pages(&id) {
        browser.open(&format!("{}{place}", site.url));
        assert_eq!(browser.run("return document.documentElement.dataset.ran ?? null"), Value::Null, "{place}");
        // Every script, image and frame is the page's own.
        let foreign = "return [...document.querySelectorAll('script, img, iframe, object, embed, video, audio, link')]\
                       .map((one) => one.src || one.href || one.data || location.origin + '/ui/')\
                       .filter((from) => !from.startsWith(location.origin + '/ui/'))";
        assert_eq!(browser.run(foreign), json!([]), "{place}");
        let complaints: Vec<String> =
            browser.complaints().into_iter().filter(|said| !said.contains("the server responded")).collect();
        assert_eq!(complaints, Vec::<String>::new(), "{place}");
    }
    // A file that is opened by itself is saved, and runs nothing.
    browser.open(&format!("{}/ui/note?path={}", site.url, encoded("Attack.md")));
    browser.run("location.assign('/ui/file?path=evil.svg')");
    browser.sees("Attack");
    assert_eq!(browser.run("return document.documentElement.dataset.ran ?? null"), Value::Null);
    // No page of this site stands in a frame.
    let framed = "const done = arguments[arguments.length - 1]; const frame = document.createElement('iframe'); frame.src = '/ui';\
                  frame.onload = () => { let seen = true; try { seen = !!frame.contentDocument?.querySelector('main'); } catch { seen = false; } done(seen); };\
                  document.body.append(frame);";
    assert_eq!(browser.wait_for(framed), json!(false));
}
