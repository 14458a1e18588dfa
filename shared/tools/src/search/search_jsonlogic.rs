//! `search_jsonlogic`: the notes whose properties and texts meet a condition.

use std::collections::HashMap;

use atlas_ops::arguments::{Given, Root, Text};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Deadline, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Paging, PartialPage};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::facts::Properties;
use atlas_segment::text::decoded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::jsonlogic::{Datum, Logic, MAX_OPERATIONS, Record};

/// Lists the notes that meet a JSONLogic condition, by path.
pub struct SearchJsonlogic;

/// The condition, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The condition, as JSONLogic: `{"==": [{"var": "status"}, "open"]}`. Its data is the note: its properties by name, and all of them in `frontmatter`; `path`, `name` (without `.md`), `folder`, `extension`, `tags` (a list, without `#`), `content` (the whole text).
    pub(super) logic: Map<String, Value>,
    /// Only notes in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub(super) root: String,
    /// Most notes to return; 100 if not given, at most 1,000.
    #[serde(default)]
    pub(super) limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    pub(super) cursor: Given<Text<4096>>,
}

/// A matching note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogicMatch {
    /// Its path.
    pub(super) path: String,
    /// Always true.
    matched: bool,
}

/// Most notes whose texts are fetched in one wave.
const WAVE_NOTES: usize = 256;

const TOO_MUCH: &str = "there is more text than one call looks through: say root, or conditions without content";

impl Operation for SearchJsonlogic {
    const INFO: Info = Info {
        name: "search_jsonlogic",
        title: "Search by JSONLogic",
        description: "Lists the notes that meet a JSONLogic condition, by path: over their properties, path, name, folder, tags, and their texts if it uses content. For simple conditions take find_notes_by_property. Example: {\"logic\": {\"==\": [{\"var\": \"status\"}, \"active\"]}}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        aliases: &[Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = PartialPage<LogicMatch>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { logic, root, limit, cursor } = arguments;
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &logic, &root))?;
        let malformed =
            |message| Error::bad_request(Reason::JsonlogicError, format!("logic: {message}")).with("field", "logic");
        let logic = Logic::new(Value::Object(logic)).map_err(malformed)?;
        let root = Root::of("root", &root)?;
        let page = |view: View| {
            let (root, paging, logic) = (&root, &paging, &logic);
            async move {
                let generation = view.generation();
                let mut sections = vec![SectionName::Properties];
                sections.extend(logic.names("tags").then_some(SectionName::Tags));
                let facts = Facts::fetch(context, view.clone(), &sections).await?;
                let (found, partial) = matching(context, &facts, root, logic).await?;
                nearest::check_found(context, view, root, found.len()).await?;
                let item = |path: &String| LogicMatch { path: path.clone(), matched: true };
                let items = paging.of(&found).iter().map(item).collect();
                let page = paging.page(context, generation, found.len(), items)?;
                Ok(PartialPage { page, partial })
            }
        };
        paging.read(context, page).await
    }
}

/// The notes below `root` that match, by path; and why not all were read, if so.
async fn matching(
    context: &Context<'_>,
    facts: &Facts,
    root: &Root,
    logic: &Logic,
) -> Result<(Vec<String>, Option<&'static str>), Error> {
    let index = facts.index();
    let mut notes = Vec::new();
    for segment in index.segments() {
        let shown = facts.notes(segment, root)?.into_iter().filter(|document| facts.shows(segment, *document));
        notes.extend(shown.map(|document| DocumentRef { segment, document }));
    }
    index.sort_by_path(&mut notes, |note| *note);
    let tags = if logic.names("tags") { tags(facts)? } else { HashMap::new() };
    let search = Search { facts, logic, tags, deadline: context.deadline(context.limits.max_scan_time) };
    let mut found = Vec::new();
    if !logic.names("content") {
        search.add(&notes, None, &mut found)?;
        return Ok((found, None));
    }
    let (mut begin, mut looked_at) = (0, 0);
    while begin < notes.len() {
        if looked_at >= context.limits.max_scanned_bytes {
            return Ok((found, Some(TOO_MUCH)));
        }
        let rest = notes.get(begin..).unwrap_or_default();
        let rest = rest.get(..WAVE_NOTES).unwrap_or(rest);
        let (count, bytes) = index.wave(rest, |note| *note)?;
        let batch = rest.get(..count).unwrap_or(rest);
        let texts = index.texts(batch).await?;
        let texts: Vec<_> = texts.iter().map(|text| decoded(text)).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        search.add(batch, Some(&texts), &mut found)?;
        (begin, looked_at) = (begin + count, looked_at + bytes);
    }
    Ok((found, None))
}

/// The tags of all notes, as lists.
fn tags(facts: &Facts) -> Result<HashMap<DocumentRef, Value>, Error> {
    let mut tags: HashMap<DocumentRef, Vec<Value>> = HashMap::new();
    for segment in facts.index().segments() {
        for column in facts.tags(segment)?.iter() {
            for (document, _) in column.iter() {
                tags.entry(DocumentRef { segment, document }).or_default().push(column.key().into());
            }
        }
    }
    Ok(tags.into_iter().map(|(document, tags)| (document, Value::Array(tags))).collect())
}

/// A running search.
struct Search<'a> {
    facts: &'a Facts,
    logic: &'a Logic,
    tags: HashMap<DocumentRef, Value>,
    deadline: Deadline,
}

impl Search<'_> {
    /// Adds the paths of those of `notes`, with their texts, that match.
    fn add(&self, notes: &[DocumentRef], texts: Option<&[&str]>, found: &mut Vec<String>) -> Result<(), Error> {
        for (place, note) in notes.iter().enumerate() {
            if self.deadline.has_passed() {
                let message = "the time of one call is up: say root, or write simpler logic";
                return Err(Error::new(Code::Unavailable, Reason::OperationTimeout, message));
            }
            let path = self.facts.index().path(*note)?;
            let frontmatter = Frontmatter { properties: self.facts.properties(note.segment)?, document: note.document };
            let content = texts.and_then(|texts| texts.get(place).copied());
            let data = NoteData { path: &path, frontmatter, tags: self.tags.get(note), content };
            let holds = self.logic.evaluate(&Datum::Record(&data)).map_err(|_| {
                let message =
                    format!("logic: it took more than {MAX_OPERATIONS} operations for {path}: write simpler logic");
                Error::bad_request(Reason::ComputeBudgetExceeded, message).with("field", "logic")
            });
            if holds?.is_truthy() {
                found.push(path);
            }
        }
        Ok(())
    }
}

/// A note as data of logic.
struct NoteData<'a> {
    path: &'a str,
    frontmatter: Frontmatter<'a>,
    tags: Option<&'a Value>,
    content: Option<&'a str>,
}

/// The properties of a note.
struct Frontmatter<'a> {
    properties: &'a Properties,
    document: u32,
}

impl Record for NoteData<'_> {
    fn get<'r>(&'r self, name: &str) -> Option<Datum<'r>> {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
        match name {
            "path" => Some(Datum::Text(self.path)),
            "name" => Some(Datum::Text(stem)),
            "folder" => Some(Datum::Text(folder)),
            "extension" => Some(Datum::Text(extension)),
            "tags" => Some(self.tags.map_or(Datum::Json(&NO_TAGS), Datum::Json)),
            "content" => self.content.map(Datum::Text),
            "frontmatter" => Some(Datum::Record(&self.frontmatter)),
            name => self.frontmatter.get(name),
        }
    }
}

static NO_TAGS: Value = Value::Array(Vec::new());

impl Record for Frontmatter<'_> {
    fn get<'r>(&'r self, name: &str) -> Option<Datum<'r>> {
        Some(Datum::of(self.properties.get(name)?.of(self.document)?))
    }
}
