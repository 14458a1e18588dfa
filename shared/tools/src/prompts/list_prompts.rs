//! `list_prompts`: the prompts of the vault.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use atlas_vault::prompt::Prompt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_BYTES, name, prompt};
use crate::formats;

/// Lists the prompts of the vault.
pub struct ListPrompts;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// Prompts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// By name; at most 100.
    items: Vec<Item>,
}

/// A prompt.
#[derive(Debug, Serialize, JsonSchema)]
struct Item {
    /// Its name, for get_prompt.
    name: String,
    /// Its note.
    path: String,
    /// Its purpose.
    description: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<Argument>,
}

/// An argument of a prompt.
#[derive(Debug, Serialize, JsonSchema)]
struct Argument {
    /// Its name.
    name: String,
    /// Its meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Whether it is required.
    required: bool,
    /// Its value if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
}

const MAX_PROMPTS: usize = 100;
/// Most notes that are read to find them.
const MAX_NOTES: usize = 500;

impl Operation for ListPrompts {
    const INFO: Info = Info {
        name: "list_prompts",
        title: "List prompts",
        description: "Lists the prompts that a person keeps in the vault: notes below one folder with a description. Fill one in with get_prompt. For templates of notes take list_templates. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["templates"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let list = |view: View| async move {
            let index = Index::fetch(view, Want::default()).await?;
            let notes = formats::notes_below(&index, &[context.vault.prompts().prefix()], MAX_NOTES)?;
            let mut short = Vec::new();
            for (document, path) in notes {
                if index.span(document)?.length as usize <= MAX_BYTES {
                    short.push((document, path));
                }
            }
            let documents: Vec<DocumentRef> = short.iter().map(|(document, _)| *document).collect();
            let texts = index.texts(&documents).await?;
            let items = short.iter().zip(&texts).filter_map(|((_, path), text)| {
                let name = name(context.vault, path)?;
                Some(item(name, path, prompt(text)?))
            });
            Ok(Output { items: items.take(MAX_PROMPTS).collect() })
        };
        context.read(list).await
    }
}

fn item(name: String, path: &VaultPath, prompt: Prompt) -> Item {
    let argument = |argument: atlas_vault::prompt::Argument| Argument {
        name: argument.name,
        description: argument.description,
        required: argument.usual.is_none(),
        default: argument.usual,
    };
    let arguments = prompt.arguments.into_iter().map(argument).collect();
    Item { name, path: path.as_str().to_owned(), description: prompt.description, arguments }
}
