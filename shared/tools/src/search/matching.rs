//! Pages of matching lines, in order of path and line.

use std::ops::Range;

use atlas_ops::error::Error;
use atlas_ops::read::index::{Blocks, Index, Want};
use atlas_ops::read::view::View;

use crate::search::Output;
use crate::search::page::Page;
use crate::search::request::{Cursor, Request};

/// Approximate bytes fetched in the first wave, and in each later one.
const WAVE_BYTES: Range<u64> = 4 << 20..16 << 20;
/// Requests of such a wave, if ranges can be merged so far. More requests mean fewer bytes: a full answer needs every
/// candidate of the index, and they are scattered.
const MAX_REQUESTS: usize = 48;
/// Most cached regions that are searched together.
const MAX_BATCH: usize = 64;
/// The page after `cursor`, or the first.
pub(crate) async fn page(view: View, request: &Request<'_>, cursor: Option<&Cursor>) -> Result<Output, Error> {
    let generation = view.generation();
    let mut page = Page::new(request, cursor);
    if let Some(index) = Index::in_memory(view.clone()).await? {
        page.look_at_beginning(&index).await?;
        if page.is_full() {
            return page.finish(&index, generation, true).await;
        }
    }
    let probes = request.plan.probes(view.snapshot().segments().len());
    let index = Index::fetch(view, Want { probes: &probes, ..Want::default() }).await?;
    let index = index.with_max_requests(MAX_REQUESTS);
    let mut chunks = Vec::new();
    for segment in index.segments() {
        chunks.push(request.plan.chunks(&index, segment, &mut probes.iter().cloned())?);
    }
    let is_scan = chunks.iter().any(Option::is_none);
    let mut regions = page.regions(&index, chunks, request.pattern.most_chunks())?;
    let mut waiting = None;
    let mut most_bytes = WAVE_BYTES.start;
    let mut enough = 1;
    while !page.is_done() {
        let mut blocks = Blocks::new(&index);
        let mut batch = Vec::new();
        let mut cost = 0;
        loop {
            let region = match waiting.take() {
                Some(region) => region,
                None => match regions.next()? {
                    Some(region) => region,
                    None => break,
                },
            };
            let before = blocks.count();
            page.want(&index, &region, &mut blocks)?;
            if blocks.count() > before {
                cost = blocks.cost()?;
            }
            // Cached text is searched at once, since a page may be full soon.
            if !batch.is_empty() && (cost > most_bytes || cost == 0 && batch.len() >= enough) {
                blocks.truncate(before);
                waiting = Some(region);
                break;
            }
            batch.push(region);
        }
        if batch.is_empty() {
            break;
        }
        enough = (enough * 2).min(MAX_BATCH);
        if cost > 0 {
            most_bytes = WAVE_BYTES.end;
        }
        let blocks = blocks.fetch().await?;
        let mut batch = batch.into_iter();
        while let Some(region) = batch.next().filter(|_| !page.is_done()) {
            page.look(&index, &region, &blocks)?;
            let limit = page.limit();
            if limit.is_some() && (batch.len() > 0 || waiting.is_some() || regions.next()?.is_some()) {
                page.partial = limit;
            }
        }
    }
    page.finish(&index, generation, is_scan).await
}
