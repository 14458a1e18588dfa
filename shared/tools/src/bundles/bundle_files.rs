//! `bundle_files`: the texts of some notes in one text.

use std::collections::HashSet;

use atlas_ops::arguments::{self, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bundle, Format, MaxBytes};

/// Most files of one call.
const MAX_FILES: usize = 200;

/// Returns the texts of up to 200 notes as one text, in the order of the paths and up to a size.
pub struct BundleFiles;

/// The files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Their paths, with their extensions.
    #[schemars(length(min = 1, max = 200))]
    paths: Vec<String>,
    /// Largest size of the bundle in bytes; 500,000 if not given.
    #[serde(default)]
    max_bytes: MaxBytes,
    /// Include the notes' frontmatter; true if not given.
    #[serde(default = "arguments::yes")]
    include_frontmatter: bool,
    /// The format of the bundle.
    #[serde(default)]
    format: Format,
}

/// The bundle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The texts, in the order of the paths.
    bundle: String,
    /// The number of files in it.
    file_count: usize,
    /// Its bytes.
    total_bytes: usize,
    /// Whether it was cut before a file that does not fit.
    truncated: bool,
    /// The paths without a text; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_paths: Vec<String>,
}

impl Operation for BundleFiles {
    const INFO: Info = Info {
        name: "bundle_files",
        title: "Bundle files",
        description: "Returns the texts of up to 200 notes as one text, in the given order and up to a size. To read notes separately take read_notes. Example: {\"paths\": [\"Projects/a.md\", \"Projects/b.md\"]}",
        scopes: &[Scope::ReadVault],
        tags: &["bundles", "notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        if !(1..=MAX_FILES).contains(&arguments.paths.len()) {
            return Err(invalid_input("paths", &format!("name 1 to {MAX_FILES}")));
        }
        let mut seen = HashSet::new();
        let mut paths = Vec::new();
        for written in &arguments.paths {
            let path = arguments::path("paths", written)?;
            if seen.insert(path.clone()) {
                paths.push(path);
            }
        }
        let bundle = |view: View| {
            let (paths, arguments) = (&paths, &arguments);
            async move {
                let index = Index::fetch(view, Want::default()).await?;
                let mut missing: Vec<&str> = Vec::new();
                let mut documents = Vec::new();
                for path in paths {
                    match index.find(path.as_str())? {
                        Some(document) => documents.push(document),
                        None => missing.push(path.as_str()),
                    }
                }
                let mut bundle =
                    Bundle::new(context, arguments.format, arguments.include_frontmatter, arguments.max_bytes);
                let no_texts = bundle.add_all(&index, &documents).await?;
                let no_texts: Vec<String> =
                    no_texts.into_iter().map(|document| index.path(document)).collect::<Result<_, _>>()?;
                let is_missing = |path: &str| missing.contains(&path) || no_texts.iter().any(|other| other == path);
                let text = bundle.finish();
                Ok(Output {
                    file_count: bundle.files.len(),
                    total_bytes: text.len(),
                    truncated: bundle.truncated,
                    bundle: text,
                    missing_paths: paths
                        .iter()
                        .map(|path| path.as_str())
                        .filter(|path| is_missing(path))
                        .map(str::to_owned)
                        .collect(),
                })
            }
        };
        context.read(bundle).await
    }
}
