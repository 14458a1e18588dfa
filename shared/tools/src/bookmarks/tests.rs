use proptest::prelude::*;

use super::*;

fn bookmarks(document: &Value) -> Vec<Bookmark> {
    Bookmarks::read(&document.to_string()).unwrap().into_found()
}

#[test]
fn bookmarks_are_read_from_groups_and_what_is_unknown_is_left_out() {
    let document = json!({ "items": [
        { "type": "file", "ctime": 1_700_000_000_000_i64, "path": "a.md", "title": "Start" },
        { "type": "group", "title": "Work", "items": [
            { "type": "file", "path": "a.md", "subpath": "#Tides" },
            { "type": "file", "path": "a.md", "subpath": "#^high" },
            { "type": "group", "title": "Deep", "items": [{ "type": "folder", "path": "logs" }] },
        ] },
        { "type": "search", "query": "tag:#port" },
        { "type": "graph", "title": "All", "options": { "colour": 1 } },
        { "type": "url", "url": "https://example.com/" },
        { "type": "file" }, { "type": "canvas-view", "path": "a.canvas" }, 7, { "path": "a.md" },
    ] });
    let told: Vec<_> = bookmarks(&document)
        .into_iter()
        .map(|bookmark| (bookmark.kind, bookmark.target, bookmark.path.is_some(), bookmark.groups.join("/")))
        .collect();
    let row = |kind, target: &str, has_path, group: &str| (kind, target.to_owned(), has_path, group.to_owned());
    assert_eq!(
        told,
        [
            row(Kind::File, "a.md", true, ""),
            row(Kind::Heading, "a.md#Tides", true, "Work"),
            row(Kind::Block, "a.md#^high", true, "Work"),
            row(Kind::Folder, "logs", true, "Work/Deep"),
            row(Kind::Search, "tag:#port", false, ""),
            row(Kind::Graph, "", false, ""),
            row(Kind::Url, "https://example.com/", false, ""),
        ]
    );
    assert_eq!(bookmarks(&document).first().unwrap().created.unwrap().as_millisecond(), 1_700_000_000_000);
    for none in [json!([]), json!({}), json!({ "items": 1 }), Value::Null] {
        assert!(bookmarks(&none).is_empty());
    }
}

#[test]
fn ids_stay_when_the_order_changes_and_equal_bookmarks_have_two() {
    let (one, two) = (json!({ "type": "file", "path": "a.md" }), json!({ "type": "file", "path": "b.md" }));
    let ids = |items: Value| -> Vec<String> {
        bookmarks(&json!({ "items": items })).into_iter().map(|bookmark| bookmark.id).collect()
    };
    let (before, after) = (ids(json!([one, two])), ids(json!([two, one])));
    assert_eq!(before, [after[1].clone(), after[0].clone()]);
    let twice = ids(json!([one, one]));
    assert_eq!(twice, [before[0].clone(), format!("{}-2", before[0])]);
}

#[test]
fn a_bookmark_comes_and_goes_and_nothing_else_changes() {
    let text = "{\n  \"items\": [\n    {\n      \"type\": \"graph\",\n      \"own\": [1, 2.50]\n    },\n    { \"type\": \"group\", \"title\": \"Deep\", \"items\": [] }\n  ],\n  \"more\": null\n}\n";
    let entry = json!({ "type": "file", "ctime": 7, "path": "a.md" });
    let with = Bookmarks::read(text).unwrap().with(entry.clone(), &[]).unwrap();
    let expected = text.replace(
        "\"items\": [] }\n",
        "\"items\": [] },\n    {\n      \"type\": \"file\",\n      \"ctime\": 7,\n      \"path\": \"a.md\"\n    }\n",
    );
    assert_eq!(with, expected);
    let read = Bookmarks::read(&with).unwrap();
    let place = read.found[1].1;
    assert_eq!(read.without(place), text);
    let deep = Bookmarks::read(text).unwrap().with(entry, &["Deep", "Deeper"]).unwrap();
    let found = bookmarks(&serde_json::from_str(&deep).unwrap());
    assert_eq!(found[1].groups, ["Deep", "Deeper"]);
    assert!(Bookmarks::read("[]").unwrap().with(json!({}), &[]).is_none());
    let nested = format!("{}{}", "{\"items\":[{\"type\":\"group\",\"items\":[".repeat(20_000), "]}]}".repeat(20_000));
    assert!(Bookmarks::read(&nested).is_err() || Bookmarks::read(&nested).unwrap().found.is_empty());
}

fn any_list(depth: u32) -> BoxedStrategy<Value> {
    let leaf = (0..3_u8, 0..4_u8).prop_map(|(path, title)| match title {
        0 => json!({ "type": "file", "path": format!("{path}.md") }),
        1 => json!({ "type": "unknown", "x": path }),
        title => json!({ "title": title.to_string(), "type": "search", "query": path.to_string() }),
    });
    let leaves = prop::collection::vec(leaf, 0..4);
    match depth {
        0 => leaves.prop_map(Value::from).boxed(),
        _ => (leaves, prop::collection::vec(any_list(depth - 1), 0..3))
            .prop_map(|(mut items, lists)| {
                for (number, list) in lists.into_iter().enumerate() {
                    items.push(json!({ "type": "group", "title": number.to_string(), "items": list }));
                }
                items.into()
            })
            .boxed(),
    }
}

proptest! {
    #[test]
    fn what_was_added_can_be_removed_again(list in any_list(2), groups in prop::collection::vec("[01]", 0..3), is_pretty in any::<bool>()) {
        let document = json!({ "items": list });
        let text = if is_pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
        let before = Bookmarks::read(&text).unwrap();
        let known: Vec<String> = before.found.iter().map(|(bookmark, _)| bookmark.id.clone()).collect();
        let is_there = before.lists.iter().any(|list| list.groups == groups);
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let with = before.with(json!({ "type": "url", "url": "x:y" }), &groups).unwrap();
        let after = Bookmarks::read(&with).unwrap();
        let new: Vec<_> = after.found.iter().filter(|(bookmark, _)| !known.contains(&bookmark.id)).cloned().collect();
        prop_assert_eq!(new.len(), 1);
        prop_assert_eq!(&new[0].0.groups, &groups);
        let without = after.without(new[0].1);
        if is_there {
            prop_assert_eq!(serde_json::from_str::<Value>(&without).unwrap(), document);
        }
    }
}
