//! `list_periodic_notes`: the existing notes of a period.

use atlas_ops::arguments::{Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use futures::future::try_join;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::Settings;
use super::settings::language::paths;
use super::{Period, day};

/// Lists the existing daily, weekly, monthly, quarterly or yearly notes, by date.
pub struct ListPeriodicNotes;

/// Which notes to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The period of the notes.
    period: Period,
    /// The first day, `YYYY-MM-DD`: periods that begin before are left out.
    #[serde(default)]
    from: Given<Text<10>>,
    /// The last day: periods that begin after it are left out.
    #[serde(default)]
    to: Given<Text<10>>,
    /// Most notes to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A periodic note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PeriodicNote {
    /// Its period.
    period: Period,
    /// The first day of the period.
    #[schemars(with = "String", extend("format" = "date"))]
    date: Date,
    /// Its path.
    path: String,
    /// When it was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    mtime: Timestamp,
}

impl Operation for ListPeriodicNotes {
    const INFO: Info = Info {
        name: "list_periodic_notes",
        title: "List periodic notes",
        description: "Lists the existing daily, weekly, monthly, quarterly or yearly notes, by date; all of them, or those whose period begins between two days. Weeks begin on Sunday or, if the vault's settings name notes by ISO weeks, on Monday. Example: {\"period\": \"daily\", \"from\": \"2026-11-01\", \"to\": \"2026-11-30\"}",
        scopes: &[Scope::ReadVault],
        tags: &["periodic", "notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<PeriodicNote>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { period, from, to, limit, cursor } = arguments;
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, period, &from, &to))?;
        let from = from.as_ref().map(|from| day("from", from)).transpose()?.unwrap_or(Date::MIN);
        let to = to.as_ref().map(|to| day("to", to)).transpose()?.unwrap_or(Date::MAX);
        let page = |view: View| {
            let paging = &paging;
            async move {
                let generation = view.generation();
                let (mut settings, index) =
                    try_join(Settings::read(context, &view, period), Index::fetch(view.clone(), Want::default()))
                        .await?;
                settings.guess(&index)?;
                let found = found(&index, &settings, from, to)?;
                let shown = paging.of(&found);
                let documents: Vec<DocumentRef> = shown.iter().map(|(_, _, document)| *document).collect();
                let records = index.records(&documents).await?;
                let items = shown.iter().zip(records).map(|((date, ..), record)| PeriodicNote {
                    period,
                    date: *date,
                    path: record.path,
                    mtime: editing::time(record.modified_ms),
                });
                paging.page(context, generation, found.len(), items.collect())
            }
        };
        paging.read(context, page).await
    }
}

/// The existing notes by the settings, by date and path.
fn found(index: &Index, settings: &Settings, from: Date, to: Date) -> Result<Vec<(Date, String, DocumentRef)>, Error> {
    let mut found = Vec::new();
    let first_day = settings.first_day();
    for (path, document) in paths(index, settings.folder())? {
        if let Some(date) = first_day(&path).filter(|date| (from..=to).contains(date))
            && index.shows(document)
        {
            found.push((date, path, document));
        }
    }
    found.sort_unstable();
    Ok(found)
}
