//! `read_excalidraw`: the elements and texts of a drawing.

use atlas_access::Access;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::excalidraw::{self, Drawing, Fields};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{path, refused};
use crate::formats;

/// Reads a drawing.
pub struct ReadExcalidraw;

/// Which drawing, and what of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault: a note, `.excalidraw.md` as a rule, or an `.excalidraw` file.
    path: String,
    /// The part to return; both if not given.
    #[serde(default)]
    format: Format,
}

/// The part of a drawing to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Its elements.
    Elements,
    /// The texts in it.
    Text,
    /// Both.
    #[default]
    Both,
}

/// A drawing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// Its elements, the last in front, as Excalidraw has them: each with `id`, `type`, `x`, `y`, `width`, `height` and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<Vec<Fields>>,
    /// The texts in it, with an empty line between two.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_content: Option<String>,
    /// The files that it shows; at most 1,000.
    embedded_files: Vec<EmbeddedFile>,
    /// The state of the app that is kept with it, such as its background.
    #[serde(skip_serializing_if = "Option::is_none")]
    app_state: Option<Fields>,
    /// How it is kept.
    storage: Storage,
    /// How many elements it has, those that are not returned too.
    element_count: usize,
    /// SHA-256 of the file, in hex.
    content_hash: String,
    /// Whether the drawing has more elements or text than the answer has room for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    overflow: bool,
}

/// A file that a drawing shows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EmbeddedFile {
    /// The `fileId` of elements that show it.
    id: String,
    /// A link to it, a URL or a formula; its type if the drawing holds it itself.
    name: String,
}

/// How a drawing is kept.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// As a file that is JSON.
    File,
    /// As JSON in a note.
    Json,
    /// As compressed JSON in a note.
    CompressedJson,
}

const MAX_FILES: usize = 1000;

impl Operation for ReadExcalidraw {
    const INFO: Info = Info {
        name: "read_excalidraw",
        title: "Read a drawing",
        description: "Returns the elements of a drawing of the plugin Excalidraw, compressed or not, the texts in it and the files that it shows. To change it take update_excalidraw. Example: {\"path\": \"Drawings/Plan.excalidraw.md\", \"format\": \"text\"}",
        scopes: &[Scope::ReadVault],
        tags: &["excalidraw"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, path("path", &arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path("path", &arguments.path)?;
        let format = arguments.format;
        let read = |view: View| {
            let path = &path;
            async move {
                let found = formats::find(&view, path).await?;
                let text = decoded(&found.text);
                let drawing = Drawing::read(&text, path.is_note()).map_err(|error| refused(path, &error))?;
                let limits =
                    atlas_ops::Limits { max_response_bytes: context.limits.max_response_bytes / 2, ..*context.limits };
                let half = context.with_limits(&limits);
                let mut elements: Vec<Fields> = drawing.elements().cloned().collect();
                let element_count = elements.len();
                let mut texts: Vec<_> = drawing.texts().collect();
                let cuts_elements = format != Format::Text && cut(&mut elements, &half);
                let cuts_texts = format != Format::Elements && cut(&mut texts, &half);
                let overflow = cuts_elements || cuts_texts;
                let files = drawing.embedded_files().into_iter().take(MAX_FILES);
                Ok(Output {
                    path: path.as_str().to_owned(),
                    elements: (format != Format::Text).then_some(elements),
                    text_content: (format != Format::Elements).then(|| texts.join("\n\n")),
                    embedded_files: files.map(|file| EmbeddedFile { id: file.id, name: file.name }).collect(),
                    app_state: drawing.app_state().cloned(),
                    storage: drawing.form().into(),
                    element_count,
                    content_hash: found.sha256(),
                    overflow,
                })
            }
        };
        context.read(read).await
    }
}

impl From<excalidraw::Form> for Storage {
    fn from(form: excalidraw::Form) -> Self {
        match form {
            excalidraw::Form::File => Self::File,
            excalidraw::Form::Json => Self::Json,
            excalidraw::Form::CompressedJson => Self::CompressedJson,
        }
    }
}
