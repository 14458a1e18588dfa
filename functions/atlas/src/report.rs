//! Reports a sync to people.

use std::time::Duration;

use atlas_mirror::Collected;
use atlas_mirror::manifest::Changes;
use atlas_mirror::repair::{EmptyStart, Recovered, Repaired};
use atlas_sync::{Changed, Conflicted, GitSummary, LinkSummary, Merged, Side, Summary};
use indicatif::DecimalBytes;

use crate::output;

/// Prints the whole summary. Changed files are listed after `time`, if they are to be listed.
pub(crate) fn print(summary: &Summary, time: Option<&str>, is_dry_run: bool) {
    if let Some(time) = time {
        name(time, &summary.changed, summary.pushed.sum() + summary.pulled.sum());
    }
    summary.skipped.iter().for_each(output::note);
    conflicts(summary);
    if let Some(repaired) = &summary.repaired {
        print_repaired(repaired);
    }
    let Summary { generation, notes, attachments, pushed, pulled, unchanged, .. } = summary;
    let what = if is_dry_run { "would change" } else { "generation" };
    let seconds = Duration::from_millis(summary.duration_ms).as_secs_f64();
    output::line(format_args!(
        "{what} {generation}: {notes} notes, {attachments} attachments; to the mirror {}, to the folder {}, {unchanged} unchanged; \
         {} uploaded in {seconds:.2} s",
        changes(pushed),
        changes(pulled),
        DecimalBytes(summary.uploaded_bytes)
    ));
    texts(summary);
    links(summary);
    git(summary);
    embedded(summary);
    collected(summary);
    waiting(summary);
}

/// Prints the links that followed moved files.
pub(crate) fn links(summary: &Summary) {
    let Some(LinkSummary { moved: _, links, notes, left, error }) = &summary.relinked else { return };
    if *links > 0 {
        output::note(format_args!("{links} links in {notes} notes were rewritten to what was moved"));
    }
    left.iter().for_each(|why| output::note(format_args!("links stay as they are: {why}")));
    if let Some(error) = error {
        output::note(format_args!("links could not follow what was moved: {error}; the next sync tries again"));
    }
}

/// Prints the exchange with the Git repository.
pub(crate) fn git(summary: &Summary) {
    let Some(GitSummary { taken, commits, head, skipped, conflicts: _, error }) = &summary.git else { return };
    skipped.iter().for_each(|skipped| output::note(format_args!("git: {skipped}")));
    if let Some(error) = error {
        return output::note(format_args!("git: {error}; the next sync tries again"));
    }
    if taken + commits > 0 {
        let head = head.as_deref().and_then(|head| head.get(..12)).unwrap_or("no commit");
        output::note(format_args!("git: {taken} files came from it, {commits} commits went to it; it is at {head}"));
    }
}

/// Prints the number of attachments whose text searches find from now on.
pub(crate) fn texts(summary: &Summary) {
    let Summary { texts, texts_waiting, .. } = summary;
    match (texts, texts_waiting) {
        (0, 0) => {}
        (texts, 0) => output::note(format_args!("the text of {texts} PDFs was read: searches find it")),
        (texts, waiting) => output::note(format_args!("the text of {texts} PDFs was read; {waiting} more come next")),
    }
}

/// Prints the number of notes that have got vectors.
fn embedded(summary: &Summary) {
    if let Some(why) = &summary.embedding_failure {
        output::note(why);
    }
    match (summary.embedded, summary.embedding_waiting) {
        (0, 0) => {}
        (notes, 0) => output::note(format_args!("{notes} notes were embedded: searches find them by meaning")),
        (notes, waiting) => output::note(format_args!("{notes} notes were embedded; {waiting} wait for the next sync")),
    }
}

/// Prints what changed on both sides.
pub(crate) fn conflicts(summary: &Summary) {
    for Merged { path, .. } in &summary.merged {
        output::note(format_args!("{path}: it changed on both sides; its changes do not meet, so they are merged"));
    }
    let of_git = summary.git.iter().flat_map(|git| &git.conflicts);
    for Conflicted { path, copy, is_folder, why } in summary.conflicts.iter().chain(of_git) {
        let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        match copy {
            Some(copy) if *is_folder => output::note(format_args!(
                "{path}: a folder has this name on one side and a file on the other; the folder kept its path, the file is {copy:?}"
            )),
            Some(copy) => output::note(format_args!(
                "{path}: it changed on both sides{why}; the folder's version kept its path, the mirror's is in {copy:?}"
            )),
            None => output::note(format_args!("{path}: it changed on both sides{why}")),
        }
    }
}

/// The fate of a path that both sides changed, in the next sync.
pub(crate) fn fate(conflict: &Conflicted) -> String {
    let fate = match conflict.is_folder {
        true => "a folder has its name, so the file gets the name of a conflict copy",
        false => "the mirror's version becomes a conflict copy",
    };
    conflict.why.as_ref().map_or_else(|| fate.to_owned(), |why| format!("{fate}, since {why}"))
}

/// Prints the result of a garbage collection.
fn collected(summary: &Summary) {
    let Some(Collected { generations, objects, bytes, unread, ran_back }) = summary.collected else { return };
    if generations + objects > 0 {
        let bytes = DecimalBytes(bytes);
        output::note(format_args!(
            "{generations} old generations and {objects} objects of {bytes} were deleted from the store"
        ));
    }
    if unread > 0 {
        output::note(format_args!(
            "{unread} more generations have to be read before more can be deleted from the store"
        ));
    }
    if let Some(generation) = ran_back {
        output::note(format_args!(
            "the store's clock ran backwards before generation {generation}: history is kept longer until that is over"
        ));
    }
}

/// Prints the number of paths that could not be written to the folder.
pub(crate) fn waiting(summary: &Summary) {
    if summary.waiting > 0 {
        output::note(format_args!(
            "{} paths changed in the mirror and could not be written to the folder",
            summary.waiting
        ));
    }
}

/// Prints changed files, each after `time`, or else after the time of its new version; `all` is the number of all
/// changed files.
pub(crate) fn name(time: &str, changed: &[Changed], all: u64) {
    for Changed { path, side, how, modified } in changed {
        let side = match side {
            Side::Folder => "folder",
            Side::Mirror => "mirror",
        };
        let of = modified.filter(|_| time.is_empty()).map(|modified| format!(", of {modified:.0}")).unwrap_or_default();
        output::line(format_args!("{time}{} {path} (to the {side}){of}", how.sign()));
    }
    let left = all.saturating_sub(changed.len() as u64);
    if left > 0 {
        output::line(format_args!("{time}and {left} more"));
    }
}

pub(crate) fn print_repaired(repaired: &Repaired) {
    let Repaired { put_back, rewound, anew, flaws, rescued, recovered, lost, unnamed } = repaired;
    if let Some(generation) = put_back {
        output::note(format_args!("generation {generation} was put back from `latest`"));
    }
    for generation in rewound {
        output::note(format_args!(
            "the changes of generation {generation} are lost, except those that folders have: its manifest is gone"
        ));
    }
    if let Some(EmptyStart { generation, seen }) = anew {
        output::note(format_args!(
            "no manifest was readable, so generation {generation} was started with this folder's files: what was written after generation {seen}, \
             which it was synced with last, or had not come into it, is lost, but for what other folders have"
        ));
    }
    flaws.iter().for_each(output::note);
    if !flaws.is_empty() {
        output::note(format_args!("{rescued} files of damaged objects were published again"));
    }
    for Recovered { path, generation } in recovered {
        output::note(format_args!(
            "{path}: came back as generation {generation} wrote it; it may have been changed or deleted since"
        ));
    }
    lost.iter().for_each(|path| {
        output::note(format_args!("{path}: its content is lost: neither the store nor this folder has it"))
    });
    if *unnamed > 0 {
        output::note(format_args!(
            "{unnamed} files were lost, and their names with them; those that this folder has are published again"
        ));
    }
}

/// Changes as text.
pub(crate) fn changes(changes: &Changes) -> String {
    let Changes { added, changed, removed } = changes;
    format!("+{added} ~{changed} -{removed}")
}
