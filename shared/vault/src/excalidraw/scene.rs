//! The JSON of a drawing.

use serde::Deserialize;

use crate::json_items::{Fields, Items, ItemsError, Noun};
use crate::json_text::JsonText;

pub(super) const ELEMENT: Noun = Noun { one: "element", of: "drawing", list: "elements" };

/// The JSON of a scene.
#[derive(Debug)]
pub(super) struct Scene {
    pub elements: Items,
    pub app_state: Option<Fields>,
    /// The ids of files that it holds itself, and their types.
    pub files: Vec<(String, String)>,
}

impl Scene {
    pub(super) fn read(json: &str) -> Result<Self, ItemsError> {
        let json = JsonText::read(json)?;
        let members = json.members(&json.root())?;
        let elements = Items::read(&json, &members, ELEMENT)?;
        let member = |name: &str| members.iter().rfind(|member| member.name == name);
        let object = |name: &str| member(name).filter(|member| json.written(&member.value).starts_with('{'));
        let app_state = object("appState").map(|member| json.value(&member.value)).transpose()?;
        let mut files = Vec::new();
        if let Some(member) = object("files") {
            for file in json.members(&member.value)? {
                let Kind { kind } = json.value(&file.value)?;
                files.push((file.name, kind));
            }
        }
        Ok(Self { elements, app_state, files })
    }
}

/// The type of a file that a drawing holds itself.
#[derive(Deserialize)]
struct Kind {
    #[serde(default, rename = "mimeType")]
    kind: String,
}
