//! `search` compared with its peers, in one process and over the same texts: `rg`, ripgrep's searcher over texts in
//! memory, and tantivy.
//!
//! The vaults are those of `ATLAS_CORPORA`: `hub`, all corpora in one folder, and these repeated to 100,000 notes; or
//! those of them given on the command line, with one of the parts `patterns` and `text`. Queries are drawn from the vault with a fixed seed. No result is kept
//! between calls, and a call must find the same as the resident scan.
//!
//!
//! # Layout
//! - [`queries`]: the queries.
//! - [`scan`], [`fulltext`], [`expanded`], [`ripgrep`]: the peers.
//! - [`lines`]: patterns and their peers; [`ranked`]: words and theirs; [`cold`]: the requests of a new process to the
//!   store; [`sections`]: the size of the index.
//! - [`world`], [`vault`], [`random`], [`table`]: as in the other benchmarks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "a benchmark")]

mod cold;
mod expanded;
mod fulltext;
mod lines;
mod queries;
#[path = "../random.rs"]
mod random;
mod ranked;
#[path = "../ripgrep.rs"]
mod ripgrep;
mod scan;
mod sections;
#[path = "../table.rs"]
mod table;
#[path = "../vault.rs"]
mod vault;
#[path = "../world.rs"]
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod world;

use crate::queries::Drawn;
use crate::scan::Resident;
use crate::table::Table;
use crate::world::World;

const PARTS: [&str; 2] = ["patterns", "text"];

fn main() {
    let mut table = Table::create("search");
    for folder in vault::folders(&["hub", "corpora", "all"]) {
        let world = World::publish(&folder);
        eprintln!("{}: {} notes, {:.1} MB", folder.name, world.notes, world.markdown as f64 / 1e6);
        sections::shares(&mut table, &folder, &world);
        let resident = Resident::of(&world);
        let drawn = Drawn::of(&folder, &resident);
        if is_asked_for("patterns") {
            lines::selective(&mut table, &folder, &world, &resident, &drawn.selective);
            lines::broad(&mut table, &folder, &world, &resident, &drawn.broad);
            cold::selective(&mut table, &folder, &world, &drawn.selective);
        }
        if is_asked_for("text") {
            ranked::words(&mut table, &folder, &world, &resident, &drawn.words);
        }
    }
}

/// Whether a part of the benchmark is named on the command line, or none is.
fn is_asked_for(part: &str) -> bool {
    let asked: Vec<String> = std::env::args().filter(|argument| PARTS.contains(&argument.as_str())).collect();
    asked.is_empty() || asked.iter().any(|asked| asked == part)
}
