//! The links of a canvas: the files that its nodes show, and the links in the texts of its nodes.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json_text::{JsonText, Span};
use crate::lines::Lines;
use crate::note::parse;
use crate::note::parts::{Link, LinkKind, MAX_ITEMS};
use crate::string_text::{Notation, StringText};

/// The fields of a node that can contain links.
#[derive(Deserialize)]
struct Node<'a> {
    #[serde(borrow, default)]
    file: Option<&'a RawValue>,
    #[serde(borrow, default)]
    subpath: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    /// The picture behind a group.
    #[serde(borrow, default)]
    background: Option<&'a RawValue>,
}

/// The links of a canvas, in the order of its nodes; empty for a file that is not a canvas.
#[must_use]
pub fn links(text: &str) -> Vec<Link> {
    read(text).unwrap_or_default()
}

fn read(text: &str) -> Option<Vec<Link>> {
    let json = JsonText::read(text).ok()?;
    let members = json.members(&json.root()).ok()?;
    let nodes = members.iter().rfind(|member| member.name == "nodes")?;
    let lines = Lines::new(text);
    let mut links = Vec::new();
    for span in json.elements(&nodes.value).ok()? {
        let Ok(node) = json.value::<Node<'_>>(&span) else { continue };
        let string = |value: Option<&RawValue>| {
            let span: Span = json.span(value?);
            Some((StringText::read(text, &span)?, span))
        };
        for (file, subpath) in [(node.file, node.subpath), (node.background, None)] {
            let Some((file, span)) = string(file).filter(|(file, _)| !file.text.is_empty()) else { continue };
            let subpath = string(subpath).map(|(subpath, _)| subpath.text);
            let subpath = subpath.and_then(|subpath| Some(subpath.strip_prefix('#')?.to_owned()));
            let destination = span.start + 1..span.end.saturating_sub(1);
            links.push(Link {
                kind: LinkKind::CanvasFile,
                // Relative to the root, whatever folder the canvas is in.
                target: format!("/{}", file.text),
                subpath,
                display: None,
                line: lines.at(span.start),
                range: span,
                destination,
                notation: Notation::Plain,
            });
        }
        if let Some((markdown, _)) = string(node.text) {
            links.extend(parse(&markdown.text).links.into_iter().map(|link| {
                let range = markdown.written(&link.range);
                Link { destination: markdown.written(&link.destination), line: lines.at(range.start), range, ..link }
            }));
        }
        if links.len() >= MAX_ITEMS {
            links.truncate(MAX_ITEMS);
            break;
        }
    }
    Some(links)
}
