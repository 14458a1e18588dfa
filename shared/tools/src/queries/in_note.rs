//! The queries that stand in a note, run: its text with their results in their place.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use atlas_expressions::{Dialect, Evaluator, Limits, Pages as _, Value, dql, plan, render, show};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::pipeline::response_limit::json_bytes;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::pages::{IndexPages, refused};
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::parse;
use atlas_vault::queries::{Asked, Query, may_be_in, queries};
use futures::future::try_join;
use schemars::JsonSchema;
use serde::Serialize;

use super::{LIMITS, evaluator_within, parsed, ran_base, ran_dql};
use crate::bases;

/// A text with the results of its queries.
pub(crate) struct Rendered {
    /// The text.
    pub(crate) text: String,
    /// The queries in it.
    pub(crate) queries: Vec<RanQuery>,
}

/// A query of a note, and how it went.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RanQuery {
    /// The line that it begins on, counted from 1.
    line: u32,
    /// Its kind.
    kind: QueryKind,
    /// Why it has no result; absent if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The kind of a query in a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueryKind {
    /// A block of Dataview.
    Dataview,
    /// An expression of Dataview in the text.
    Inline,
    /// A block of Bases.
    Base,
    /// A base that is embedded.
    EmbeddedBase,
    /// A program of Dataview, which is not run.
    Dataviewjs,
}

impl QueryKind {
    const fn of(asked: &Asked) -> Self {
        match asked {
            Asked::Dataview(_) => Self::Dataview,
            Asked::Inline(_) => Self::Inline,
            Asked::Base(_) => Self::Base,
            Asked::Embedded { .. } => Self::EmbeddedBase,
            Asked::DataviewJs | Asked::InlineJs => Self::Dataviewjs,
        }
    }
}

/// A result as markdown, or why there is none.
type Outcome = Result<String, String>;

/// The `part` of the note at `path`, whose text is `text`, with the results of the queries that begin in it. As JSON it takes about `room` bytes
/// at most, unless the text alone takes more. All its queries together may do what one may.
pub(crate) async fn rendered(
    context: &Context<'_>,
    view: View,
    path: &str,
    text: &str,
    part: Range<usize>,
    room: usize,
) -> Result<Rendered, Error> {
    if !may_be_in(text) {
        return Ok(Rendered { text: text.get(part).unwrap_or_default().to_owned(), queries: Vec::new() });
    }
    let (begun, found): (Vec<Query>, Vec<Query>) =
        queries(text, &parse(text)).into_iter().partition(|query| query.range.start < part.start);
    let found: Vec<Query> = found.into_iter().take_while(|query| query.range.start < part.end).collect();
    let fetch = async |dialect: Dialect, is_asked: fn(&Asked) -> bool| {
        if !found.iter().any(|query| is_asked(&query.asked)) {
            return Ok(None);
        }
        let with_lists = found.iter().any(|query| is_asked(&query.asked) && reads_lists(&query.asked));
        IndexPages::fetch_for(context, view.clone(), dialect, with_lists).await.map(Some)
    };
    let (of_dataview, of_bases) = try_join(
        fetch(Dialect::Dataview, |asked| matches!(asked, Asked::Dataview(_) | Asked::Inline(_))),
        fetch(Dialect::Bases, |asked| matches!(asked, Asked::Base(_) | Asked::Embedded { .. })),
    )
    .await?;
    let targets = embedded(&found, of_bases.as_ref(), path);
    let mut paths: Vec<&str> = targets.values().map(|path| &**path).collect();
    paths.sort_unstable();
    paths.dedup();
    let files = notes::find_all(view.snapshot(), &paths, |record| record.blob.is_none()).await?;
    let files: HashMap<&str, Found> =
        paths.iter().copied().zip(files).filter_map(|(path, file)| Some((path, file?))).collect();

    let (start, end) = (part.start, part.end);
    let own: usize = found.iter().filter_map(|query| text.get(query.range.clone())).map(json_bytes).sum();
    let around = json_bytes(text.get(part).unwrap_or_default()).saturating_sub(own);
    let mut runner = Runner {
        context,
        path,
        of_dataview,
        of_bases,
        targets: &targets,
        files: &files,
        left: LIMITS,
        room: room.saturating_sub(around),
    };
    let mut rendered = Rendered { text: String::new(), queries: Vec::new() };
    // The result of a query that the page cuts stands on the page where it begins.
    let mut at = begun.last().map_or(start, |query| query.range.end.max(start));
    for query in found {
        rendered.text.push_str(text.get(at..query.range.start.max(at)).unwrap_or_default());
        let outcome = runner.outcome(&query.asked)?;
        rendered.text.push_str(&placed(text, &query, &outcome));
        let kind = QueryKind::of(&query.asked);
        rendered.queries.push(RanQuery { line: query.line.saturating_add(1), kind, error: outcome.err() });
        at = query.range.end;
    }
    rendered.text.push_str(text.get(at..end.max(at)).unwrap_or_default());
    Ok(rendered)
}

/// Whether a query of Dataview asks for list items or tasks.
fn reads_lists(asked: &Asked) -> bool {
    match asked {
        Asked::Dataview(text) => dql::parse(text).is_ok_and(|query| plan::reads_lists(&query)),
        Asked::Inline(text) => Dialect::Dataview.parse(text).is_ok_and(|expr| plan::expr_reads_lists(&expr)),
        _ => false,
    }
}

/// The files that the embeds of a note mean, by how they are written.
fn embedded(found: &[Query], pages: Option<&IndexPages>, path: &str) -> HashMap<String, Arc<str>> {
    let targets = found.iter().filter_map(|query| match &query.asked {
        Asked::Embedded { target, .. } => Some(target),
        _ => None,
    });
    targets.filter_map(|target| Some((target.clone(), pages?.resolve(target, path)?))).collect()
}

/// The result where its query stood: in the quote or list item that has it.
fn placed(text: &str, query: &Query, outcome: &Outcome) -> String {
    let is_inline = matches!(query.asked, Asked::Inline(_) | Asked::InlineJs);
    let lines = match outcome {
        Ok(result) if is_inline => result.split_whitespace().collect::<Vec<_>>().join(" "),
        Ok(result) => result.trim_end().to_owned(),
        Err(error) if is_inline => return format!("⚠ {error}"),
        Err(error) => format!("> [!error] This query has no result\n> {error}"),
    };
    let start = text.get(..query.range.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let before = text.get(start..query.range.start).unwrap_or_default();
    let indent: String = before.chars().map(|char| if char == '>' { '>' } else { ' ' }).collect();
    lines.replace('\n', &format!("\n{indent}"))
}

struct Runner<'r> {
    context: &'r Context<'r>,
    path: &'r str,
    of_dataview: Option<IndexPages>,
    of_bases: Option<IndexPages>,
    targets: &'r HashMap<String, Arc<str>>,
    files: &'r HashMap<&'r str, Found>,
    /// How much the queries may still do.
    left: Limits,
    /// Bytes that results may still take, as JSON.
    room: usize,
}

impl Runner<'_> {
    /// The result of a query.
    ///
    /// # Errors
    /// If the index cannot be read, or the call has taken too long.
    fn outcome(&mut self, asked: &Asked) -> Result<Outcome, Error> {
        let outcome = match asked {
            Asked::Dataview(text) => self.dataview(text)?,
            Asked::Inline(text) => self.inline(text)?,
            Asked::Base(text) => self.base(self.path, text, None)?,
            Asked::Embedded { target, view } => {
                let file = self.targets.get(target).and_then(|path| Some((path.clone(), self.files.get(&**path)?)));
                match file {
                    Some((path, file)) => self.base(&path, &decoded(&file.text), view.as_deref())?,
                    None => Err(format!("there is no base {target}")),
                }
            }
            Asked::DataviewJs => Err("DataviewJS is a program, and is not run here".to_owned()),
            Asked::InlineJs => Err("`$= …` is a program, and is not run here".to_owned()),
        };
        Ok(outcome)
    }

    fn dataview(&mut self, text: &str) -> Result<Outcome, Error> {
        let Some(pages) = &self.of_dataview else { return Ok(Err(String::new())) };
        let evaluator = evaluator_within(self.context, pages, Dialect::Dataview, Some(self.path), self.left);
        let ran = parsed(text).and_then(|query| ran_dql(self.context, pages, &evaluator, text, &query));
        spend(&mut self.left, &evaluator);
        match ran {
            Ok(ran) => Ok(fitting(&mut self.room, |room| render::dataview(&ran, room))),
            Err(error) => in_place(error),
        }
    }

    fn inline(&mut self, text: &str) -> Result<Outcome, Error> {
        let Some(pages) = &self.of_dataview else { return Ok(Err(String::new())) };
        let evaluator = evaluator_within(self.context, pages, Dialect::Dataview, Some(self.path), self.left);
        let value = Dialect::Dataview.parse(text).and_then(|expr| evaluator.evaluate(&expr, &Value::page(self.path)));
        pages.check()?;
        spend(&mut self.left, &evaluator);
        match value {
            Ok(value) => Ok(fitting(&mut self.room, |_| show::text(&value, Dialect::Dataview))),
            Err(error) => in_place(refused(&error, Dialect::Dataview, text)),
        }
    }

    /// The result of the base in the file at `path`.
    fn base(&mut self, path: &str, text: &str, view: Option<&str>) -> Result<Outcome, Error> {
        let Some(pages) = &self.of_bases else { return Ok(Err(String::new())) };
        let evaluator = evaluator_within(self.context, pages, Dialect::Bases, Some(self.path), self.left);
        let ran = bases::parsed(path, text).and_then(|base| {
            let view = bases::view(path, &base, view)?;
            Ok((ran_base(self.context, pages, &evaluator, text, &base, &view)?, view.kind))
        });
        spend(&mut self.left, &evaluator);
        match ran {
            Ok((ran, kind)) => Ok(fitting(&mut self.room, |room| render::base(&ran, &kind, room))),
            Err(error) => in_place(error),
        }
    }
}

/// Puts the error of a query in its place; other errors are of the call.
fn in_place(error: Error) -> Result<Outcome, Error> {
    const OF_QUERIES: [Reason; 4] =
        [Reason::DqlError, Reason::BasesSyntaxError, Reason::InvalidInput, Reason::ComputeBudgetExceeded];
    if !OF_QUERIES.iter().any(|reason| error.reason() == reason.as_str()) {
        return Err(error);
    }
    match error.reason() == Reason::ComputeBudgetExceeded.as_str() {
        true => Ok(Err(format!("{}; all queries of a note have one budget", error.message))),
        false => Ok(Err(error.message)),
    }
}

/// Takes what a query has done from what may be done.
fn spend(left: &mut Limits, evaluator: &Evaluator<'_>) {
    left.steps = left.steps.saturating_sub(evaluator.steps());
    left.bytes = left.bytes.saturating_sub(evaluator.bytes());
}

/// A result for which there is room: with fewer rows, if it takes too much as JSON.
fn fitting(left: &mut usize, render: impl Fn(usize) -> atlas_expressions::Result<String>) -> Outcome {
    for room in [*left, *left / 2] {
        let result = render(room).map_err(|error| error.message)?;
        let bytes = json_bytes(&result);
        if bytes <= *left {
            *left -= bytes;
            return Ok(result);
        }
    }
    Err("the answer has no room for its result; read a part of the note".to_owned())
}
