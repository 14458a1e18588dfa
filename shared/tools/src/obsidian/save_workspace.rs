//! `save_workspace`: saves the layout of the app's windows under a name, in the file that Obsidian's core plugin keeps.

use atlas_ops::app::ask::Asked;
use atlas_ops::app::{Pending, Request};
use atlas_ops::arguments::{Exact, Given, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::settings::unusable;
use atlas_ops::write::editing;
use atlas_vault::VaultPath;
use atlas_vault::json_text::{JsonError, JsonText, Layout, Member};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::workspaces::FILE;
use atlas_access::Access;
use atlas_access::visibility::NEEDS_APP;

/// Saves the layout of the windows under a name.
pub struct SaveWorkspace;

/// Under which name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The workspace's name.
    name: Exact<256>,
    /// Replace one of that name; a person has to confirm it. It fails if not given.
    #[serde(default)]
    overwrite: bool,
    /// The layout to save, as Obsidian keeps it; that of the app's windows now if not given.
    #[serde(default)]
    layout: Given<Map<String, Value>>,
}

/// The saved workspace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The workspace.
    name: String,
    /// When it was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    saved_at: Option<Timestamp>,
    /// Instead of that, where the app is asked through the bucket and has not answered: make the same call again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

/// The content of a new file of workspaces.
const EMPTY: &str = "{\n  \"workspaces\": {}\n}";
/// Most bytes of a layout.
const MAX_LAYOUT: usize = 512 << 10;

impl Operation for SaveWorkspace {
    const INFO: Info = Info {
        name: "save_workspace",
        title: "Save a workspace",
        description: "Saves how the windows of the person's running Obsidian are laid out, under a name, where Obsidian keeps workspaces. It asks the app for the layout, unless layout is given. Example: {\"name\": \"Morning\"}",
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::ExecuteWorkspace],
        destructive: true,
        tags: &[NEEDS_APP],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn needs_confirmation(_: &Arguments) -> bool {
        // Only where there is one of that name, which is seen when it is written.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        context.check_settings(Access::Write, FILE)?;
        let Arguments { name, overwrite, layout } = arguments;
        let name = name.as_str().to_owned();
        let mut layout = match layout.0 {
            Some(layout) => layout,
            None => match context.ask_app(&Self::INFO, &Request::Layout {}).await? {
                Asked::Pending(pending) => {
                    return Ok(super::answer(Output { name, saved_at: None, pending: Some(pending) }));
                }
                Asked::Done(Value::Object(layout)) => layout,
                Asked::Done(_) => return Err(invalid_input("layout", "the app told of no layout: give one")),
            },
        };
        if serde_json::to_vec(&layout).map_or(true, |bytes| bytes.len() > MAX_LAYOUT) {
            return Err(invalid_input("layout", &format!("it has more than {MAX_LAYOUT} bytes")));
        }
        layout.insert("mtime".to_owned(), json!(context.first_made.to_string()));
        let layout = Value::Object(layout);
        let file = VaultPath::parse(FILE).map_err(|error| unusable(FILE, &error.to_string()))?;
        let save = |before: Option<&str>| {
            let before = before.filter(|before| !before.trim().is_empty()).unwrap_or(EMPTY);
            let (after, was_there) =
                saved(before, &name, &layout).map_err(|error| unusable(FILE, &error.to_string()))?;
            if was_there && !overwrite {
                let message = format!("there is a workspace {name} already: choose another name, or set overwrite");
                return Err(Error::new(Code::Conflict, Reason::NoteExists, message).with("name", name.as_str()));
            }
            Ok((after, was_there))
        };
        let Answer { value: edited, generation } =
            editing::edit_if_confirmed(context, &Self::INFO, &file, save, |was_there| *was_there).await?;
        let value = Output { name: name.clone(), saved_at: Some(edited.updated_at), pending: None };
        Ok(Answer { value, generation })
    }
}

/// The text of the file with `layout` under `name`, and whether there was one. What is not understood stays as it is.
fn saved(text: &str, name: &str, layout: &Value) -> Result<(String, bool), JsonError> {
    fn last<'a>(members: &'a [Member], name: &str) -> Option<&'a Member> {
        members.iter().rfind(|member| member.name == name)
    }
    let mut json = JsonText::read(text)?;
    let root = json.root();
    let members = json.members(&root)?;
    let Some(workspaces) = last(&members, "workspaces") else {
        json.add_members(&root, &members, &[("workspaces", &json!({ name: layout }))], Layout::Indented);
        return Ok((json.finish(), false));
    };
    let saved = json.members(&workspaces.value)?;
    let found = last(&saved, name).map(|member| member.value.clone());
    match &found {
        Some(span) => json.replace(span, layout),
        None => json.add_members(&workspaces.value, &saved, &[(name, layout)], Layout::Indented),
    }
    Ok((json.finish(), found.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_saved_stays_as_it_is() {
        let text = "{\n  \"workspaces\": {\n    \"A\": {\"main\":  1}\n  },\n  \"active\": \"A\",  \"x\": [ 1 ]\n}\n";
        let (added, was_there) = saved(text, "B", &json!({ "main": 2 })).unwrap();
        assert!(!was_there && added.contains("\"A\": {\"main\":  1}") && added.contains("\"x\": [ 1 ]"), "{added}");
        let read: Value = serde_json::from_str(&added).unwrap();
        assert_eq!((&read["workspaces"]["B"]["main"], &read["active"]), (&json!(2), &json!("A")));
        let (replaced, was_there) = saved(text, "A", &json!({ "main": 3 })).unwrap();
        assert!(was_there && serde_json::from_str::<Value>(&replaced).unwrap()["workspaces"]["A"]["main"] == 3);
        for (text, is_good) in [("{}", true), (EMPTY, true), ("[]", false), ("{\"workspaces\": 1}", false), ("", false)]
        {
            assert_eq!(saved(text, "A", &json!({})).is_ok(), is_good, "{text}");
        }
    }
}
