//! Properties of drawn notes.

use proptest::prelude::*;

use super::*;

/// An element as it is written, in one of several ways.
fn element() -> impl Strategy<Value = String> {
    let more = prop::sample::select(vec!["", ",\"own\":[1.50, {}]", ",\n  \"link\": null", ",\"version\":3,\"x\":1e1"]);
    (prop::sample::select(vec!["rectangle", "text", "line"]), more, "[a-zé \\\\n\"]{0,8}", any::<bool>()).prop_map(
        |(kind, more, text, spaced)| {
            let (text, colon) = (Value::from(text), if spaced { ": " } else { ":" });
            format!("{{\"id\"{colon}\"ID\",\"type\"{colon}\"{kind}\",\"text\"{colon}{text}{more}}}")
        },
    )
}

proptest! {
    #[test]
    fn a_change_of_one_leaves_every_other_byte(
        elements in prop::collection::vec(element(), 1..6), which in any::<prop::sample::Index>(), between in "[ \n\t]{0,3}", packed in any::<bool>(),
        angle in any::<u8>(),
    ) {
        let elements: Vec<String> = (0..).zip(elements).map(|(at, element): (usize, _)| element.replace("ID", &format!("e{at:07}"))).collect();
        let json = format!("{{\"own\": 1.0,\"elements\":{between}[{}]{between}, \"appState\": {{}}}}", elements.join(&format!("{between},{between}")));
        let head = "---\nexcalidraw-plugin: parsed\n---\n# Excalidraw Data\n\n## Text Elements\nof another ^zzzzzzzz\n\n%%\n## Drawing\n";
        let note = format!("{head}```json\n{json}\n```\n%%\n");
        let note = if packed { with_compressed(&note) } else { note };
        let at = which.index(elements.len());
        let after = changed(&note, &update(&format!("e{at:07}"), json!({ "angle": angle })));
        prop_assert!(after.starts_with(head));
        let drawing = Drawing::read(&after, true).unwrap();
        let (before, rest) = json.split_once(&elements[at]).unwrap();
        prop_assert!(drawing.json.starts_with(before) && drawing.json.ends_with(rest), "{}", drawing.json);
        let value: Fields = serde_json::from_str(&drawing.json[before.len()..drawing.json.len() - rest.len()]).unwrap();
        prop_assert_eq!(&value["angle"], &json!(angle));
        let ends = note.split_once("```json").map_or("", |_| "\n```\n%%\n");
        prop_assert!(after.ends_with(ends));
    }

    #[test]
    fn no_text_makes_it_panic(text in "(---\nexcalidraw-plugin: parsed\n---\n)?(## Drawing\n|```json\n|```compressed-json\n|```\n|\\{|\\}|## Text Elements\n| \\^abcdefgh\n|%%\n|## Element Links\n|abcdefgh: x\n|N4Kg|é|\r\n){0,12}") {
        for is_note in [true, false] {
            if let Ok(drawing) = Drawing::read(&text, is_note) {
                let new = Change { add: vec![fields(json!({ "type": "text", "text": "t", "x": 0, "y": 0 }))], ..Change::default() };
                if let Ok(changed) = drawing.change(&new, 1, 0) {
                    prop_assert!(Drawing::read(&changed.text, is_note).unwrap().texts().any(|text| text == "t"));
                }
            }
        }
    }
}
