//! The environment of operations: the vaults, and what the deployment configures.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atlas_access::{Acl, Caller, Scopes, ThrottleConfig, Visibility};
pub use atlas_mirror::counters::Counts;
use atlas_mirror::{Forgotten, Mirror, Snapshot};
use atlas_vault::VaultPath;

use crate::about::About;
use crate::app::Reach;
use crate::arguments::Root;
use crate::error::{Error, Reason};
use crate::pipeline::audit::Audit;
use crate::pipeline::throttle::Throttle;
use crate::pipeline::traces::Tally;
use crate::read::link_tables::LinkTables;
use crate::read::made_facts::MadeFacts;
use crate::read::network::Networks;
use crate::read::view::{Readings, View};
use crate::services::Services;

/// The vaults of one deployment and its limits.
#[derive(Clone)]
pub struct Atlas {
    vaults: Arc<[Vault]>,
    /// The limits of every call.
    pub limits: Limits,
    /// Receives an event for each call.
    pub audit: Audit,
    /// The limits on how often callers may call.
    pub throttle: Arc<Throttle>,
    /// Which operations are offered.
    pub visibility: Arc<Visibility>,
    /// The configuration of the current context.
    pub current: Arc<CurrentContext>,
    /// The program's description of itself.
    pub about: About,
    /// Scales pictures down, if the program can.
    pub scale_picture: Option<ScalePicture>,
    /// The services outside that operations may call.
    pub services: Arc<Services>,
    /// Whether `query` answers other questions than the specification's, with passages.
    pub query_passages: bool,
    /// How much was left of each session.
    pub tally: Arc<Tally>,
}

/// Converts a picture of any format to a JPEG of at most the given bytes; [`None`] if it cannot be read, or exceeds
/// limits of its own.
pub type ScalePicture = fn(&[u8], usize) -> Option<Vec<u8>>;

/// The configuration of the current context: the notes about current matters, where a vault's layout differs from the
/// Atlas Local Bridge specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentContext {
    /// The note that the current context starts from; the specification's if [`None`].
    pub now: Option<NowNote>,
    /// Globs of the notes that always belong to it, in order; the specification's if [`None`].
    pub spine: Option<Vec<String>>,
    /// The time zone of today, by its IANA name; UTC if [`None`].
    pub time_zone: Option<String>,
    /// The language of dates in the names and texts of notes, as Obsidian's is; that of the vault's settings, or else
    /// English, if [`None`].
    pub locale: Option<String>,
}

impl fmt::Display for NowNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(path) => path.fmt(f),
            Self::Daily => f.write_str("daily"),
        }
    }
}

/// The note that the current context starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NowNote {
    /// The note at this path.
    At(VaultPath),
    /// Today's note, by the vault's settings of daily notes.
    Daily,
}

/// The folder of a vault's memory, where its configuration names none.
pub const MEMORY: &str = "memory";
/// The folder of a vault's prompts, where its configuration names none.
pub const PROMPTS: &str = "Prompts";

/// One vault.
#[derive(Clone)]
pub struct Vault {
    /// Its id.
    pub id: String,
    /// Its mirror.
    pub mirror: Mirror,
    /// How a running Obsidian that has it open is reached.
    pub app: Reach,
    name: Option<String>,
    memory: Root,
    prompts: Root,
    readings: Arc<Readings>,
    /// Cached links of its segments.
    pub(crate) links: Arc<LinkTables>,
    /// Cached facts of segments without sections of facts.
    pub(crate) made_facts: Arc<MadeFacts>,
    /// The cached graph of its notes.
    pub(crate) networks: Arc<Networks>,
}

impl Vault {
    /// The vault `id`, with the access list `acl`.
    pub fn new(id: impl Into<String>, mirror: Mirror, acl: Acl) -> Self {
        let readings = Arc::new(Readings::new(Arc::new(acl)));
        Self {
            id: id.into(),
            mirror,
            app: Reach::default(),
            name: None,
            memory: Root::below(MEMORY),
            prompts: Root::below(PROMPTS),
            readings,
            links: Arc::default(),
            made_facts: Arc::default(),
            networks: Arc::default(),
        }
    }

    /// The same vault with a display name.
    #[must_use]
    pub fn named(self, name: Option<String>) -> Self {
        Self { name, ..self }
    }

    /// The same with its memory and its prompts in these folders; [`None`] changes nothing.
    #[must_use]
    pub fn with_folders(self, memory: Option<&VaultPath>, prompts: Option<&VaultPath>) -> Self {
        let or = |folder: Option<&VaultPath>, usual| folder.map_or(usual, |folder| Root::below(folder.as_str()));
        let (memory, prompts) = (or(memory, self.memory), or(prompts, self.prompts));
        Self { memory, prompts, ..self }
    }

    /// The folder that has the entities of its memory.
    pub const fn memory(&self) -> &Root {
        &self.memory
    }

    /// The folder that has its prompts.
    pub const fn prompts(&self) -> &Root {
        &self.prompts
    }

    /// The same whose app is reached so.
    #[must_use]
    pub fn with_app(self, app: Reach) -> Self {
        Self { app, ..self }
    }

    /// Its display name; its id if it has none.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Its access list.
    pub fn acl(&self) -> &Acl {
        self.readings.acl()
    }

    /// Whether nobody can change it here: the deployment says so, or the store does, as far as that is known.
    pub fn is_read_only(&self) -> bool {
        self.acl().is_read_only() || self.mirror.refuses_writes()
    }

    /// Drops what this process holds in memory of the vault, whose newest generation is `head`. Nothing is lost: it is fetched or made again.
    pub fn forget(&self, head: &Snapshot) -> Forgotten {
        self.readings.clear();
        self.links.clear();
        self.made_facts.clear();
        self.networks.clear();
        self.mirror.forget(head)
    }

    /// `snapshot` as a caller with these scopes sees it.
    pub(crate) fn view(&self, snapshot: Arc<Snapshot>, caller: &Scopes) -> View {
        self.readings.view(snapshot, caller)
    }
}

/// Limits of a call, and its side effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one note in an answer.
    pub max_bytes: usize,
    /// Number of results if the call gives none.
    pub max_results: usize,
    /// Most bytes of an answer, as JSON. Within an operation it is lower if the door sends the answer as text.
    pub max_response_bytes: usize,
    /// Most bytes of text that one search reads.
    pub max_scanned_bytes: u64,
    /// Most time that one search reads text.
    pub max_scan_time: Duration,
    /// Most processor time of one call.
    pub max_cpu_time: Duration,
    /// Age from which the last sync of a vault counts as stale.
    pub max_sync_age: Duration,
    /// Whether `find` writes its results as a note into the vault.
    pub search_notes: bool,
    /// How long an idempotency key is remembered; a week at most.
    pub key_time: Duration,
    /// How long a confirmation is valid; a day at most.
    pub confirmation_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 250_000,
            max_results: 10,
            max_response_bytes: 1_000_000,
            max_scanned_bytes: 192 << 20,
            max_scan_time: Duration::from_secs(1),
            max_cpu_time: Duration::from_secs(5),
            max_sync_age: Duration::from_secs(3600),
            search_notes: false,
            key_time: Duration::from_secs(24 * 3600),
            confirmation_time: Duration::from_secs(300),
        }
    }
}

impl Atlas {
    /// A deployment of `vaults`, of which the first is the default, without a throttle.
    pub fn new(vaults: impl IntoIterator<Item = Vault>, limits: Limits) -> Self {
        let throttle = ThrottleConfig { enabled: false, ..ThrottleConfig::default() };
        let (throttle, visibility) = (Arc::new(Throttle::new(throttle)), Arc::default());
        let current = Arc::default();
        let about = About::default();
        Self {
            vaults: vaults.into_iter().collect(),
            limits,
            audit: Audit::default(),
            throttle,
            visibility,
            current,
            about,
            scale_picture: None,
            services: Arc::default(),
            query_passages: false,
            tally: Arc::default(),
        }
    }

    /// The same deployment, throttled as in `config`.
    #[must_use]
    pub fn with_throttle(self, config: ThrottleConfig) -> Self {
        Self { throttle: Arc::new(Throttle::new(config)), ..self }
    }

    /// The same deployment with one more vault.
    #[must_use]
    pub fn with(&self, vault: Option<Vault>) -> Self {
        match vault {
            Some(vault) => Self { vaults: self.vaults.iter().cloned().chain([vault]).collect(), ..self.clone() },
            None => self.clone(),
        }
    }

    /// The same deployment, with its own counters of requests to stores.
    #[must_use]
    pub fn metered(&self) -> Self {
        let metered = |vault: &Vault| Vault { mirror: vault.mirror.metered(), ..vault.clone() };
        Self { vaults: self.vaults.iter().map(metered).collect(), ..self.clone() }
    }

    /// The counted requests to stores.
    pub fn counts(&self) -> Counts {
        self.vaults.iter().fold(Counts::default(), |sum, vault| {
            let counts = vault.mirror.counts();
            Counts {
                requests: sum.requests + counts.requests,
                bytes_read: sum.bytes_read + counts.bytes_read,
                bytes_written: sum.bytes_written + counts.bytes_written,
                waves: sum.waves.max(counts.waves),
            }
        })
    }

    /// The vaults, the default one first.
    pub fn vaults(&self) -> &[Vault] {
        &self.vaults
    }

    /// The vaults that `caller` may name, the default one first.
    pub fn vaults_of<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a Vault> {
        let default = self.vaults.first().map(|vault| vault.id.as_str()).unwrap_or_default();
        self.vaults.iter().filter(move |vault| caller.may_name(&vault.id, default))
    }

    /// The vault called `id`, or the default one.
    pub fn vault(&self, id: Option<&str>) -> Result<&Vault, Error> {
        let found = match id {
            Some(id) => self.vaults.iter().find(|vault| vault.id == id),
            None => self.vaults.first(),
        };
        found.ok_or_else(|| Error::not_found(Reason::VaultNotFound, "there is no such vault"))
    }
}
