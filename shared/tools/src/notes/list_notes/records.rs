//! Records in path order, in pages.

use atlas_ops::error::Error;
use atlas_ops::read::index::Wave;
use atlas_ops::read::view::View;
use atlas_segment::{Layout, Record};

/// The live records under `prefix` and after `after`, in path order, from one wave of pages with at least `count`
/// records, and the path up to which they are complete; [`None`] if there are no more.
pub(super) async fn next_records(
    view: &View,
    prefix: &str,
    after: &str,
    count: usize,
) -> Result<(Vec<Record>, Option<String>), Error> {
    let snapshot = view.snapshot();
    let start = if after < prefix { prefix } else { after };
    let may_have =
        |layout: &Layout| *layout.last >= *start && (layout.first.starts_with(prefix) || *layout.first <= *prefix);
    snapshot.open(|_, entry| may_have(&entry.layout)).await?;
    let mut wave = Wave::default();
    let mut pages = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate().filter(|(_, entry)| may_have(&entry.layout)) {
        let from = entry.layout.record_pages_from(start)?;
        let mut held = 0;
        let mut complete = true;
        let mut slots = Vec::new();
        for (page, documents) in from {
            // The first page may contain only documents before the start.
            if held > count as u32 && slots.len() > 1 {
                complete = false;
                break;
            }
            held += documents.end - documents.start;
            slots.push((wave.add(segment, page), documents.start));
        }
        pages.push((segment, slots, complete));
    }
    let fetched = wave.fetch(snapshot).await?;
    let mut records = Vec::new();
    let mut end: Option<String> = None;
    for (segment, slots, complete) in pages {
        let mut last = None;
        for (slot, first) in slots {
            let page = fetched.get(slot)?;
            let page = page.record_page()?;
            for index in 0..page.len() {
                let record = page.get(index)?;
                last = Some(record.path.clone());
                let under = record.path.starts_with(prefix) && record.path.as_str() > after;
                if under && view.shows(segment, first.saturating_add(index as u32), || Some(&record.path)) {
                    records.push(record);
                }
            }
        }
        if !complete && last.as_deref().is_some_and(|last| last.starts_with(prefix) || last < prefix) {
            end = match (end, last) {
                (Some(end), Some(last)) => Some(end.min(last)),
                (end, last) => end.or(last),
            };
        }
    }
    if let Some(end) = &end {
        records.retain(|record| record.path <= *end);
    }
    records.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok((records, end))
}
