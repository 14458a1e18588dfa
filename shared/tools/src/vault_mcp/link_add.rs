//! `link_add`: adds a link from a note to another, once.

use std::sync::atomic::{AtomicBool, Ordering};

use atlas_access::Access;
use atlas_ops::arguments::{Given, ReadPath, Text, WritePath};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_vault::VaultPath;
use atlas_vault::edit::needs_gap;
use atlas_vault::relink::shortest_target;
use atlas_vault::resolve::{Files, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds a wikilink to another note at the end of a note, as Obsidian writes it, on a line of its own.
pub struct LinkAdd;

/// The two notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the note that gets the link.
    from: WritePath,
    /// The path of the note, or other file, that it leads to.
    to: ReadPath,
    /// The heading that it leads to, or `^` and a block id.
    #[serde(default)]
    heading: Given<Text<500>>,
    /// The text to show instead of the file's name.
    #[serde(default)]
    alias: Given<Text<500>>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Whether the link was added; false if the note already had one to this target.
    added: bool,
    /// The link, as written.
    link: String,
}

impl Operation for LinkAdd {
    const INFO: Info = Info {
        name: "link_add",
        title: "Add a link",
        description: "Adds a wikilink to another note at the end of a note, as Obsidian writes it, on a line of its own. Does nothing if the note already has a link to it. Example: {\"from\": \"Projects/Atlas.md\", \"to\": \"People/Ada.md\"}",
        // The result reveals whether the link and its target exist.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["links", "notes"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.from.clone().into()), (Access::Read, arguments.to.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let from: VaultPath = arguments.from.clone().into();
        let to: VaultPath = arguments.to.clone().into();
        let rivals = |view: View| {
            let to = &to;
            async move {
                let graph = Graph::fetch(context, view).await?;
                graph.file(to)?;
                graph.rivals(to)
            }
        };
        let files = context.read(rivals).await?.value;
        let heading = arguments.heading.as_ref().map(|heading| heading.as_str().trim_start_matches('#'));
        let new = NewLink { from: &from, to: &to, heading, files: &files };
        let link = new.written(arguments.alias.as_ref().map(Text::as_str))?;
        // A repeated call returns the first result: the link was added.
        let added = AtomicBool::new(true);
        let decide = |found: Option<&Found>| {
            let found = found.ok_or_else(|| notes::missing(from.as_str()))?;
            let text = std::str::from_utf8(&found.text).map_err(|_| impossible(&from, "it is not UTF-8"))?;
            let is_there = new.is_in(text);
            added.store(!is_there, Ordering::Relaxed);
            if is_there {
                return Ok(NoteUpdate::Text(found.text.to_vec()));
            }
            let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let between = if text.is_empty() || text.ends_with('\n') { "" } else { end };
            // Right below a table it would be a row, and below a list item a part of it.
            let blank = if needs_gap(text, &link) { end } else { "" };
            let with_link = format!("{text}{between}{blank}{link}{end}");
            // At the end of code or a comment it would not be a link.
            if !new.is_in(&with_link) {
                return Err(impossible(
                    &from,
                    "the text at its end would hide the link: close the code or comment there first",
                ));
            }
            Ok(NoteUpdate::Text(with_link.into_bytes()))
        };
        let answer = update::write(context, &Self::INFO, &from, None, KnownInput::Nothing, decide).await?;
        Ok(Answer { value: Output { added: added.into_inner(), link }, generation: answer.generation })
    }
}

fn impossible(note: &VaultPath, problem: &str) -> Error {
    Error::bad_request(Reason::LinkImpossible, format!("no link can be added to {note}: {problem}"))
}

/// A link to add.
struct NewLink<'a> {
    from: &'a VaultPath,
    to: &'a VaultPath,
    heading: Option<&'a str>,
    files: &'a Files,
}

impl NewLink<'_> {
    /// The link.
    fn written(&self, alias: Option<&str>) -> Result<String, Error> {
        let target = shortest_target(self.to, self.from, self.files);
        let target = target.ok_or_else(|| {
            let is_hidden = self.to.as_str().split('/').any(|name| name.starts_with('.'));
            let why = match is_hidden {
                true => "a name that begins with a dot, and Obsidian links to no such file: rename that first",
                false => "# | [ or ] in its name: rename it first",
            };
            impossible(self.from, &format!("{} has {why}", self.to))
        })?;
        let is_plain = |text: &str| !text.contains(['|', '[', ']', '\n', '\r']);
        let parts = [("heading", self.heading, "#"), ("alias", alias, "|")];
        let mut link = target;
        for (field, part, sign) in parts {
            let Some(part) = part else { continue };
            if !is_plain(part) || part.is_empty() {
                let message = format!("{field}: write it in one line and without | [ or ]");
                return Err(Error::bad_request(Reason::ValidationError, message).with("field", field));
            }
            link = format!("{link}{sign}{part}");
        }
        Ok(format!("[[{link}]]"))
    }

    /// Whether a text has a link to this target.
    fn is_in(&self, text: &str) -> bool {
        atlas_vault::parse(text).links.iter().any(|link| {
            let is_there = self.heading.is_none() || link.subpath.as_deref() == self.heading;
            is_there
                && !link.target.is_empty()
                && !link.is_external()
                && resolve(&link.target, self.from, self.files) == Some(self.to)
        })
    }
}
