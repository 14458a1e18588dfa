//! The cost of `find` after many writes, compared with a vault that was just published.

use std::fs;
use std::time::Duration;

use atlas_tools::notes::edit_note::EditNote;
use atlas_tools::notes::write_note::WriteNote;
use serde_json::json;

use crate::draw::{Calls, Drawn};
use crate::random::Random;
use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::World;
use crate::{MAX_WAVES, times};

const WRITES: usize = 1000;
/// The greatest ratio of warm `find` times.
const MAX_TIMES: f64 = 2.0;

/// Half of the writes create a note with another one's text, the others change an existing one.
pub(crate) fn measure(table: &mut Table, folder: &Folder, world: &World, drawn: &Drawn) {
    let finds: Vec<&Calls> = drawn.calls.iter().filter(|calls| calls.operation.info.name == "find").collect();
    let warm = |calls: &&Calls| {
        let times = times(calls, |arguments| world.call(calls.operation, arguments).1);
        times[times.len() / 2]
    };
    let folded: Vec<Duration> = finds.iter().map(warm).collect();
    let mut random = Random(20_261_122);
    let mut took: Vec<Duration> = (0..WRITES)
        .map(|number| {
            let note = random.of(&folder.notes);
            if number % 2 == 0 {
                let text = String::from_utf8_lossy(&fs::read(folder.root.path().join(note)).unwrap()).into_owned();
                world
                    .call(
                        atlas_tools::entry::<WriteNote>(),
                        &json!({ "path": format!("agent/{number}.md"), "content": text }),
                    )
                    .1
            } else {
                let edits = json!([{ "op": "append", "text": format!("- written {number}") }]);
                world.call(atlas_tools::entry::<EditNote>(), &json!({ "path": note, "edits": edits })).1
            }
        })
        .collect();
    took.sort_unstable();
    table.row(&format!("a write, of {WRITES}"), folder.name, &table::summary(&took), "", None);
    for when in ["with the merges of writers", "and a sync"] {
        if when == "and a sync" {
            world.sync(folder);
        }
        let segments = world.snapshot().segments().len();
        for (calls, folded) in finds.iter().zip(&folded) {
            let waves: Vec<u64> =
                calls.arguments.iter().map(|arguments| world.ask(calls.operation, arguments).cold.waves()).collect();
            let (most, over) =
                (waves.iter().max().unwrap(), waves.iter().filter(|waves| **waves as f64 > MAX_WAVES).count());
            let own = warm(calls);
            let ratio = own.as_secs_f64() / folded.as_secs_f64();
            let result = format!(
                "{segments} segments: cold at most {most} waves ({over} of {} over {MAX_WAVES}); warm median {}, {ratio:.2} times that before",
                waves.len(),
                table::duration(own),
            );
            let target = format!("at most {MAX_WAVES} waves; {MAX_TIMES} times");
            let holds = over == 0 && ratio <= MAX_TIMES;
            table.row(
                &format!("{} after {WRITES} writes, {when}", calls.what),
                folder.name,
                &result,
                &target,
                Some(holds),
            );
        }
    }
}
