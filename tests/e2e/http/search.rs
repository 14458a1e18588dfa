//! `search` finds the same as ripgrep on the folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use atlas_segment::Kind;
use atlas_testkit::VaultBuilder;
use atlas_testkit::project::skip;
use base64::Engine as _;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, demo};

/// Path, line and its text.
type Lines = BTreeSet<(String, u64, String)>;

/// ripgrep's results, or its error.
fn ripgrep(root: &Path, arguments: &[&str], pattern: &str) -> Option<Result<Lines, String>> {
    let mut command = Command::new("rg");
    command.args(["--no-config", "--no-ignore", "--hidden", "--json", "--glob=!.obsidian", "--glob=!.git"]);
    command.args(arguments).arg("--regexp").arg(pattern).arg(".").current_dir(root);
    let output = command.output().ok()?;
    if output.status.code() == Some(2) {
        return Some(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let text = |value: &Value| match value["text"].as_str() {
        Some(text) => text.to_owned(),
        None => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(value["bytes"].as_str().unwrap());
            String::from_utf8_lossy(&bytes.unwrap()).into_owned()
        }
    };
    let found = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let found =
        found.map(|line| serde_json::from_slice::<Value>(line).unwrap()).filter(|found| found["type"] == "match");
    let line = |found: Value| {
        let data = &found["data"];
        let path = text(&data["path"]).trim_start_matches("./").to_owned();
        (path, data["line_number"].as_u64().unwrap(), text(&data["lines"]).trim_end_matches(['\n', '\r']).to_owned())
    };
    Some(Ok(found.map(line).collect()))
}

/// The results of `search`, from all pages, or its error.
async fn searched(client: &Client, mut body: Value) -> Result<Lines, String> {
    let mut found = Lines::new();
    loop {
        let response = client.post("/search", body.clone()).await;
        if response.status != 200 {
            return Err(response.json()["error"]["message"].as_str().unwrap().to_owned());
        }
        let page = response.json();
        assert!(page.get("partial").is_none(), "{page}");
        let before = found.len();
        let matches = page["results"].as_array().unwrap();
        for found_line in matches {
            let text = |name: &str| found_line[name].as_str().unwrap().to_owned();
            found.insert((
                text("path"),
                found_line["line"].as_u64().unwrap(),
                text("text").trim_end_matches('\r').to_owned(),
            ));
        }
        assert_eq!(found.len(), before + matches.len(), "a line came twice");
        match page.get("cursor") {
            Some(cursor) => body["cursor"] = cursor.clone(),
            None => return Ok(found),
        }
    }
}

/// Compares lines; of a cut one only the beginning and end.
fn assert_same(ours: &Lines, theirs: &Lines, pattern: &str) {
    let key = |(path, line, _): &(String, u64, String)| (path.clone(), *line);
    let (a, b): (BTreeSet<_>, BTreeSet<_>) = (ours.iter().map(key).collect(), theirs.iter().map(key).collect());
    assert_eq!(a.difference(&b).next(), None, "{pattern:?}: ripgrep does not find it");
    assert_eq!(b.difference(&a).next(), None, "{pattern:?}: only ripgrep finds it");
    for ((_, _, ours), (path, line, theirs)) in ours.iter().zip(theirs) {
        let kept = ours.trim_matches('…');
        assert!(
            ours == theirs || (theirs.len() > 1_200 && theirs.contains(kept)),
            "{pattern:?} in {path}:{line}: {ours:?}"
        );
    }
}

const PATTERNS: &[&str] = &[
    "the",
    "Harbour",
    "(?i)harbour",
    "^#",
    "^## .*",
    r"\bgauge\b",
    r"\d{4}-\d{2}-\d{2}",
    "colou?r|harbou?r",
    "(tide|berth)s?",
    "[A-Z]{3,}",
    "^$",
    "x*",
    "$",
    r"\w+@\w+",
    r"the\w*",
    r"\p{L}*",
    r"(?i)\p{Lu}+\s\w*ide",
    r"[^\w]\d{2,}",
    r"\p{Han}+",
    r"\p{Emoji}",
    "日本",
    "潮",
    "é",
    "É",
    "(?i)É",
    r"(?-u)\xff",
    r"[^\x00-\x7f]",
    r"\r$",
    "\u{feff}",
    r"^\u{feff}",
    "a.{0,3}b",
    "(?s)a.b",
    "(?m)^the",
    r"\Athe",
    r"the\z",
    r"\[\[[^\]]+\]\]",
    "- \\[ \\]",
    r"^\s*$",
    r"\x00",
    "zzzzqqqq",
    "(a|b|c|d|e|f|g){6}",
    "k",
    "\u{212a}",
    "(?i)k",
    "ſ",
    "(?i:s)tone",
    r"\Bing\b",
    "(?x) ti de # spaces do not count",
    "(",
    "a{1,",
    r"\n",
    "[z-a]",
    r"\q",
];

/// A published folder.
struct Searched<'a> {
    root: &'a Path,
    client: Client,
    /// The files whose text is mirrored and compared.
    texts: BTreeSet<String>,
}

impl<'a> Searched<'a> {
    async fn of(root: &'a Path) -> Self {
        let deployment = Deployment::of(root).await;
        let head = deployment.mirror().head().await.unwrap();
        let mut texts = BTreeSet::new();
        head.open_all().await.unwrap();
        for (segment, entry) in head.segments().iter().enumerate() {
            for (page, _) in entry.layout.record_pages().unwrap() {
                let parts = head.load(&[(segment, page)]).await.unwrap();
                let page = parts[0].record_page().unwrap();
                let records = (0..page.len()).map(|index| page.get(index).unwrap());
                texts.extend(
                    records.filter(|record| matches!(record.kind, Kind::Note | Kind::Text)).map(|record| record.path),
                );
            }
        }
        Self { root, client: deployment.client(), texts }
    }
}

/// Deletes, changes and adds notes in a folder and publishes it in several commits, so that there are several segments.
async fn in_segments(vault: &VaultBuilder) -> Deployment {
    let deployment = Deployment::empty();
    let state = tempfile::tempdir().unwrap();
    let publish = async || crate::support::publish::publish(vault.root(), &deployment.mirror(), state.path()).await;
    let note = |n: usize, round: usize| {
        format!("# Note {n}\n\nthe tide of {round}\n{}end of {n}", "sand and sea\n".repeat(n % 90))
    };
    for n in 0..300 {
        vault.write(&format!("{:02}/{n}.md", n % 17), note(n, 0).as_bytes());
    }
    publish().await;
    for round in 1..4 {
        for n in (round..330).step_by(7 * round) {
            vault.write(&format!("{:02}/{n}.md", n % 17), note(n + round, round).as_bytes());
        }
        for n in (0..20).map(|n| n * 13 + round) {
            let _ = std::fs::remove_file(vault.root().join(format!("{:02}/{n}.md", n % 17)));
        }
        publish().await;
    }
    assert!(deployment.mirror().head().await.unwrap().segments().len() > 2);
    deployment
}

#[tokio::test]
async fn several_segments_are_looked_through_as_one() {
    let vault = VaultBuilder::new();
    let deployment = in_segments(&vault).await;
    for limit in [1000, 7] {
        for pattern in ["tide of [123]", "^#.*9$", "end of 2", "(?i)NOTE 1.$", "sand", "^$"] {
            let Some(theirs) = ripgrep(vault.root(), &[], pattern) else { return };
            let body = json!({ "query": pattern, "mode": "regex", "limit": limit, "path_filter": "*.md" });
            if limit == 1000 || theirs.as_ref().unwrap().len() < 200 {
                let ours = searched(&deployment.client(), body).await.unwrap();
                assert_same(&ours, &theirs.unwrap(), pattern);
            }
        }
    }
}

async fn compare(folder: &Searched<'_>, mode: &str, case: &str, pattern: &str) -> bool {
    let mut arguments = Vec::new();
    if mode == "literal" {
        arguments.push("--fixed-strings");
    }
    match case {
        "insensitive" => arguments.push("--ignore-case"),
        "smart" => arguments.push("--smart-case"),
        _ => {}
    }
    let Searched { root, client, texts } = folder;
    let Some(theirs) = ripgrep(root, &arguments, pattern) else {
        assert!(std::env::var_os("CI").is_none(), "rg is not installed");
        skip("the comparison with rg, which is not installed; run: make setup-bench");
        return false;
    };
    let body = json!({ "query": pattern, "mode": mode, "case": case, "limit": 1000 });
    match (searched(client, body).await, theirs) {
        (Ok(ours), Ok(mut theirs)) => {
            theirs.retain(|(path, _, _)| texts.contains(path));
            assert_same(&ours, &theirs, pattern);
        }
        (Err(_), Err(_)) => {}
        (ours, theirs) => panic!("{pattern:?} ({mode}, {case}): {ours:?}, but ripgrep: {theirs:?}"),
    }
    true
}

#[tokio::test]
async fn it_finds_what_ripgrep_finds() {
    let odd = VaultBuilder::new()
        .note("crlf.md", "the\r\nHarbour\r\n\r\nend of the\r\n")
        .note("bom.md", "\u{feff}the first\nthe second\n")
        .note("nul.md", "the one\nthe \0 two\nthe three\n")
        .note("late nul.md", &format!("{}\0the\n", "the line\n".repeat(20_000)))
        .note("open end.md", "the\n\nlast the")
        .note("empty.md", "")
        .note("long.md", &format!("{} Harbour {}\nthe", "x".repeat(5_000), "y".repeat(5_000)))
        .note("scripts.md", "日本の潮\nÉcole école\nstone \u{17f}tone\nKelvin \u{212a}elvin\n🌊 wave\n")
        .note("deep/ly/nested [x].md", "tide TIDE\nberths\naxxb\nab\na b\n")
        .file("latin.md", b"caf\xe9 the\nthe \xff\xfe\n")
        .file("data.json", b"{\"the\": 1}\n")
        .file("utf16.md", &"\u{feff}the tide\nHarbour\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    for root in [odd.root().to_owned(), demo()] {
        let folder = Searched::of(&root).await;
        for pattern in PATTERNS {
            for case in ["sensitive", "insensitive", "smart"] {
                if !compare(&folder, "regex", case, pattern).await {
                    return;
                }
            }
            compare(&folder, "literal", "sensitive", pattern).await;
            compare(&folder, "literal", "insensitive", pattern).await;
        }
    }
}

#[tokio::test]
async fn a_text_in_utf16_is_shown_decoded() {
    let wide = "\u{feff}Meeting\r\nBudget approved\r\nNext: Ω\r\n".encode_utf16().flat_map(u16::to_le_bytes);
    let vault = VaultBuilder::new().file("wide.md", &wide.collect::<Vec<_>>());
    let folder = Searched::of(vault.root()).await;
    let asked = json!({ "query": "Budget approved", "mode": "literal", "context_lines": 1 });
    let found = folder.client.post("/search", asked).await.json();
    let line = &found["results"][0];
    assert_eq!((&line["before"], &line["after"]), (&json!(["Meeting"]), &json!(["Next: Ω"])), "{found:#}");
    let note = folder.client.get("/notes?path=wide.md").await.json();
    assert_eq!((&note["content"], &note["lossy"]), (&json!("Meeting\r\nBudget approved\r\nNext: Ω\r\n"), &json!(true)));
}

/// Words, phrases and patterns, drawn from a folder.
fn drawn(root: &Path) -> Vec<(&'static str, String)> {
    let mut queries = Vec::new();
    for (number, note) in crate::support::costs::notes_of(root).into_iter().step_by(29).enumerate() {
        let text = std::fs::read_to_string(note).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().filter(|word| word.len() < 30).collect();
        let Some(words) = words.chunks(1 + number % 3).nth(number % 11) else { continue };
        let phrase = words.join(" ");
        let escaped = regex_syntax::escape(&phrase);
        queries.push(match number % 6 {
            0 => ("literal", phrase),
            1 => ("regex", format!(r"\b{escaped}\b")),
            2 => ("regex", format!("(?i){escaped}")),
            3 => ("regex", format!("{escaped}.*[a-z]{{3}}$")),
            4 => ("regex", format!(r"^\s*[-*#>]?\s*{escaped}")),
            _ => ("regex", format!("(?:{escaped}|qqq[0-9])+")),
        });
    }
    queries
}

/// On a real vault, if there is one: three hundred queries, most of them drawn from it.
#[tokio::test]
async fn it_finds_what_ripgrep_finds_in_real_vaults() {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(std::path::PathBuf::from) else {
        println!("skipped: ATLAS_CORPORA is not set");
        return;
    };
    for name in ["hub", "help", "tldr"] {
        let root = corpora.join(name);
        let folder = Searched::of(&root).await;
        let drawn = drawn(&root);
        assert!(name == "help" || drawn.len() >= 200, "{name}: {}", drawn.len());
        for (mode, pattern) in drawn {
            if !compare(&folder, mode, "sensitive", &pattern).await {
                return;
            }
        }
        // Patterns that match every line take long to compare, and add little.
        let common = ["^$", "x*", "$", r"^\s*$", "the", "(?i)k", "k", r"\p{Emoji}", r"\Bing\b", r"[^\x00-\x7f]", "^#"];
        for pattern in PATTERNS.iter().filter(|pattern| !common.contains(pattern)) {
            compare(&folder, "regex", "sensitive", pattern).await;
        }
    }
}

fn lines_of(page: &Value) -> Vec<(String, u64)> {
    let matches = page["results"].as_array().unwrap().iter();
    matches.map(|line| (line["path"].as_str().unwrap().to_owned(), line["line"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn a_path_filter_is_ripgreps_glob() {
    let vault = ["a.md", "log/a.md", "log/b.txt", "log/deep/c.md", "x [1].md", "Log/a.md"]
        .into_iter()
        .fold(VaultBuilder::new(), |vault, path| vault.file(path, b"word\n"));
    let client = Deployment::of_vault(&vault).await.client();
    for glob in [
        "*.md",
        "log/*.md",
        "log/**",
        "**/a.md",
        "/a.md",
        "!*.md",
        "!log/**",
        "!log",
        "!log/",
        "!/log/",
        "!deep",
        "!log/*",
        "{a,c}.md",
        "x \\[1\\].md",
        "l*/?.md",
        "deep",
    ] {
        let Some(theirs) = ripgrep(vault.root(), &["--glob", glob], "word") else { return };
        let response = client.post("/search", json!({ "query": "word", "mode": "literal", "path_filter": glob })).await;
        let ours: BTreeSet<_> = lines_of(&response.json()).into_iter().collect();
        let theirs: BTreeSet<_> = theirs.unwrap().into_iter().map(|(path, line, _)| (path, line)).collect();
        assert_eq!(ours, theirs, "{glob}");
    }
    let refused = client.post("/search", json!({ "query": "word", "mode": "literal", "path_filter": "a[" })).await;
    assert_eq!(
        (refused.status.as_u16(), refused.json()["error"]["details"]["reason"].clone()),
        (400, json!("glob_invalid"))
    );
}

#[tokio::test]
async fn pages_follow_each_other_while_others_write() {
    let text: String = (0..10).map(|n| format!("word {n}\nother\n")).collect();
    let vault = VaultBuilder::new().note("a.md", &text).note("b.md", &text);
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let whole = json!({ "query": "word", "mode": "literal", "limit": 1000, "context_lines": 1 });
    let all = client.post("/search", whole.clone()).await.json();
    assert_eq!(
        all["results"][1],
        json!({ "path": "a.md", "line": 3, "text": "word 1", "before": ["other"], "after": ["other"] })
    );
    assert_eq!(client.post("/search", whole).await.json(), all);
    let mut body = json!({ "query": "word", "mode": "literal", "limit": 3 });
    let mut lines = Vec::new();
    loop {
        let page = client.post("/search", body.clone()).await.json();
        lines.extend(lines_of(&page));
        let Some(cursor) = page.get("cursor") else { break };
        body["cursor"] = cursor.clone();
        vault.write("a.md", format!("word of {}", lines.len()).as_bytes());
        deployment.publish(vault.root()).await;
    }
    assert_eq!(lines, lines_of(&all));
    body["query"] = json!("other");
    let refused = client.post("/search", body).await;
    assert_eq!(
        (refused.status.as_u16(), refused.json()["error"]["details"]["reason"].clone()),
        (400, json!("cursor_invalid"))
    );
}

#[tokio::test]
async fn more_text_than_one_call_looks_through_comes_in_pages() {
    let vault = (0..2500).fold(VaultBuilder::new(), |vault, n| {
        vault.note(&format!("{n:04}.md"), &format!("word {n}\n{}7", "sand\n".repeat(200)))
    });
    let deployment = Deployment::of_vault(&vault).await.with_limits(|limits| limits.max_scanned_bytes = 1);
    let client = deployment.client();
    let mut body = json!({ "query": r"^\w+ \d+7$", "mode": "regex", "limit": 1000 });
    let mut found = Vec::new();
    let mut partial = 0;
    loop {
        let page = client.post("/search", body.clone()).await.json();
        found.extend(lines_of(&page));
        let Some(cursor) = page.get("cursor") else { break };
        assert!(page["partial"].as_str().unwrap().contains("continue with the cursor"), "{page}");
        partial += 1;
        body["cursor"] = cursor.clone();
    }
    let expected: Vec<_> = (0..2500).filter(|n| n % 10 == 7 && *n > 9).map(|n| (format!("{n:04}.md"), 1)).collect();
    assert_eq!(found, expected);
    assert!(partial > 1, "{partial}");
}

#[tokio::test]
async fn what_one_call_has_no_time_for_comes_in_pages() {
    let long: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
    let vault = VaultBuilder::new().note("long.md", &long).note("short.md", "line 7\n").note("after.md", "line 7\n");
    let deployment = Deployment::of_vault(&vault).await;
    let body = json!({ "query": "[e]+ [0-9]*99997$|e 7$", "mode": "regex", "limit": 10 });
    let all = deployment.client().post("/search", body.clone()).await.json();
    assert_eq!(lines_of(&all).len(), 5);
    let client = deployment.with_limits(|limits| limits.max_scan_time = std::time::Duration::ZERO).client();
    let mut body = body;
    let (mut found, mut partial) = (Vec::new(), 0);
    loop {
        let page = client.post("/search", body.clone()).await.json();
        found.extend(lines_of(&page));
        let Some(cursor) = page.get("cursor") else { break };
        assert!(page["partial"].as_str().unwrap().contains("time"), "{page}");
        partial += 1;
        body["cursor"] = cursor.clone();
    }
    assert_eq!(found, lines_of(&all));
    assert!((4..40).contains(&partial), "{partial}");
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_said() {
    let client = Deployment::of_demo().await.client();
    for (body, said) in [
        (json!({ "query": "a(b", "mode": "regex" }), "a(b\n     ^\nerror: unclosed group"),
        (json!({ "query": r"a\nb", "mode": "regex" }), "not allowed"),
        (json!({ "query": "a\nb", "mode": "literal" }), "line feed"),
        (json!({ "query": r"\w{900}{900}", "mode": "regex" }), "size limit"),
        (json!({ "query": "(".repeat(900) + &")".repeat(99), "mode": "regex" }), "query"),
        (json!({ "query": "", "mode": "regex" }), "query: must not be empty"),
        (json!({ "query": "x".repeat(1001), "mode": "regex" }), "query: must be at most 1000 characters"),
        (json!({ "query": "x", "mode": "glob" }), "mode: unknown variant"),
        (json!({ "query": "x", "mode": "regex", "context_lines": 6 }), "context_lines: must be an integer from 0 to 5"),
    ] {
        let reply = client.post("/search", body.clone()).await;
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(reply.status, 400, "{body}");
        assert!(message.contains(said), "{message}");
    }
    let explained = async |query: &str| {
        let body = json!({ "query": query, "mode": "regex", "explain": true });
        client.post("/search", body).await.json()["plan"].clone()
    };
    assert_eq!(explained("zzzzqqqq").await, json!({ "kind": "index", "files": 0, "bytes": 0 }));
    assert_eq!(explained(r"\w\w").await["kind"], "scan");
}
