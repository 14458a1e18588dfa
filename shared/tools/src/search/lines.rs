//! Searches of lines, for `search_text` and `search_regex`.

use atlas_ops::arguments::{Root, Text};
use atlas_ops::atlas::Limits;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context};
use atlas_ops::read::cursor;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, PartialPage, clamped};
use atlas_ops::read::view::View;

use crate::search::listing::Listing;
use crate::search::matching;
use crate::search::pattern::Pattern;
use crate::search::plan::Plan;
use crate::search::request::{Cursor, Request};
use crate::search::{Line, Output, SearchResult};

/// The lines, and their page.
pub(super) struct LineSearch<'a> {
    pub(super) pattern: Pattern,
    pub(super) plan: Plan,
    pub(super) root: Root,
    pub(super) most_of_file: Option<usize>,
    /// A hash of the listing's arguments.
    pub(super) of: u32,
    pub(super) limit: Limit,
    pub(super) cursor: Option<&'a Text<4096>>,
}

/// The page after `cursor`. Where the first one is empty, `root` must be a folder.
pub(super) async fn page_below(
    context: &Context<'_>,
    view: View,
    request: &Request<'_>,
    cursor: Option<&Cursor>,
    root: &Root,
    is_first: bool,
) -> Result<Output, Error> {
    let output = matching::page(view.clone(), request, cursor).await?;
    if is_first {
        nearest::check_found(context, view, root, output.results.len()).await?;
    }
    Ok(output)
}

impl LineSearch<'_> {
    /// A page of the matching lines, converted to items.
    pub(super) async fn page<T>(
        self,
        context: &Context<'_>,
        item: fn(Line) -> T,
    ) -> Result<Answer<PartialPage<T>>, Error> {
        let (limit, overflow) = clamped(self.limit);
        let cursor: Option<Cursor> = self.cursor.map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.of != self.of) {
            return Err(cursor::invalid());
        }
        let is_first = cursor.is_none();
        let root = self.root.clone();
        let request = self.request(context, limit, context.limits);
        let generation = cursor.as_ref().map(|cursor| cursor.generation);
        let page = |view: View| {
            let (request, root, cursor) = (&request, &root, cursor.as_ref());
            page_below(context, view, request, cursor, root, is_first)
        };
        let answer = cursor::read(context, generation, page).await?;
        Ok(answer.map(|Output { results, cursor, partial, .. }| {
            let lines = results.into_iter().filter_map(|found| match found {
                SearchResult::Line(line) => Some(item(line)),
                SearchResult::Note(_) => None,
            });
            let items: Vec<T> = lines.collect();
            // If all lines were read.
            let total_count = (is_first && cursor.is_none() && partial.is_none()).then_some(items.len());
            PartialPage { page: Page { items, cursor, overflow, total_count }, partial }
        }))
    }

    /// The request for `most` of them, within these limits.
    pub(super) fn request<'l>(self, context: &Context<'_>, most: usize, limits: &'l Limits) -> Request<'l> {
        Request {
            pattern: self.pattern,
            plan: self.plan,
            context_lines: 0,
            has_places: true,
            most_of_file: self.most_of_file,
            deadline: context.deadline(limits.max_scan_time),
            listing: Listing::in_root(self.root, most, self.of, limits),
        }
    }
}

/// A hash of arguments.
pub(super) fn number_of(arguments: &impl std::fmt::Debug) -> u32 {
    crc32fast::hash(format!("{arguments:?}").as_bytes())
}
