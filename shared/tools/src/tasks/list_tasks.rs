//! `list_tasks`: the tasks of notes, filtered by their fields.

use std::collections::HashSet;

use atlas_ops::arguments::{self, Given, Root, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::nearest::{self, ShortPaths};
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::facts::Task;
use atlas_vault::task::{Priority, Settings, Status, fields};
use futures::future::try_join;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ListedTask, settings};
use crate::tags::SearchedTag;

/// Lists the tasks of notes, by path and line, with status, dates, priority, tags and recurrence as the Tasks plugin or Dataview writes them.
pub struct ListTasks;

/// Which tasks to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only of notes in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Only tasks with one of these statuses.
    #[serde(default)]
    status: Given<Vec<Status>>,
    /// Only tasks due on these days.
    #[serde(default)]
    due: Given<Days>,
    /// Only those with one of these priorities.
    #[serde(default)]
    priority: Given<Vec<Priority>>,
    /// Only tasks with all of these tags in their text, or one below each, with or without `#`.
    #[serde(default)]
    #[schemars(length(max = 20))]
    tags: Vec<Text<256>>,
    /// Only of these notes.
    #[serde(default)]
    #[schemars(with = "Vec<String>", length(max = 1000))]
    paths: Given<Vec<String>>,
    /// Most tasks to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// Days, `YYYY-MM-DD`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Days {
    /// Before this day.
    #[serde(default)]
    #[schemars(with = "String", extend("format" = "date"))]
    before: Given<Date>,
    /// After this day.
    #[serde(default)]
    #[schemars(with = "String", extend("format" = "date"))]
    after: Given<Date>,
    /// On this day.
    #[serde(default)]
    #[schemars(with = "String", extend("format" = "date"))]
    on: Given<Date>,
}

impl Days {
    fn hold(&self, day: Option<&str>) -> bool {
        // A day that does not exist is ignored.
        let Some(day) = day.and_then(|day| day.parse::<Date>().ok()) else { return false };
        self.before.is_none_or(|before| day < before)
            && self.after.is_none_or(|after| day > after)
            && self.on.is_none_or(|on| day == on)
    }
}

/// Most tags and paths of one call.
const MAX_TAGS: usize = 20;
const MAX_PATHS: usize = 1000;

impl Operation for ListTasks {
    const INFO: Info = Info {
        name: "list_tasks",
        title: "List tasks",
        description: "Lists the tasks (checkboxes) of notes, by path and line, with status, dates, priority and tags as the Tasks plugin or Dataview writes them. To tick one off take update_task. Example: {\"status\": [\"todo\"], \"root\": \"Projects\"}",
        scopes: &[Scope::ReadVault],
        tags: &["tasks"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<ListedTask>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { root, status, due, priority, tags, paths, limit, cursor } = arguments;
        let too_many = |field: &str, most| Err(invalid_input(field, &format!("name at most {most}")));
        if tags.len() > MAX_TAGS {
            return too_many("tags", MAX_TAGS);
        }
        if paths.as_ref().is_some_and(|paths| paths.len() > MAX_PATHS) {
            return too_many("paths", MAX_PATHS);
        }
        let listing = (Self::INFO.name, &root, &status, &due, &priority, &tags, &paths);
        let paging = Paging::new(limit, cursor.as_ref(), &listing)?;
        let root = Root::of("root", &root)?;
        let paths: Option<Vec<String>> = match paths.0 {
            Some(paths) => {
                let path = |path: String| Ok(arguments::path("paths", &path)?.as_str().to_owned());
                Some(paths.into_iter().map(path).collect::<Result<_, Error>>()?)
            }
            None => None,
        };
        let tags = tags.iter().map(|tag| SearchedTag::of("tags", tag.as_str())).collect::<Result<Vec<_>, Error>>()?;
        let is_wanted = |task: &Task, settings: &Settings| {
            if status.as_ref().is_some_and(|wanted| !wanted.contains(&settings.status(task.status))) {
                return false;
            }
            if due.is_none() && priority.is_none() && tags.is_empty() {
                return true;
            }
            let fields = fields(&task.text);
            let has_tag = |wanted: &SearchedTag| fields.tags.iter().any(|tag| wanted.holds(tag, true));
            due.as_ref().is_none_or(|days| days.hold(fields.due))
                && priority.as_ref().is_none_or(|wanted| fields.priority.is_some_and(|of| wanted.contains(&of)))
                && tags.iter().all(has_tag)
        };
        let page = |view: View| {
            let (root, paging, paths, is_wanted) = (&root, &paging, &paths, &is_wanted);
            async move {
                let generation = view.generation();
                let facts = Facts::fetch(context, view.clone(), &[SectionName::Tasks]);
                let (facts, settings) = try_join(facts, settings(&view)).await?;
                let paths = match paths {
                    Some(paths) => Some(meant(context, &view, &facts, paths).await?),
                    None => None,
                };
                let found = tasks(&facts, root, paths.as_ref(), |task| is_wanted(task, &settings))?;
                nearest::check_found(context, view, root, found.len()).await?;
                let mut items = Vec::new();
                for (document, task) in paging.of(&found) {
                    let (path, status) = (facts.index().path(*document)?, settings.status(task.status));
                    items.push(ListedTask::of(path, task, status, fields(&task.text)));
                }
                paging.page(context, generation, found.len(), items)
            }
        };
        paging.read(context, page).await
    }
}

/// The files at `paths`, which may be short.
async fn meant(context: &Context<'_>, view: &View, facts: &Facts, paths: &[String]) -> Result<HashSet<String>, Error> {
    let mut meant = HashSet::new();
    let mut short = None;
    for path in paths {
        if facts.index().find(path)?.is_some() {
            meant.insert(path.clone());
            continue;
        }
        let names = match &mut short {
            Some(names) => names,
            none => none.insert(ShortPaths::of(view.clone()).await?),
        };
        meant.insert(names.meant(context, path, true)?);
    }
    Ok(meant)
}

/// The tasks of notes below `root`, or of those at `paths` there, that are wanted, by path and line.
pub(crate) fn tasks<'a>(
    facts: &'a Facts,
    root: &Root,
    paths: Option<&HashSet<String>>,
    is_wanted: impl Fn(&Task) -> bool,
) -> Result<Vec<(DocumentRef, &'a Task)>, Error> {
    let mut found = Vec::new();
    for segment in facts.index().segments() {
        let below = facts.below(segment, root)?;
        let named: Option<HashSet<u32>> = match paths {
            Some(paths) => {
                let known = facts.index().paths(segment)?;
                Some(paths.iter().filter_map(|path| known.get(path)).collect())
            }
            None => None,
        };
        for (document, task) in facts.tasks(segment)?.iter() {
            if below.contains(&document)
                && named.as_ref().is_none_or(|named| named.contains(&document))
                && is_wanted(task)
                && facts.shows(segment, document)
            {
                found.push((DocumentRef { segment, document }, task));
            }
        }
    }
    facts.index().sort_by_path(&mut found, |(document, _)| *document);
    Ok(found)
}
