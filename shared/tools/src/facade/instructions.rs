//! Instructions for agents on all tools. They name only tools that the caller sees.

use super::{Facade, Toolbox};

/// Sentences, each with the tools that it names; included if all of them are listed.
const SENTENCES: &[(&[&str], &str)] = &[
    (
        &["search", "read_note"],
        "To answer from the notes, call `search` with a few words, read the best with `read_note`, and cite them by path.",
    ),
    (
        &["vault_search", "note_read"],
        "To answer from the notes, call `vault_search`, read the best with `note_read`, and cite them by path.",
    ),
    (
        &["search", "fetch"],
        "To answer from the notes, call `search`, read the best with `fetch`, and cite them by their address.",
    ),
    (
        &["atlas_pack"],
        "Before you change code, call `atlas_pack` with the task: it returns the most relevant files and sections.",
    ),
    (
        &["atlas_find_duplicates"],
        "Before you write a new function, call `atlas_find_duplicates` with its intent, and use existing code.",
    ),
    (&["context_current"], "To see what is being worked on now, call `context_current`."),
    (
        &["append_note", "patch_note", "write_note"],
        "To add to a note take `append_note`, to change a part of it `patch_note`, and to create one `write_note`; they touch nothing else.",
    ),
    (
        &["write_note", "read_note"],
        "Read a note before you replace it whole, and send its `sha256` as `if_match`: then no later change is lost.",
    ),
    (&["note_upsert", "note_read"], "Read a note before you replace it."),
    (
        &["find_capability", "call_capability"],
        "For all else (daily notes, tags, attachments, bulk changes, undo …) call `find_capability`, then `call_capability`; so too where a description names \
         a tool that you do not see.",
    ),
];

impl Toolbox<'_> {
    /// The instructions that clients pass to agents.
    pub fn instructions(&self) -> String {
        let listed = self.listed();
        let is_listed = |name: &&str| listed.iter().any(|tool| tool.name == **name);
        let about = match self.facade {
            Facade::Code => "An index of the folder that you work in: its code and its notes.",
            _ => "The notes of a person's markdown (Obsidian) vault.",
        };
        let said = SENTENCES.iter().filter(|(tools, _)| tools.iter().all(&is_listed));
        let sentences = said.map(|(_, sentence)| *sentence);
        let last = "A call that fails says in `message` what to do.";
        [about].into_iter().chain(sentences).chain([last]).collect::<Vec<_>>().join(" ")
    }
}
