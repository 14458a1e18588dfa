//! The project's pages: their links resolve, the README is short, and their command lines work as described.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use atlas_ops::error::Reason;
use atlas_testkit::project::project;
use atlas_tools::catalogue;
use atlas_vault::{anchor, parse};

use crate::support::deployment::demo;
use crate::support::generated::generated_part;
use crate::support::programs::{Place, atlas, free_port};

/// Most bytes of `README.md`.
const README_BYTES: usize = 15_000;
/// Most words of one of its sentences.
const SENTENCE: usize = 30;

/// A page, by its path from the project's folder.
struct Page {
    path: String,
    text: String,
}

/// A fenced block of a page.
struct Fence<'a> {
    language: &'a str,
    /// The number of its first line, from 1.
    line: usize,
    lines: Vec<&'a str>,
}

impl Page {
    fn fences(&self) -> Vec<Fence<'_>> {
        let mut fences: Vec<Fence<'_>> = Vec::new();
        // The indent of the open fence.
        let mut open: Option<usize> = None;
        for (at, line) in self.text.lines().enumerate() {
            let text = line.trim_start();
            match (text.strip_prefix("```"), open) {
                (Some(language), None) => {
                    fences.push(Fence { language, line: at + 2, lines: Vec::new() });
                    open = Some(line.len() - text.len());
                }
                (Some(_), Some(_)) => open = None,
                (None, Some(indent)) => fences.last_mut().unwrap().lines.push(line.get(indent..).unwrap_or_default()),
                (None, None) => {}
            }
        }
        fences
    }
}

/// The project's files that end in `.extension`, except those of the tests' vaults.
fn files(extension: &str) -> Vec<Page> {
    let mut found = Vec::new();
    let mut folders = vec![project().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_left_out = name.starts_with('.') && name != ".github"
                || ["target", "vaults", "golden", "node_modules", "corpus", "artifacts"].contains(&name);
            if path.is_dir() && !is_left_out && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|of_file| of_file == extension) {
                let text = fs::read_to_string(&path).unwrap();
                found.push(Page { path: path.strip_prefix(project()).unwrap().to_str().unwrap().to_owned(), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn pages() -> Vec<Page> {
    let pages = files("md");
    assert!(pages.len() > 5 && pages.iter().any(|page| page.path == "README.md"));
    pages
}

/// `path` without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{path:?} leads out of the project"),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_reason_stands_in_the_page_of_errors() {
    let mut table = "| reason | what it means | what to do |\n|---|---|---|\n".to_owned();
    for reason in Reason::ALL {
        table += &format!("| `{reason}` | {} | {} |\n", reason.meaning(), reason.remedy());
    }
    generated_part("shared/web/README.md", "reasons", &table);
}

#[test]
fn every_tag_stands_in_the_page_of_settings() {
    let tags: BTreeSet<&str> = catalogue::ALL.iter().flat_map(|info| info.tags).copied().collect();
    let tags: Vec<String> = tags.into_iter().map(|tag| format!("`{tag}`")).collect();
    generated_part("shared/web/README.md", "tags", &format!("{}\n", tags.join(", ")));
}

#[test]
fn every_link_of_the_pages_leads_somewhere() {
    let mut broken = Vec::new();
    let pages = pages();
    let folders = ["shared/", "functions/", "tests/", "infra/", "localstack/"];
    for page in &pages {
        let named = page.text.split('`').filter(|path| folders.iter().any(|folder| path.starts_with(folder)));
        let named = named.filter(|path| !path.contains(['*', ' ', '\n']));
        broken
            .extend(named.filter(|path| !project().join(path).exists()).map(|path| format!("{}: `{path}`", page.path)));
        for link in parse(&page.text).links {
            if link.is_external() {
                continue;
            }
            let target = match link.target.as_str() {
                "" => PathBuf::from(&page.path),
                target => plain(&Path::new(&page.path).parent().unwrap().join(target)),
            };
            let is_there = project().join(&target).exists();
            let has_place = link.subpath.as_ref().is_none_or(|place| {
                let text = pages.iter().find(|page| Path::new(&page.path) == target).map_or("", |page| &page.text);
                parse(text).headings.iter().any(|heading| anchor(&heading.text).trim_start_matches('#') == place)
            });
            if !is_there || !has_place {
                broken.push(format!("{}:{}: {}#{:?}", page.path, link.line + 1, link.target, link.subpath));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_test_that_answers_a_threat_is_there() {
    let pages = pages();
    let threats_of = |path: &str| {
        let page = pages.iter().find(|page| page.path == path).unwrap();
        page.text.split_once("## Threats").unwrap().1
    };
    let threats = ["shared/access/README.md", "shared/oauth/README.md"].map(threats_of).concat();
    let code: String = files("rs").into_iter().map(|file| file.text).collect();
    let is_test =
        |word: &&str| word.contains('_') && word.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
    let tests: Vec<&str> = threats.split('`').skip(1).step_by(2).filter(is_test).collect();
    let missing: Vec<_> = tests.iter().filter(|test| !code.contains(&format!("fn {test}("))).collect();
    assert!(missing.is_empty() && tests.len() > 30, "{} tests, of which are not there: {missing:?}", tests.len());
}

/// The sentences of a page's prose: its paragraphs, items and headings, and the cells of its tables.
fn sentences(page: &Page) -> Vec<String> {
    let mut prose = String::new();
    let mut open = false;
    for line in page.text.lines() {
        if line.starts_with("```") {
            open = !open;
        }
        let begins = line.is_empty() || line.starts_with(['#', '|', '-', '`']) || line.starts_with(char::is_numeric);
        prose.push_str(if begins || open { "\n" } else { " " });
        prose.push_str(if open { "" } else { line });
    }
    let ends = prose.replace(". ", "\n").replace(" | ", "\n");
    ends.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_readme_is_short() {
    let pages = pages();
    let readme = pages.iter().find(|page| page.path == "README.md").unwrap();
    assert!(readme.text.len() <= README_BYTES, "README.md has {} bytes", readme.text.len());
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let long: Vec<String> = sentences(readme)
        .into_iter()
        .filter(|sentence| sentence.split_whitespace().filter(is_word).count() > SENTENCE)
        .collect();
    assert!(long.is_empty(), "over {SENTENCE} words:\n{}", long.join("\n"));
}

/// A line of `sh` must succeed. One of `console` prints the lines below it, and may fail.
struct Step {
    place: String,
    line: String,
    prints: Option<String>,
}

/// The commands of a page, in order.
fn steps(page: &Page) -> Vec<Step> {
    let is_command = |line: &str| ["curl ", "atlas "].iter().any(|name| line.starts_with(name));
    let mut steps: Vec<Step> = Vec::new();
    for fence in page.fences() {
        for (at, line) in fence.lines.into_iter().enumerate() {
            let place = format!("{}:{}", page.path, fence.line + at);
            match fence.language {
                "sh" if line.is_empty() || line.starts_with('#') => {}
                "sh" => steps.push(Step { place, line: line.to_owned(), prints: None }),
                "console" => match line.strip_prefix("$ ") {
                    Some(line) => steps.push(Step { place, line: line.to_owned(), prints: Some(String::new()) }),
                    None => {
                        let prints = steps.last_mut().and_then(|step| step.prints.as_mut()).unwrap();
                        *prints += line;
                        prints.push('\n');
                    }
                },
                "bash" => {}
                other => assert!(!is_command(line), "{place}: mark the fence sh, console or bash, not {other:?}"),
            }
        }
    }
    steps
}

/// `text` with every number, hash and time replaced by `0`, since they differ between runs.
fn lasting(text: &str) -> String {
    let mut lasting = String::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let hash = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let number = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let length = if hash >= 8 { hash } else { number };
        if length > 0 && first.is_ascii_hexdigit() {
            lasting.push('0');
            rest = &rest[length..];
        } else {
            lasting.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    lasting
}

/// The output and success of each of `steps`, in one shell over the published demo vault.
fn played(steps: &[Step]) -> Vec<(bool, String)> {
    const END: char = '\u{1}';
    let place = Place::new();
    std::os::unix::fs::symlink(project().join("tests"), place.path("tests")).unwrap();
    let has = |what: &str| steps.iter().any(|step| step.line.contains(what));
    let mut script = "trap 'kill $(jobs -p)' EXIT\ncurl() { command curl --max-time 60 --retry 9 --retry-connrefused $fail \"$@\"; }\n".to_owned();
    if !has("atlas sync --root") {
        script += &format!("atlas sync --root '{}' >&2\n", demo().display());
    }
    if !has("atlas serve &") {
        script += "atlas serve >&2 &\n";
    }
    let port = free_port().to_string();
    for step in steps {
        let line = step.line.replace("3737", &port).replace("atlas serve &", "atlas serve >/dev/null 2>&1 &");
        let fail = if step.prints.is_some() { "" } else { "--fail" };
        script += &format!("fail={fail}\n{{ {line}\n}} 2>&1; printf '\\n%s{END}' $?\n");
    }
    let program = PathBuf::from(atlas().get_program());
    let path = std::env::join_paths(
        [program.parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut shell = Command::new("bash");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ATLAS_")) {
        shell.env_remove(name);
    }
    shell.args(["-c", &script]).current_dir(place.path("")).stdin(Stdio::null());
    shell.env("PATH", path.unwrap()).env("ATLAS_STORE", &place.store).env("ATLAS_PORT", &port);
    shell.env("HOME", place.path("home")).env("XDG_STATE_HOME", place.path("state")).env("USER", "ida");
    let output = shell.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut outcomes: Vec<(bool, String)> = Vec::new();
    for outcome in printed.split_terminator(END) {
        let (printed, status) = outcome.rsplit_once('\n').unwrap();
        outcomes.push((status == "0", printed.to_owned()));
    }
    assert_eq!(outcomes.len(), steps.len(), "{}", String::from_utf8_lossy(&output.stderr));
    outcomes
}

#[test]
fn the_command_lines_of_the_pages_do_what_they_say() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let steps = steps(&page);
        if steps.is_empty() {
            continue;
        }
        count += steps.len();
        for (step, (succeeds, printed)) in steps.iter().zip(played(&steps)) {
            let as_told = step.prints.as_ref().map_or(succeeds, |prints| lasting(prints) == lasting(&printed));
            if !as_told {
                wrong.push(format!("{}: {}\nprints\n{printed}", step.place, step.line));
            }
        }
    }
    assert!(wrong.is_empty() && count > 20, "{count} lines\n{}", wrong.join("\n\n"));
}
