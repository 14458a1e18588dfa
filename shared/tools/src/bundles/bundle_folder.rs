//! `bundle_folder`: the texts of a folder's notes in one text.

use atlas_ops::arguments::{self, Bounded, Root, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bundle, BundledFile, Format, MaxBytes};

/// Most extensions of one call.
const MAX_EXTENSIONS: usize = 50;

/// Returns the texts of all notes of a folder, and of the folders in it, as one text, in path order and up to a size.
pub struct BundleFolder;

/// The folder, and limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder; empty for the whole vault.
    root: String,
    /// Most files; 100 if not given.
    #[serde(default)]
    max_files: Bounded<1, 500, 100>,
    /// Largest size of the bundle in bytes; 500,000 if not given.
    #[serde(default)]
    max_bytes: MaxBytes,
    /// File name extensions, with or without the dot, in any case; `.md` if not given.
    #[serde(default = "notes")]
    #[schemars(length(max = 50))]
    extensions: Vec<Text<50>>,
    /// Include the notes' frontmatter; true if not given.
    #[serde(default = "arguments::yes")]
    include_frontmatter: bool,
    /// The format of the bundle.
    #[serde(default)]
    format: Format,
}

fn notes() -> Vec<Text<50>> {
    Text::new(".md").into_iter().collect()
}

/// The bundle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The folder.
    root: String,
    /// The texts.
    bundle: String,
    /// The number of files in it.
    file_count: usize,
    /// Its bytes.
    total_bytes: usize,
    /// Whether the folder has more files: the bundle ends before the first that does not fit.
    truncated: bool,
    /// The files, in path order.
    files: Vec<BundledFile>,
    /// The paths without a text, as that is too large or not text; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_paths: Vec<String>,
}

impl Operation for BundleFolder {
    const INFO: Info = Info {
        name: "bundle_folder",
        title: "Bundle a folder",
        description: "Returns the texts of all notes of a folder, and of the folders in it, as one text, in path order and up to a size. Example: {\"root\": \"Projects\"}",
        scopes: &[Scope::ReadVault],
        tags: &["bundles", "notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let root = Root::of("root", &arguments.root)?;
        if arguments.extensions.len() > MAX_EXTENSIONS {
            return Err(invalid_input("extensions", &format!("name at most {MAX_EXTENSIONS}")));
        }
        let extensions: Vec<String> = arguments.extensions.iter().map(|name| extension(name.as_str())).collect();
        let max_files = arguments.max_files.get();
        let bundle = |view: View| {
            let (root, arguments, extensions) = (&root, &arguments, &extensions);
            async move {
                let index = Index::fetch(view, Want::default()).await?;
                let documents = files(&index, root, extensions)?;
                let shown = documents.get(..max_files).unwrap_or(&documents);
                let mut bundle =
                    Bundle::new(context, arguments.format, arguments.include_frontmatter, arguments.max_bytes);
                let without = bundle.add_all(&index, shown).await?;
                let text = bundle.finish();
                Ok(Output {
                    root: root.prefix().trim_end_matches('/').to_owned(),
                    file_count: bundle.files.len(),
                    total_bytes: text.len(),
                    truncated: bundle.truncated || shown.len() < documents.len(),
                    bundle: text,
                    files: bundle.files,
                    missing_paths: without
                        .into_iter()
                        .map(|document| index.path(document))
                        .collect::<Result<_, _>>()?,
                })
            }
        };
        context.read(bundle).await
    }
}

/// An extension with its dot, in lower case.
fn extension(written: &str) -> String {
    format!(".{}", written.trim_start_matches('.').to_ascii_lowercase())
}

/// The files below `root` with these extensions, by path.
fn files(index: &Index, root: &Root, extensions: &[String]) -> Result<Vec<DocumentRef>, Error> {
    let mut found = Vec::new();
    for segment in index.segments() {
        for document in index.paths(segment)?.with_prefix(root.prefix()) {
            let document = DocumentRef { segment, document };
            let path = index.path(document)?.to_ascii_lowercase();
            if extensions.iter().any(|extension| path.ends_with(extension)) && index.shows(document) {
                found.push(document);
            }
        }
    }
    index.sort_by_path(&mut found, |document| *document);
    Ok(found)
}
