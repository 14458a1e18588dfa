//! Checks of new nodes and edges against JSON Canvas 1.0.

use serde_json::Value;

use super::{CanvasError, Fields, id};
use crate::path::VaultPath;

/// Checks a node against the specification.
pub(super) fn check_node(node: &Fields) -> Result<(), CanvasError> {
    let wrong = |problem: &str| Err(CanvasError::Change(format!("node {:?}: {problem}", id(node).unwrap_or_default())));
    for name in ["x", "y", "width", "height"] {
        if !node.get(name).is_some_and(Value::is_number) {
            return wrong(&format!("{name} is a number, in pixels"));
        }
    }
    let text = |name: &str| node.get(name).and_then(Value::as_str);
    match text("type") {
        Some("text") if text("text").is_none() => return wrong("a node of type text has its markdown as text"),
        Some("file") if text("file").is_none_or(|path| VaultPath::parse(path).is_err()) => {
            return wrong("a node of type file has a file: its path from the root of the vault");
        }
        Some("link") if text("url").is_none() => return wrong("a node of type link has a url"),
        Some("text" | "file" | "link" | "group") => {}
        _ => return wrong("type is text, file, link or group"),
    }
    check_texts(node, &["label", "subpath", "background", "backgroundStyle"]).or_else(|problem| wrong(&problem))?;
    check_color(node).or_else(wrong)
}

/// Checks an edge against the specification; `is_node` returns whether a node exists.
pub(super) fn check_edge(edge: &Fields, is_node: impl Fn(&str) -> bool) -> Result<(), CanvasError> {
    let wrong = |problem: &str| Err(CanvasError::Change(format!("edge {:?}: {problem}", id(edge).unwrap_or_default())));
    for name in ["fromNode", "toNode"] {
        match edge.get(name).and_then(Value::as_str) {
            Some(node) if is_node(node) => {}
            Some(node) => return wrong(&format!("{name}: the canvas has no node with the id {node:?}")),
            None => return wrong(&format!("{name} is the id of a node")),
        }
    }
    for (names, words) in
        [(["fromSide", "toSide"], &["top", "right", "bottom", "left"][..]), (["fromEnd", "toEnd"], &["none", "arrow"])]
    {
        for name in names {
            if edge.get(name).is_some_and(|value| !value.as_str().is_some_and(|value| words.contains(&value))) {
                return wrong(&format!("{name} is {}", words.join(", ")));
            }
        }
    }
    check_texts(edge, &["label"]).or_else(|problem| wrong(&problem))?;
    check_color(edge).or_else(wrong)
}

fn check_texts(fields: &Fields, names: &[&str]) -> Result<(), String> {
    let wrong = names.iter().find(|name| fields.get(**name).is_some_and(|value| !value.is_string()));
    wrong.map_or(Ok(()), |name| Err(format!("{name} is a string")))
}

fn check_color(fields: &Fields) -> Result<(), &'static str> {
    let is_color = |color: &str| match color.strip_prefix('#') {
        Some(digits) => matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => matches!(color.as_bytes(), [b'1'..=b'6']),
    };
    match fields.get("color") {
        Some(color) if !color.as_str().is_some_and(is_color) => {
            Err("color is \"1\" (red) to \"6\" (purple), or as \"#ff0000\"")
        }
        _ => Ok(()),
    }
}
