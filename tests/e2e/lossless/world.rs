//! Agents, a person, a folder and a bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use atlas_mirror::{Mirror, Options, PartCache, Retention, Store, StoreOptions};
use atlas_sync::{Danger, Phase, Progress, Summary, SyncError, SyncOptions, sync};
use atlas_testkit::notes::contents;
use atlas_testkit::{AgingStore, Fault, FaultStore, Op};
use axum::body::Body;
use axum::http::{Method, Request};
use bytes::Bytes;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use object_store::memory::InMemory;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::step::{AGENTS, NOTES, Step};
use crate::deployment::{Client, Reply, encoded};

/// What is in a note: blocks, each written at once by one of them.
type Blocks = BTreeSet<String>;

pub struct World {
    /// Of the agents; each sync has its own, which ends with it.
    runtime: Runtime,
    objects: Arc<AgingStore>,
    faults: Arc<FaultStore>,
    agents: Vec<Client>,
    /// The versions that each agent saw last.
    seen: Vec<BTreeMap<usize, String>>,
    places: TempDir,
    /// Blocks written so far.
    written: usize,
    /// What must be somewhere in the end.
    owed: Blocks,
    /// What an agent wrote and nobody has seen or replaced since: it must stay in a note or in a copy, not only in the history.
    unseen: Blocks,
    /// What the person saved and no sync has carried yet: theirs to overwrite.
    unsynced: BTreeMap<String, Blocks>,
    backup: Option<(Vec<(object_store::path::Path, Bytes)>, Blocks)>,
}

impl World {
    pub fn new() -> Self {
        let objects = AgingStore::new(Arc::new(InMemory::new()));
        let faults = FaultStore::new(objects.clone());
        // Where it is in memory, the many small syncs do not wait for a disk.
        let memory = Path::new("/dev/shm");
        let places = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let mut world = Self {
            runtime: runtime(),
            agents: (0..AGENTS).map(|_| Client::over(&store(&faults))).collect(),
            objects,
            faults,
            seen: vec![BTreeMap::new(); AGENTS],
            places,
            written: 0,
            owed: Blocks::new(),
            unseen: Blocks::new(),
            unsynced: BTreeMap::new(),
            backup: None,
        };
        fs::create_dir(world.root()).unwrap();
        world.person_writes(0);
        world.person_writes(2);
        world.synced(&SyncPlan::default());
        world
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::PersonWrites(note) => self.person_writes(note),
            Step::PersonAppends(note) => self.person_appends(note),
            Step::PersonDeletes(note) => self.person_deletes(note),
            Step::PersonRenames(from, to) => self.person_renames(from, to),
            Step::AgentReads(agent, note) => self.agent_reads(agent, note),
            Step::AgentPuts(agent, note) => self.agent_puts(agent, note),
            Step::AgentAppends(agent, note) => self.agent_appends(agent, note),
            Step::AgentDeletes(agent, note) => self.agent_deletes(agent, note),
            Step::AgentRestarts(agent) => self.agents[agent] = Client::over(&store(&self.faults)),
            Step::Sync => drop(self.synced(&SyncPlan::default())),
            Step::SyncAll => drop(self.synced(&SyncPlan { checksum: true, ..SyncPlan::default() })),
            Step::SyncMeanwhile(phase, note) => self.sync_meanwhile(phase, note),
            Step::SyncMeanwhileAgent(phase, note) => self.sync_meanwhile_agent(phase, note),
            Step::SyncHalfListed => self.sync_half_listed(),
            Step::SyncKilled(op, nth, after) => self.sync_killed(op, nth, after),
            Step::MovedAside(note) => self.move_aside(note),
            Step::Fails(op, nth, fault) => self.fail(op, nth, fault),
            Step::LoseState => self.lose_state(),
            Step::StaleHint => self.age_hint(),
            Step::Collect => self.collect(),
            Step::Backup => self.backup = Some((self.all_objects(), self.owed.clone())),
            Step::Restore => self.restore(),
        }
    }

    /// Lets everything come to rest. What is wrong then.
    pub fn end(mut self) -> Result<(), String> {
        self.faults.heal();
        // What is late lands now.
        self.runtime.block_on(async { tokio::time::sleep(Duration::from_secs(60)).await });
        let rests = (0..8).any(|_| {
            let summary = self.synced(&SyncPlan::default());
            summary.is_some_and(|summary| {
                summary.pushed == summary.pulled
                    && summary.pushed.added + summary.pushed.changed + summary.pushed.removed == 0
            })
        });
        if !rests {
            return Err("folder and mirror do not come to rest".to_owned());
        }
        let folder = texts_below(&self.root());
        let (head, history) = runtime().block_on(self.history());
        let head: BTreeMap<_, _> = head.into_iter().filter(|(path, _)| !path.starts_with(".trash/")).collect();
        if folder != head {
            return Err(format!("the folder and the mirror differ:\n{folder:#?}\n{head:#?}"));
        }
        let mut kept = Blocks::new();
        for text in folder.values().chain(&history) {
            kept.append(&mut blocks(text)?);
        }
        let shown: Blocks = folder.values().filter_map(|text| blocks(text).ok()).flatten().collect();
        if let Some(block) = self.unseen.iter().find(|block| !shown.contains(*block)) {
            return Err(format!("only in the history, and nobody has seen it: {block:?}"));
        }
        let owed = self.owed.into_iter().chain(self.unsynced.into_values().flatten());
        match owed.filter(|block| !kept.contains(block)).collect::<Vec<_>>() {
            lost if lost.is_empty() => Ok(()),
            lost => Err(format!("lost: {lost:?}")),
        }
    }

    /// What the newest generation has, and the text of every version that any has.
    async fn history(&self) -> (BTreeMap<String, String>, BTreeSet<String>) {
        let mirror = self.mirror();
        let head = mirror.head().await.unwrap();
        let generations = mirror.history(head.generation(), usize::MAX).await.unwrap();
        let mut all = BTreeSet::new();
        for snapshot in &generations {
            all.extend(contents(snapshot).await.unwrap().into_values());
        }
        (contents(&head).await.unwrap(), all)
    }

    fn mirror(&self) -> Mirror {
        let cache = Arc::new(PartCache::new(64 << 20));
        Mirror::open(store(&self.faults), "main".parse().unwrap(), cache, Options::default()).unwrap()
    }

    fn root(&self) -> PathBuf {
        self.places.path().join("vault")
    }

    /// A new block, by somebody.
    fn block(&mut self, who: char) -> String {
        self.written += 1;
        block(who, self.written)
    }

    fn save(&mut self, note: usize, text: &str) {
        save(&self.root(), NOTES[note], text, self.written);
    }

    fn person_writes(&mut self, note: usize) {
        let block = self.block('p');
        self.save(note, &block);
        self.unsynced.insert(NOTES[note].to_owned(), Blocks::from([block]));
    }

    fn person_appends(&mut self, note: usize) {
        let block = self.block('p');
        let before = fs::read_to_string(self.root().join(NOTES[note])).unwrap_or_default();
        self.save(note, &format!("{before}{block}"));
        self.unsynced.entry(NOTES[note].to_owned()).or_default().insert(block);
    }

    fn person_deletes(&mut self, note: usize) {
        if fs::remove_file(self.root().join(NOTES[note])).is_ok() {
            self.unsynced.remove(NOTES[note]);
        }
    }

    fn person_renames(&mut self, from: usize, to: usize) {
        let (root, from, to) = (self.root(), NOTES[from], NOTES[to]);
        fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
        if from != to && fs::rename(root.join(from), root.join(to)).is_ok() {
            let moved = self.unsynced.remove(from).unwrap_or_default();
            self.unsynced.insert(to.to_owned(), moved);
        }
    }

    fn send(&self, agent: usize, method: Method, note: usize, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.runtime.block_on(self.agents[agent].send(request(method, note, headers, body)))
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

    /// What the note has may be replaced now, by one who knows.
    fn agent_replaces(&mut self, note: usize) {
        let text = self.head().remove(NOTES[note]).unwrap_or_default();
        for block in blocks(&text).unwrap() {
            self.unseen.remove(&block);
        }
    }

    /// What the mirror has.
    fn head(&self) -> BTreeMap<String, String> {
        let store = Store::new(self.objects.clone(), "", StoreOptions::default()).unwrap();
        let cache = Arc::new(PartCache::new(0));
        let mirror = Mirror::open(store, "main".parse().unwrap(), cache, Options::default()).unwrap();
        runtime().block_on(async { contents(&mirror.head().await.unwrap()).await.unwrap() })
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

    fn agent_is_told(&mut self, agent: usize, note: usize, reply: &Reply, block: String) {
        self.remember(agent, note, reply);
        if reply.status.is_success() {
            self.unseen.insert(block.clone());
            self.owed.insert(block);
        }
    }

    fn sync_meanwhile(&mut self, phase: Phase, note: usize) {
        let block = self.block('p');
        let (root, number, text) = (self.root(), self.written, block.clone());
        let before = self.unsynced.clone();
        let saved = Arc::new(Mutex::new(None));
        let told = saved.clone();
        let act = move || {
            let over = fs::read_to_string(root.join(NOTES[note])).unwrap_or_default();
            save(&root, NOTES[note], &text, number);
            *told.lock().unwrap() = Some(over);
        };
        self.synced(&SyncPlan { meanwhile: Some(Arc::new(When::new(phase, 0, act))), ..SyncPlan::default() });
        if let Some(over) = &*saved.lock().unwrap() {
            for block in blocks(over).unwrap_or_default() {
                self.unseen.remove(&block);
            }
            // What they saved before over that was theirs, and this sync may or may not have come to it.
            if let Some(was) = before.get(NOTES[note]) {
                self.owed.retain(|block| !was.contains(block));
            }
            self.unsynced.insert(NOTES[note].to_owned(), Blocks::from([block]));
        }
    }

    fn sync_meanwhile_agent(&mut self, phase: Phase, note: usize) {
        let block = self.block('a');
        let (faults, text) = (self.faults.clone(), block.clone());
        let accepted = Arc::new(Mutex::new(false));
        let told = accepted.clone();
        let act = move || {
            // On a thread of its own, since this one runs the sync.
            let (faults, text) = (faults.clone(), text.clone());
            let write = move || {
                let request = request(Method::POST, note, &[], &json!({ "content": text }));
                runtime().block_on(Client::over(&store(&faults)).send(request)).status.is_success()
            };
            *told.lock().unwrap() = std::thread::spawn(write).join().unwrap();
        };
        self.synced(&SyncPlan { meanwhile: Some(Arc::new(When::new(phase, 0, act))), ..SyncPlan::default() });
        if *accepted.lock().unwrap() {
            self.unseen.insert(block.clone());
            self.owed.insert(block);
            // It may have come to the folder already.
            self.person_looks();
        }
    }

    fn sync_half_listed(&mut self) {
        let (from, to) = (self.root().join("f"), self.places.path().join("away"));
        let (back_from, back_to) = (to.clone(), from.clone());
        // Listed in its parent, and then it cannot be opened.
        let act = move || drop(fs::rename(&from, &to));
        let plan = SyncPlan { meanwhile: Some(Arc::new(When::new(Phase::Scan, 1, act))), ..SyncPlan::default() };
        // A refusal is left to the next.
        if let Some(Ok(summary)) = self.run(&plan, false) {
            self.carried(&summary);
        }
        if back_from.exists() {
            assert!(!back_to.exists(), "something was written below a folder that could not be listed");
            fs::rename(back_from, back_to).unwrap();
        }
    }

    fn sync_killed(&mut self, op: Op, nth: usize, after: bool) {
        let fault = if after { Fault::SilenceAfter } else { Fault::Silence };
        self.faults.script(op, "", std::iter::repeat_n(None, nth).chain([Some(fault)]));
        self.synced(&SyncPlan { killed: true, ..SyncPlan::default() });
        self.faults.heal();
    }

    fn move_aside(&mut self, note: usize) {
        let aside = self.root().join(".atlas-mirror/aside").join(NOTES[note]);
        fs::create_dir_all(aside.parent().unwrap()).unwrap();
        if !aside.exists() {
            // There may be none.
            let _ = fs::rename(self.root().join(NOTES[note]), aside);
        }
    }

    fn fail(&self, op: Op, nth: usize, fault: Fault) {
        let fits = match fault {
            Fault::OwnSuccess => op == Op::Create,
            Fault::Truncated => matches!(op, Op::Get | Op::Range),
            _ => true,
        };
        if fits {
            self.faults.script(op, "", std::iter::repeat_n(None, nth).chain([Some(fault)]));
        }
    }

    fn lose_state(&self) {
        // There may be none.
        let _ = fs::remove_dir_all(self.places.path().join("state"));
    }

    fn age_hint(&self) {
        let mirror = self.mirror();
        let keys = mirror.keys();
        runtime().block_on(async {
            match self.objects.get(&keys.manifest(1)).await {
                Ok(first) => {
                    let first = first.bytes().await.unwrap();
                    drop(self.objects.put(&keys.latest(), first.into()).await.unwrap());
                }
                Err(_) => drop(self.objects.delete(&keys.latest()).await),
            }
        });
    }

    fn all_objects(&self) -> Vec<(object_store::path::Path, Bytes)> {
        runtime().block_on(async {
            let listed: Vec<_> = self.objects.list(None).try_collect().await.unwrap();
            let mut all = Vec::new();
            for object in listed {
                let bytes = self.objects.get(&object.location).await.unwrap().bytes().await.unwrap();
                all.push((object.location, bytes));
            }
            all
        })
    }

    fn collect(&mut self) {
        // What was replaced or deleted by now may go with its month.
        let there: Blocks = self.head().into_values().flat_map(|text| blocks(&text).unwrap()).collect();
        self.objects.pass(Duration::from_secs(31 * 24 * 3600));
        self.owed.retain(|block| there.contains(block));
        self.backup = None;
        self.synced(&SyncPlan { collect: true, ..SyncPlan::default() });
    }

    fn restore(&mut self) {
        let Some((objects, owed)) = self.backup.clone() else { return };
        runtime().block_on(async {
            let listed: Vec<_> = self.objects.list(None).try_collect().await.unwrap();
            for object in listed {
                self.objects.delete(&object.location).await.unwrap();
            }
            for (key, bytes) in objects {
                self.objects.put(&key, bytes.into()).await.unwrap();
            }
        });
        // What the bucket got since is only in the folder now, where it is the person's to overwrite.
        for (path, text) in texts_below(&self.root()) {
            let since = blocks(&text).unwrap_or_default().into_iter().filter(|block| !owed.contains(block));
            self.unsynced.entry(path).or_default().extend(since);
        }
        self.unseen.retain(|block| owed.contains(block));
        self.owed = owed;
    }

    /// Syncs as `plan` says; as its operator would, after a refusal that says what to do about it.
    fn synced(&mut self, plan: &SyncPlan) -> Option<Summary> {
        let mut allow_mass_delete = false;
        for _ in 0..100 {
            let summary = match self.run(plan, allow_mass_delete)? {
                Ok(summary) => summary,
                Err(SyncError::Danger(Danger::OtherMirror { .. })) => {
                    self.lose_state();
                    continue;
                }
                // They have deleted all, and say so.
                Err(SyncError::Danger(Danger::Emptied { .. } | Danger::MassDeletion { .. })) => {
                    allow_mass_delete = true;
                    continue;
                }
                // A program that another test starts has all open files for a moment, and so the lock.
                Err(SyncError::Locked { .. }) => {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                Err(_) => return None,
            };
            self.carried(&summary);
            return Some(summary);
        }
        panic!("a sync is refused again and again");
    }

    /// What a sync that completed did not skip, it has carried.
    fn carried(&mut self, summary: &Summary) {
        let skipped: BTreeSet<&str> = summary.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
        let is_skipped =
            |path: &str| skipped.iter().any(|skipped| *skipped == path || path.starts_with(&format!("{skipped}/")));
        for (path, blocks) in std::mem::take(&mut self.unsynced) {
            if is_skipped(&path) {
                self.unsynced.insert(path, blocks);
            } else {
                self.owed.extend(blocks);
            }
        }
        self.person_looks();
    }

    /// What is in the folder, the person has seen.
    fn person_looks(&mut self) {
        for text in texts_below(&self.root()).into_values() {
            for block in blocks(&text).unwrap_or_default() {
                self.unseen.remove(&block);
            }
        }
    }

    /// [`None`] if it was killed.
    fn run(&self, plan: &SyncPlan, allow_mass_delete: bool) -> Option<Result<Summary, SyncError>> {
        let state = self.places.path().join("state");
        let options = SyncOptions::new(self.root(), state, "person".to_owned(), Timestamp::now());
        let collect = plan.collect.then_some(Retention { generations: 1, ..Retention::default() });
        let options = SyncOptions { checksum: plan.checksum, collect, allow_mass_delete, ..options };
        let progress: Arc<dyn Progress> = plan.meanwhile.clone().unwrap_or_else(|| Arc::new(()));
        let mirror = self.mirror();
        // Dropped at its end, which waits for what it has begun on other threads.
        runtime().block_on(async {
            let syncing = sync(&mirror, &options, progress);
            if plan.killed {
                tokio::select! {
                    biased;
                    () = self.faults.silent() => None,
                    done = syncing => Some(done),
                }
            } else {
                Some(syncing.await)
            }
        })
    }
}

/// How to sync.
#[derive(Default)]
struct SyncPlan {
    checksum: bool,
    collect: bool,
    /// At the first request without an answer.
    killed: bool,
    meanwhile: Option<Arc<dyn Progress>>,
}

/// Acts once: at the so manieth word of a phase, of which its beginning is the first.
struct When<F> {
    phase: Phase,
    calls: Mutex<(bool, usize)>,
    act: F,
}

impl<F: Fn()> When<F> {
    fn new(phase: Phase, call: usize, act: F) -> Self {
        Self { phase, calls: Mutex::new((false, call)), act }
    }

    fn word(&self) {
        let mut calls = self.calls.lock().unwrap();
        let (inside, left) = *calls;
        if inside && left < usize::MAX {
            calls.1 = left.wrapping_sub(1);
            if left == 0 {
                (self.act)();
            }
        }
    }
}

impl<F: Fn() + Send + Sync> Progress for When<F> {
    fn begin(&self, phase: Phase, _: Option<u64>) {
        self.calls.lock().unwrap().0 = phase == self.phase;
        self.word();
    }

    fn advance(&self, _: u64) {
        self.word();
    }
}

fn request(method: Method, note: usize, headers: &[(&str, &str)], body: &Value) -> Request<Body> {
    let uri = format!("/notes/{}", encoded(NOTES[note]));
    let mut request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    request.body(body).unwrap()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

fn store(faults: &Arc<FaultStore>) -> Store {
    Store::new(faults.clone(), "", StoreOptions::default()).unwrap()
}

/// Long enough to be seen to be torn.
fn block(who: char, number: usize) -> String {
    format!("{who}{number} {} end of {who}{number}\n", "words ".repeat(10))
}

/// The blocks of a text, which has nothing else.
fn blocks(text: &str) -> Result<Blocks, String> {
    let whole = |line: &str| {
        let name = line.split(' ').next().unwrap_or_default();
        let who = name.chars().next()?;
        let number = name.get(1..)?.parse().ok()?;
        Some(block(who, number)).filter(|block| block.trim_end() == line)
    };
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut blocks = Blocks::new();
    for line in lines {
        let block = whole(line).ok_or_else(|| format!("a text is torn: {text:?}"))?;
        if !blocks.insert(block) {
            return Err(format!("a text is there twice: {text:?}"));
        }
    }
    Ok(blocks)
}

/// Saves a file, as editors do: whole. Each has a time of its own, as on a disk that counts finely.
fn save(root: &Path, path: &str, text: &str, number: usize) {
    let (path, draft) = (root.join(path), root.with_extension("draft"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&draft, text).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number as u64);
    fs::File::options().append(true).open(&draft).unwrap().set_modified(time).unwrap();
    fs::rename(draft, path).unwrap();
}

/// All notes of the folder, by path.
fn texts_below(root: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !name.starts_with('.') {
                folders.push(path);
            } else if path.is_file() {
                texts.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    texts
}
