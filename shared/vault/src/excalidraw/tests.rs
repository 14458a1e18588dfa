mod properties;

use serde_json::json;

use super::*;

/// As the plugin writes it, version 2.
const NOTE: &str = r##"---

excalidraw-plugin: parsed
tags: [excalidraw]
own: kept

---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠== You can decompress Drawing data with the command palette: 'Decompress current Excalidraw file'. For more info check in plugin settings under 'Saving'

Written on the back.

# Excalidraw Data

## Text Elements
High tide ^tide0001

Low tide,
with [[Berths]] ^tide0002

## Element Links
box00001: [[Plan#Quay]]

## Embedded Files
5d1f0b9a: [[map.png]]
5d1f0b9b: https://example.com/chart.png
5d1f0b9c: $$a^2$$

%%
## Drawing
```json
{
	"type": "excalidraw",
	"version": 2,
	"source": "https://github.com/zsviczian/obsidian-excalidraw-plugin/releases/tag/2.6.8",
	"elements": [
		{
			"id": "box00001",
			"type": "rectangle",
			"x": -10.50,
			"y": 0,
			"width": 1e2,
			"height": 50,
			"own": {"z":[1, 2]},
			"version": 7,
			"versionNonce": 1,
			"link": "[[Plan#Quay]]"
		},
		{
			"id": "tide0001",
			"type": "text",
			"x": 0,
			"y": 0,
			"width": 90,
			"height": 25,
			"text": "High tide",
			"rawText": "High tide",
			"originalText": "High tide"
		},
		{"id":"tide0002","type":"text","x":0,"y":40,"text":"Low tide,\nwith Berths","rawText":"Low tide,\nwith [[Berths]]"},
		{
			"id": "gone0001",
			"type": "ellipse",
			"isDeleted": true
		}
	],
	"appState": {
		"theme": "light",
		"gridSize": null
	},
	"files": {}
}
```
%%"##;

fn fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => panic!("no object"),
    }
}

fn update(id: &str, given: Value) -> Change {
    Change { update: [(id.to_owned(), fields(given))].into(), ..Change::default() }
}

fn changed(text: &str, change: &Change) -> String {
    Drawing::read(text, true).unwrap().change(change, 1, 1_700_000_000_000).unwrap().text
}

fn ids<'a>(drawing: &'a Drawing<'_>) -> Vec<&'a str> {
    drawing.elements().filter_map(id).collect()
}

/// The same note with its drawing compressed.
fn with_compressed(note: &str) -> String {
    let (before, rest) = note.split_once("```json\n").unwrap();
    let (json, after) = rest.split_once("\n```").unwrap();
    format!("{before}```compressed-json\n{}\n```{after}", compressed(json))
}

#[test]
fn a_change_has_the_line_breaks_of_the_note() {
    for note in [NOTE.to_owned(), with_compressed(NOTE)] {
        let note = note.replace('\n', "\r\n");
        let low = "Low,\nlower\nand lowest";
        let texts = Drawing::read(&note, true).unwrap();
        assert_eq!(texts.texts().collect::<Vec<_>>(), ["High tide", "Low tide,\nwith [[Berths]]"]);
        let new = json!({ "type": "text", "x": 1, "y": 2, "text": "a\nb", "link": "[[Quay]]" });
        let change = Change { add: vec![fields(new)], ..update("tide0001", json!({ "text": low })) };
        let text = changed(&note, &change);
        assert!(text.contains("Low,\r\nlower\r\nand lowest ^tide0001\r\n"), "{text}");
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text}");
        assert_eq!(Drawing::read(&text, true).unwrap().texts().next().unwrap(), low);
    }
}

#[test]
fn a_note_is_read_plain_and_compressed() {
    let packed = with_compressed(NOTE);
    assert!(packed.contains("\n\n") && !packed.contains("tide0001\""));
    for (text, form) in [(NOTE, Form::Json), (&packed, Form::CompressedJson)] {
        let drawing = Drawing::read(text, true).unwrap();
        assert_eq!(drawing.form(), form);
        assert_eq!(ids(&drawing), ["box00001", "tide0001", "tide0002"]);
        assert_eq!(drawing.texts().collect::<Vec<_>>(), ["High tide", "Low tide,\nwith [[Berths]]"]);
        let file = |id: &str, name: &str| EmbeddedFile { id: id.to_owned(), name: name.to_owned() };
        let expected = [
            file("5d1f0b9a", "map.png"),
            file("5d1f0b9b", "https://example.com/chart.png"),
            file("5d1f0b9c", "$$a^2$$"),
        ];
        assert_eq!(drawing.embedded_files(), expected);
        assert_eq!(drawing.app_state().unwrap()["theme"], "light");
        assert_eq!(changed(text, &Change::default()), text);
    }
}

#[test]
fn the_drawing_is_told_from_what_the_note_says() {
    for note in [NOTE.to_owned(), with_compressed(NOTE)] {
        assert_eq!(unpacked(&note).replace(COMPRESSED, PLAIN), NOTE);
        let said = without_drawing(&note);
        assert!(said.contains("with [[Berths]] ^tide0002") && said.ends_with("\n\n```\n%%"), "{said}");
        assert!(!said.contains("versionNonce") && said.len() < 800);
    }
    for other in ["", "excalidraw-plugin", "---\nexcalidraw-plugin: parsed\n---\n```compressed-json\nx\n```"] {
        assert_eq!((unpacked(other), without_drawing(other)), (other.into(), other.into()));
    }
}

#[test]
fn a_change_of_an_element_leaves_the_rest_as_it_is_written() {
    let after = changed(NOTE, &update("box00001", json!({ "x": 7, "link": "[[Plan#Crane]]", "own": null })));
    let nonce = Drawing::read(&after, true).unwrap().elements().next().unwrap()["versionNonce"].to_string();
    let expected = NOTE
        .replace("\"x\": -10.50", "\"x\": 7")
        .replace("Plan#Quay", "Plan#Crane")
        .replace(",\n\t\t\t\"own\": {\"z\":[1, 2]}", "")
        .replace("\"version\": 7", "\"version\": 8")
        .replace("\"versionNonce\": 1", &format!("\"versionNonce\": {nonce}"));
    assert_eq!(after, expected);
}

#[test]
fn the_note_and_its_drawing_say_the_same() {
    for note in [NOTE.to_owned(), with_compressed(NOTE)] {
        let told = |text: &str| {
            let drawing = Drawing::read(text, true).unwrap();
            drawing.texts().map(Cow::into_owned).collect::<Vec<_>>()
        };
        let renamed = changed(&note, &update("tide0001", json!({ "text": "Ebb\nand flow" })));
        assert!(renamed.contains("## Text Elements\nEbb\nand flow ^tide0001\n\nLow tide,"), "{renamed}");
        assert_eq!(told(&renamed)[0], "Ebb\nand flow");
        let drawing = Drawing::read(&renamed, true).unwrap();
        let element = drawing.elements().nth(1).unwrap();
        assert!(["text", "rawText", "originalText"].iter().all(|name| element[*name] == "Ebb\nand flow"));

        let removed = Change { remove: vec!["tide0001".to_owned(), "box00001".to_owned()], ..Change::default() };
        let removed = changed(&note, &removed);
        assert!(
            removed
                .contains("## Text Elements\nLow tide,\nwith [[Berths]] ^tide0002\n\n## Element Links\n\n## Embedded")
        );
        assert_eq!(told(&removed), ["Low tide,\nwith [[Berths]]"]);

        let hidden = changed(&note, &update("tide0002", json!({ "isDeleted": true })));
        assert!(!hidden.contains("^tide0002"));
        let shown = changed(&hidden, &update("tide0002", json!({ "isDeleted": false })));
        assert!(shown.contains("Low tide,\nwith [[Berths]] ^tide0002\n\n## Element Links"));

        let new = json!({ "type": "text", "text": "Slack", "x": 1, "y": 2, "link": "[[Sea]]" });
        let change = Change { add: vec![fields(new)], ..Change::default() };
        let added = Drawing::read(&note, true).unwrap().change(&change, 5, 0).unwrap();
        let [id] = &added.added[..] else { panic!() };
        assert!(is_noted(id), "{id}");
        assert!(added.text.contains(&format!(
            "^tide0002\n\nSlack ^{id}\n\n## Element Links\nbox00001: [[Plan#Quay]]\n{id}: [[Sea]]\n\n## Emb"
        )));
        assert_eq!(told(&added.text).last().unwrap(), "Slack");
    }
}

#[test]
fn a_new_element_is_indented_as_the_others_and_whole() {
    let new = json!({ "id": "a", "type": "arrow", "x": 0, "y": 0, "points": [[0, 0], [30, -40]] });
    let change = Change {
        add: vec![fields(new)],
        app_state: fields(json!({ "theme": "dark", "gridSize": null, "zoom": {"value": 1} })),
        ..Change::default()
    };
    let after = changed(NOTE, &change);
    assert!(after.contains("\n\t\t{\n\t\t\t\"id\": \"a\",\n\t\t\t\"type\": \"arrow\","), "{after}");
    assert!(
        after.contains("\"appState\": {\n\t\t\"theme\": \"dark\",\n\t\t\"zoom\": {\n\t\t\t\"value\": 1\n\t\t}\n\t},"),
        "{after}"
    );
    let drawing = Drawing::read(&after, true).unwrap();
    let arrow = drawing.elements().last().unwrap();
    assert_eq!(
        (&arrow["width"], &arrow["height"], &arrow["endArrowhead"]),
        (&json!(30.0), &json!(40.0), &json!("arrow"))
    );
    assert_eq!((&arrow["version"], &arrow["isDeleted"], &arrow["opacity"]), (&json!(1), &json!(false), &json!(100)));
}

#[test]
fn a_new_drawing_is_one_in_every_form() {
    let elements = [
        fields(json!({ "type": "text", "text": "Quay", "x": 0, "y": 0 })),
        fields(json!({ "type": "rectangle", "x": 0, "y": 0, "link": "[[Plan]]" })),
    ];
    for form in [Form::File, Form::Json, Form::CompressedJson] {
        for elements in [&elements[..], &[]] {
            let created = create(form, elements, 3, 0).unwrap();
            let drawing = Drawing::read(&created.text, form != Form::File).unwrap();
            assert_eq!((drawing.form(), ids(&drawing)), (form, created.added.iter().map(String::as_str).collect()));
            let is_note = form != Form::File && !elements.is_empty();
            assert_eq!(
                created.text.contains(&format!(
                    "\n## Text Elements\nQuay ^{}\n",
                    created.added.first().map_or("", String::as_str)
                )),
                is_note
            );
            assert_eq!(created.text.contains("## Element Links\n"), is_note);
            if is_note {
                // Its value is found again, and nothing else changes when it is removed.
                let change = Change { remove: created.added.clone(), ..Change::default() };
                let empty = drawing.change(&change, 0, 0).unwrap().text;
                assert_eq!(Drawing::read(&empty, true).unwrap().texts().count(), 0);
            }
        }
    }
}

#[test]
fn older_notes_are_read_and_changed() {
    let json = r#"{"type":"excalidraw","elements":[{"id":"tide0001","type":"text","text":"High"},{"id":"longer-than-eight","type":"text","text":"Low"}]}"#;
    let head = "---\nexcalidraw-plugin: parsed\n---\n";
    for (before, after) in [
        (
            format!("{head}# Text Elements\nHigh ^tide0001\n\n%%\n# Drawing\n```json\n{json}\n```\n%%"),
            "# Text Elements\nEbb ^tide0001\n\n%%",
        ),
        (
            format!(
                "{head}%%\n# Excalidraw Data\n## Text Elements\nHigh ^tide0001\n# Embedded files\na: [[b]]\n\n## Drawing\n```json\n{json}\n```\n%%"
            ),
            "Ebb ^tide0001\n# Emb",
        ),
        (
            format!("{head}# Text Elements\nHigh ^tide0001\n\n# Drawing\n{json}"),
            "# Text Elements\nEbb ^tide0001\n\n# Drawing\n{",
        ),
        (
            format!("{head}%%\n# Drawing\n```json\n{json}\n```\n%%"),
            "---\n# Excalidraw Data\n\n## Text Elements\nEbb ^tide0001\n\n%%\n# Drawing",
        ),
        (
            format!("{head}# Text Elements\r\nHigh ^tide0001\r\n\r\n# Drawing\r\n```json\r\n{json}\r\n```\r\n"),
            "# Text Elements\r\nEbb ^tide0001\r\n\r\n# Drawing",
        ),
    ] {
        let changed = changed(&before, &update("tide0001", json!({ "text": "Ebb" })));
        assert!(changed.contains(after), "{changed}");
        assert_eq!(Drawing::read(&changed, true).unwrap().texts().collect::<Vec<_>>(), ["Ebb", "Low"]);
        // The note has no name for a text with a longer id.
        let low = self::changed(&before, &update("longer-than-eight", json!({ "text": "Neap" })));
        assert_eq!(Drawing::read(&low, true).unwrap().texts().collect::<Vec<_>>(), ["High", "Neap"]);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let note = |block: &str| format!("---\nexcalidraw-plugin: parsed\n---\n%%\n## Drawing\n{block}\n%%");
    for (text, expected) in [
        ("# A\n".to_owned(), "it is no drawing of Excalidraw: it has no property excalidraw-plugin"),
        (
            "---\na: excalidraw-plugin\n---\n# Drawing\n```json\n{}\n```".to_owned(),
            "it is no drawing of Excalidraw: it has no property excalidraw-plugin",
        ),
        (note(""), "the drawing is missing: there is no block json or compressed-json below a heading Drawing"),
        (
            note("```json\n```"),
            "the drawing is missing: there is no block json or compressed-json below a heading Drawing",
        ),
        (
            note("```compressed-json\nN4*\n```"),
            "line 7: the compressed drawing cannot be read: '*' is no character of Base64",
        ),
        (note("```compressed-json\nN4Kg\n```"), "line 7: the compressed drawing cannot be read: it is cut off"),
        (
            note("```json\n{\n\"elements\": 7}\n```"),
            "the JSON is no drawing: line 8, column 13: invalid type: integer `7`, expected an array",
        ),
        (
            note("```json\n{\"elements\":[{\"id\":\"a\"},\n{\"id\":\"a\"}]}\n```"),
            "the JSON is no drawing: line 8, column 1: two elements have the id \"a\"",
        ),
        (
            note("```json\n{\"elements\":[{}]}\n```"),
            "the JSON is no drawing: line 7, column 14: this element has no id",
        ),
    ] {
        assert_eq!(Drawing::read(&text, true).unwrap_err().to_string(), expected, "{text}");
    }
    let refused = |change: &Change| Drawing::read(NOTE, true).unwrap().change(change, 0, 0).unwrap_err().to_string();
    let add = |element: Value| refused(&Change { add: vec![fields(element)], ..Change::default() });
    for (problem, expected) in [
        (
            add(json!({ "id": "a", "x": 0, "y": 0 })),
            "element \"a\": type is one of rectangle, diamond, ellipse, arrow, line, freedraw, text, image, frame, magicframe, embeddable, iframe",
        ),
        (add(json!({ "id": "a", "type": "line", "x": 0 })), "element \"a\": y is a number"),
        (add(json!({ "id": "a", "type": "text", "x": 0, "y": 0 })), "element \"a\": a text has its text"),
        (
            add(json!({ "id": "tide0001", "type": "line", "x": 0, "y": 0 })),
            "the drawing has the id \"tide0001\" already: give the element another",
        ),
        (
            add(json!({ "id": "a", "type": "text", "text": "t", "x": 0, "y": 0 })),
            "element \"a\": the id of a text is 8 letters or digits, by which the note names it: leave it out to get one",
        ),
        (refused(&update("none", json!({}))), "the drawing has no element with the id \"none\""),
        (refused(&update("box00001", json!({ "x": "7" }))), "element \"box00001\": x is a number"),
        (refused(&update("box00001", json!({ "id": "b" }))), "element \"box00001\": its id cannot be changed"),
        (
            refused(&Change { remove: vec!["none".to_owned()], ..Change::default() }),
            "the drawing has no element with the id \"none\"",
        ),
    ] {
        assert_eq!(problem, expected);
    }
    let unkept = |id: &str| {
        format!(
            "element \"{id}\": the note cannot keep this text or link: no line of it may end like ^{id} or be a heading of Excalidraw's"
        )
    };
    for text in ["a ^abcdefgh\nb", "## Element Links\nx", "%%\n## Drawing\n```json\n{}\n```", "# Embedded files\nx"] {
        assert_eq!(refused(&update("tide0001", json!({ "text": text }))), unkept("tide0001"), "{text}");
    }
    assert_eq!(refused(&update("box00001", json!({ "link": "a\nb" }))), unkept("box00001"));
}

#[test]
fn hostile_drawings_are_refused_in_time() {
    let note =
        |fence: &str, block: &str| format!("---\nexcalidraw-plugin: parsed\n---\n## Drawing\n{fence}\n{block}\n```\n");
    let bomb = note(COMPRESSED, &lz_string::bomb(6000));
    assert!(bomb.len() < 50_000);
    assert_eq!(Drawing::read(&bomb, true).unwrap_err(), DrawingError::TooLarge);
    let deep = format!("{{\"elements\":[{{\"id\":\"a\",\"x\":{}1{}}}]}}", "[".repeat(200_000), "]".repeat(200_000));
    let many = format!("{{\"elements\":[{}]}}", vec!["{\"id\":\"a\"}"; 80_000].join(","));
    for json in [deep, many] {
        assert!(matches!(Drawing::read(&json, false), Err(DrawingError::Scene(_))));
        assert!(matches!(Drawing::read(&note(PLAIN, &json), true), Err(DrawingError::Scene(_))));
    }
    assert_eq!(Drawing::read(&"x".repeat(MAX_BYTES + 1), false).unwrap_err(), DrawingError::TooLarge);
    let headings =
        note(PLAIN, "{}").replace("## Drawing\n", &"## Drawing\n## Text Elements\na ^tide0001\n\n".repeat(100_000));
    assert_eq!(Drawing::read(&headings, true).unwrap().elements().count(), 0);
}
