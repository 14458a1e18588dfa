//! `get_prompt`: a prompt of the vault, with its arguments filled in.

use atlas_access::Access;
use atlas_expressions::Dialect;
use atlas_expressions::pages::Pages as _;
use atlas_ops::arguments::{Given, Text, Zone, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::response_limit::AROUND_TEXT;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::pages::IndexPages;
use atlas_ops::read::view::View;
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use atlas_vault::date_format::{self, MAX_FORMAT_BYTES};
use atlas_vault::prompt::{Piece, Prompt};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{missing, path, prompt};
use crate::attachments::get_attachment::{self, SCALED_MIME};
use crate::attachments::mime;

/// Returns a prompt of the vault with its arguments filled in.
pub struct GetPrompt;

/// The prompt, and its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its name, as list_prompts returns it.
    name: Text<500>,
    /// The texts of its arguments, by name; none if not given.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// The time zone of dates and times, such as Europe/Berlin; the server's if not given.
    #[serde(default)]
    timezone: Given<Zone>,
}

/// The prompt.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its purpose.
    description: String,
    /// Its parts, in order.
    parts: Vec<Part>,
}

/// A part of a prompt.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// The text of an embedded note or other text file.
    Note {
        /// Its path.
        path: String,
        /// Its text.
        text: String,
    },
    /// An embedded picture or sound.
    Media {
        /// Its path.
        path: String,
        /// Its media type.
        mime: &'static str,
        /// Its bytes, in base64.
        data_base64: String,
    },
}

impl Operation for GetPrompt {
    const INFO: Info = Info {
        name: "get_prompt",
        title: "Get a prompt",
        description: "Returns a prompt of the vault with its arguments filled in, and the notes, pictures and sounds that it embeds. List prompts with list_prompts. To create a note from a template take execute_template. Example: {\"name\": \"Weekly review\", \"arguments\": {\"topic\": \"tides\"}}",
        scopes: &[Scope::ReadVault],
        tags: &["templates"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let name = arguments.name.as_str();
        let path = path(context.vault, name)?;
        // A hidden prompt is one that is not there.
        context.check(Access::Read, &path).map_err(|_| missing(context.vault, name))?;
        let now = context.zone(arguments.timezone.as_ref())?.to_datetime(context.now);
        let read = |view: View| {
            let (path, arguments) = (&path, &arguments.arguments);
            async move {
                let note = notes::find(view.snapshot(), path.as_str(), |_| true).await?;
                let prompt = note.and_then(|note| prompt(&note.text)).ok_or_else(|| missing(context.vault, name))?;
                let pieces = filled(&prompt, arguments, now, context.limits.max_response_bytes)?;
                let embedded = embedded(context, view, path, &pieces).await?;
                Ok((prompt.description, pieces, embedded))
            }
        };
        let Answer { value: (description, pieces, mut embedded), generation } = context.read(read).await?;
        let mut room = context.limits.max_response_bytes.saturating_sub(AROUND_TEXT);
        let mut parts = Vec::new();
        for piece in pieces {
            let part = match piece {
                Piece::Text(text) => Part::Text { text },
                Piece::Embed { written, .. } => match embedded.next().flatten() {
                    Some(found) => part(context, found, room).await?,
                    None => Part::Text { text: written },
                },
            };
            room = room.saturating_sub(part.bytes());
            parts.push(part);
        }
        Ok(Answer { value: Output { description, parts }, generation })
    }
}

impl Part {
    fn bytes(&self) -> usize {
        match self {
            Self::Text { text } | Self::Note { text, .. } => text.len(),
            Self::Media { data_base64, .. } => data_base64.len(),
        }
    }
}

/// The parts of `prompt` with its arguments filled in, in at most `most` bytes of values.
fn filled(prompt: &Prompt, given: &Map<String, Value>, now: DateTime, most: usize) -> Result<Vec<Piece>, Error> {
    let is_known = |name: &str| prompt.arguments.iter().any(|argument| argument.name == name);
    if let Some(name) = given.keys().find(|name| !is_known(name)) {
        let name = name.get(..name.floor_char_boundary(100)).unwrap_or_default();
        return Err(invalid_input("arguments", &format!("the prompt has no argument {name}: list_prompts lists them")));
    }
    for argument in &prompt.arguments {
        let (name, about) = (&argument.name, argument.description.as_deref().unwrap_or("give it a text"));
        match given.get(name) {
            Some(Value::String(_)) => {}
            Some(_) => return Err(invalid_input("arguments", &format!("{name} is a text"))),
            None if argument.usual.is_none() => {
                return Err(invalid_input("arguments", &format!("{name} is missing: {about}")));
            }
            None => {}
        }
    }
    let value = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
    let moment = |name: &str, format: Option<&str>| {
        let usual = if name.eq_ignore_ascii_case("date") { "YYYY-MM-DD" } else { "HH:mm" };
        let format = format.filter(|format| format.len() <= MAX_FORMAT_BYTES).unwrap_or(usual);
        Some(date_format::write(format, now))
    };
    prompt.filled(value, moment, most).map_err(|_| {
        let message = format!("arguments: filled in, they have more than {most} bytes: give shorter ones");
        Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("field", "arguments")
    })
}

/// The files that the pieces embed, in their order; [`None`] for each that the caller does not find.
async fn embedded(
    context: &Context<'_>,
    view: View,
    prompt: &VaultPath,
    pieces: &[Piece],
) -> Result<impl Iterator<Item = Option<Found>> + use<>, Error> {
    let targets: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Embed { target, .. } => Some(target.as_str()),
            Piece::Text(_) => None,
        })
        .collect();
    if targets.is_empty() {
        return Ok(Vec::new().into_iter());
    }
    let pages = IndexPages::fetch(context, view.clone(), Dialect::Bases).await?;
    let paths: Vec<_> = targets.iter().map(|target| pages.resolve(target, prompt.as_str())).collect();
    pages.check()?;
    let named: Vec<&str> = paths.iter().map(|path| path.as_deref().unwrap_or_default()).collect();
    let found = notes::find_all(view.snapshot(), &named, |record| record.kind != Kind::Config).await?;
    Ok(found.into_iter())
}

/// An embedded file, of at most `room` bytes.
async fn part(context: &Context<'_>, found: Found, room: usize) -> Result<Part, Error> {
    let path = found.record.path.clone();
    let mime = mime(&path);
    if mime.starts_with("image/") || mime.starts_with("audio/") {
        // Base64 makes four bytes of three.
        let data = get_attachment::data(context, &found, room / 4 * 3).await?;
        let mime = if data.is_scaled { SCALED_MIME } else { mime };
        return Ok(Part::Media { path, mime, data_base64: BASE64.encode(data.bytes) });
    }
    match String::from_utf8(found.text.to_vec()) {
        Ok(text) if found.record.blob.is_none() && text.len() <= room => Ok(Part::Note { path, text }),
        _ => {
            let message = format!("the prompt embeds {path}, which is too long or not text: link to it instead");
            Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path))
        }
    }
}
