//! `tasks_filter`: the results of a query of the Tasks plugin, without the plugin.

use std::borrow::Cow;
use std::collections::HashMap;

use atlas_ops::arguments::{Exact, Given, Text, Zone};
use atlas_ops::atlas::Limits;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::response_limit::{bytes_of, fitting};
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::{DocumentRef, Want};
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::facts::Task;
use atlas_vault::task::query::{Folded, GroupKey, Item, Query};
use atlas_vault::task::{NamedStatus, Settings, TaskFields};
use futures::future::try_join;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ListedTask, settings};

/// Lists the results of a query in the language of the Tasks plugin.
pub struct TasksFilter;

/// The query, and options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A query of the Tasks plugin, one instruction a line: `not done`, `due before tomorrow`,
    /// `(path includes a) OR (tags include #b)`, `sort by due`, `group by folder`, `limit 20`.
    filter: Exact<4000>,
    /// A grouping before those of the query, in the syntax of `group by`: `due`, `folder reverse`; none if not given.
    #[serde(default)]
    group_by: Given<Text<100>>,
    /// A sorting before those of the query, in the syntax of `sort by`: `priority`, `due reverse`. Else by path and line.
    #[serde(default)]
    sort_by: Given<Text<100>>,
    /// The time zone of today, `Europe/Berlin`; the server's if not given.
    #[serde(default)]
    timezone: Given<Zone>,
    /// Most tasks to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// Tasks, and the number in each group.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    page: Page<ListedTask>,
    /// The groups of all pages, in order, if the query or the call groups; only the first if not all fit into the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<GroupCount>>,
}

/// A group.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupCount {
    /// Its name; of a nested group both, with ` > ` between them.
    key: String,
    /// The number of its tasks.
    count: usize,
}

/// A matching task.
struct FoundTask<'a> {
    /// The index of its path.
    path: usize,
    heading: Option<Cow<'a, str>>,
    task: &'a Task,
    status: NamedStatus<'a>,
    fields: TaskFields<'a>,
    folded: Folded,
}

impl Operation for TasksFilter {
    const INFO: Info = Info {
        name: "tasks_filter",
        title: "Query tasks",
        description: "Lists the results of a query in the language of the Tasks plugin: filters by status, dates (also relative ones), priority, tags, texts and paths, combined with AND, OR, NOT, XOR; sort by, group by, limit. Runs without the plugin; scripts (filter by function), presets and urgency are refused. By path and line unless it sorts. For simple conditions take list_tasks. Example: {\"filter\": \"not done\\ndue before next week\"}",
        scopes: &[Scope::ReadVault],
        tags: &["tasks"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { filter, group_by, sort_by, timezone, limit, cursor } = arguments;
        let today = context.zone(timezone.as_ref())?.to_datetime(context.now).date();
        let query = query(&filter, today, sort_by.as_ref(), group_by.as_ref())?;
        // The results differ each day.
        let listing = (Self::INFO.name, &filter, &group_by, &sort_by, today);
        let paging = Paging::new(limit, cursor.as_ref(), &listing)?;
        let page = |view: View| {
            let (paging, query) = (&paging, &query);
            async move {
                let generation = view.generation();
                let want = Want { headings: query.needs_headings(), ..Want::default() };
                let facts = Facts::fetch_with(context, view.clone(), &[SectionName::Tasks], want);
                let (facts, settings) = try_join(facts, settings(&view)).await?;
                page(context, &facts, &settings, query, paging, generation)
            }
        };
        paging.read(context, page).await
    }
}

fn query(
    filter: &Exact<4000>,
    today: Date,
    sort_by: Option<&Text<100>>,
    group_by: Option<&Text<100>>,
) -> Result<Query, Error> {
    let wrong = |field: &'static str, message: String| {
        Error::bad_request(Reason::InvalidInput, format!("{field}: {message}")).with("field", field)
    };
    let mut query = Query::parse(filter.as_str(), today)
        .map_err(|error| wrong("filter", error.to_string()).with("line", error.line))?;
    if let Some(words) = sort_by {
        query.sort_by(words.as_str()).map_err(|message| wrong("sort_by", message))?;
    }
    if let Some(words) = group_by {
        query.group_by(words.as_str()).map_err(|message| wrong("group_by", message))?;
    }
    Ok(query)
}

/// A page of the results.
fn page(
    context: &Context<'_>,
    facts: &Facts,
    settings: &Settings,
    query: &Query,
    paging: &Paging,
    generation: u64,
) -> Result<Output, Error> {
    let mut paths = Vec::new();
    let mut found = found(context, facts, settings, query, &mut paths)?;
    found.sort_by(|one, other| {
        let (first, second) = (one.item(&paths), other.item(&paths));
        let by_place = || first.path.cmp(second.path).then(one.task.line.cmp(&other.task.line));
        query.compare(&first, &second).then_with(by_place)
    });
    found.truncate(query.limit().unwrap_or(usize::MAX));
    let max_bytes = context.limits.max_response_bytes;
    let groups = query.has_groups().then(|| {
        let mut groups = counted(query, found.iter().map(|found| found.item(&paths)));
        groups.truncate(fitting(&groups, max_bytes / 2));
        groups
    });
    let max_response_bytes = max_bytes.saturating_sub(groups.as_ref().map_or(0, bytes_of));
    let limits = Limits { max_response_bytes, ..*context.limits };
    let listed = |found: &FoundTask<'_>| {
        let (task, path) = (found.task, found.item(&paths).path.to_owned());
        ListedTask::of(path, task, settings.status(task.status), settings.fields(&task.text))
    };
    let tasks = paging.of(&found).iter().map(listed).collect();
    let page = paging.page(&context.with_limits(&limits), generation, found.len(), tasks)?;
    Ok(Output { page, groups })
}

impl FoundTask<'_> {
    /// The task as queries see it.
    fn item<'a>(&'a self, paths: &'a [String]) -> Item<'a> {
        let path = paths.get(self.path).map_or("", String::as_str);
        let Self { heading, task, status, fields, folded, .. } = self;
        Item { path, heading: heading.as_deref(), indent: task.indent, status: *status, fields, folded }
    }
}

/// The matching tasks; adds the paths of their notes to `paths`.
fn found<'a>(
    context: &Context<'_>,
    facts: &'a Facts,
    settings: &'a Settings,
    query: &Query,
    paths: &mut Vec<String>,
) -> Result<Vec<FoundTask<'a>>, Error> {
    let index = facts.index();
    let deadline = context.deadline(context.limits.max_scan_time);
    let mut found = Vec::new();
    for segment in index.segments() {
        // The previous document, and whether it is shown.
        let mut of: Option<(u32, bool)> = None;
        let mut headings = Vec::new();
        for (document, task) in facts.tasks(segment)?.iter() {
            if deadline.has_passed() {
                let message = "the time of one call is up: write a simpler filter";
                return Err(Error::new(Code::Unavailable, Reason::OperationTimeout, message));
            }
            if of.is_none_or(|(before, _)| before != document) {
                let is_shown = facts.shows(segment, document);
                of = Some((document, is_shown));
                if is_shown {
                    paths.push(index.path(DocumentRef { segment, document })?);
                    headings.clear();
                    if query.needs_headings() {
                        headings.extend(index.headings(segment)?.of(document));
                    }
                }
            }
            if of.is_some_and(|(_, is_shown)| !is_shown) || !settings.is_task(&task.text) {
                continue;
            }
            let above = headings.partition_point(|heading| heading.line <= task.line);
            let heading = above.checked_sub(1).and_then(|last| headings.get(last)).map(|heading| heading.text.clone());
            let path = paths.len().saturating_sub(1);
            let (status, fields) = (settings.named(task.status), settings.queried(&task.text));
            let one = FoundTask { path, heading, task, status, fields, folded: Folded::default() };
            if query.matches(&one.item(paths)) {
                found.push(one);
            }
        }
    }
    Ok(found)
}

/// The groups of tasks, in order.
fn counted<'a>(query: &Query, items: impl Iterator<Item = Item<'a>>) -> Vec<GroupCount> {
    let mut counts: HashMap<Vec<GroupKey>, usize> = HashMap::new();
    for item in items {
        for group in query.groups(&item) {
            *counts.entry(group).or_default() += 1;
        }
    }
    let mut groups: Vec<(Vec<GroupKey>, usize)> = counts.into_iter().collect();
    groups.sort_by(|(one, _), (other, _)| query.compare_groups(one, other));
    let name = |keys: Vec<GroupKey>| keys.into_iter().map(|key| key.name).collect::<Vec<_>>().join(" > ");
    groups.into_iter().map(|(keys, count)| GroupCount { key: name(keys), count }).collect()
}
