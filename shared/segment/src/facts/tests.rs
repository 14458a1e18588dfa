use super::*;
use crate::part::{Part, PartKind};
use bytes::Bytes;
use proptest::prelude::*;

fn note() -> impl Strategy<Value = String> {
    let property = "(a|b|c): (1|2\\.5|0\\.12345678901234567|true|text|\\[x, y\\]|2026-01-01)";
    let line = "( {0,4}- (\\[[ x/]\\] )?do #t1 ?(\\[k:: [a-c]\\])?|(a|b):: [a-c]|\\[\\[link\\]\\] and #t2|plain \\(k:: v\\)|```|fn name\\(\\)|# Heading)";
    (prop::collection::btree_map("[a-d]", property, 0..3), prop::collection::vec(line, 0..8)).prop_map(
        |(properties, lines)| {
            let mut text = String::new();
            if !properties.is_empty() {
                let properties: Vec<String> =
                    properties.into_iter().map(|(key, value)| format!("{key}{value}\n")).collect();
                text = format!("---\ntags: [t1, t3]\n{}---\n", properties.concat());
            }
            text + &lines.join("\n")
        },
    )
}

fn parts(notes: &[String]) -> Vec<Part> {
    let mut writer = FactWriter::default();
    for (document, text) in (0..).zip(notes) {
        writer.note(document, &atlas_vault::parse(text), text);
    }
    writer.into_parts().unwrap()
}

proptest! {
    #[test]
    fn what_notes_say_is_read_again(notes in prop::collection::vec(note(), 0..6)) {
        let parts = parts(&notes);
        let [properties, tags, tasks, link_lines, symbols, fields, items] = parts.as_slice() else { panic!("seven") };
        for (document, text) in (0..).zip(&notes) {
            let note = atlas_vault::parse(text);
            let read: serde_json::Map<String, Value> = properties
                .properties().unwrap().iter()
                .filter_map(|column| Some((column.key().to_owned(), column.of(document)?.clone())))
                .collect();
            prop_assert_eq!(&read, &note.properties().cloned().unwrap_or_default());
            for column in tags.tags().unwrap().iter() {
                let of = |is_inline: bool| note.tags.iter().any(|tag| tag.name == column.key() && tag.range.is_some() == is_inline);
                let places = TagPlaces { in_properties: of(false), inline: of(true) };
                prop_assert_eq!(column.of(document).copied().unwrap_or_default(), places);
            }
            let lines: Vec<u32> = note.links.iter().map(|link| link.line).collect();
            prop_assert_eq!(link_lines.link_lines().unwrap().of(document), lines.as_slice());
            let statuses: Vec<(u32, char)> = note.tasks.iter().map(|task| (task.line, task.status)).collect();
            let read: Vec<(u32, char)> = tasks.tasks().unwrap().of(document).iter().map(|task| (task.line, task.status)).collect();
            prop_assert_eq!(read, statuses);
            let names: Vec<u32> = symbol::of_note(text).map(|symbol| symbol.line).collect();
            let read: Vec<u32> = symbols.symbols().unwrap().of(document).iter().map(|symbol| symbol.line).collect();
            prop_assert_eq!(read, names);
            let written = lists::items(&note, text);
            prop_assert_eq!(&items.lists().unwrap().of(document).unwrap(), &written);
            let has_task = written.iter().any(|item| item.status.is_some());
            prop_assert_eq!(items.lists().unwrap().with_tasks().contains(&document), has_task);
            let read: std::collections::BTreeMap<String, Vec<String>> = fields
                .fields().unwrap().iter()
                .filter_map(|column| Some((column.key().to_owned(), column.of(document)?.clone())))
                .collect();
            prop_assert_eq!(read, lists::fields(&note, text, &written));
            let boxed = written.iter().filter(|item| item.status.is_some());
            prop_assert_eq!(boxed.map(|item| item.line).collect::<Vec<_>>(), note.tasks.iter().map(|task| task.line).collect::<Vec<_>>());
        }
    }

    #[test]
    fn foreign_bytes_make_no_panic(payload in prop::collection::vec(any::<u8>(), 0..60)) {
        let part = Bytes::from(Packer::new().unwrap().pack(&payload).unwrap());
        for section in FACTS {
            let _ = Part::decode(PartKind::Facts(section), &part);
        }
    }
}

#[test]
fn items_and_fields_of_a_note_are_as_written() {
    let text = "\
---
tags: x
---
Rating:: 9 #a
Read (on:: 2026-01-02) and [by:: [[Ann]]]

```rust
std::fmt
```

- one [k:: 1] #t
  more [[b#H|c]]
    1. [x] two [k:: 2] ^id
- Whole:: three
";
    let note = atlas_vault::parse(text);
    let items = lists::items(&note, text);
    let [one, two, three] = items.as_slice() else { panic!("three: {items:?}") };
    assert_eq!(
        (one.line, one.lines, one.parent, one.list, one.marker.as_str(), one.status),
        (10, 2, None, 10, "-", None)
    );
    assert_eq!(
        (one.text.as_str(), one.tags.as_slice()),
        ("one [k:: 1] #t\nmore [[b#H|c]]", ["t".to_owned()].as_slice())
    );
    let link = ItemLink { embed: false, target: "b".into(), subpath: Some("H".into()), display: Some("c".into()) };
    assert_eq!(one.links, [link]);
    assert_eq!((two.line, two.parent, two.list, two.marker.as_str(), two.status), (12, Some(10), 10, "1.", Some('x')));
    assert_eq!((two.text.as_str(), two.block_id.as_deref()), ("two [k:: 2] ^id", Some("id")));
    assert_eq!((three.line, three.text.as_str()), (13, "Whole:: three"));
    let fields = lists::fields(&note, text, &items);
    let expected = [("Rating", "9 #a"), ("Whole", "three"), ("by", "[[Ann]]"), ("k", "1"), ("on", "2026-01-02")];
    let expected = expected.map(|(key, value)| (key.to_owned(), vec![value.to_owned()]));
    assert_eq!(fields.into_iter().collect::<Vec<_>>(), expected);
}
