//! `bulk_create_notes`: writes many notes.

use std::collections::HashSet;
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Hash, Snapshot};
use atlas_ops::arguments::{Bounded, Given, Message, Text};
use atlas_ops::error::Error;
use atlas_ops::item_error::ItemError;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::{Batch, NewDocument};
use atlas_ops::write::precondition::{Condition, Mode};
use atlas_ops::write::writable;
use atlas_segment::Record;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Bulk, BulkOptions, Planned, Report, UNCONFIRMED, check_count, twice};

/// Writes up to 200 notes in one commit, each in its mode as write_note does.
pub struct BulkCreateNotes;

/// The notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The notes; 200 at most, each path once.
    #[schemars(length(min = 1, max = 200))]
    items: Vec<NewNote>,
    /// Stop at the first note that cannot be written.
    #[serde(default)]
    stop_on_first_error: bool,
    /// Write nothing, and return the results that writing would have.
    #[serde(default)]
    dry_run: bool,
    /// Ignored: all notes are written in one commit.
    #[serde(default)]
    #[expect(dead_code, reason = "it means nothing")]
    max_concurrent: Bounded<1, 16, 4>,
    #[serde(default)]
    message: Given<Message>,
}

/// A note to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewNote {
    /// Its path from the root of the vault; it ends in `.md`.
    path: String,
    /// Its whole text, including properties unless `frontmatter` is given.
    content: String,
    /// Its properties, written above the text.
    #[serde(default)]
    frontmatter: Given<Map<String, Value>>,
    /// The mode: `create` if not given.
    #[serde(default)]
    mode: Mode,
    /// Ignored: the call has one key for all items.
    #[serde(default)]
    #[expect(dead_code, reason = "it means nothing")]
    idempotency_key: Given<Text<256>>,
}

/// The result of one item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Its path.
    path: String,
    /// Whether the note was written, or on a dry run could be.
    ok: bool,
    /// The mode used.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode_used: Option<Mode>,
    /// SHA-256 of its bytes, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    /// Why it failed, or on a dry run would fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ItemError>,
}

/// Most notes.
const MAX_ITEMS: usize = 200;

impl Operation for BulkCreateNotes {
    const INFO: Info = Info {
        name: "bulk_create_notes",
        title: "Write many notes",
        description: "Writes up to 200 notes in one commit, each in its mode as write_note does. Notes that cannot be written are skipped, and results says for each whether it was written, or why not; if none can be, the call fails (bulk_partial). With stop_on_first_error no note is written after the first that cannot be. With dry_run nothing is written and the results are the same, but do not show whether a person has to confirm the call. A note cannot be written if a folder has its name, or if a file has the name of a folder that it needs (name_taken); of two notes of the call that clash, the first is written. A person has to confirm more than 50 notes, replacements in mode overwrite, and removals of most of a note. For one note take write_note. Example: {\"items\": [{\"path\": \"People/Ada.md\", \"content\": \"# Ada\\n\"}]}",
        scopes: &[Scope::WriteVault, Scope::BulkVault],
        destructive: true,
        tags: &["notes", "bulk"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Report<Item>;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let path = |(at, item): (usize, &NewNote)| writable::path(&format!("items[{at}].path"), &item.path);
        arguments.items.iter().enumerate().map(|item| Ok((Access::Write, path(item)?))).collect()
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        !arguments.dry_run && arguments.items.len() > UNCONFIRMED
    }

    fn is_dry_run(arguments: &Arguments) -> bool {
        arguments.dry_run
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Report<Item>>, Error> {
        check_count("items", arguments.items.len(), MAX_ITEMS)?;
        let paths = Self::accesses(&arguments)?.into_iter().map(|(_, path)| path).collect();
        let message = arguments.message.as_ref().map(Message::as_str);
        let way = BulkOptions { context, operation: &Self::INFO, message, dry_run: arguments.dry_run };
        let stop = arguments.stop_on_first_error;
        way.run(&Writing { context, items: &arguments.items, paths, stop }).await
    }
}

struct Writing<'a> {
    context: &'a Context<'a>,
    items: &'a [NewNote],
    paths: Vec<VaultPath>,
    /// Whether to stop at the first note that cannot be written.
    stop: bool,
}

impl Writing<'_> {
    /// The hash of the new note, and the note unless it equals the existing one.
    fn written(
        &self,
        item: &NewNote,
        path: &VaultPath,
        found: Option<&Found>,
    ) -> Result<(Hash, Option<NewDocument>), Error> {
        Condition::Mode(item.mode, None).check(path.as_str(), found)?;
        let text = writable::with_properties(item.frontmatter.as_ref(), &item.content)?;
        let new = NewDocument::text(path.clone(), text.into(), found, self.context.now)?;
        let is_there = found.is_some_and(|found| found.record.sha256 == *new.sha256().as_bytes());
        Ok((new.sha256(), (!is_there).then_some(new)))
    }
}

impl Bulk for Writing<'_> {
    type Done = Hash;
    type Item = Item;

    async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<Planned<'h, Hash>, Error> {
        let paths: Vec<&str> = self.paths.iter().map(VaultPath::as_str).collect();
        let replacing = self.items.iter().zip(&self.paths).filter(|(item, _)| item.mode != Mode::Create);
        let replacing: HashSet<&str> = replacing.map(|(_, path)| path.as_str()).collect();
        let is_wanted = |record: &Record| self.context.is_to_be_judged() && replacing.contains(record.path.as_str());
        let found = notes::find_all(head, &paths, is_wanted).await?;
        let mut batch = Batch::on(head, self.context);
        let new = self.paths.iter().zip(&found).filter(|(_, found)| found.is_none());
        let mut clashes = batch.clashes(new.map(|(path, _)| path.clone()).collect()).await?;
        let mut named = HashSet::new();
        let (mut items, mut needs_confirmation) = (Vec::new(), false);
        for ((item, path), found) in self.items.iter().zip(&self.paths).zip(&found) {
            let mut clash = || match found {
                None => clashes.remove(path).or_else(|| batch.clash(path)),
                Some(_) => None,
            };
            let new = match named.insert(path) {
                true => self.written(item, path, found.as_ref()).and_then(|written| clash().map_or(Ok(written), Err)),
                false => Err(twice("items", path.as_str())),
            };
            let is_last = self.stop && new.is_err();
            items.push(new.map(|(sha256, new)| {
                if let Some(new) = new {
                    needs_confirmation |= Condition::Mode(item.mode, None).needs_confirmation(found.as_ref());
                    batch.put(new, found.as_ref());
                }
                sha256
            }));
            if is_last {
                break;
            }
        }
        Ok(Planned { items, batch, needs_confirmation })
    }

    fn item(&self, at: usize, done: Result<Hash, ItemError>) -> Item {
        let path = self.paths.get(at).map_or_else(String::new, |path| path.as_str().to_owned());
        match done {
            Ok(sha256) => {
                let mode_used = self.items.get(at).map(|item| item.mode);
                Item { path, ok: true, mode_used, content_hash: Some(sha256.to_string()), error: None }
            }
            Err(error) => Item { path, ok: false, mode_used: None, content_hash: None, error: Some(error) },
        }
    }
}
