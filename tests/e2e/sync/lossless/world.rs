//! Agents, people with their hosts, and a bucket.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_sync::{Danger, Phase, Summary, SyncError};
use atlas_testkit::{Fault, Op};
use axum::body::Body;
use axum::http::{Method, Request};
use bytes::Bytes;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::bucket::{Bucket, client};
use super::carrier::Agreed;
use super::host::{Host, SyncPlan, runtime, save};
use super::step::{AGENTS, HOSTS, NOTES, Step};
use super::texts::{Blocks, block, blocks};
use crate::support::deployment::{Client, Reply, encoded};

pub struct World {
    /// The agents' runtime; each sync has its own.
    pub(super) runtime: Runtime,
    pub(super) bucket: Bucket,
    agents: Vec<Client>,
    /// The versions that each agent saw last.
    seen: Vec<BTreeMap<usize, String>>,
    pub(super) hosts: Vec<Host>,
    /// Keeps the folders.
    _places: TempDir,
    /// Blocks written so far.
    written: usize,
    /// Blocks that must exist somewhere in the end.
    pub(super) owed: Blocks,
    /// Blocks that somebody who saw them has replaced or deleted. All others must be in a note or in a copy.
    pub(super) replaced: Blocks,
    pub(super) backup: Option<(Vec<(object_store::path::Path, Bytes)>, Blocks)>,
    /// Whether the store was ever damaged, so that some history may be unreadable.
    pub(super) was_damaged: bool,
    /// Whether the mirror has all versions that it ever had.
    pub(super) has_all_history: bool,
    /// Conflict copies beside files that their person had not touched.
    useless: Vec<String>,
    pub(super) agreed: Agreed,
}

impl World {
    pub fn new() -> Self {
        let bucket = Bucket::new();
        // In memory, the many small syncs do not wait for a disk.
        let memory = Path::new("/dev/shm");
        let places = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let mut world = Self {
            runtime: runtime(),
            agents: (0..AGENTS).map(|_| bucket.client()).collect(),
            bucket,
            seen: vec![BTreeMap::new(); AGENTS],
            hosts: (0..HOSTS).map(|host| Host::new(places.path().join(format!("person{host}")))).collect(),
            _places: places,
            written: 0,
            owed: Blocks::new(),
            replaced: Blocks::new(),
            backup: None,
            was_damaged: false,
            has_all_history: true,
            useless: Vec::new(),
            agreed: Agreed::new(),
        };
        world.person_writes(0, 0);
        world.person_writes(0, 2);
        for host in 0..HOSTS {
            world.synced(host, &SyncPlan::default());
        }
        world
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::PersonWrites(host, note) => self.person_writes(host, note),
            Step::PersonAppends(host, note) => self.person_adds(host, note, |text, block| text + block),
            Step::PersonPrepends(host, note) => self.person_adds(host, note, |text, block| block.to_owned() + &text),
            Step::PersonDeletes(host, note) => self.person_deletes(host, note),
            Step::PersonRenames(host, from, to) => self.person_renames(host, from, to),
            Step::Carries(from, to, note) => self.carries(from, to, note),
            Step::AgentReads(agent, note) => self.agent_reads(agent, note),
            Step::AgentPuts(agent, note) => self.agent_puts(agent, note),
            Step::AgentAppends(agent, note) => self.agent_appends(agent, note),
            Step::AgentPrepends(agent, note) => self.agent_prepends(agent, note),
            Step::AgentDeletes(agent, note) => self.agent_deletes(agent, note),
            Step::AgentMoves(agent, from, to) => self.agent_moves(agent, from, to),
            Step::AgentRestarts(agent) => self.agents[agent] = self.bucket.client(),
            Step::Sync(host) => drop(self.synced(host, &SyncPlan::default())),
            Step::SyncAll(host) => drop(self.synced(host, &SyncPlan { checksum: true, ..SyncPlan::default() })),
            Step::SyncMeanwhile(host, phase, note) => self.sync_meanwhile(host, phase, note),
            Step::SyncMeanwhileAgent(host, phase, note) => self.sync_meanwhile_agent(host, phase, note),
            Step::SyncHalfListed(host) => self.sync_half_listed(host),
            Step::SyncKilled(host, op, nth, after) => self.sync_killed(host, op, nth, after),
            Step::MovedAside(host, note) => self.move_aside(host, note),
            Step::Fails(op, nth, fault) => self.bucket.fail(op, nth, fault),
            Step::LoseState(host) => self.hosts[host].lose_state(),
            Step::StaleHint => self.bucket.age_hint(),
            Step::ClockJumps(host, hours) => self.hosts[host].clock += i64::from(hours),
            Step::StoreClockJumps(hours) => self.bucket.clock_jumps(hours),
            Step::Damaged(kind, damage, host) => self.damaged(kind, damage, host),
            Step::Collect => self.collect(),
            Step::Backup => self.backup = Some((self.bucket.copy(), self.owed.clone())),
            Step::Restore => self.restore(),
        }
    }

    /// Lets everything settle; returns what is wrong then.
    pub fn end(mut self) -> Result<(), String> {
        self.bucket.faults.heal();
        // Late requests arrive now.
        self.runtime.block_on(async { tokio::time::sleep(Duration::from_secs(60)).await });
        let did_nothing = |summary: Summary| {
            let (pushed, pulled) = (summary.pushed, summary.pulled);
            pushed == pulled && pushed.added + pushed.changed + pushed.removed == 0
        };
        let rests = (0..8).any(|_| {
            // Each host syncs, whatever the others did.
            let restless = |host: &usize| !self.synced(*host, &SyncPlan::default()).is_some_and(did_nothing);
            (0..HOSTS).filter(restless).count() == 0
        });
        if !rests {
            return Err("folders and mirror do not come to rest".to_owned());
        }
        if !self.useless.is_empty() {
            return Err(format!("useless conflict copies: {:?}", self.useless));
        }
        let history = self.bucket.history(self.was_damaged);
        let head: BTreeMap<_, _> =
            self.bucket.head().into_iter().filter(|(path, _)| !path.starts_with(".trash/")).collect();
        for folder in self.hosts.iter().map(Host::texts) {
            if folder != head {
                return Err(format!("a folder and the mirror differ:\n{folder:#?}\n{head:#?}"));
            }
        }
        let mut kept = Blocks::new();
        for text in head.values().chain(&history) {
            kept.append(&mut blocks(text)?);
        }
        let shown: Blocks = head.values().filter_map(|text| blocks(text).ok()).flatten().collect();
        if let Some(block) = self.owed.iter().find(|block| !shown.contains(*block) && !self.replaced.contains(*block)) {
            return Err(format!("only in the history, and nobody has replaced it: {block:?}"));
        }
        let unsynced = self.hosts.into_iter().flat_map(|host| host.unsynced.into_values().flatten());
        match self.owed.into_iter().chain(unsynced).filter(|block| !kept.contains(block)).collect::<Vec<_>>() {
            lost if lost.is_empty() => Ok(()),
            lost => Err(format!("lost: {lost:?}")),
        }
    }

    /// A new block, by somebody.
    fn block(&mut self, who: char) -> String {
        self.written += 1;
        block(who, self.written)
    }

    /// Records that somebody who sees these blocks replaces or deletes them.
    fn replaced(&mut self, blocks: Blocks) {
        self.replaced.extend(blocks);
    }

    fn person_writes(&mut self, host: usize, note: usize) {
        let block = self.block('p');
        self.replaced(self.hosts[host].shown(NOTES[note]));
        self.makes_room(host, note);
        save(&self.hosts[host].root(), NOTES[note], &block, self.written);
        self.hosts[host].unsynced.insert(NOTES[note].to_owned(), Blocks::from([block]));
    }

    fn person_adds(&mut self, host: usize, note: usize, added: impl Fn(String, &str) -> String) {
        let block = self.block('p');
        let text = added(self.hosts[host].text(NOTES[note]), &block);
        self.makes_room(host, note);
        save(&self.hosts[host].root(), NOTES[note], &text, self.written);
        self.hosts[host].unsynced.entry(NOTES[note].to_owned()).or_default().insert(block);
    }

    /// Records that notes in the way of a note are replaced by somebody who sees them.
    fn makes_room(&mut self, host: usize, note: usize) {
        for (path, blocks) in self.hosts[host].in_the_way(NOTES[note]) {
            self.hosts[host].unsynced.remove(&path);
            self.replaced(blocks);
        }
    }

    fn person_deletes(&mut self, host: usize, note: usize) {
        self.replaced(self.hosts[host].shown(NOTES[note]));
        self.hosts[host].delete(NOTES[note]);
    }

    fn person_renames(&mut self, host: usize, from: usize, to: usize) {
        if from != to {
            self.replaced(self.hosts[host].shown(NOTES[to]));
        }
        self.hosts[host].rename(NOTES[from], NOTES[to]);
    }

    fn send(&self, agent: usize, method: Method, note: usize, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.runtime.block_on(self.agents[agent].send(request(method, "notes", note, headers, body)))
    }

    fn agent_reads(&mut self, agent: usize, note: usize) {
        let reply = self.send(agent, Method::GET, note, &[], &Value::Null);
        self.remember(agent, note, &reply);
    }

    fn remember(&mut self, agent: usize, note: usize, reply: &Reply) {
        match reply.header("etag").filter(|_| reply.status.is_success()) {
            Some(etag) => drop(self.seen[agent].insert(note, etag.to_owned())),
            None => drop(self.seen[agent].remove(&note)),
        }
    }

    fn agent_deletes(&mut self, agent: usize, note: usize) {
        self.agent_replaces(note);
        self.send(agent, Method::DELETE, note, &[], &Value::Null);
    }

    /// Not over another note, which is refused.
    fn agent_moves(&mut self, agent: usize, from: usize, to: usize) {
        let moved = request(Method::POST, "move", from, &[], &json!({ "to": NOTES[to] }));
        self.runtime.block_on(self.agents[agent].send(moved));
    }

    /// Records that the note's blocks may be replaced now, knowingly.
    fn agent_replaces(&mut self, note: usize) {
        let text = self.bucket.head().remove(NOTES[note]).unwrap_or_default();
        self.replaced(blocks(&text).unwrap());
    }

    fn agent_puts(&mut self, agent: usize, note: usize) {
        let block = self.block('a');
        if self.seen[agent].contains_key(&note) {
            self.agent_replaces(note);
        }
        let condition = self.seen[agent].get(&note).map_or(("if-none-match", "*"), |etag| ("if-match", etag));
        let reply = self.send(agent, Method::PUT, note, &[condition], &json!({ "content": block }));
        self.agent_is_told(agent, note, &reply, block);
    }

    fn agent_appends(&mut self, agent: usize, note: usize) {
        let block = self.block('a');
        let reply = self.send(agent, Method::POST, note, &[], &json!({ "content": block }));
        self.agent_is_told(agent, note, &reply, block);
    }

    fn agent_prepends(&mut self, agent: usize, note: usize) {
        let block = self.block('a');
        let edits = json!({ "edits": [{ "op": "prepend", "text": block }] });
        let reply = self.send(agent, Method::PATCH, note, &[], &edits);
        self.agent_is_told(agent, note, &reply, block);
    }

    fn agent_is_told(&mut self, agent: usize, note: usize, reply: &Reply, block: String) {
        self.remember(agent, note, reply);
        if reply.status.is_success() {
            self.owed.insert(block);
        }
    }

    fn sync_meanwhile(&mut self, host: usize, phase: Phase, note: usize) {
        let block = self.block('p');
        let (root, number, text) = (self.hosts[host].root(), self.written, block.clone());
        let before = self.hosts[host].unsynced.get(NOTES[note]).cloned().unwrap_or_default();
        let saved = Arc::new(Mutex::new(None));
        let told = saved.clone();
        let act = move || {
            // Nobody replaces a note by a folder, or a folder by a note, without looking.
            let path = root.join(NOTES[note]);
            if path.is_dir() || path.parent().is_some_and(Path::is_file) {
                return;
            }
            let over = fs::read_to_string(&path).unwrap_or_default();
            save(&root, NOTES[note], &text, number);
            *told.lock().unwrap() = Some(over);
        };
        let useless = self.useless.len();
        self.synced(host, &SyncPlan::meanwhile(phase, 0, act));
        // The person touched the note meanwhile.
        self.useless.truncate(useless);
        if let Some(over) = &*saved.lock().unwrap() {
            self.replaced(blocks(over).unwrap_or_default());
            // Their earlier save is overwritten, and this sync may or may not have carried it.
            self.owed.retain(|block| !before.contains(block));
            self.replaced(before);
            self.hosts[host].unsynced.insert(NOTES[note].to_owned(), Blocks::from([block]));
        }
    }

    fn sync_meanwhile_agent(&mut self, host: usize, phase: Phase, note: usize) {
        let block = self.block('a');
        let (faults, text) = (self.bucket.faults.clone(), block.clone());
        let accepted = Arc::new(Mutex::new(false));
        let told = accepted.clone();
        let act = move || {
            // On another thread, since this one runs the sync.
            let (faults, text) = (faults.clone(), text.clone());
            let write = move || {
                let request = request(Method::POST, "notes", note, &[], &json!({ "content": text }));
                runtime().block_on(client(&faults).send(request)).status.is_success()
            };
            *told.lock().unwrap() = std::thread::spawn(write).join().unwrap();
        };
        self.synced(host, &SyncPlan::meanwhile(phase, 0, act));
        if *accepted.lock().unwrap() {
            self.owed.insert(block);
        }
    }

    fn sync_half_listed(&mut self, host: usize) {
        let (from, to) = (self.hosts[host].root().join("f"), self.hosts[host].away());
        let (back_from, back_to) = (to.clone(), from.clone());
        // It is listed in its parent, but cannot be opened.
        let act = move || drop(fs::rename(&from, &to));
        // A refusal is left to the next sync.
        let plan = SyncPlan::meanwhile(Phase::Scan, 1, act);
        if let Some(Ok(summary)) =
            self.hosts[host].sync(&self.bucket.mirror(), &self.bucket.faults, &plan, false, false)
        {
            self.carried(host, &summary);
        }
        if back_from.exists() {
            assert!(!back_to.exists(), "something was written below a folder that could not be listed");
            fs::rename(back_from, back_to).unwrap();
        }
    }

    fn sync_killed(&mut self, host: usize, op: Op, nth: usize, after: bool) {
        let fault = if after { Fault::SilenceAfter } else { Fault::Silence };
        self.bucket.faults.script(op, "", std::iter::repeat_n(None, nth).chain([Some(fault)]));
        self.synced(host, &SyncPlan { killed: true, ..SyncPlan::default() });
        self.bucket.faults.heal();
    }

    fn move_aside(&mut self, host: usize, note: usize) {
        // At its old path, the person may write another.
        self.replaced(self.hosts[host].shown(NOTES[note]));
        self.hosts[host].move_aside(NOTES[note]);
    }

    /// Syncs with `plan`; after a refusal, follows its advice, as an operator would.
    pub(super) fn synced(&mut self, host: usize, plan: &SyncPlan) -> Option<Summary> {
        let (mut allow_mass_delete, mut join) = (false, false);
        for _ in 0..100 {
            let (mirror, faults) = (self.bucket.mirror(), &self.bucket.faults);
            let summary = match self.hosts[host].sync(&mirror, faults, plan, allow_mass_delete, join)? {
                Ok(summary) => summary,
                Err(SyncError::Danger(Danger::OtherMirror { .. } | Danger::Forgotten { .. })) => {
                    self.hosts[host].lose_state();
                    continue;
                }
                // The operator knows that it is the right mirror.
                Err(SyncError::Danger(Danger::Unrelated { .. })) => {
                    join = true;
                    continue;
                }
                // The operator confirms the deletion of all files.
                Err(SyncError::Danger(Danger::Emptied { .. } | Danger::MassDeletion { .. })) => {
                    allow_mass_delete = true;
                    continue;
                }
                // A process that another test starts briefly has all open files, including the lock.
                Err(SyncError::Locked { .. }) => {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                Err(_) => return None,
            };
            let is_touched = |path: &String| self.hosts[host].unsynced.contains_key(path);
            let untouched = summary.conflicts.iter().filter(|one| !one.is_folder && !is_touched(&one.path));
            self.useless.extend(untouched.filter(|_| self.has_all_history).map(|one| one.path.clone()));
            self.carried(host, &summary);
            return Some(summary);
        }
        panic!("a sync is refused again and again");
    }

    fn carried(&mut self, host: usize, summary: &Summary) {
        let carried = self.hosts[host].carried(summary);
        self.owed.extend(carried);
    }
}

fn request(method: Method, route: &str, note: usize, headers: &[(&str, &str)], body: &Value) -> Request<Body> {
    let uri = format!("/{route}/{}", encoded(NOTES[note]));
    let mut request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    request.body(body).unwrap()
}
