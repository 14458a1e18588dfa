//! The time to move a note with many links to it, on a folder that flushes to its disk.

use std::fs;
use std::time::Duration;

use atlas_mirror::location::{self, Variables};
use atlas_tools::notes::move_note::MoveNote;
use serde_json::json;

use crate::random::Random;
use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::World;

/// Notes that link to it.
const LINKING: usize = 500;
/// Moves there and back.
const MOVES: usize = 10;
const LONGEST: Duration = Duration::from_millis(500);
const PATHS: [&str; 2] = ["The linked note.md", "moved here/By another name.md"];

/// Adds the note to the folder, and copies of drawn notes with a link to it.
pub(crate) fn measure(table: &mut Table, folder: &Folder) {
    let root = folder.root.path();
    fs::write(root.join(PATHS[0]), "# The linked note\n").unwrap();
    let mut random = Random(20_261_122);
    for number in 0..LINKING {
        let note = random.of(&folder.notes);
        // First, since text at a note's end may be in a code block.
        let text = [b"[[The linked note|this]]\n\n".to_vec(), fs::read(root.join(note)).unwrap()].concat();
        fs::write(root.join(format!("{} {number}.md", note.trim_end_matches(".md"))), text).unwrap();
    }
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let url = format!("file://{}", place.path().display());
    let world = World::publish_to(folder, location::open(&url, &Variables::default()).unwrap());
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..MOVES {
        for (times, [from, to]) in times.iter_mut().zip([PATHS, [PATHS[1], PATHS[0]]]) {
            let (answer, took) = world.call(atlas_tools::entry::<MoveNote>(), &json!({ "from": from, "to": to }));
            assert_eq!(answer["notes"], LINKING, "{answer}");
            times.push(took);
        }
    }
    for (mut times, what) in times.into_iter().zip(["to a new name", "and back"]) {
        times.sort_unstable();
        table.row(
            &format!("`move_note` with {LINKING} incoming links on a folder, {what}"),
            folder.name,
            &table::summary(&times),
            &format!("median {}", table::duration(LONGEST)),
            Some(times[MOVES / 2] <= LONGEST),
        );
    }
}
