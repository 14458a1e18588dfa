//! The steps of a history.

use std::time::Duration;

use Step::*;
use atlas_sync::Phase;
use atlas_testkit::{Fault, Op};
use proptest::prelude::*;

use crate::support::damage::{self, Damage, Kind};

/// The notes that are written; conflict copies may be added. One has the name of a folder of another.
pub const NOTES: [&str; 6] = ["a.md", "b.md", "f/c.md", "f/d.md", "e.md", "e.md/g.md"];
pub const AGENTS: usize = 3;
/// People, each with a host and a folder of their own.
pub const HOSTS: usize = 3;

/// One step. Notes, agents, people and their hosts are given by index.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    PersonWrites(usize, usize),
    PersonAppends(usize, usize),
    PersonPrepends(usize, usize),
    PersonDeletes(usize, usize),
    PersonRenames(usize, usize, usize),
    /// Another tool brings a note from a person's folder to that of another.
    Carries(usize, usize, usize),
    AgentReads(usize, usize),
    /// The agent creates it, or replaces the version that it saw last.
    AgentPuts(usize, usize),
    AgentAppends(usize, usize),
    AgentPrepends(usize, usize),
    AgentDeletes(usize, usize),
    AgentMoves(usize, usize, usize),
    /// The agent forgets the mirror.
    AgentRestarts(usize),
    Sync(usize),
    SyncAll(usize),
    /// A sync during which the person saves a note, at the start of a phase.
    SyncMeanwhile(usize, Phase, usize),
    /// A sync during which an agent appends to a note, at the start of a phase.
    SyncMeanwhileAgent(usize, Phase, usize),
    /// A sync during which the folder `f` cannot be listed.
    SyncHalfListed(usize),
    /// A sync that is killed at request number N of a kind, before or after its effect.
    SyncKilled(usize, Op, usize, bool),
    /// A sync is killed between moving a file aside and writing another to its path.
    MovedAside(usize, usize),
    /// Request number N of a kind fails, whoever makes it.
    Fails(Op, usize, Fault),
    LoseState(usize),
    /// The hint is old or missing.
    StaleHint,
    /// The clock of a host is set forward or back, in hours.
    ClockJumps(usize, i8),
    /// The store's clock is set forward or back, in hours.
    StoreClockJumps(i16),
    /// Objects are damaged, and a host repairs the store from its folder.
    Damaged(Kind, Damage, usize),
    /// A month passes, and a sync collects garbage.
    Collect,
    Backup,
    /// The bucket is restored from the last backup.
    Restore,
}

fn note() -> impl Strategy<Value = usize> {
    0..NOTES.len()
}

fn agent() -> impl Strategy<Value = usize> {
    0..AGENTS
}

/// Mostly the first host.
fn host() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 1 => 1..HOSTS]
}

pub fn of_people() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (host(), note()).prop_map(|(host, note)| PersonWrites(host, note)),
        3 => (host(), note()).prop_map(|(host, note)| PersonAppends(host, note)),
        3 => (host(), note()).prop_map(|(host, note)| PersonPrepends(host, note)),
        2 => (host(), note()).prop_map(|(host, note)| PersonDeletes(host, note)),
        1 => (host(), note(), note()).prop_map(|(host, from, to)| PersonRenames(host, from, to)),
    ]
}

pub fn of_carriers() -> impl Strategy<Value = Step> {
    (0..HOSTS, 0..HOSTS, note()).prop_map(|(from, to, note)| Carries(from, to, note))
}

pub fn of_agents() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (agent(), note()).prop_map(|(agent, note)| AgentReads(agent, note)),
        4 => (agent(), note()).prop_map(|(agent, note)| AgentPuts(agent, note)),
        3 => (agent(), note()).prop_map(|(agent, note)| AgentAppends(agent, note)),
        2 => (agent(), note()).prop_map(|(agent, note)| AgentPrepends(agent, note)),
        2 => (agent(), note()).prop_map(|(agent, note)| AgentDeletes(agent, note)),
        1 => (agent(), note(), note()).prop_map(|(agent, from, to)| AgentMoves(agent, from, to)),
        1 => agent().prop_map(AgentRestarts),
    ]
}

pub fn of_sync() -> impl Strategy<Value = Step> {
    let phase = || {
        prop::sample::select(vec![Phase::Scan, Phase::Read, Phase::Write, Phase::Index, Phase::Index, Phase::Commit])
    };
    prop_oneof![
        5 => host().prop_map(Sync),
        1 => host().prop_map(SyncAll),
        2 => (host(), phase(), note()).prop_map(|(host, phase, note)| SyncMeanwhile(host, phase, note)),
        2 => (host(), phase(), note()).prop_map(|(host, phase, note)| SyncMeanwhileAgent(host, phase, note)),
        1 => host().prop_map(SyncHalfListed),
    ]
}

pub fn of_kills() -> impl Strategy<Value = Step> {
    let op = prop::sample::select(vec![Op::Get, Op::Range, Op::Put, Op::Create, Op::Create]);
    prop_oneof![
        4 => (host(), op, 0..5_usize, any::<bool>()).prop_map(|(host, op, nth, after)| SyncKilled(host, op, nth, after)),
        1 => (host(), note()).prop_map(|(host, note)| MovedAside(host, note)),
    ]
}

pub fn of_faults() -> impl Strategy<Value = Step> {
    let op = prop::sample::select(vec![Op::Get, Op::Range, Op::Head, Op::Put, Op::Create, Op::Create, Op::List]);
    let fault = prop::sample::select(vec![
        Fault::Error,
        Fault::ErrorAfter,
        Fault::OwnSuccess,
        Fault::Silence,
        Fault::SilenceAfter,
        Fault::Late(Duration::from_secs(7)),
        Fault::Refused,
        Fault::Truncated,
    ]);
    prop_oneof![
        4 => (op, 0..4_usize, fault).prop_map(|(op, nth, fault)| Fails(op, nth, fault)),
        1 => Just(StaleHint),
    ]
}

pub fn of_losses() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => host().prop_map(LoseState),
        1 => Just(StaleHint),
        2 => Just(Collect),
        2 => Just(Backup),
        2 => Just(Restore),
    ]
}

pub fn of_clocks() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (host(), -72..72_i8).prop_map(|(host, hours)| ClockJumps(host, hours)),
        // Days, months, years.
        2 => (prop::sample::select(vec![1, 30, 400]), -72..72_i16).prop_map(|(times, hours)| StoreClockJumps(times * hours)),
    ]
}

pub fn of_damage() -> impl Strategy<Value = Step> {
    (damage::kind(), damage::damage(), host()).prop_map(|(kind, damage, host)| Damaged(kind, damage, host))
}
