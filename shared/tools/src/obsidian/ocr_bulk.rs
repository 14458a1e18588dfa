//! `ocr_bulk`: the text in several pictures or PDFs, as the app's Text Extractor reads it.

use atlas_access::Access;
use atlas_ops::app::{Request, Route};
use atlas_ops::arguments::{Bounded, Given, ReadPath, Root, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Told;
use crate::attachments::list_attachments::files;
use atlas_access::visibility::NEEDS_APP;

/// Most files of one call.
const MAX_FILES: usize = 20;
/// The default extensions of files.
const EXTENSIONS: [&str; 5] = [".pdf", ".png", ".jpg", ".jpeg", ".tiff"];
const MAX_EXTENSIONS: usize = 50;

/// Recognises the text of several pictures or PDFs.
pub struct OcrBulk;

/// Which ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Their paths; at most 20.
    #[serde(default)]
    #[schemars(with = "Vec<ReadPath>", length(max = 20))]
    paths: Given<Vec<ReadPath>>,
    /// The folder that they are in, instead of paths.
    #[serde(default)]
    root: Given<String>,
    /// The endings of their names, in a folder.
    #[serde(default)]
    #[schemars(with = "Vec<Text<50>>", length(max = 50), extend("default" = EXTENSIONS))]
    extensions: Given<Vec<Text<50>>>,
    /// Whether to read them again, also if they were read before.
    #[serde(default)]
    force: bool,
    /// How many at once.
    #[serde(default)]
    #[schemars(with = "Bounded<1, 4>", extend("default" = 2))]
    max_concurrent: Given<Bounded<1, 4>>,
}

impl Operation for OcrBulk {
    const INFO: Info = Info {
        name: "ocr_bulk",
        title: "Read text in pictures",
        description: "Recognises the text of up to 20 pictures or PDFs with Text Extractor in the person's running Obsidian: those of paths, or those of a folder. Needs the companion plugin. Example: {\"root\": \"media/receipts\"}",
        scopes: &[Scope::ReadVault, Scope::ExecuteOcr],
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Told;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let paths = arguments.paths.as_ref().into_iter().flatten().take(MAX_FILES + 1);
        Ok(paths.map(|path| (Access::Read, path.clone().into())).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Told>, Error> {
        context.check_app(Route::OcrBulk.plugin())?;
        let Arguments { paths, root, extensions, force, max_concurrent } = arguments;
        let paths = match (paths.0, root.0) {
            (Some(paths), None) => {
                paths.into_iter().map(|path| atlas_vault::VaultPath::from(path).as_str().to_owned()).collect()
            }
            (None, Some(root)) => in_folder(context, &root, extensions.0).await?,
            _ => return Err(invalid_input("paths", "give either paths or root")),
        };
        if paths.is_empty() || paths.len() > MAX_FILES {
            let message = format!("{} files are named or in the folder: name 1 to {MAX_FILES}", paths.len());
            return Err(invalid_input("paths", &message));
        }
        let at_once = max_concurrent.0.map_or(2, |number| number.get());
        let body = json!({ "paths": paths, "force": force, "max_concurrent": at_once });
        let request = Request::Companion { route: Route::OcrBulk, body };
        super::told(context, &Self::INFO, &request).await.map(super::answer)
    }
}

/// The files of a folder that the caller may read.
async fn in_folder(context: &Context<'_>, root: &str, extensions: Option<Vec<Text<50>>>) -> Result<Vec<String>, Error> {
    let root = Root::of("root", root)?;
    let extensions: Vec<String> = match extensions {
        Some(named) if named.len() > MAX_EXTENSIONS => {
            return Err(invalid_input("extensions", &format!("name at most {MAX_EXTENSIONS}")));
        }
        Some(named) => named
            .iter()
            .map(|name| format!(".{}", name.as_str().trim_start_matches('.').to_ascii_lowercase()))
            .collect(),
        None => EXTENSIONS.map(str::to_owned).into(),
    };
    let is_wanted = |path: &str| {
        let path = path.to_ascii_lowercase();
        !path.ends_with(".md") && extensions.iter().any(|extension| path.ends_with(extension))
    };
    let list = |view: View| {
        let (root, is_wanted) = (&root, &is_wanted);
        async move {
            let index = Index::fetch(view, Want::default()).await?;
            files(&index, root, is_wanted)?.into_iter().map(|document| Ok(index.path(document)?.to_string())).collect()
        }
    };
    Ok(context.read(list).await?.value)
}
