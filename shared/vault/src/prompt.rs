//! Notes that are prompts: a text for an agent, with the names `{{name}}` and the embeds `![[file]]` that are filled in when it is used.
//!
//! A prompt has the property `description`. `{{name}}` is an argument, and `{{name:usual}}` one that may be left out. The property
//! `arguments` describes them:
//!
//! ```markdown
//! ---
//! description: Summarises a topic
//! arguments:
//!   topic: The topic, as a tag
//! ---
//! Summarise the notes about {{topic}} in {{length:five}} sentences.
//! ```
//!
//! `{{date}}` and `{{time}}` are those of the use, in a template's formats.

use serde_json::{Map, Value};

use crate::note::parse;
use crate::template;

/// Most arguments of a prompt.
pub const MAX_ARGUMENTS: usize = 50;
/// Most embeds of a prompt that are filled in; later ones stay as written.
pub const MAX_EMBEDS: usize = 20;

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its purpose.
    pub description: String,
    /// Its arguments, in the order of the text.
    pub arguments: Vec<Argument>,
    pieces: Vec<Piece>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its meaning, if the note says it.
    pub description: Option<String>,
    /// Its usual value; without one it is required.
    pub usual: Option<String>,
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A text.
    Text(String),
    /// An embedded file.
    Embed {
        /// The link as written, for a file that is not there.
        written: String,
        /// The target of the link.
        target: String,
    },
}

/// The values are too long for the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Whether a placeholder with this name is filled in without an argument.
fn is_given(name: &str) -> bool {
    ["date", "time"].iter().any(|given| name.eq_ignore_ascii_case(given))
}

impl Prompt {
    /// Reads the prompt that the note with this text is; [`None`] if it is none.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let note = parse(text);
        let frontmatter = note.frontmatter.as_ref()?;
        let properties = frontmatter.properties.as_ref().ok()?;
        let said = |properties: &Map<String, Value>, name: &str| {
            let text = properties.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let description = said(properties, "description")?;
        let described = properties.get("arguments").and_then(Value::as_object);

        let mut pieces = Vec::new();
        let mut end = frontmatter.body_start;
        let embeds = note.links.iter().filter(|link| link.is_embed() && !link.is_external() && !link.target.is_empty());
        for link in embeds.take(MAX_EMBEDS) {
            let (Some(before), Some(written)) = (text.get(end..link.range.start), text.get(link.range.clone())) else {
                continue;
            };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Embed { written: written.to_owned(), target: link.target.clone() });
            end = link.range.end;
        }
        pieces.push(Piece::Text(text.get(end..).unwrap_or_default().to_owned()));

        let mut arguments: Vec<Argument> = Vec::new();
        for piece in &pieces {
            let (Piece::Text(text) | Piece::Embed { target: text, .. }) = piece;
            template::fill(text, |name, usual| {
                let is_name = !name.is_empty() && !name.contains(['{', '}', '\n']) && !is_given(name);
                let has_room = arguments.len() < MAX_ARGUMENTS;
                match arguments.iter_mut().find(|argument| argument.name == name) {
                    // Left out, it has its usual value everywhere, so one place is enough to say it.
                    Some(known) => known.usual = known.usual.take().or_else(|| usual.map(str::to_owned)),
                    None if is_name && has_room => arguments.push(Argument {
                        name: name.to_owned(),
                        description: described.and_then(|described| said(described, name)),
                        usual: usual.map(str::to_owned),
                    }),
                    None => {}
                }
                None
            });
        }
        Some(Self { description, arguments, pieces })
    }

    /// Its parts, with a value for each argument: that of `value`, else the usual one. `given` returns the text of `{{date}}` and
    /// `{{time}}`, with their format. A value is never read as part of the prompt, but that it may be the target of an embed. Parts of
    /// white space alone are left out.
    ///
    /// # Errors
    /// [`TooLong`] if the values have more than `most` bytes in all places.
    pub fn filled(
        &self,
        value: impl Fn(&str) -> Option<String>,
        given: impl Fn(&str, Option<&str>) -> Option<String>,
        most: usize,
    ) -> Result<Vec<Piece>, TooLong> {
        let (mut bytes, mut is_too_long) = (0_usize, false);
        let mut fill = |text: &str| {
            template::fill(text, |name, format| {
                let value = if is_given(name) {
                    given(name, format)
                } else {
                    let argument = self.arguments.iter().find(|argument| argument.name == name)?;
                    value(name).or_else(|| argument.usual.clone())
                }?;
                bytes = bytes.saturating_add(value.len());
                is_too_long = bytes > most;
                (!is_too_long).then_some(value)
            })
        };
        let filled = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Piece::Text(fill(text).trim().to_owned()),
            Piece::Embed { written, target } => Piece::Embed { written: fill(written), target: fill(target) },
        });
        let filled = filled.filter(|piece| !matches!(piece, Piece::Text(text) if text.is_empty())).collect();
        if is_too_long { Err(TooLong) } else { Ok(filled) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOTE: &str = "---\ndescription: Summarises a topic\narguments:\n  topic: The topic\n---\n\nOn {{date}}, sum up {{topic}} in {{length:five}} lines, {{topic}} only.\n\n![[{{picture}}.png]]\n\nBe {{mood}}. `{{ code }}`\n";

    fn filled(prompt: &Prompt, values: &[(&str, &str)]) -> Vec<Piece> {
        let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        prompt.filled(value, |name, format| Some(format!("<{name} {}>", format.unwrap_or("usual"))), 1000).unwrap()
    }

    #[test]
    fn values_in_many_places_are_bounded() {
        let prompt = Prompt::of(&format!("---\ndescription: d\n---\n{}", "{{a}}".repeat(1000))).unwrap();
        let filled = |most| prompt.filled(|_| Some("abc".to_owned()), |_, _| None, most);
        assert_eq!(filled(3000), Ok(vec![Piece::Text("abc".repeat(1000))]));
        assert_eq!(filled(2999), Err(TooLong));
    }

    #[test]
    fn a_prompt_has_the_arguments_that_its_text_names() {
        let prompt = Prompt::of(NOTE).unwrap();
        assert_eq!(prompt.description, "Summarises a topic");
        let arguments: Vec<_> = prompt
            .arguments
            .iter()
            .map(|argument| (argument.name.as_str(), argument.description.as_deref(), argument.usual.as_deref()))
            .collect();
        let expected = [
            ("topic", Some("The topic"), None),
            ("length", None, Some("five")),
            ("picture", None, None),
            ("mood", None, None),
            ("code", None, None),
        ];
        assert_eq!(arguments, expected);
    }

    #[test]
    fn values_and_embeds_are_filled_in() {
        let prompt = Prompt::of(NOTE).unwrap();
        let values = [("topic", "{{mood}} ![[secret]]"), ("picture", "plans/a b"), ("mood", "short"), ("code", "x")];
        let expected = [
            Piece::Text(
                "On <date usual>, sum up {{mood}} ![[secret]] in five lines, {{mood}} ![[secret]] only.".to_owned(),
            ),
            Piece::Embed { written: "![[plans/a b.png]]".to_owned(), target: "plans/a b.png".to_owned() },
            Piece::Text("Be short. `x`".to_owned()),
        ];
        assert_eq!(filled(&prompt, &values), expected);
    }

    #[test]
    fn a_note_without_a_description_is_no_prompt() {
        for note in
            ["", "text", "---\ntags: a\n---\ntext", "---\ndescription: ' '\n---\n", "---\ndescription: [\n---\n"]
        {
            assert_eq!(Prompt::of(note), None, "{note:?}");
        }
    }

    #[test]
    fn many_arguments_and_embeds_are_bounded() {
        let names: String = (0..200).map(|n| format!("{{{{n{n}}}}} ![[f{n}]] ")).collect();
        let prompt = Prompt::of(&format!("---\ndescription: d\n---\n{names}")).unwrap();
        assert_eq!(prompt.arguments.len(), MAX_ARGUMENTS);
        let embeds = prompt.pieces.iter().filter(|piece| matches!(piece, Piece::Embed { .. })).count();
        assert_eq!(embeds, MAX_EMBEDS);
    }

    proptest! {
        #[test]
        fn any_note_is_read_and_a_text_without_names_stays_as_it_is(body in "[a-z !\\[\\]\n`|#]{0,200}") {
            let prompt = Prompt::of(&format!("---\ndescription: d\n---\n{body}")).unwrap();
            let written: String = filled(&prompt, &[]).into_iter().map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Embed { written, .. } => written,
            }).collect();
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(plain(&written), plain(&body));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "(---\n)?(description: x\n)?(---\n)?[\\PC\n]{0,200}") {
            if let Some(prompt) = Prompt::of(&text) {
                filled(&prompt, &[]);
            }
        }
    }
}
