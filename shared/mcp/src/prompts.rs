//! Prompts for common tasks, which name the tools.

use rmcp::model::{ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

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

/// All prompts.
pub(crate) fn all() -> Vec<Prompt> {
    let argument = |(name, description): &(&str, &str)| {
        PromptArgument::new(*name).with_description(*description).with_required(true)
    };
    let prompt = |template: &Template| {
        let arguments = template.arguments.iter().map(argument).collect();
        Prompt::new(template.name, Some(template.description), Some(arguments)).with_title(template.title)
    };
    TEMPLATES.iter().map(prompt).collect()
}

/// Whether a prompt with this name has such an argument.
pub(crate) fn takes(name: &str, argument: &str) -> bool {
    let mut templates = TEMPLATES.iter().filter(|template| template.name == name);
    templates.any(|template| template.arguments.iter().any(|(name, _)| *name == argument))
}

/// The prompt with this name, with its arguments filled in.
pub(crate) fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let wrong = |message: String| Err(ErrorData::invalid_params(message, None));
    let Some(template) = TEMPLATES.iter().find(|template| template.name == name) else {
        return wrong("Unknown prompt: prompts/list lists the known ones".to_owned());
    };
    if let Some(other) = arguments.keys().find(|name| !takes(template.name, name)) {
        let other = other.get(..other.floor_char_boundary(100)).unwrap_or_default();
        return wrong(format!("{other}: the prompt has no such argument"));
    }
    let mut values = Vec::new();
    for (name, description) in template.arguments {
        match arguments.get(*name) {
            Some(Value::String(text)) => values.push((*name, text.as_str())),
            Some(_) => return wrong(format!("{name}: must be text")),
            None => return wrong(format!("{name} is missing: {description}")),
        }
    }
    let message = PromptMessage::new_text(Role::User, filled(template.text, &values));
    Ok(GetPromptResult::new(vec![message]).with_description(template.description))
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
