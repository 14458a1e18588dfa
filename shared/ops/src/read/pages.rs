//! The rows of queries: [`Pages`] over what a caller sees of the index. No text of a note is read, and what the caller may not see is no
//! row, no link, and is counted nowhere.
//!
//! # Layout
//! - here: what is fetched, and what is asked of a file; `properties`: properties and inline fields
//! - `links`: links in both directions; `items`: list items as Dataview describes them
//! - `candidates`: what the index decides of a plan

mod candidates;
mod items;
mod links;
mod properties;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use atlas_expressions::pages::{Fact, Pages, moment};
use atlas_expressions::value::{Object, Value};
use atlas_expressions::{Dialect, Kind};
use atlas_segment::record::RecordHead;
use atlas_segment::{Part, Record, SectionName};
use jiff::tz::TimeZone;

use crate::error::{Code, Error, Reason};
use crate::operation::Context;
use crate::read::graph::Graph;
use crate::read::index::{DocumentRef, Index, Want, Wave};
use crate::read::pages::links::Backlink;
use crate::read::pages::properties::Columns;
use crate::read::view::View;

/// The sections that rows are made of: for Bases, …
const OF_BASES: &[SectionName] = &[SectionName::Properties, SectionName::Tags];
/// … for Dataview, …
const OF_DATAVIEW: &[SectionName] = &[SectionName::Properties, SectionName::Tags, SectionName::Fields];
/// … and with list items.
const WITH_LISTS: &[SectionName] =
    &[SectionName::Properties, SectionName::Tags, SectionName::Fields, SectionName::Lists];

/// The meanings of links, by their targets; [`None`] if there is none.
type Meanings = HashMap<Box<str>, Option<Arc<str>>>;

/// The files of a vault as the rows of queries, as one caller sees them. Use one for each query.
pub struct IndexPages {
    graph: Graph,
    dialect: Dialect,
    zone: TimeZone,
    /// For each segment its pages of records, each with the id of its first document.
    records: Vec<Vec<(u32, Arc<Part>)>>,
    documents: RefCell<HashMap<Arc<str>, Option<DocumentRef>>>,
    columns: RefCell<HashMap<Box<str>, Arc<Columns>>>,
    days: OnceCell<Columns>,
    /// The meanings of links, by folder.
    meanings: RefCell<HashMap<Box<str>, Meanings>>,
    last_record: RefCell<Option<(DocumentRef, Arc<Record>)>>,
    last_items: RefCell<Option<(DocumentRef, Value)>>,
    /// How many files' backlinks were asked for, and those of all files, once they were many.
    asked_backlinks: Cell<usize>,
    backlinks: OnceCell<Vec<Backlink>>,
    /// The first thing that could not be read.
    fault: RefCell<Option<Error>>,
}

impl IndexPages {
    /// Fetches what rows are made of: one wave, and the pages of records if they are not kept in memory.
    ///
    /// # Errors
    /// When the store does not answer, a segment is damaged, or the deployment's time zone is none.
    pub async fn fetch(context: &Context<'_>, view: View, dialect: Dialect) -> Result<Self, Error> {
        Self::fetch_for(context, view, dialect, dialect == Dialect::Dataview).await
    }

    /// The same, with list items only if they are wanted; they may be as long as the texts. Asked for without, they are an error that
    /// [`check`](Self::check) tells.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub async fn fetch_for(
        context: &Context<'_>,
        view: View,
        dialect: Dialect,
        with_lists: bool,
    ) -> Result<Self, Error> {
        let sections = match (dialect, with_lists) {
            (_, true) => WITH_LISTS,
            (Dialect::Dataview, false) => OF_DATAVIEW,
            (Dialect::Bases, false) => OF_BASES,
        };
        let want = Want { headings: with_lists, ..Want::default() };
        let graph = Graph::fetch_wanting(context, view, sections, want).await?;
        let snapshot = graph.index().snapshot().clone();
        snapshot.open_all().await?;
        let mut wave = Wave::default();
        let mut slots = Vec::new();
        for (segment, entry) in snapshot.segments().iter().enumerate() {
            let pages = entry.layout.record_pages()?.into_iter();
            slots.push(pages.map(|(page, documents)| (documents.start, wave.add(segment, page))).collect::<Vec<_>>());
        }
        let fetched = wave.fetch(&snapshot).await?;
        let records = slots.into_iter().map(|slots| {
            let pages = slots.into_iter().map(|(first, slot)| Ok((first, fetched.get(slot)?)));
            pages.collect::<Result<Vec<_>, Error>>()
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            graph,
            dialect,
            zone: context.zone(None)?,
            records,
            documents: RefCell::default(),
            columns: RefCell::default(),
            days: OnceCell::new(),
            meanings: RefCell::default(),
            last_record: RefCell::default(),
            last_items: RefCell::default(),
            asked_backlinks: Cell::default(),
            backlinks: OnceCell::new(),
            fault: RefCell::default(),
        })
    }

    /// Fails if something could not be read since the pages were fetched: then answers may lack it.
    ///
    /// # Errors
    /// The first one noted.
    pub fn check(&self) -> Result<(), Error> {
        self.fault.borrow().clone().map_or(Ok(()), Err)
    }

    /// The zone in which dates without one are.
    #[must_use]
    pub const fn zone(&self) -> &TimeZone {
        &self.zone
    }

    fn index(&self) -> &Index {
        self.graph.index()
    }

    /// The value; [`None`] if it could not be read, which [`check`](Self::check) tells.
    fn noted<T>(&self, read: Result<T, Error>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault.borrow_mut().get_or_insert(error);
                None
            }
        }
    }

    /// The file at `path`, if the caller sees it.
    fn document(&self, path: &str) -> Option<DocumentRef> {
        if let Some(known) = self.documents.borrow().get(path) {
            return *known;
        }
        let found = if is_dotted(path) { None } else { self.noted(self.index().find(path)).flatten() };
        self.documents.borrow_mut().insert(path.into(), found);
        found
    }

    /// The page with the record of a document, and the record's index there.
    fn record_page(&self, document: DocumentRef) -> Option<(&Part, usize)> {
        let pages = self.records.get(document.segment)?;
        let page = pages.partition_point(|(first, _)| *first <= document.document).checked_sub(1)?;
        let (first, page) = pages.get(page)?;
        Some((page, (document.document - first) as usize))
    }

    /// Calls `of` with all of a document's record but its links.
    fn of_head(&self, document: DocumentRef, of: impl FnOnce(&RecordHead<'_>) -> Value) -> Value {
        let Some((page, index)) = self.record_page(document) else { return Value::Null };
        let read = page.record_page().and_then(|page| page.head(index)).map_err(Error::from);
        self.noted(read).map_or(Value::Null, |head| of(&head))
    }

    fn record(&self, document: DocumentRef) -> Option<Arc<Record>> {
        if let Some((known, record)) = &*self.last_record.borrow()
            && *known == document
        {
            return Some(record.clone());
        }
        let (page, index) = self.record_page(document)?;
        let read = page.record_page().and_then(|page| page.get(index)).map_err(Error::from);
        let record = Arc::new(self.noted(read)?);
        *self.last_record.borrow_mut() = Some((document, record.clone()));
        Some(record)
    }
}

impl Pages for IndexPages {
    fn property(&self, path: &str, name: &str) -> Option<Value> {
        self.property_of(self.document(path)?, path, name)
    }

    fn properties(&self, path: &str) -> Object {
        self.document(path).map(|document| self.properties_of(document, path)).unwrap_or_default()
    }

    fn fact(&self, path: &str, fact: Fact) -> Value {
        let Some(document) = self.document(path) else { return Value::Null };
        let of_record = |of: &dyn Fn(&Record) -> Value| self.record(document).map_or(Value::Null, |record| of(&record));
        match fact {
            Fact::Size => self.of_head(document, |head| usize::try_from(head.bytes).unwrap_or(usize::MAX).into()),
            // Folders do not keep it alike, so mirrors do not have it.
            Fact::Created => Value::Null,
            Fact::Modified => self.of_head(document, |head| moment(head.modified_ms, &self.zone)),
            Fact::Tags => self
                .of_head(document, |head| Value::list(head.tags.iter().map(|tag| format!("#{tag}").into()).collect())),
            Fact::Aliases => {
                self.of_head(document, |head| Value::list(head.aliases.iter().map(|alias| (*alias).into()).collect()))
            }
            Fact::Links => of_record(&|record| self.links(path, record, |_| true)),
            Fact::Embeds => of_record(&|record| self.links(path, record, |embed| embed)),
            Fact::Backlinks => of_record(&|record| self.backlinks(document, path, record)),
            Fact::Lists => self.items(document, path),
            Fact::Day => self.day(document, path),
            Fact::Frontmatter => Value::object(self.frontmatter(document, path)),
        }
    }

    fn resolve(&self, link: &str, from: &str) -> Option<Arc<str>> {
        self.meaning(link, from)
    }

    fn knows_created(&self) -> bool {
        false
    }

    fn paths(&self) -> Vec<Arc<str>> {
        self.noted(self.all()).unwrap_or_default()
    }

    fn is_file(&self, path: &str) -> bool {
        self.document(path).is_some()
    }

    fn is_folder(&self, folder: &str) -> bool {
        let prefix = format!("{}/", folder.trim_matches('/'));
        !is_dotted(&prefix) && self.noted(self.index().has_prefix(&prefix)).unwrap_or_default()
    }
}

/// Whether a file or a folder of the path begins with a dot: such files are no rows, and links do not mean them.
fn is_dotted(path: &str) -> bool {
    path.starts_with('.') || path.contains("/.")
}

/// The error for a query that has no answer: `dql_error` or `bases_syntax_error` for what is wrong in `text`, with its line and column;
/// `compute_budget_exceeded` for what takes too much.
#[must_use]
pub fn refused(error: &atlas_expressions::Error, dialect: Dialect, text: &str) -> Error {
    if error.kind == Kind::Limit {
        return Error::new(Code::TooLarge, Reason::ComputeBudgetExceeded, error.message.clone());
    }
    let reason = if dialect == Dialect::Dataview { Reason::DqlError } else { Reason::BasesSyntaxError };
    let place = error.place(text);
    let message = match place {
        Some(place) => format!("line {}, column {}: {}", place.line, place.column, error.message),
        None => error.message.clone(),
    };
    let mut refused = Error::bad_request(reason, message);
    if let Some(place) = place {
        refused = refused.with("line", place.line).with("column", place.column);
    }
    if !error.expected.is_empty() {
        refused = refused.with("expected", error.expected.clone());
    }
    refused
}
