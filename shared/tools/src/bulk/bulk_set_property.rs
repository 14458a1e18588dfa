//! `bulk_set_property`: sets a property of many notes.

use std::collections::HashSet;
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_ops::arguments::{Bounded, Given, Message, Text};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::item_error::ItemError;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::bytes_of;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::{Batch, NewDocument};
use atlas_ops::write::editing;
use atlas_ops::write::writable;
use atlas_ops::write::writable::text_of;
use atlas_vault::VaultPath;
use atlas_vault::edit::Edit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Bulk, BulkOptions, Planned, Report, UNCONFIRMED, check_count, twice};

/// Sets a property of up to 500 notes, in one commit.
pub struct BulkSetProperty;

/// The notes, and the property.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The notes' paths; 500 at most, each once.
    #[schemars(length(min = 1, max = 500))]
    paths: Vec<String>,
    /// The property's name.
    key: Text<1024>,
    /// Its value: a string, number, boolean, null, list or map.
    value: Value,
    /// Stop at the first note that cannot be changed.
    #[serde(default)]
    stop_on_first_error: bool,
    /// Change nothing, and return the results that the changes would have.
    #[serde(default)]
    dry_run: bool,
    /// Ignored: all notes are changed in one commit.
    #[serde(default)]
    #[expect(dead_code, reason = "it means nothing")]
    max_concurrent: Bounded<1, 16, 4>,
    #[serde(default)]
    message: Given<Message>,
}

/// The result of one item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Its path.
    path: String,
    /// Whether the property was set, or on a dry run could be.
    ok: bool,
    /// The value before. Absent if the note did not have the property, or if the values of all notes are more than 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    prev_value: Option<Value>,
    /// Why it failed, or on a dry run would fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ItemError>,
}

/// Most notes.
const MAX_PATHS: usize = 500;
/// Most bytes of values that are returned and stored.
const MAX_VALUES: usize = 64 << 10;

impl Operation for BulkSetProperty {
    const INFO: Info = Info {
        name: "bulk_set_property",
        title: "Set a property of many notes",
        description: "Sets a property of up to 500 notes, in one commit; nothing else in them changes. Notes that cannot be changed are skipped, and results says for each whether the property was set, or why not; if none can be changed, the call fails (bulk_partial). With stop_on_first_error no note is changed after the first that cannot be. With dry_run nothing is changed and the results are the same. A person has to confirm more than 50. For one note take update_frontmatter. Example: {\"paths\": [\"Projects/a.md\", \"Projects/b.md\"], \"key\": \"status\", \"value\": \"done\"}",
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::BulkVault],
        destructive: true,
        tags: &["properties", "bulk"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Report<Item>;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let path = |(at, path): (usize, &String)| writable::path(&format!("paths[{at}]"), path);
        arguments.paths.iter().enumerate().map(|item| Ok((Access::Write, path(item)?))).collect()
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        !arguments.dry_run && arguments.paths.len() > UNCONFIRMED
    }

    fn is_dry_run(arguments: &Arguments) -> bool {
        arguments.dry_run
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Report<Item>>, Error> {
        check_count("paths", arguments.paths.len(), MAX_PATHS)?;
        let paths = Self::accesses(&arguments)?.into_iter().map(|(_, path)| path).collect();
        let message = arguments.message.as_ref().map(Message::as_str);
        let way = BulkOptions { context, operation: &Self::INFO, message, dry_run: arguments.dry_run };
        let stop = arguments.stop_on_first_error;
        let Arguments { key, value, .. } = &arguments;
        let edit = Edit::SetProperty { name: key.as_str().to_owned(), value: value.clone() };
        way.run(&Setting { context, key: key.as_str(), edit, paths, stop }).await
    }
}

struct Setting<'a> {
    context: &'a Context<'a>,
    key: &'a str,
    edit: Edit,
    paths: Vec<VaultPath>,
    /// Whether to stop at the first note that cannot be changed.
    stop: bool,
}

/// A note's value before. A keyed commit stores it.
#[derive(Clone, Serialize, Deserialize)]
struct PreviousValue {
    #[serde(default, skip_serializing_if = "Given::is_left_out")]
    value: Given<Value>,
}

impl Setting<'_> {
    /// The note with the property, unless it is unchanged, and its value before.
    fn changed(&self, path: &VaultPath, found: Option<&Found>) -> Result<(PreviousValue, Option<NewDocument>), Error> {
        let found = found.ok_or_else(|| notes::missing(path.as_str()))?;
        if found.record.blob.is_some() {
            let message = format!("{path} is too large to be changed in parts: replace it whole");
            return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path.as_str()));
        }
        self.context.work.check()?;
        let note = text_of(found)?;
        let edited = editing::apply(note, std::slice::from_ref(&self.edit), "value")?;
        let value = atlas_vault::parse(note).properties().and_then(|properties| properties.get(self.key).cloned());
        let new =
            (edited != note).then(|| NewDocument::text(path.clone(), edited.into(), Some(found), self.context.now));
        Ok((PreviousValue { value: Given(value) }, new.transpose()?))
    }
}

impl Bulk for Setting<'_> {
    type Done = PreviousValue;
    type Item = Item;

    async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<Planned<'h, PreviousValue>, Error> {
        let paths: Vec<&str> = self.paths.iter().map(VaultPath::as_str).collect();
        let found = notes::find_all(head, &paths, |_| true).await?;
        let mut batch = Batch::on(head, self.context);
        let mut named = HashSet::new();
        let mut items = Vec::new();
        for (path, found) in self.paths.iter().zip(&found) {
            let new = match named.insert(path) {
                true => self.changed(path, found.as_ref()),
                false => Err(twice("paths", path.as_str())),
            };
            let is_last = self.stop && new.is_err();
            items.push(new.map(|(had, new)| {
                if let Some(new) = new {
                    batch.put(new, found.as_ref());
                }
                had
            }));
            if is_last {
                break;
            }
        }
        if items.iter().flatten().map(bytes_of).sum::<usize>() > MAX_VALUES {
            items.iter_mut().flatten().for_each(|had| had.value = Given(None));
        }
        Ok(Planned { items, batch, needs_confirmation: false })
    }

    fn item(&self, at: usize, done: Result<PreviousValue, ItemError>) -> Item {
        let path = self.paths.get(at).map_or_else(String::new, |path| path.as_str().to_owned());
        match done {
            Ok(PreviousValue { value }) => Item { path, ok: true, prev_value: value.0, error: None },
            Err(error) => Item { path, ok: false, prev_value: None, error: Some(error) },
        }
    }
}
