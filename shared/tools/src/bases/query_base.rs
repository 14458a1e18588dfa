//! `query_base`: the rows that a view of a base shows.

use atlas_access::Access;
use atlas_expressions::base::{self, Base, Filter};
use atlas_expressions::{Dialect, Pages as _};
use atlas_ops::arguments::{Bounded, Given, ReadPath, Text, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::read::pages::IndexPages;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;
use atlas_vault::queries::{Asked, queries};
use futures::future::try_join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::read_base::Column;
use super::{parsed, view};
use crate::formats;
use crate::queries::{answer_room, empty_columns, evaluator, json, ran_base};

/// Runs a view of a base.
pub struct QueryBase;

/// The base, its view, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The base (`.base`); or a note with one: a block `base`, or an embed `![[file.base#View]]`.
    path: ReadPath,
    /// The name of the view; the first if not given, or the one that the note embeds.
    #[serde(default)]
    view: Given<Text<500>>,
    /// A filter besides those of the base and of its view, as bases have them: an expression, or `and`, `or`, `not` of some; none if not given.
    #[serde(default)]
    override_filters: Given<Value>,
    /// The note that `this` means, as if the base were embedded there; the note at `path` or the base itself if not given.
    #[serde(default)]
    this: Given<ReadPath>,
    /// Which base of a note, counted from 0; the first if not given.
    #[serde(default)]
    block: Bounded<0, 200>,
    /// Most rows to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A page of rows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The file that has the base.
    path: String,
    /// The name of the view.
    view_used: String,
    /// `table`, `cards`, `list`, `map`, or what a plugin shows.
    view_type: String,
    /// The columns, in order.
    columns: Vec<Column>,
    #[serde(flatten)]
    page: Page<Item>,
    /// How many files pass the filters, whatever the limit of the view.
    matched: usize,
    /// The summaries below the columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    summaries: Vec<Summary>,
    /// Errors in filters, for the first few files, which are left out; and columns that are always empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The file.
    note_path: String,
    /// The values, by the `property` of the column. Links are objects with a `path`, dates are texts; null is nothing.
    columns: Map<String, Value>,
    /// The value that the view groups by.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Value>,
    /// Why a column has no value, by its `property`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    errors: Map<String, Value>,
}

/// The summary below a column.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// The column's `property`.
    property: String,
    /// The name of the summary.
    summary: String,
    /// Its value; null where there is none.
    value: Value,
    /// Why it has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Operation for QueryBase {
    const INFO: Info = Info {
        name: "query_base",
        title: "Rows of a base",
        description: "Returns the rows that a view of a base shows, from the index: filters, formulas, sorting, groups, limit and summaries as the base says. The base is a file (.base), a block in a note, or one that a note embeds. For a query of your own take query_notes. Example: {\"path\": \"Books/Shelf.base\", \"view\": \"Unread\", \"override_filters\": \"pages < 200\"}",
        scopes: &[Scope::ReadVault],
        tags: &["bases", "search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        let paths = std::iter::once(&arguments.path).chain(arguments.this.iter());
        Ok(paths.map(|path| (Access::Read, path.clone().into())).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let listing = (
            Self::INFO.name,
            (&arguments.path, &arguments.view, arguments.block.get()),
            (&arguments.override_filters, &arguments.this),
        );
        let paging = Paging::new(arguments.limit, arguments.cursor.as_ref(), &listing)?;
        let asked = Query::of(arguments)?;
        let page = |view: View| {
            let (paging, asked) = (&paging, &asked);
            async move {
                let generation = view.generation();
                let Rows { rows, mut room, output, .. } = asked.run(context, view).await?;
                let mut items = Vec::new();
                for (group, row) in paging.of(&rows) {
                    context.work.check()?;
                    match item(context, &output.columns, group.as_ref(), row, &mut room) {
                        Ok(item) => items.push(item),
                        // The page ends before the row.
                        Err(_) if !items.is_empty() => break,
                        Err(error) => return Err(error),
                    }
                }
                let page = paging.page(context, generation, rows.len(), items)?;
                Ok(Output { page, ..output })
            }
        };
        paging.read(context, page).await
    }
}

/// The call.
struct Query {
    path: VaultPath,
    view: Option<String>,
    filter: Option<Filter>,
    this: Option<VaultPath>,
    block: usize,
}

/// All rows, and what else the answer says.
struct Rows {
    /// Each with what its view groups by.
    rows: Vec<(Option<atlas_expressions::Value>, base::Row)>,
    /// Bytes that the answer has for them.
    room: usize,
    output: Output,
    /// The properties that no row has.
    empty: empty_columns::EmptyColumns,
}

/// A base, and where it stands.
struct Found {
    /// The file that it is written in.
    path: String,
    text: String,
    /// The view that an embed names.
    view: Option<String>,
}

impl Query {
    fn of(arguments: Arguments) -> Result<Self, Error> {
        let path = VaultPath::from(arguments.path);
        let is_base = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("base"));
        if !is_base && !path.is_note() {
            let message = "path: a base ends in .base; a note with one ends in .md";
            return Err(Error::bad_request(Reason::PathInvalid, message).with("field", "path"));
        }
        let filter = match &*arguments.override_filters {
            Some(filter) => base::filter(filter).map_err(|error| {
                Error::bad_request(Reason::BasesSyntaxError, format!("override_filters: {}", error.message))
                    .with("field", "override_filters")
            })?,
            None => None,
        };
        let view = arguments.view.0.map(|view| view.as_str().to_owned());
        let this = arguments.this.0.map(VaultPath::from);
        Ok(Self { path, view, filter, this, block: arguments.block.get() })
    }

    async fn run(&self, context: &Context<'_>, view: View) -> Result<Rows, Error> {
        let snapshot = view.clone();
        let (file, pages) =
            try_join(formats::find(&snapshot, &self.path), IndexPages::fetch(context, view, Dialect::Bases)).await?;
        let text = decoded(&file.text).into_owned();
        let found = match self.of_note(&text)? {
            None => Found { path: self.path.as_str().to_owned(), text, view: None },
            Some(Asked::Base(block)) => Found { path: self.path.as_str().to_owned(), text: block, view: None },
            Some(asked) => {
                let (target, view) =
                    if let Asked::Embedded { target, view } = asked { (target, view) } else { (String::new(), None) };
                let missing = || notes::missing(&target);
                let path = pages.resolve(&target, self.path.as_str()).ok_or_else(missing)?;
                let path = VaultPath::parse(&path).map_err(|_| missing())?;
                let file = formats::find(&snapshot, &path).await?;
                Found { path: path.as_str().to_owned(), text: decoded(&file.text).into_owned(), view }
            }
        };
        let base = parsed(&found.path, &found.text)?;
        let mut of_base = self::view(&found.path, &base, self.view.as_deref().or(found.view.as_deref()))?;
        if let Some(filter) = &self.filter {
            let all = of_base.filters.into_iter().chain([filter.clone()]);
            of_base.filters = Some(Filter::And(all.collect()));
        }
        let this = self.this.as_ref().unwrap_or(&self.path);
        let mut rows = self.rows(context, &pages, &found, &base, &of_base, this)?;
        rows.output.warnings.extend(empty_columns::warnings(context, snapshot, &rows.empty).await?);
        Ok(rows)
    }

    /// The base of a note that is asked for, a block or an embed; none if what is asked is a base itself.
    fn of_note(&self, text: &str) -> Result<Option<Asked>, Error> {
        if !self.path.is_note() {
            return Ok(None);
        }
        let mut bases: Vec<Asked> =
            queries(text, &atlas_vault::parse(text)).into_iter().map(|query| query.asked).collect();
        bases.retain(|asked| matches!(asked, Asked::Base(_) | Asked::Embedded { .. }));
        let count = bases.len();
        bases.into_iter().nth(self.block).map(Some).ok_or_else(|| {
            let path = &self.path;
            let message = match count {
                0 => format!("{path} has no base: neither a block nor an embed"),
                _ => format!("{path} has {count} bases: the first is 0, the last {}", count - 1),
            };
            invalid_input("block", &message)
        })
    }

    fn rows(
        &self,
        context: &Context<'_>,
        pages: &IndexPages,
        found: &Found,
        base: &Base,
        of_base: &base::View,
        this: &VaultPath,
    ) -> Result<Rows, Error> {
        let evaluator = evaluator(context, pages, Dialect::Bases, Some(this.as_str()));
        let ran = ran_base(context, pages, &evaluator, &found.text, base, of_base)?;
        let columns = ran
            .columns
            .iter()
            .map(|column| Column { property: column.property.to_string(), title: column.title.clone() });
        let columns: Vec<Column> = columns.collect();
        let mut room = answer_room(context);
        let summaries = ran.summaries.iter().map(|(property, summary, value)| {
            Ok(Summary {
                property: property.to_string(),
                summary: summary.clone(),
                value: value.as_ref().map_or(Ok(Value::Null), |value| json(context, value, &mut room))?,
                error: value.as_ref().err().cloned(),
            })
        });
        let summaries = summaries.collect::<Result<Vec<_>, Error>>()?;
        let empty = empty_columns::of_base(&ran);
        let rows = ran
            .groups
            .into_iter()
            .flat_map(|base::Group { key, rows }| rows.into_iter().map(move |row| (key.clone(), row)));
        let rows = rows.collect();
        let output = Output {
            path: found.path.clone(),
            view_used: of_base.name.clone(),
            view_type: of_base.kind.clone(),
            columns,
            page: Page { items: Vec::new(), cursor: None, overflow: false, total_count: None },
            matched: ran.total,
            summaries,
            warnings: ran.warnings,
        };
        Ok(Rows { rows, room, output, empty })
    }
}

/// A row as an item of the page.
fn item(
    context: &Context<'_>,
    columns: &[Column],
    group: Option<&atlas_expressions::Value>,
    row: &base::Row,
    room: &mut usize,
) -> Result<Item, Error> {
    let mut item = Item {
        note_path: row.path.to_string(),
        columns: Map::new(),
        group: group.map(|key| json(context, key, room)).transpose()?,
        errors: Map::new(),
    };
    for (column, cell) in columns.iter().zip(&row.cells) {
        let value = match cell {
            Ok(value) => json(context, value, room)?,
            Err(error) => {
                item.errors.insert(column.property.clone(), error.as_str().into());
                Value::Null
            }
        };
        item.columns.insert(column.property.clone(), value);
    }
    Ok(item)
}
