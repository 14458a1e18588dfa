//! `atlas_pack` of Atlas Guardrails: the vault's most relevant notes for a task, within a budget of characters.
//!
//! Of source code whose symbols are known, the definitions that the task names come first, then what uses them and what they use. Notes and
//! other files are ranked by the words of the task (see `search`). A short one is taken whole, of a long one the sections that say most, and
//! the last is cut so that the budget is used up.

mod graph;
mod lines;
pub(super) mod named;
mod room;
mod sections;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atlas_ops::arguments::{Bounded, Exact};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::response_limit::AROUND_TEXT;
use atlas_ops::read::code::Symbols;
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::file_kind;
use atlas_vault::words::code_words;
use futures::future::try_join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::guardrails::atlas_pack::graph::RelatedFile;
use crate::guardrails::atlas_pack::room::Room;
use crate::guardrails::atlas_pack::sections::Sections;
use crate::search::expression::Expression;
use crate::search::lists::Lists;
use crate::search::ranked::Ranked;
use crate::search::scores::Scores;
use crate::search::snippet::SearchedWords;

/// Returns the most relevant notes and sections of the vault for a task, each with the reason, within a budget of
/// characters.
pub struct AtlasPack;

/// The task, and the budget.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The task, in plain words.
    task: Exact<32_768>,
    /// Most characters of the pack, as JSON; 50,000 if not given.
    #[serde(default)]
    budget: Bounded<1, 1_000_000, 50_000>,
}

impl Arguments {
    /// For this task, within so many characters.
    pub(crate) fn of(task: Exact<32_768>, budget: u32) -> Self {
        Self { task, budget: Bounded::nearest(budget) }
    }
}

/// The pack.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The task.
    task: String,
    /// The most relevant first.
    pub(crate) files: Vec<Packed>,
}

/// A note, or sections of one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Packed {
    /// Its path.
    pub(crate) path: String,
    /// Why it is here: which words of the task it has, and which sections these are.
    reason: String,
    /// Its text; `…` on a line of its own where some is left out.
    pub(crate) content: String,
}

/// Most notes that are read.
const MAX_NOTES: usize = 64;
/// Bytes of text that are read for each character of the budget, and at least.
const LOOKED_AT: u64 = 4;
const LEAST_LOOKED_AT: u64 = 64 << 10;
/// Notes that score less than this share of the best one are omitted.
const LEAST_SHARE: f32 = 0.3;
/// The same, where the graph of symbols says what the task is about.
const LEAST_SHARE_BESIDE: f32 = 0.6;
/// Of the budget one file has at most this share for what the graph leads to in it.
const GRAPH_SHARE: usize = 3;
/// Of a note at least this share of the budget is included, …
const WHOLE_SHARE: usize = 8;
/// … and at least this many characters.
const WHOLE_CHARS: usize = 1_500;
/// Fewer characters than this are useless.
const LEAST_CHARS: usize = 80;
/// Words of a note in a reason.
const MAX_REASONS: usize = 6;
/// Marks omitted text.
pub(crate) const LEFT_OUT: &str = "\n…\n";

impl Operation for AtlasPack {
    const INFO: Info = Info {
        name: "atlas_pack",
        title: "Pack context for a task",
        description: "Returns what the vault or code base has about a task, each file with the reason, within a budget of characters: definitions that the task names, who uses them and what they use, then notes and sections that say most. Example: {\"task\": \"add retries to the upload\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let task = arguments.task.as_str();
        let expression = Expression::of_task(task);
        if expression.words.is_empty() {
            return Err(
                Error::bad_request(Reason::QueryInvalid, "task: say in words what is to be done").with("field", "task")
            );
        }
        let budget = arguments.budget.get();
        let most_bytes = context.limits.max_response_bytes.saturating_sub(AROUND_TEXT);
        let pack = |view: View| {
            let expression = &expression;
            async move {
                let files = pack(context, view, task, expression, budget, Room::of(task, budget, most_bytes)).await?;
                Ok(Output { task: task.to_owned(), files })
            }
        };
        context.read(pack).await
    }
}

async fn pack(
    context: &Context<'_>,
    view: View,
    task: &str,
    expression: &Expression,
    budget: usize,
    mut room: Room,
) -> Result<Vec<Packed>, Error> {
    let want = Want { headings: true, terms: true, postings: true, ..Want::default() };
    let (index, symbols) = try_join(Index::fetch(view.clone(), want), Symbols::fetch(&view)).await?;
    let check = || context.work.check();
    let lists = Lists::fetch(&index, expression, &check).await?;
    let scores = Scores::new(&index, &lists, &check)?;
    let wanted = scores.searched(expression);
    let found = within(&index, graph::found(&index, &symbols, task)?, budget)?;
    let least = if found.is_empty() { LEAST_SHARE } else { LEAST_SHARE_BESIDE };
    let mut best = best(&index, scores.all(expression)?, budget, least)?;
    let known: HashSet<DocumentRef> = found.iter().map(|file| file.document).collect();
    best.retain(|(document, _)| !known.contains(document));
    let documents = found.iter().map(|file| file.document).chain(best.iter().map(|(document, _)| *document));
    let mut texts = index.texts(&documents.collect::<Vec<_>>()).await?.into_iter();
    let mut files = Vec::new();
    // The characters around the content of the file that needs fewest.
    let mut needed = usize::MAX;
    for (file, text) in found.iter().zip(texts.by_ref()) {
        let text = decoded(&text);
        let reason = file.reason();
        let Some(left) = room.after(&file.path, &reason).filter(|left| left.chars >= LEAST_CHARS) else {
            needed = needed.min(Room::around(task, &file.path, &reason));
            continue;
        };
        let is_whole = text.chars().count() <= WHOLE_CHARS && left.fits(&text);
        let most = left.at_most((budget / GRAPH_SHARE).max(WHOLE_CHARS));
        let content = if is_whole { text.to_string() } else { lines::excerpt(&text, &file.wanted(&text), most) };
        if content.is_empty() {
            continue;
        }
        room = left.less(&content);
        files.push(Packed { path: file.path.clone(), reason, content });
    }
    let least = (budget / WHOLE_SHARE).max(WHOLE_CHARS);
    let notes = best.len();
    for (at, ((document, path), text)) in best.into_iter().zip(texts).enumerate() {
        // With few relevant notes each may have more of the budget.
        let share = least.max(room.chars / (notes - at).max(1));
        let text = decoded(&text);
        let is_code = file_kind::is_code(&path);
        let headings = index.headings(document.segment)?.of(document.document);
        let headings = headings.map(|heading| (heading.line as usize, heading.text));
        // Of code each function and type begins a section.
        let headings = headings.chain(symbols.parts_of(document).map(|(line, name)| (line as usize, name.into())));
        let sections = Sections::of(&text, headings, &wanted, is_code);
        let left = |names: &[String]| {
            let reason = reason(&sections.worths, &wanted, names, &path);
            let left = room.after(&path, &reason).filter(|left| left.chars >= LEAST_CHARS);
            left.ok_or_else(|| Room::around(task, &path, &reason)).map(|left| (left, reason))
        };
        let (mut left_here, mut why) = match left(&[]) {
            Ok(found) => found,
            Err(around) => {
                needed = needed.min(around);
                break;
            }
        };
        let is_whole = text.chars().count() <= share && left_here.fits(&text);
        let mut content = text.to_string();
        if !is_whole {
            // The names of the sections take some of the room.
            let (_, names) = sections.best(left_here.at_most(share));
            let most = left(&names).map_or(left_here, |(left, _)| left);
            let (best, names) = sections.best(most.at_most(share));
            content = best;
            if let Ok(named) = left(&names) {
                (left_here, why) = named;
            }
        }
        let content = left_here.cut(&content);
        room = left_here.less(&content);
        files.push(Packed { path, reason: why, content });
    }
    let needed = needed.saturating_add(LEAST_CHARS);
    if files.is_empty() && (budget..usize::MAX).contains(&needed) {
        let message =
            format!("budget: {budget} characters have no room for a file beside the task: take {needed} or more");
        return Err(Error::bad_request(Reason::ValidationError, message).with("field", "budget"));
    }
    Ok(files)
}

/// Those of the files that the graph leads to which there is use for.
fn within(index: &Index, found: Vec<RelatedFile>, budget: usize) -> Result<Vec<RelatedFile>, Error> {
    let most = (budget as u64 * LOOKED_AT * LOOKED_AT).max(LEAST_LOOKED_AT * LOOKED_AT);
    let mut bytes = 0;
    let mut within = Vec::new();
    for file in found {
        bytes += u64::from(index.span(file.document)?.length);
        if bytes > most && !within.is_empty() {
            break;
        }
        within.push(file);
    }
    Ok(within)
}

/// The most relevant notes, best first, as many as the budget may need.
fn best(
    index: &Index,
    scores: Vec<(f32, DocumentRef)>,
    budget: usize,
    share: f32,
) -> Result<Vec<(DocumentRef, String)>, Error> {
    let mut ranked = Ranked::new(index, scores);
    let mut best = Vec::new();
    let most = (budget as u64 * LOOKED_AT).max(LEAST_LOOKED_AT);
    let (mut bytes, mut least) = (0, 0.0);
    while best.len() < MAX_NOTES
        && bytes < most
        && let Some((score, document)) = ranked.next()?
        && score >= least
    {
        least = f32::max(least, score * share);
        bytes += u64::from(index.span(document)?.length);
        best.push((document, index.path(document)?));
    }
    Ok(best)
}

/// The reason for a note: its most relevant words, those in its path, and the sections.
fn reason(worths: &BTreeMap<u8, u32>, wanted: &SearchedWords, sections: &[String], path: &str) -> String {
    let in_path: BTreeSet<u8> = code_words(path).filter_map(|word| wanted.index(&word.folded)).collect();
    let in_path: Vec<&str> = in_path.iter().filter_map(|index| Some(wanted.word(*index)?.0)).collect();
    let mut words: Vec<(&str, f32)> = worths.keys().filter_map(|index| wanted.word(*index)).collect();
    words.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(other.0)));
    let words: Vec<&str> = words.into_iter().take(MAX_REASONS).map(|(word, _)| word).collect();
    let mut reasons = Vec::new();
    if !words.is_empty() {
        reasons.push(format!("has {}", words.join(", ")));
    }
    if !in_path.is_empty() {
        reasons.push(format!("its path has {}", in_path.join(", ")));
    }
    if reasons.is_empty() {
        reasons.push("its tags match".to_owned());
    }
    if !sections.is_empty() {
        reasons.push(format!("sections {}", sections.join(", ")));
    }
    reasons.join("; ")
}
