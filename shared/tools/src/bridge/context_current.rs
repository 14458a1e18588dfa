//! `context_current`: the notes of the current context, by the Atlas Local Bridge specification: `planning/now.md`, the
//! spine of architecture and contracts, and the notes that `now.md` links to.

use std::collections::HashSet;

use atlas_ops::arguments::{self, Bounded, Given};
use atlas_ops::atlas::{Limits, NowNote};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::response_limit::{AROUND_TEXT, json_bytes};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::links;
use atlas_ops::read::view::View;
use atlas_segment::Kind;
use atlas_segment::record::Link;
use atlas_vault::{VaultPath, resolve};
use bytes::Bytes;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::bridge::paths::{BridgePaths, VAULT_FOLDER};
use crate::periodic;
use crate::search::filter::Filter;

/// Returns the notes about the current work, whole and unsummarised.
pub struct ContextCurrent;

/// Notes to add, and limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Paths of further notes, such as `vault/explainers/git-branching.md`; missing ones are left out.
    #[serde(default)]
    #[schemars(length(max = 50))]
    include: Vec<String>,
    /// Most sources to return; all, up to 50, if not given.
    #[serde(default)]
    max_sources: Given<Bounded<1, 50>>,
}

/// The notes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// When the answer was made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    generated_at: Timestamp,
    /// `now.md` first, then the spine, the notes that `now.md` links to, and those in `include`.
    #[schemars(length(min = 1))]
    sources: Vec<ContextSource>,
}

/// One note, whole.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContextSource {
    /// Its path.
    path: String,
    /// Its size in bytes.
    bytes: usize,
    /// SHA-256 of its bytes, in hex.
    #[schemars(regex(pattern = "^[a-f0-9]{64}$"))]
    sha256: String,
    /// Its text.
    content: String,
}

const NOW: &str = "vault/planning/now.md";
const CONTRACTS: &str = "vault/contracts/";
const ARCHITECTURE: &str = "vault/architecture/ARCHITECTURE.md";
const NAMED_CONTRACTS: [&str; 3] =
    ["vault/contracts/VAULT_CONTRACT.md", "vault/contracts/API_CONTRACT.md", "vault/contracts/GIT_CONTRACT.md"];
const DECISIONS: &str = "vault/architecture/DECISIONS.md";
const MAX_SOURCES: usize = 50;
/// Most links that are followed.
const MAX_LINKS: usize = 200;

impl Operation for ContextCurrent {
    const INFO: Info = Info {
        name: "context_current",
        title: "Current context",
        description: "Returns the notes that say what is being worked on now, whole: planning/now.md, the architecture and contract notes, and what now.md links to. In a vault without such a note take search, or list_notes with sort newest. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["context"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        for path in &arguments.include {
            arguments::path("include", path)?;
        }
        if arguments.include.len() > MAX_SOURCES {
            return Err(Error::bad_request(
                Reason::ValidationError,
                format!("include: must have at most {MAX_SOURCES} paths"),
            ));
        }
        let arguments = &arguments;
        let answer = context.read(|view| bundle(context, view, arguments)).await?;
        let output = Output { generated_at: context.now, sources: answer.value };
        Ok(Answer { value: output, generation: answer.generation })
    }
}

async fn bundle(context: &Context<'_>, view: View, arguments: &Arguments) -> Result<Vec<ContextSource>, Error> {
    let (limits, current) = (context.limits, &*context.atlas.current);
    let named = match &current.now {
        None => None,
        Some(NowNote::At(path)) => Some(path.clone()),
        Some(NowNote::Daily) => Some(periodic::todays_path(context, &view).await?),
    };
    let records = match &named {
        Some(path) => vec![path.as_str().to_owned()],
        None => vec![NOW.to_owned(), NOW.trim_start_matches(VAULT_FOLDER).to_owned()],
    };
    let index = Index::fetch(view, Want { names: true, headings: true, records: &records, ..Want::default() }).await?;
    let paths = if named.is_some() { BridgePaths::of_root() } else { BridgePaths::of(&index)? };
    let now_path = named.as_ref().map_or_else(|| paths.resolve(NOW), VaultPath::as_str);
    let now = index.find(now_path)?.ok_or_else(|| {
        Error::not_found(
            Reason::NoteNotFound,
            format!("{now_path} is not in the vault, and the current context starts from it: make that note, or name another in the configuration as context.now"),
        )
        .with("path", now_path)
    })?;

    let spine = match &current.spine {
        Some(globs) => matching(&index, globs)?,
        None => spine(&index, paths)?,
    };
    let spine = texts(&index, spine).await?;
    let mut linked = links_of(&index, now, now_path, paths, &spine)?;
    // An attachment takes no place of a text, but their number is limited.
    linked.truncate(MAX_LINKS);
    let mut links = texts(&index, linked).await?;
    links.truncate(limits.max_results);
    let mut included = Vec::new();
    for path in &arguments.include {
        included.extend(first_found(&index, &paths.meanings(path, None))?.or(index.find(path)?));
    }
    let included = texts(&index, included).await?;
    let most = arguments.max_sources.map_or(MAX_SOURCES, Bounded::get);
    let first = [now];
    // If there are too many, links are dropped first, then the spine; requested notes stay.
    let mut chosen = in_order([&first, &included, &spine, &links]);
    chosen.truncate(most);
    let mut sources = sources(&index, &chosen, limits).await?;
    let shown = in_order([&first, &spine, &links, &included]);
    sources.sort_by_key(|(document, _)| shown.iter().position(|shown| shown == document));
    Ok(sources.into_iter().map(|(_, source)| source).collect())
}

/// All of `lists`, each once.
fn in_order(lists: [&[DocumentRef]; 4]) -> Vec<DocumentRef> {
    let mut seen = HashSet::new();
    lists.into_iter().flatten().copied().filter(|document| seen.insert(*document)).collect()
}

fn spine(index: &Index, paths: BridgePaths) -> Result<Vec<DocumentRef>, Error> {
    let mut spine = Vec::new();
    for path in [ARCHITECTURE].iter().chain(&NAMED_CONTRACTS) {
        spine.extend(index.find(paths.resolve(path))?);
    }
    let mut others = Vec::new();
    for segment in index.segments() {
        for document in index.paths(segment)?.with_prefix(paths.resolve(CONTRACTS)) {
            let document = DocumentRef { segment, document };
            let path = index.path(document)?;
            let name = path.get(paths.resolve(CONTRACTS).len()..).unwrap_or_default();
            if index.shows(document)
                && !name.contains('/')
                && name.to_ascii_lowercase().ends_with(".md")
                && !spine.contains(&document)
            {
                others.push((path, document));
            }
        }
    }
    others.sort();
    spine.extend(others.into_iter().map(|(_, document)| document));
    spine.extend(index.find(paths.resolve(DECISIONS))?);
    Ok(spine)
}

/// The files that `now` links to, in the order of the links, each once; without those that are sources anyway.
fn links_of(
    index: &Index,
    now: DocumentRef,
    path: &str,
    paths: BridgePaths,
    spine: &[DocumentRef],
) -> Result<Vec<DocumentRef>, Error> {
    let mut links: Vec<Link> = Vec::new();
    for page in index.record_pages(now.segment)? {
        if let Some((_, record)) = page?.0.find(path)? {
            links = record.links;
            break;
        }
    }
    // If there is no folder with that name, paths below it are relative to the root.
    let dropped = |target: &str| {
        if paths.folder().is_empty() { target.strip_prefix(VAULT_FOLDER).map(str::to_owned) } else { None }
    };
    let targets: Vec<String> = links.into_iter().map(|link| link.target).filter(|target| !target.is_empty()).collect();
    let written = targets.iter().cloned().chain(targets.iter().filter_map(|target| dropped(target)));
    let names: HashSet<String> = written.flat_map(|target| resolve::names(&target).collect::<Vec<_>>()).collect();
    let files = links::files_named(index, &names)?;
    let Ok(from) = VaultPath::parse(path) else { return Ok(Vec::new()) };
    let mut seen: HashSet<DocumentRef> = spine.iter().copied().chain([now]).collect();
    let mut found = Vec::new();
    for target in &targets {
        let meant = resolve::resolve(target, &from, &files).cloned();
        let meant = meant.or_else(|| resolve::resolve(&dropped(target)?, &from, &files).cloned());
        let Some(meant) = meant.filter(|meant| meant.as_str().starts_with(paths.folder())) else { continue };
        found.extend(index.find(meant.as_str())?.filter(|document| seen.insert(*document)));
    }
    Ok(found)
}

/// Refuses globs of a spine that cannot be used, or that no path of a vault can match.
///
/// # Errors The fault of the first.
pub fn check_spine(globs: &[String]) -> Result<(), Error> {
    let leads_nowhere = |glob: &&String| glob.split('/').any(|name| name == "..") || glob.contains(char::is_control);
    if let Some(glob) = globs.iter().find(leads_nowhere) {
        let message = format!("write {glob:?} relative to the vault's root, with / between names");
        return Err(Error::bad_request(Reason::GlobInvalid, message));
    }
    filters(globs).map(drop)
}

fn filters(globs: &[String]) -> Result<Vec<Filter>, Error> {
    globs.iter().map(|glob| Filter::of("context.spine", glob)).collect()
}

/// The notes that match `globs`, in the order of the globs, and by path.
fn matching(index: &Index, globs: &[String]) -> Result<Vec<DocumentRef>, Error> {
    let filters = filters(globs)?;
    let mut found = Vec::new();
    for segment in index.segments() {
        for document in index.paths(segment)?.with_prefix("") {
            let document = DocumentRef { segment, document };
            let path = index.path(document)?;
            let place = filters.iter().position(|filter| Filter::takes(Some(filter), &path));
            if let Some(place) = place.filter(|_| path.to_ascii_lowercase().ends_with(".md") && index.shows(document)) {
                found.push((place, path, document));
            }
        }
    }
    found.sort();
    Ok(found.into_iter().take(MAX_SOURCES).map(|(_, _, document)| document).collect())
}

fn first_found(index: &Index, paths: &[VaultPath]) -> Result<Option<DocumentRef>, Error> {
    for path in paths {
        if let Some(found) = index.find(path.as_str())? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Those of `documents` that are text.
async fn texts(index: &Index, documents: Vec<DocumentRef>) -> Result<Vec<DocumentRef>, Error> {
    let mut empty = Vec::new();
    for document in &documents {
        if index.span(*document)?.length == 0 {
            empty.push(*document);
        }
    }
    if empty.is_empty() {
        return Ok(documents);
    }
    // A document without text is an empty note, or not text.
    let records = index.records(&empty).await?;
    let attachments: HashSet<DocumentRef> = empty
        .into_iter()
        .zip(records)
        .filter(|(_, record)| record.kind == Kind::Attachment)
        .map(|(document, _)| document)
        .collect();
    Ok(documents.into_iter().filter(|document| !attachments.contains(document)).collect())
}

/// Bytes of a source besides its path and text.
const AROUND_SOURCE: usize = 200;

/// The chosen notes, whole, as long as there is room; those that do not fit are omitted, except `now.md`, which is the first.
async fn sources(
    index: &Index,
    chosen: &[DocumentRef],
    limits: &Limits,
) -> Result<Vec<(DocumentRef, ContextSource)>, Error> {
    let mut fitting = Vec::with_capacity(chosen.len());
    let mut total = 0;
    for (position, document) in chosen.iter().enumerate() {
        let bytes = index.span(*document)?.length as usize;
        if bytes <= limits.max_bytes && total + bytes <= limits.max_response_bytes {
            total += bytes;
            fitting.push(*document);
        } else if position == 0 {
            let path = index.path(*document)?;
            return Err(Error::new(
                Code::TooLarge,
                Reason::NoteTooLarge,
                format!("{path} has {bytes} bytes; at most {} are read", limits.max_bytes),
            )
            .with("path", path));
        }
    }
    let texts = index.texts(&fitting).await?;
    let mut sources = Vec::with_capacity(fitting.len());
    let mut left = limits.max_response_bytes.saturating_sub(AROUND_TEXT);
    for (document, text) in fitting.iter().zip(texts) {
        let source = source(index.path(*document)?, &text);
        // Text takes more space as JSON; the first is refused as a whole if it takes too much.
        let bytes = json_bytes(&source.content) + json_bytes(&source.path) + AROUND_SOURCE;
        if bytes <= left || sources.is_empty() {
            left = left.saturating_sub(bytes);
            sources.push((*document, source));
        }
    }
    Ok(sources)
}

fn source(path: String, text: &Bytes) -> ContextSource {
    let sha256 = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    ContextSource { path, bytes: text.len(), sha256, content: String::from_utf8_lossy(text).into_owned() }
}
