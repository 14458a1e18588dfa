//! Prompts: those for common tasks, which name the tools, and those that a person keeps in the vault.

use atlas_ops::{Call, Code};
use atlas_tools::prompts::get_prompt::GetPrompt;
use atlas_tools::prompts::list_prompts::ListPrompts;
use rmcp::model::{
    ContentBlock, ErrorCode, ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    ResourceContents, Role,
};
use serde_json::Value;

use crate::resources;
use crate::server::Server;

/// The argument of a prompt that is the path of a note.
pub(crate) const PATH: &str = "path";

/// The argument of a prompt that is a tag, without `#`.
pub(crate) const TAG: &str = "tag";

struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Their names and descriptions; all are required.
    arguments: &'static [(&'static str, &'static str)],
    /// The message; `{name}` is replaced by the argument's value.
    text: &'static str,
}

const TEMPLATES: [Template; 4] = [
    Template {
        name: "find-and-cite",
        title: "Find and cite",
        description: "Answers a question from the notes, with citations.",
        arguments: &[("question", "What you want to know")],
        text: "Answer from the notes of the vault alone: {question}\n\nLook for notes with `search`, and read the best with \
            `read_note`. Answer in a few sentences, and after each name the path of the note that says so. \
            If the notes do not say, say that, and name the closest that you found.",
    },
    Template {
        name: "daily-review",
        title: "Daily review",
        description: "What is going on, what is open and what comes next.",
        arguments: &[],
        text: "Call `context_current`, and read the notes that it names as far as you need. Then tell me in short lists what is under \
            way, what is open or blocked, and what should come next, each with the path of the note that says so. Change nothing.",
    },
    Template {
        name: "review-tag",
        title: "Review a tag",
        description: "What the notes with a tag say together.",
        arguments: &[(TAG, "The tag, without #")],
        text: "List the notes with the tag {tag}: call `search` with the query tag:{tag}. Read them with `read_note`. Then tell me in a few short \
            paragraphs what they say together, where they contradict each other, and what is open, each with the path of the note that \
            says so. Change nothing.",
    },
    Template {
        name: "record-devlog",
        title: "Record in the devlog",
        description: "Adds what was done to a devlog note.",
        arguments: &[(PATH, "The devlog note"), ("summary", "What was done, and why")],
        text: "Record this in the note {path}: {summary}\n\nRead the note with `read_note` first. Add an entry under today's date in \
            the style of the entries that are there, with `append_note`; if there is no such note, create it with `write_note`. Link \
            notes that the entry is about. Change nothing else, and show me the entry.",
    },
];

impl Server {
    /// All prompts: those for common tasks, and those of the vault that the caller may read.
    pub(crate) async fn prompts(&self) -> Result<Vec<Prompt>, ErrorData> {
        let mut prompts: Vec<Prompt> = TEMPLATES.iter().map(Template::listed).collect();
        let own = self.own_prompts().await?;
        prompts.extend(own.iter().filter_map(listed).filter(|prompt| template(&prompt.name).is_none()));
        Ok(prompts)
    }

    /// The prompt with this name, with its arguments filled in.
    pub(crate) async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<GetPromptResult, ErrorData> {
        if let Some(template) = template(name) {
            return template.filled(&arguments);
        }
        let vault = self.vault().map_err(|error| resources::refusal(&error))?;
        let arguments =
            JsonObject::from_iter([("name".to_owned(), name.into()), ("arguments".to_owned(), arguments.into())]);
        let prompt = self.answer(atlas_tools::entry::<GetPrompt>(), &vault, arguments).await;
        // A prompt is no resource, so a name that is not there is an invalid parameter.
        let prompt = prompt.map_err(|error| match error.code {
            ErrorCode::RESOURCE_NOT_FOUND => ErrorData::invalid_params(error.message, error.data),
            _ => error,
        })?;
        let prompt = prompt.value;
        let parts = prompt.get("parts").and_then(Value::as_array).into_iter().flatten();
        let messages = parts.map(|part| PromptMessage::new(Role::User, content(&vault, part))).collect();
        Ok(GetPromptResult::new(messages).with_description(text(&prompt, "description")))
    }

    /// Whether a prompt with this name has such an argument.
    pub(crate) async fn takes(&self, name: &str, argument: &str) -> Result<bool, ErrorData> {
        if let Some(template) = template(name) {
            return Ok(template.arguments.iter().any(|(name, _)| *name == argument));
        }
        let own = self.own_prompts().await?;
        let mut arguments = own.iter().filter(|prompt| text(prompt, "name") == name).flat_map(arguments);
        Ok(arguments.any(|known| text(known, "name") == argument))
    }

    /// The prompts of the vault as `list_prompts` returns them; none for a caller who may not list them, and before the vault is published.
    async fn own_prompts(&self) -> Result<Vec<Value>, ErrorData> {
        let vault = self.vault().map_err(|error| resources::refusal(&error))?;
        let call = Call { vault: Some(vault), ..self.call_of(atlas_tools::entry::<ListPrompts>(), JsonObject::new()) };
        match self.run(call).await {
            Ok(answer) => Ok(match answer.value {
                Value::Object(mut listed) => match listed.remove("items") {
                    Some(Value::Array(items)) => items,
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            }),
            Err(error) if [Code::NotFound, Code::Forbidden].contains(&error.code) => Ok(Vec::new()),
            Err(error) => Err(resources::refusal(&error)),
        }
    }
}

/// The prompt for a common task with this name.
fn template(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.name == name)
}

impl Template {
    fn listed(&self) -> Prompt {
        let argument = |(name, description): &(&str, &str)| {
            PromptArgument::new(*name).with_description(*description).with_required(true)
        };
        let arguments = self.arguments.iter().map(argument).collect();
        Prompt::new(self.name, Some(self.description), Some(arguments)).with_title(self.title)
    }

    fn filled(&self, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
        let wrong = |message: String| Err(ErrorData::invalid_params(message, None));
        let takes = |name: &str| self.arguments.iter().any(|(known, _)| *known == name);
        if let Some(other) = arguments.keys().find(|name| !takes(name)) {
            let other = other.get(..other.floor_char_boundary(100)).unwrap_or_default();
            return wrong(format!("{other}: the prompt has no such argument"));
        }
        let mut values = Vec::new();
        for (name, description) in self.arguments {
            match arguments.get(*name) {
                Some(Value::String(text)) => values.push((*name, text.as_str())),
                Some(_) => return wrong(format!("{name}: must be text")),
                None => return wrong(format!("{name} is missing: {description}")),
            }
        }
        let message = PromptMessage::new_text(Role::User, filled(self.text, &values));
        Ok(GetPromptResult::new(vec![message]).with_description(self.description))
    }
}

/// A prompt of the vault, as `list_prompts` returns it.
fn listed(prompt: &Value) -> Option<Prompt> {
    let argument = |argument: &Value| {
        let usual = argument.get("default").and_then(Value::as_str).map(|usual| format!("Usually: {usual}"));
        let description = argument.get("description").and_then(Value::as_str).map(str::to_owned).or(usual);
        let required = argument.get("required").and_then(Value::as_bool).unwrap_or_default();
        let argument = PromptArgument::new(text(argument, "name")).with_required(required);
        match description {
            Some(description) => argument.with_description(description),
            None => argument,
        }
    };
    let name = prompt.get("name")?.as_str()?;
    let arguments = arguments(prompt).map(argument).collect();
    Some(Prompt::new(name, Some(text(prompt, "description")), Some(arguments)))
}

/// The arguments of a prompt as `list_prompts` returns it.
fn arguments(prompt: &Value) -> impl Iterator<Item = &Value> {
    prompt.get("arguments").and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A part of a prompt as `get_prompt` returns it.
fn content(vault: &str, part: &Value) -> ContentBlock {
    match text(part, "type") {
        "media" if text(part, "mime").starts_with("audio/") => {
            ContentBlock::audio(text(part, "data_base64"), text(part, "mime"))
        }
        "media" => ContentBlock::image(text(part, "data_base64"), text(part, "mime")),
        "note" => {
            let path = text(part, "path");
            let contents = ResourceContents::text(text(part, "text"), resources::address(vault, path));
            ContentBlock::resource(contents.with_mime_type(resources::text_type(path)))
        }
        _ => ContentBlock::text(text(part, "text")),
    }
}

/// `text` with `values` for the names in braces. Braces within a value stay as they are.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    for part in text.split('{') {
        let value = part
            .split_once('}')
            .and_then(|(name, rest)| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (value, rest)));
        match value {
            Some((value, rest)) => {
                filled.push_str(value);
                filled.push_str(rest);
            }
            None => filled.push_str(part),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_as_it_is() {
        let values = [("a", "{b}"), ("b", "2")];
        assert_eq!(filled("x {a} y {b}{b} z", &values), "x {b} y 22 z");
    }

    #[test]
    fn every_prompt_uses_its_arguments() {
        for template in &TEMPLATES {
            for (name, _) in template.arguments {
                assert!(template.text.contains(&format!("{{{name}}}")), "{}: {name}", template.name);
            }
        }
    }
}
