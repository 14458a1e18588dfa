//! `list_quickadd_actions`: QuickAdd's actions.

use std::collections::BTreeSet;

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::view::View;
use atlas_vault::quickadd::format::{FormatError, Values, fill};
use atlas_vault::quickadd::{Action, Choice};
use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::{ActionType, Settings, not_there};

/// Lists QuickAdd's actions.
pub struct ListQuickaddActions;

/// Nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// Actions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// In the order of QuickAdd's settings, each group before what is in it; at most 1,000.
    items: Vec<Item>,
}

/// An action.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Its name.
    name: String,
    /// Its id, which trigger_quickadd takes too.
    #[serde(skip_serializing_if = "String::is_empty")]
    id: String,
    /// Its kind.
    #[serde(rename = "type")]
    kind: ActionType,
    /// The effect.
    description: String,
    /// The group that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// Names that trigger_quickadd needs in `args`; its template may need more.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    parameters: BTreeSet<String>,
    /// The steps that only the Obsidian app can do. Without the field, trigger_quickadd does the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_app: Option<String>,
}

impl Operation for ListQuickaddActions {
    const INFO: Info = Info {
        name: "list_quickadd_actions",
        title: "List QuickAdd actions",
        description: "Lists the actions that a person set up in the plugin QuickAdd: template, capture, macro and multi (a group), with the names that each needs in args and what of it only the app can do. Run one with trigger_quickadd. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["templates"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let list = |view: View| async move {
            // Their names may tell of hidden notes.
            if !view.is_whole() {
                return Err(not_there());
            }
            let settings = Settings::read(context, &view).await?;
            Ok(Output { items: settings.choices.iter().map(|choice| item(choice, &settings)).collect() })
        };
        context.read(list).await
    }
}

fn item(choice: &Choice, settings: &Settings) -> Item {
    let (mut parameters, mut needs_app) = (BTreeSet::new(), None);
    let given = Map::new();
    // Which names are missing does not depend on the time.
    let values = Values {
        now: DateTime::constant(2000, 1, 1, 0, 0, 0, 0),
        locale: settings.locale,
        given: &given,
        globals: &settings.globals,
        title: Some(""),
        seed: 0,
    };
    for text in texts(&choice.action) {
        match fill(text, &values) {
            Err(FormatError::Missing(names)) => parameters.extend(names),
            Err(FormatError::NeedsApp(what)) => needs_app = Some(what),
            _ => {}
        }
    }
    // Where it writes is not told: that may be out of the caller's sight.
    let description = match &choice.action {
        Action::Template(_) => "makes a note of a template".to_owned(),
        Action::Capture(capture) => format!("adds a {} to a note", if capture.task { "task" } else { "text" }),
        Action::Multi(names) => format!("a group of {} actions", names.len()),
        Action::Macro => "runs a program, which needs the Obsidian app".to_owned(),
        Action::Unknown => "of a kind that is not known here".to_owned(),
    };
    if let Some(what) = super::plan::needs_person(&choice.action) {
        needs_app = Some(what.to_owned());
    }
    Item {
        name: choice.name.clone(),
        id: choice.id.clone(),
        kind: ActionType::from(&choice.action),
        description,
        group: choice.group.clone(),
        parameters,
        needs_app,
    }
}

/// The texts with places that an action has in the settings.
fn texts(action: &Action) -> Vec<&str> {
    match action {
        Action::Template(template) => vec![super::plan::name_format(template)],
        Action::Capture(capture) => {
            let after = if capture.insert_after.enabled { capture.insert_after.after.as_str() } else { "" };
            vec![capture.capture_to.as_str(), super::plan::capture_format(capture), after]
        }
        _ => Vec::new(),
    }
}
