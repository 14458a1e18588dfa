//! Prompts: notes with a description below one folder (`vaults[].prompts.folder`), for a person to choose in an agent's program.

pub mod get_prompt;
pub mod list_prompts;

use atlas_ops::atlas::Vault;
use atlas_ops::error::{Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::prompt::Prompt;

/// Most bytes of a note that is a prompt.
const MAX_BYTES: usize = 64 << 10;

/// The prompt in the text of a note, if it is one and not too long.
fn prompt(text: &[u8]) -> Option<Prompt> {
    Prompt::of(std::str::from_utf8(text).ok().filter(|text| text.len() <= MAX_BYTES)?)
}

/// The name of the prompt at `path`: its path below the folder, without `.md`.
fn name(vault: &Vault, path: &VaultPath) -> Option<String> {
    let name = path.as_str().strip_prefix(vault.prompts().prefix())?;
    path.is_note().then(|| name.get(..name.len().checked_sub(3)?).map(str::to_owned))?
}

/// The path of the prompt called `name`.
fn path(vault: &Vault, name: &str) -> Result<VaultPath, Error> {
    VaultPath::parse(&format!("{}{name}.md", vault.prompts().prefix())).map_err(|_| missing(vault, name))
}

/// The error for a prompt that does not exist.
fn missing(vault: &Vault, name: &str) -> Error {
    let folder = vault.prompts().prefix();
    let message = format!(
        "the vault has no prompt {name}: list_prompts lists them. A prompt is a note below {folder} with the property description"
    );
    Error::not_found(Reason::NoteNotFound, message).with("name", name)
}
