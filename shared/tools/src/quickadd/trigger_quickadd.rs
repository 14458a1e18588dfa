//! `trigger_quickadd`: runs an action of QuickAdd.

use atlas_access::Access;
use atlas_mirror::Hash;
use atlas_ops::arguments::{Given, Text, Zone, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_vault::quickadd::{Action, Choice};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::plan::{Plan, Run};
use super::{ActionType, Settings};
use crate::{periodic, templates};

/// Runs an action of QuickAdd.
pub struct TriggerQuickadd;

/// Which action, and what it is given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The action's name or id.
    action_name: Text<256>,
    /// Answers to the action's questions, by name: strings, numbers or booleans. `value` stands for `{{VALUE}}`; dates are as YYYY-MM-DD.
    #[serde(default)]
    args: Map<String, Value>,
    /// The folder of the note, where the action lets the person choose it; the action's own if not given.
    #[serde(default)]
    folder: Given<Text<1024>>,
    /// The time zone of dates and times, such as Europe/Berlin; the server's if not given.
    #[serde(default)]
    timezone: Given<Zone>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The action's name.
    action_name: String,
    /// Its kind.
    #[serde(rename = "type")]
    kind: ActionType,
    /// When it was run.
    #[schemars(with = "String", extend("format" = "date-time"))]
    fired_at: Timestamp,
    /// The notes that it made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    created_paths: Vec<String>,
    /// The notes that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modified_paths: Vec<String>,
}

/// Most names that an error tells.
const MAX_NAMED: usize = 50;

impl Operation for TriggerQuickadd {
    const INFO: Info = Info {
        name: "trigger_quickadd",
        title: "Run a QuickAdd action",
        description: "Runs a template or capture action that a person set up in the plugin QuickAdd: it makes a note of a template, or adds a text or task to a note, with {{DATE}}, {{VALUE:name}} and the like filled from args and the clock. A person has to confirm a capture. Macros, scripts and what needs a cursor or a selection are refused by name. Find actions and what they need with list_quickadd_actions. Example: {\"action_name\": \"Log\", \"args\": {\"value\": \"Berth 4 is free\"}}",
        // It tells what is there.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["templates"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn needs_confirmation(_: &Arguments) -> bool {
        // That depends on the action, and on what is there.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        context.check_writable()?;
        let Arguments { action_name, args, folder, timezone } = arguments;
        templates::check(&args)?;
        let now = context.zone(timezone.as_ref())?.to_datetime(context.first_made);
        let seed = Hash::of(format!("{action_name:?}\n{}", context.first_made).as_bytes());
        let seed = seed.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let plan = |view: View| {
            let (action_name, args, folder) = (&action_name, &args, folder.as_ref());
            async move {
                let settings = Settings::read(context, &view).await?;
                let choice = find(&settings.choices, action_name.as_str(), view.is_whole())?;
                let folder = folder.map(Text::as_str);
                let Settings { globals, locale, .. } = &settings;
                let run = Run { context, view: &view, now, locale: *locale, given: args, globals, folder, seed };
                let plan = run.plan(&choice.action).await?;
                Ok((choice.name.clone(), ActionType::from(&choice.action), plan))
            }
        };
        let (name, kind, Plan { path, write }) = context.read(plan).await?.value;
        // Where it writes is for the settings to say: the caller may not be told.
        periodic::check(context, Access::Write, &path)?;
        let edit = |before: Option<&str>| {
            Ok(match write.of(&path, before)? {
                Some((text, is_to_be_confirmed)) => (text, (is_to_be_confirmed, true)),
                None => (before.unwrap_or_default().to_owned(), (false, false)),
            })
        };
        let Answer { value: edited, generation } =
            editing::edit_if_confirmed(context, &Self::INFO, &path, edit, |(is_to_be_confirmed, _)| {
                *is_to_be_confirmed
            })
            .await?;
        let told = if edited.told.1 || edited.created { vec![path.as_str().to_owned()] } else { Vec::new() };
        let (created_paths, modified_paths) = if edited.created { (told, Vec::new()) } else { (Vec::new(), told) };
        let value = Output { action_name: name, kind, fired_at: context.first_made, created_paths, modified_paths };
        Ok(Answer { value, generation })
    }
}

/// The only action with this name or id. An error names others to a caller who sees everything.
fn find<'a>(choices: &'a [Choice], name: &str, sees_all: bool) -> Result<&'a Choice, Error> {
    let wrong = |message: String| {
        let hidden = format!("there is no single action {name:?} that runs: ask the person for its name or id");
        Err(invalid_input("action_name", if sees_all { &message } else { &hidden }))
    };
    let found: Vec<&Choice> = choices.iter().filter(|choice| choice.name == name || choice.id == name).collect();
    match found.as_slice() {
        [Choice { action: Action::Multi(names), .. }] => {
            let names: Vec<&String> = names.iter().take(MAX_NAMED).collect();
            wrong(format!("{name:?} is a group: name one of its actions, {names:?}"))
        }
        [only] => Ok(only),
        [] => {
            let is_run = |choice: &&Choice| !matches!(choice.action, Action::Multi(_));
            let names: Vec<&String> =
                choices.iter().filter(is_run).map(|choice| &choice.name).take(MAX_NAMED).collect();
            wrong(format!("there is no action {name:?}: name one of {names:?}"))
        }
        several => {
            let ids: Vec<&String> = several.iter().map(|choice| &choice.id).take(MAX_NAMED).collect();
            wrong(format!("several actions are called {name:?}: name one by its id, {ids:?}"))
        }
    }
}
