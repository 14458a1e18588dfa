//! obsidian-tc's tools for bundles.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::Tools;

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("in/b.md", "---\na: 1\n---\nB & <C>")
        .note("in/a.md", "A\n")
        .note("in/deep/c.md", "")
        .note("inner.md", "not in")
        .file("in/board.canvas", b"{}")
        .file("in/picture.png", b"\x89PNG")
}

#[tokio::test]
async fn a_folder_is_bundled_in_path_order() {
    let client = Deployment::of_vault(&vault()).await.client();
    let tools = Tools::of(&client);
    let bundle = tools.good("bundle_folder", json!({ "root": "in/" })).await;
    let text = "# in/a.md\n\nA\n\n# in/b.md\n\n---\na: 1\n---\nB & <C>\n\n# in/deep/c.md\n\n\n";
    assert_eq!(
        bundle,
        json!({
            "root": "in", "bundle": text, "file_count": 3, "total_bytes": text.len(), "truncated": false,
            "files": [{ "path": "in/a.md", "bytes": 2 }, { "path": "in/b.md", "bytes": 20 }, { "path": "in/deep/c.md", "bytes": 0 }],
        })
    );
    let call =
        json!({ "root": "in", "format": "xml", "include_frontmatter": false, "extensions": ["MD", ".canvas", "png"] });
    let bundle = tools.good("bundle_folder", call).await;
    assert_eq!(
        bundle["bundle"],
        "<documents>\n<document path=\"in/a.md\">\nA\n</document>\n<document path=\"in/b.md\">\nB &amp; &lt;C&gt;\n</document>\n\
         <document path=\"in/board.canvas\">\n{}\n</document>\n<document path=\"in/deep/c.md\">\n</document>\n</documents>\n"
    );
    assert_eq!(bundle["missing_paths"], json!(["in/picture.png"]));
    let few = tools.good("bundle_folder", json!({ "root": "", "max_files": 1 })).await;
    assert_eq!((&few["file_count"], &few["truncated"]), (&json!(1), &json!(true)));
    tools.bad("bundle_folder", json!({ "root": "../in" }), "path_invalid").await;
    tools.bad("bundle_folder", json!({ "root": "in", "max_files": 501 }), "validation_error").await;
}

#[tokio::test]
async fn a_bundle_is_never_larger_than_it_may_be() {
    let client = Deployment::of_vault(&vault()).await.client();
    let tools = Tools::of(&client);
    for format in ["markdown", "xml"] {
        let call = |max_bytes: usize| json!({ "root": "in", "format": format, "max_bytes": max_bytes });
        let whole = tools.good("bundle_folder", call(10_000)).await["total_bytes"].as_u64().unwrap() as usize;
        for max_bytes in 1..=whole {
            let bundle = tools.good("bundle_folder", call(max_bytes)).await;
            let text = bundle["bundle"].as_str().unwrap();
            assert!(text.len() <= max_bytes && bundle["total_bytes"] == text.len(), "{bundle}");
            assert_eq!(bundle["truncated"], max_bytes < whole);
        }
    }
    let large = "\u{1}".repeat(300_000);
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", &large).note("b.md", &large)).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let bundle = tools.good("bundle_folder", json!({ "root": "", "max_bytes": 1_000_000 })).await;
    assert_eq!(bundle["truncated"], true, "it is sent as JSON, in which it is larger");
}

#[tokio::test]
async fn files_are_bundled_in_the_order_of_their_names_and_what_is_missing_is_told() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let paths = |paths: &[&str]| json!({ "paths": paths });
    let call = paths(&["in/b.md", "no.md", "in/a.md", "in/picture.png", "in/b.md"]);
    let bundle = tools.good("bundle_files", call).await;
    assert_eq!(bundle["bundle"], "# in/b.md\n\n---\na: 1\n---\nB & <C>\n\n# in/a.md\n\nA\n\n");
    assert_eq!(bundle["missing_paths"], json!(["no.md", "in/picture.png"]));
    let none: Vec<&str> = Vec::new();
    tools.bad("bundle_files", paths(&none), "invalid_input").await;
    tools.bad("bundle_files", paths(&["in/../a.md"]), "path_invalid").await;

    let config = json!({ "acl": { "readPaths": ["in/a.md"] } }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let tools = Tools::of(&client);
    let hidden = tools.good("bundle_files", paths(&["in/b.md", "in/a.md"])).await;
    assert_eq!((&hidden["missing_paths"], &hidden["file_count"]), (&json!(["in/b.md"]), &json!(1)));
    let folder: Value = tools.good("bundle_folder", json!({ "root": "in" })).await;
    assert_eq!((&folder["file_count"], &folder["truncated"]), (&json!(1), &json!(false)));
}
