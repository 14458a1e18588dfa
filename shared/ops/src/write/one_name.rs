//! Prevents a file and a folder of one name: no disk can store them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_segment::{Layout, Part, PartRef, Record};
use atlas_vault::VaultPath;

use crate::error::{Code, Error, Reason};
use crate::operation::{Context, Scope};
use crate::read::index::{Fetched, Slot, Wave};
use crate::read::notes;

/// Most documents that are checked per path to find one that the caller may see.
const MAX_LOOKED: usize = 1000;

/// The error if a file at `path` would clash with one of the `others` to be written.
pub fn among(path: &VaultPath, others: &BTreeSet<VaultPath>) -> Option<Error> {
    if let Some(folder) = folders(path).find(|folder| others.contains(*folder)) {
        return Some(taken(path, &format!("{folder} is to be a file")));
    }
    let prefix = format!("{path}/");
    let below = others.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded)).next();
    below.filter(|other| other.as_str().starts_with(&prefix)).map(|_| taken(path, "it is to be a folder"))
}

/// The errors of those `new` paths where a file would have a folder's name, or a folder a file's. The paths in `left`
/// are free. Documents that the caller may not see are ignored: the next sync renames one of the two.
pub async fn clashes(
    context: &Context<'_>,
    head: &Arc<Snapshot>,
    new: &BTreeSet<VaultPath>,
    left: &BTreeSet<&str>,
) -> Result<BTreeMap<VaultPath, Error>, Error> {
    let mut clashes = BTreeMap::new();
    let is_there = |path: &str| -> bool {
        let may_read = context.caller.scopes().holds(Scope::ReadVault);
        let known = may_read && VaultPath::parse(path).is_ok_and(|path| context.check(Access::Read, &path).is_ok());
        known && !left.contains(path)
    };
    let may_be_within = |layout: &Layout, below: &str| layout.may_hold(below) || layout.first.starts_with(below);
    let is_near = |layout: &Layout, path: &VaultPath| {
        layout.may_hold(path.as_str()) || may_be_within(layout, &format!("{path}/"))
    };
    head.open(|_, entry| new.iter().any(|path| is_near(&entry.layout, path))).await?;
    let mut wave = Wave::default();
    let mut looks = Vec::new();
    for (segment, entry) in head.segments().iter().enumerate() {
        for path in new {
            let below = format!("{path}/");
            let layout = &entry.layout;
            let pages = if may_be_within(layout, &below) { layout.record_pages_of(&below)? } else { Vec::new() };
            let beside = layout.record_page(path.as_str())?;
            looks.push(Look {
                path,
                segment,
                below: add(&mut wave, segment, pages),
                beside: add(&mut wave, segment, beside),
            });
        }
    }
    let fetched = wave.fetch(head).await?;
    let mut folders: BTreeSet<&str> = new.iter().flat_map(folders).collect();
    for Look { path, segment, below, beside } in looks {
        let prefix = format!("{path}/");
        let mut is_folder = |record: Record, id| head.is_live(segment, id) && is_there(&record.path);
        if walk(&fetched, below, &prefix, &mut is_folder)? {
            clashes.insert(path.clone(), taken(path, "a folder has this name"));
        }
        // A folder that contains documents exists, so no file has its name.
        for folder in self::folders(path) {
            let prefix = format!("{folder}/");
            if folders.contains(folder)
                && walk(&fetched, beside.clone(), &prefix, &mut |_, id| head.is_live(segment, id))?
            {
                folders.remove(folder);
            }
        }
    }
    let folders: Vec<&str> = folders.into_iter().collect();
    let files = notes::find_all(head, &folders, |_| false).await?;
    let files = folders.iter().zip(files).filter(|(folder, file)| file.is_some() && is_there(folder));
    let files: BTreeSet<&str> = files.map(|(folder, _)| *folder).collect();
    for path in new {
        if let Some(folder) = self::folders(path).find(|folder| files.contains(folder)) {
            clashes.entry(path.clone()).or_insert_with(|| taken(path, &format!("{folder} is a file")));
        }
    }
    Ok(clashes)
}

/// The pages to search for clashes with a path.
struct Look<'a> {
    path: &'a VaultPath,
    segment: usize,
    /// The pages of documents below it.
    below: Vec<(Slot, u32)>,
    /// The pages of documents at its folders.
    beside: Vec<(Slot, u32)>,
}

/// Whether one of the documents whose path begins with `prefix` is wanted. At most [`MAX_LOOKED`] are checked.
fn walk(
    fetched: &Fetched,
    pages: Vec<(Slot, u32)>,
    prefix: &str,
    is_wanted: &mut impl FnMut(Record, u32) -> bool,
) -> Result<bool, Error> {
    let mut looked = 0;
    for (slot, first) in pages {
        let page: Arc<Part> = fetched.get(slot)?;
        let page = page.record_page()?;
        for index in page.first_from(prefix)?..page.len() {
            let record = page.get(index)?;
            looked += 1;
            if looked > MAX_LOOKED || !record.path.starts_with(prefix) {
                return Ok(false);
            }
            if is_wanted(record, first.saturating_add(u32::try_from(index).unwrap_or(u32::MAX))) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn add(wave: &mut Wave, segment: usize, pages: impl IntoIterator<Item = (PartRef, u32)>) -> Vec<(Slot, u32)> {
    pages.into_iter().map(|(page, first)| (wave.add(segment, page), first)).collect()
}

/// The folders that contain a file at `path`.
fn folders(path: &VaultPath) -> impl Iterator<Item = &str> {
    path.as_str().match_indices('/').filter_map(|(at, _)| path.as_str().get(..at))
}

fn taken(path: &VaultPath, why: &str) -> Error {
    let message = format!("{path} cannot be written, since {why}: choose another name");
    Error::new(Code::Conflict, Reason::NameTaken, message).with("path", path.as_str())
}
