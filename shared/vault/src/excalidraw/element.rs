//! Elements of drawings: what a new one must say, and what it has besides, as Excalidraw makes it.

use serde_json::{Value, json};

use super::{DrawingError, Fields};
use crate::json_items::Ids;

const TYPES: [&str; 12] = [
    "rectangle",
    "diamond",
    "ellipse",
    "arrow",
    "line",
    "freedraw",
    "text",
    "image",
    "frame",
    "magicframe",
    "embeddable",
    "iframe",
];
const NUMBERS: [&str; 8] = ["x", "y", "width", "height", "angle", "strokeWidth", "opacity", "fontSize"];
/// The texts of a text element: as written, without the line breaks of its box, and as shown.
pub(super) const TEXTS: [&str; 3] = ["rawText", "originalText", "text"];

/// Whether this is a text that is shown.
pub(super) fn is_text(element: &Fields) -> bool {
    element.get("type").and_then(Value::as_str) == Some("text") && !is_deleted(element)
}

pub(super) fn is_deleted(element: &Fields) -> bool {
    element.get("isDeleted") == Some(&Value::Bool(true))
}

/// The text of a text element, as a person wrote it.
pub(super) fn text(element: &Fields) -> &str {
    let texts = TEXTS.iter().filter_map(|name| element.get(*name)?.as_str());
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Fails if what is given of an element is nothing that Excalidraw could show.
pub(super) fn check(name: &str, element: &Fields, is_new: bool) -> Result<(), DrawingError> {
    let wrong = |problem: &str| Err(DrawingError::Change(format!("element {name:?}: {problem}")));
    let kind = element.get("type").and_then(Value::as_str);
    if is_new && !kind.is_some_and(|kind| TYPES.contains(&kind)) {
        return wrong(&format!("type is one of {}", TYPES.join(", ")));
    }
    for name in NUMBERS {
        if element.get(name).is_some_and(|value| !value.is_number())
            || is_new && matches!(name, "x" | "y") && !element.contains_key(name)
        {
            return wrong(&format!("{name} is a number"));
        }
    }
    for name in TEXTS.into_iter().chain(["link"]) {
        if element.get(name).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return wrong(&format!("{name} is a string"));
        }
    }
    match kind {
        Some("text") if !element.get("text").is_some_and(Value::is_string) => wrong("a text has its text"),
        Some("image") if !element.get("fileId").is_some_and(Value::is_string) => {
            wrong("an image has the fileId of a file that the drawing embeds")
        }
        Some("freedraw") if !element.get("points").is_some_and(Value::is_array) => wrong("a freedraw has points"),
        _ => Ok(()),
    }
}

/// A new element with all that Excalidraw expects. `now` is in milliseconds.
pub(super) fn whole(given: &Fields, ids: &mut Ids, now: i64) -> Fields {
    let kind = given.get("type").and_then(Value::as_str).unwrap_or_default();
    let size = |name: &str| given.get(name).cloned();
    let text = text(given);
    let font_size = given.get("fontSize").and_then(Value::as_f64).unwrap_or(20.0);
    let (width, height) = match kind {
        // Excalidraw measures it when it shows it.
        "text" => {
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            (json!(longest as f64 * font_size * 0.55), json!(text.split('\n').count() as f64 * font_size * 1.25))
        }
        _ => (extent(given, 0), extent(given, 1)),
    };
    let (width, height) = (size("width").unwrap_or(width), size("height").unwrap_or(height));
    let rounded = match kind {
        "rectangle" => json!({ "type": 3 }),
        "diamond" | "arrow" | "line" => json!({ "type": 2 }),
        _ => Value::Null,
    };
    let mut element = object(json!({
        "id": null, "type": kind, "x": 0, "y": 0, "width": width, "height": height, "angle": 0,
        "strokeColor": "#1e1e1e", "backgroundColor": "transparent", "fillStyle": "solid", "strokeWidth": 2, "strokeStyle": "solid",
        "roughness": 1, "opacity": 100, "groupIds": [], "frameId": null, "roundness": rounded, "seed": number(ids), "version": 1,
        "versionNonce": number(ids), "isDeleted": false, "boundElements": [], "updated": now, "link": null, "locked": false,
    }));
    element.extend(object(match kind {
        "text" => json!({
            "text": text, "rawText": text, "fontSize": 20, "fontFamily": 5, "textAlign": "left", "verticalAlign": "top", "containerId": null,
            "originalText": text, "autoResize": true, "lineHeight": 1.25,
        }),
        "arrow" | "line" => json!({
            "points": [[0, 0], [width, height]], "lastCommittedPoint": null, "startBinding": null, "endBinding": null,
            "startArrowhead": null, "endArrowhead": if kind == "arrow" { json!("arrow") } else { Value::Null },
        }),
        "freedraw" => json!({ "pressures": [], "simulatePressure": true, "lastCommittedPoint": null }),
        "image" => json!({ "status": "pending", "scale": [1, 1] }),
        "frame" | "magicframe" => json!({ "name": null }),
        _ => json!({}),
    }));
    element.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    element
}

/// The further fields of an element to set, besides those that `given` sets: its other texts and its version.
pub(super) fn completed(before: &Fields, given: &Fields, ids: &mut Ids, now: i64) -> Fields {
    let mut all = given.clone();
    if before.get("type").and_then(Value::as_str) == Some("text")
        && let Some(text) = TEXTS.iter().find_map(|name| given.get(*name)?.as_str())
    {
        for name in TEXTS.into_iter().filter(|name| *name == "text" || before.contains_key(*name)) {
            all.entry(name).or_insert_with(|| text.into());
        }
    }
    // Without these an open view keeps what it shows.
    let version = before.get("version").and_then(Value::as_u64).map(|version| version.saturating_add(1).into());
    let nonce = before.get("versionNonce").filter(|nonce| nonce.is_number()).map(|_| number(ids).into());
    let updated = before.get("updated").filter(|updated| updated.is_number()).map(|_| now.into());
    for (name, value) in [("version", version), ("versionNonce", nonce), ("updated", updated)] {
        if let Some(value) = value {
            all.entry(name).or_insert(value);
        }
    }
    all
}

/// How far the points of an element reach on an axis; 100 if it has none.
fn extent(given: &Fields, axis: usize) -> Value {
    let points = given.get("points").and_then(Value::as_array).into_iter().flatten();
    let mut along = points.filter_map(|point| point.get(axis)?.as_f64());
    let Some(first) = along.next() else { return json!(100) };
    let (low, high) = along.fold((first, first), |(low, high), at| (low.min(at), high.max(at)));
    json!(high - low)
}

/// A number of 31 bits.
fn number(ids: &mut Ids) -> u32 {
    (ids.number() >> 33) as u32
}

fn object(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}
