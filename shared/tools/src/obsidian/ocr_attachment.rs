//! `ocr_attachment`: the text in a picture or PDF, as the app's Text Extractor reads it.

use atlas_access::Access;
use atlas_ops::app::{Request, Route};
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Told;
use atlas_access::visibility::NEEDS_APP;

/// Recognises the text of a picture or PDF.
pub struct OcrAttachment;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the picture or PDF.
    path: ReadPath,
    /// Whether to read it again, also if it was read before.
    #[serde(default)]
    force: bool,
}

impl Operation for OcrAttachment {
    const INFO: Info = Info {
        name: "ocr_attachment",
        title: "Read text in a picture",
        description: "Recognises the text of a picture or PDF with Text Extractor in the person's running Obsidian. Needs the companion plugin. The text of PDFs that have one is in get_attachment. Example: {\"path\": \"media/receipt.png\"}",
        scopes: &[Scope::ReadVault, Scope::ExecuteOcr],
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Told;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Told>, Error> {
        let path = VaultPath::from(arguments.path);
        let body = json!({ "path": path.as_str(), "force": arguments.force });
        let request = Request::Companion { route: Route::OcrAttachment, body };
        let told = super::told(context, &Self::INFO, &request).await?;
        Ok(super::answer(told.with([("path", path.as_str().into())])))
    }
}
