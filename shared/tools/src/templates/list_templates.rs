//! `list_templates`: the templates of the vault.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;
use atlas_vault::date_format::Locale;
use atlas_vault::template::{self, templater};
use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::{CORE_NAMES, Settings, not_set_up};
use crate::formats;

/// Lists the templates of the vault.
pub struct ListTemplates;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// Templates.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// By path; at most 500.
    items: Vec<Template>,
}

/// A template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Template {
    /// Its path.
    path: String,
    /// Its name.
    name: String,
    /// Whether it runs programs or functions that a person wrote.
    has_user_functions: bool,
    /// Names that execute_template fills in from `args`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<String>,
    /// Its parts that only Templater in the Obsidian app can evaluate. If there are none, execute_template evaluates the whole template.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs_app: Vec<String>,
}

const MAX_TEMPLATES: usize = 500;

impl Operation for ListTemplates {
    const INFO: Info = Info {
        name: "list_templates",
        title: "List templates",
        description: "Lists the templates in the folders that a person set in Obsidian's Templates or in Templater, with the names that each fills in and the parts that need the app. Create a note from one with execute_template. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["templates"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let list = |view: View| async move {
            let settings = Settings::read(context, &view).await?;
            if settings.folders.is_empty() {
                return Err(not_set_up());
            }
            let index = Index::fetch(view, Want::default()).await?;
            let folders: Vec<&str> = settings.folders.iter().map(String::as_str).collect();
            let found = formats::notes_below(&index, &folders, MAX_TEMPLATES)?;
            let documents: Vec<DocumentRef> = found.iter().map(|(document, _)| *document).collect();
            let texts = index.texts(&documents).await?;
            let items = found.iter().zip(&texts).map(|((_, path), text)| template(path, &decoded(text))).collect();
            Ok(Output { items })
        };
        context.read(list).await
    }
}

fn template(path: &VaultPath, text: &str) -> Template {
    let none = Map::new();
    // Whether a command needs the app does not depend on the time and the language.
    let surroundings = templater::Surroundings {
        now: DateTime::constant(2000, 1, 1, 0, 0, 0, 0),
        locale: Locale::default(),
        path,
        properties: &none,
    };
    let needs_app = templater::needs_app(text, &surroundings);
    let is_own = |name: &String| !CORE_NAMES.iter().any(|core| name.eq_ignore_ascii_case(core)) && !name.contains(':');
    Template {
        path: path.as_str().to_owned(),
        name: path.stem().to_owned(),
        has_user_functions: needs_app.iter().any(|what| what.starts_with("<%*") || what.starts_with("`tp.user")),
        parameters: template::names(text).into_iter().filter(is_own).collect(),
        needs_app,
    }
}
