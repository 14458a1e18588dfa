//! Several agents, two people with a folder each, syncs between them, and all kinds of faults: every accepted text is
//! in the end in a note or in a conflict copy, or in the history if somebody who saw it replaced it; and both folders
//! and the mirror are equal.
//!
//! A history is a random list of [`Step`]s. A failing one is shortened as far as possible and printed so that it can be
//! pasted into `histories_that_failed_once`.

mod bucket;
mod carrier;
mod host;
mod losses;
mod step;
mod texts;
mod world;

use atlas_sync::Phase;
use atlas_testkit::Op;
use proptest::prelude::*;
use proptest::test_runner::Config;

use step::Step::{self, *};
use world::World;

use crate::support::damage::{Damage, Kind};
use crate::support::random;

/// Histories of each kind, unless `ATLAS_HISTORIES` gives a number.
const CASES: u32 = 128;
/// Most steps of a history.
const STEPS: usize = 24;

/// Plays a history, and checks that nothing is lost.
fn play(steps: &[Step]) {
    let mut world = World::new();
    steps.iter().for_each(|step| world.take(*step));
    if let Err(lost) = world.end() {
        panic!("{lost}\nto play it again: play(&{steps:?});");
    }
}

fn histories(step: impl Strategy<Value = Step>) {
    let steps = prop::collection::vec(step, 1..STEPS);
    let config = Config { max_shrink_iters: 3000, ..random::cases(CASES) };
    proptest!(config, |(steps in steps)| play(&steps));
}

#[test]
fn what_agents_and_people_wrote_is_kept() {
    histories(prop_oneof![3 => step::of_people(), 3 => step::of_agents(), 2 => step::of_sync()]);
}

#[test]
fn what_agents_and_people_wrote_is_kept_when_syncs_are_killed() {
    histories(prop_oneof![
        3 => step::of_people(), 3 => step::of_agents(), 1 => step::of_sync(), 2 => step::of_kills()
    ]);
}

#[test]
fn what_agents_and_people_wrote_is_kept_when_the_store_fails() {
    histories(prop_oneof![
        3 => step::of_people(), 3 => step::of_agents(), 2 => step::of_sync(), 2 => step::of_faults()
    ]);
}

#[test]
fn what_agents_and_people_wrote_is_kept_when_state_and_bucket_are_lost() {
    histories(prop_oneof![
        4 => step::of_people(), 4 => step::of_agents(), 3 => step::of_sync(), 1 => step::of_kills(),
        1 => step::of_faults(), 2 => step::of_losses(), 1 => step::of_clocks(), 1 => step::of_damage()
    ]);
}

#[test]
fn what_agents_and_people_wrote_is_kept_when_another_tool_carries_files() {
    histories(prop_oneof![
        3 => step::of_people(), 2 => step::of_agents(), 3 => step::of_sync(), 3 => step::of_carriers()
    ]);
}

#[test]
fn histories_that_failed_once() {
    play(&[
        AgentPuts(0, 0),
        PersonWrites(0, 0),
        Sync(0),
        AgentAppends(1, 0),
        PersonAppends(0, 0),
        Sync(0),
        LoseState(0),
        Sync(0),
    ]);
    play(&[PersonWrites(0, 5), PersonWrites(0, 0), AgentReads(0, 0), Sync(1), MovedAside(0, 4), PersonAppends(0, 4)]);
    play(&[AgentAppends(0, 0), StoreClockJumps(-25), AgentAppends(0, 0), Collect]);
    for segment in 0..6 {
        // The host with the older version has seen the newer one's generation, without pulling it.
        play(&[
            PersonAppends(1, 0),
            SyncAll(0),
            PersonWrites(1, 0),
            SyncMeanwhileAgent(1, Phase::Read, 0),
            Sync(0),
            Damaged(Kind::Segment(segment), Damage::Missing, 0),
        ]);
        play(&[
            Sync(0),
            SyncKilled(0, Op::Create, 3, true),
            Sync(0),
            PersonWrites(1, 0),
            PersonAppends(0, 1),
            SyncMeanwhileAgent(1, Phase::Read, 0),
            AgentPuts(2, 5),
            Sync(0),
            Damaged(Kind::Segment(segment), Damage::Missing, 0),
        ]);
    }
    // A copy has the name of another that comes in the same sync.
    play(&[
        PersonWrites(0, 0),
        AgentAppends(0, 2),
        PersonAppends(0, 2),
        Damaged(Kind::Blob(0), Damage::Missing, 0),
        AgentAppends(0, 2),
        Collect,
        Damaged(Kind::Blob(0), Damage::Missing, 1),
    ]);
    // A killed sync brought an older version, which the folder still has.
    play(&[AgentAppends(0, 5), PersonWrites(0, 0), SyncKilled(0, Op::Put, 0, false), AgentAppends(0, 5)]);
    play(&[PersonPrepends(1, 1), PersonWrites(0, 0), Sync(0), SyncKilled(1, Op::Create, 0, false), PersonWrites(0, 0)]);
    play(&[
        PersonPrepends(0, 3),
        SyncMeanwhileAgent(0, Phase::Index, 2),
        PersonWrites(0, 0),
        SyncKilled(0, Op::Create, 0, false),
        AgentAppends(0, 2),
    ]);
    // The state does not know that the note was deleted and written anew.
    play(&[AgentDeletes(0, 0), LoseState(0), AgentAppends(0, 0)]);
    // A bit of the format's version.
    play(&[PersonWrites(0, 0), Sync(0), Damaged(Kind::Segment(0), Damage::Flipped(11), 0)]);
    for segment in 0..4 {
        let damaged = |host| Damaged(Kind::Segment(segment), Damage::CutAt(100), host);
        play(&[PersonDeletes(0, 2), Sync(0), damaged(0)]);
        // The repairing host knows another mirror.
        play(&[Damaged(Kind::NewestAndLatest, Damage::Missing, 0), AgentAppends(1, 2), AgentPuts(0, 3), damaged(2)]);
    }
}
