//! Pages of a listing: the arguments (`limit`, `cursor`) and results (`items`, `cursor`, `overflow`, `total_count`) of
//! obsidian-tc's tools. All pages of a listing show the vault at the generation of the first.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{Bounded, Text};
use crate::error::Error;
use crate::operation::{Answer, Context};
use crate::pipeline::response_limit::fitting;
use crate::read::cursor;
use crate::read::view::View;

/// The argument `limit`. More than 1,000 counts as 1,000.
pub type Limit = Bounded<1, { u32::MAX }, DEFAULT_ITEMS>;

/// Items on a page if `limit` is omitted.
const DEFAULT_ITEMS: u32 = 100;
/// Most items on a page.
pub const MAX_ITEMS: usize = 1000;

/// A page.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The argument for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Whether the limit exceeded the most items of a page.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overflow: bool,
    /// The number of items on all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_count: Option<usize>,
}

/// A page, and why it may be incomplete.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PartialPage<T> {
    /// The page.
    #[serde(flatten)]
    pub page: Page<T>,
    /// Why the search stopped early, if it did. To continue, pass the cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<&'static str>,
}

impl<T> PartialPage<T> {
    /// The same page with other items.
    pub fn map<U>(self, item: impl FnMut(T) -> U) -> PartialPage<U> {
        let Page { items, cursor, overflow, total_count } = self.page;
        let items = items.into_iter().map(item).collect();
        PartialPage { page: Page { items, cursor, overflow, total_count }, partial: self.partial }
    }
}

/// The number of items for a limit, and whether it exceeded the most items of a page.
pub fn clamped(limit: Limit) -> (usize, bool) {
    let asked = limit.get();
    (asked.min(MAX_ITEMS), asked > MAX_ITEMS)
}

/// The listing, and the page of it.
pub struct Paging {
    limit: usize,
    overflow: bool,
    /// A hash of the listing's arguments.
    of: u32,
    begin: Option<PageStart>,
}

/// The start of a page.
#[derive(Serialize, Deserialize)]
struct PageStart {
    generation: u64,
    of: u32,
    at: usize,
}

impl Paging {
    /// The page given by `limit` and `cursor` of the listing that an operation's other arguments define.
    pub fn new(limit: Limit, cursor: Option<&Text<4096>>, listing: &impl Debug) -> Result<Self, Error> {
        let of = crc32fast::hash(format!("{listing:?}").as_bytes());
        let begin: Option<PageStart> = cursor.map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if begin.as_ref().is_some_and(|begin| begin.of != of) {
            return Err(cursor::invalid());
        }
        let (limit, overflow) = clamped(limit);
        Ok(Self { limit, overflow, of, begin })
    }

    /// Runs a query on the generation of the page.
    pub async fn read<T, Q, F>(&self, context: &Context<'_>, query: Q) -> Result<Answer<T>, Error>
    where
        Q: Fn(View) -> F + Send + Sync,
        F: Future<Output = Result<T, Error>> + Send,
        T: Send,
    {
        cursor::read(context, self.begin.as_ref().map(|begin| begin.generation), query).await
    }

    /// Of all items of the listing, those of this page.
    pub fn of<'a, I>(&self, all: &'a [I]) -> &'a [I] {
        let rest = all.get(self.at()..).unwrap_or_default();
        rest.get(..self.limit).unwrap_or(rest)
    }

    /// The page of these `items`, of `total` on all pages of the listing at `generation`; fewer if the page would be
    /// too long.
    pub fn page<T: Serialize>(
        &self,
        context: &Context<'_>,
        generation: u64,
        total: usize,
        mut items: Vec<T>,
    ) -> Result<Page<T>, Error> {
        items.truncate(fitting(&items, context.limits.max_response_bytes));
        let at = self.at() + items.len();
        let next = (at < total && !items.is_empty()).then_some(PageStart { generation, of: self.of, at });
        let cursor = next.as_ref().and_then(cursor::encode);
        Ok(Page { items, cursor, overflow: self.overflow, total_count: Some(total) })
    }

    fn at(&self) -> usize {
        self.begin.as_ref().map_or(0, |begin| begin.at)
    }
}
