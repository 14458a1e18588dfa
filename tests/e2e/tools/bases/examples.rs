//! The page of examples, and the queries of real vaults.

use std::path::{Path, PathBuf};

use atlas_expressions::{Dialect, base, dql};
use atlas_testkit::VaultBuilder;
use atlas_vault::queries::{Asked, queries};
use atlas_vault::yaml;
use serde_json::json;

use crate::support::deployment::{Deployment, demo};
use crate::support::tools::Tools;

/// If this variable is set, the results are written instead of compared.
const WRITE: &str = "ATLAS_WRITE_README";

/// The text of an example from its heading to the end of its query.
fn asked(section: &str) -> &str {
    let end = section.rfind("\n```\n").filter(|at| section[..*at].contains("\n```")).unwrap();
    let first = section.find("\n```").unwrap() + 1;
    let close = section[first..].find("\n```\n").map(|at| first + at + 5).unwrap();
    assert_eq!(end + 5, close, "one block in each example: {section}");
    &section[..close]
}

#[tokio::test]
async fn the_examples_give_what_their_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/expressions/EXAMPLES.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (head, sections) = text.split_once("\n## ").unwrap();
    let sections: Vec<&str> = sections.split("\n## ").map(asked).collect();
    assert_eq!(sections.len(), 10);
    let vault = sections.iter().enumerate().fold(demo_vault(), |vault, (at, section)| {
        let block = section.find("\n```").unwrap();
        vault.note(&format!("examples/{at}.md"), section[block..].trim_start())
    });
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let mut written = head.to_owned();
    for (at, section) in sections.iter().enumerate() {
        let note = json!({ "path": format!("examples/{at}.md"), "render_queries": true });
        let told = tools.good("read_note", note).await;
        assert!(told["queries"][0]["error"].is_null(), "{section}\n{told}");
        written.push_str(&format!(
            "\n## {section}\n~~~markdown\n{}\n~~~\n",
            told["rendered"].as_str().unwrap().trim_end()
        ));
    }
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&page, written).unwrap();
    } else {
        assert_eq!(text, written, "run `make generated`");
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The demo vault.
fn demo_vault() -> VaultBuilder {
    let mut found = Vec::new();
    files(&demo(), &mut found);
    found.iter().fold(VaultBuilder::new(), |vault, path| {
        vault.file(path.strip_prefix(demo()).unwrap().to_str().unwrap(), &std::fs::read(path).unwrap())
    })
}

/// A document of Bases is parsed, and printed it says the same.
fn check_base(text: &str, path: &Path) {
    let base = base::parse(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let value = yaml::read(text).unwrap();
    let printed = yaml::written(&value);
    assert_eq!(yaml::read(&printed).unwrap(), value, "{printed}");
    assert_eq!(yaml::with_value(text, &value).unwrap(), text);
    for (_, formula) in base.formulas.iter() {
        let text = Dialect::Bases.print(formula);
        assert_eq!(Dialect::Bases.print(&Dialect::Bases.parse(&text).unwrap()), text);
    }
}

#[tokio::test]
async fn all_queries_of_real_vaults_run_or_say_why_not() {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(PathBuf::from) else {
        println!("skipped: ATLAS_CORPORA is not set");
        return;
    };
    let (mut blocks, mut refused) = (0, Vec::new());
    for corpus in ["hub", "help"] {
        let root = corpora.join(corpus);
        let mut paths = Vec::new();
        files(&root, &mut paths);
        paths.retain(|path| path.extension().is_some_and(|end| end == "md" || end == "base"));
        paths.sort();
        let deployment = Deployment::of(&root).await;
        let client = deployment.client();
        let tools = Tools::of(&client);
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let of_vault = path.strip_prefix(&root).unwrap().to_str().unwrap();
            if path.extension().is_some_and(|end| end == "base") {
                check_base(&text, &path);
                blocks += 1;
                tools.good("query_base", json!({ "path": of_vault })).await;
                continue;
            }
            let found = queries(&text, &atlas_vault::parse(&text));
            for query in &found {
                match &query.asked {
                    Asked::Base(text) => check_base(text, &path),
                    Asked::Dataview(text) if let Ok(query) = dql::parse(text) => {
                        assert_eq!(dql::parse(&query.to_string()).unwrap(), query, "{text}");
                    }
                    _ => {}
                }
            }
            if found.is_empty() {
                continue;
            }
            let asked = json!({ "path": of_vault, "render_queries": true, "include_content": false });
            let told = tools.good("read_note", asked).await;
            for query in told["queries"].as_array().unwrap() {
                blocks += 1;
                if let Some(error) = query["error"].as_str() {
                    refused.push(format!("{of_vault}:{}: {error}", query["line"]));
                }
            }
        }
    }
    println!("{blocks} queries, of which without a result:\n{}", refused.join("\n"));
    let named = ["is a program", "expected ", "there is no ", "takes "];
    let unnamed: Vec<_> = refused.iter().filter(|told| !named.iter().any(|reason| told.contains(reason))).collect();
    assert!(blocks >= 20 && unnamed.is_empty(), "{blocks} {unnamed:#?}");
}
