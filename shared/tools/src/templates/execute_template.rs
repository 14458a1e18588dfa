//! `execute_template`: creates a note from a template.

use std::collections::HashSet;

use atlas_access::Access;
use atlas_ops::arguments::{Given, ReadPath, WritePath, Zone, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_vault::VaultPath;
use atlas_vault::edit::fit;
use atlas_vault::template::{self, templater};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Settings, check, refused};
use crate::periodic;

/// Creates a note from a template.
pub struct ExecuteTemplate;

/// The template, and the note's path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the template.
    template: ReadPath,
    /// The path of the note to create.
    target: WritePath,
    /// The values of `{{name}}`, by name: strings, numbers or booleans. `date` and `time` are also written in the template's formats. Others stay.
    #[serde(default)]
    args: Map<String, Value>,
    /// Replace an existing note; a person has to confirm it. It fails if not given.
    #[serde(default)]
    overwrite: bool,
    /// The time zone of dates and times, such as Europe/Berlin; the server's if not given.
    #[serde(default)]
    timezone: Given<Zone>,
}

/// The note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The template.
    template: String,
    /// The note's path.
    target: String,
    /// When it was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
    /// SHA-256 of the note, in hex.
    content_hash: String,
    /// Its size in bytes.
    expanded_size: usize,
}

/// Most bytes of the note.
const MAX_BYTES: usize = 4 << 20;

impl Operation for ExecuteTemplate {
    const INFO: Info = Info {
        name: "execute_template",
        title: "Make a note of a template",
        description: "Creates a note from a template: {{date}}, {{time}}, {{title}}, with formats, as Obsidian's Templates has them; {{name}} from args; and Templater's tp.date, tp.file and tp.frontmatter. Commands that run a program (<%*, tp.user, tp.system, tp.web) are refused by name and line. Find templates with list_templates. Example: {\"template\": \"Templates/Meeting.md\", \"target\": \"Meetings/Harbour.md\", \"args\": {\"topic\": \"Berths\"}}",
        // The call reads a template.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["templates"],
        idempotent: true,
        aliases: &[Alias::Only("create_dirs", "true")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        let (template, target) = (arguments.template.clone().into(), arguments.target.clone().into());
        Ok(vec![(Access::Read, template), (Access::Write, target)])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // Only if a note exists, which is known at the write.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { template, target, args, overwrite, timezone } = arguments;
        let (template, target) = (VaultPath::from(template), VaultPath::from(target));
        check(&args)?;
        let now = context.zone(timezone.as_ref())?.to_datetime(context.first_made);
        let read = |view: View| {
            let template = &template;
            async move {
                let settings = Settings::read(context, &view).await?;
                let text = periodic::text(&view, template).await?;
                Ok((settings, text.ok_or_else(|| notes::missing(template.as_str()))?))
            }
        };
        let (settings, text) = context.read(read).await?.value;
        let properties = atlas_vault::parse(&text).properties().cloned().unwrap_or_default();
        let surroundings =
            templater::Surroundings { now, locale: settings.locale, path: &target, properties: &properties };
        let at = moment(&text, &args, now)?;
        let value = |name: &str, format: Option<&str>| match args.get(name) {
            Some(value) if format.is_none() || name == "title" => Some(fit(&text, &plain(value)).into_owned()),
            _ => settings.value(name, format, target.stem(), at),
        };
        let expanded = templater::expand(&text, &surroundings, |text| template::fill(text, value));
        let expanded = expanded.map_err(|error| refused(&template, &error))?;
        if expanded.len() > MAX_BYTES {
            let message = format!("{template} becomes a note of more than {MAX_BYTES} bytes");
            return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message));
        }
        let create = |before: Option<&str>| {
            if before.is_some() && !overwrite {
                let message = format!("there is a note at {target} already: choose another target, or set overwrite");
                return Err(Error::new(Code::Conflict, Reason::NoteExists, message).with("path", target.as_str()));
            }
            Ok((expanded.clone(), before.is_some_and(|before| !before.trim().is_empty())))
        };
        let Answer { value: edited, generation } =
            editing::edit_if_confirmed(context, &Self::INFO, &target, create, |is_replaced| *is_replaced).await?;
        let value = Output {
            template: template.as_str().to_owned(),
            target: target.as_str().to_owned(),
            created_at: edited.updated_at,
            content_hash: edited.content_hash.to_string(),
            expanded_size: expanded.len(),
        };
        Ok(Answer { value, generation })
    }
}

/// The moment of the note's dates and times with a format: now, but for a day or a time in `args`.
fn moment(template: &str, args: &Map<String, Value>, now: DateTime) -> Result<DateTime, Error> {
    let mut formatted = HashSet::new();
    template::fill(template, |name, format| {
        formatted.extend(format.map(|_| name.to_ascii_lowercase()));
        None
    });
    let given = |name: &str| args.get(name).filter(|_| formatted.contains(name)).map(plain);
    let wrong = |name: &str, example: &str| {
        let problem = format!("{name}: the template writes it with a format, so give it as {example}");
        move |_| invalid_input("args", &problem)
    };
    let date = given("date").map(|text| text.parse::<Date>().map_err(wrong("date", "2026-12-24"))).transpose()?;
    let time = given("time").map(|text| text.parse::<Time>().map_err(wrong("time", "18:30"))).transpose()?;
    Ok(date.unwrap_or_else(|| now.date()).to_datetime(time.unwrap_or_else(|| now.time())))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
