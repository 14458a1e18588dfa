//! What a run keeps below the vault's `state/builds/`, as JSON. All but [`Published`] is created once, so that a repeated step finds what
//! the first one made.

use atlas_mirror::manifest::Changes;
use atlas_mirror::{Hash, Id, Mirror, SegmentId};
use atlas_segment::{Kind, Layout};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::BuildError;
use crate::source::Range;

/// Most bytes of one record.
const MAX_RECORD: u64 = 128 << 20;
/// Longest name of a run.
const MAX_RUN: usize = 100;
/// The folder of all records.
const FOLDER: &str = "builds";

/// A shard to build: one item of the map. The plan is a list of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The vault.
    pub vault: String,
    /// The run.
    pub run: String,
    /// Its number, from 0.
    pub shard: u32,
    /// The run that was published last, which the source is compared with.
    #[serde(default)]
    pub base: Option<String>,
    /// The key before its first.
    #[serde(default)]
    pub after: Option<String>,
    /// Its last key.
    #[serde(default)]
    pub upto: Option<String>,
}

impl Shard {
    /// Its keys.
    pub fn range(&self) -> Range {
        Range { after: self.after.clone(), upto: self.upto.clone() }
    }
}

/// A file as a run found it: what the next run compares with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its key below the source's folder.
    pub key: String,
    /// Its entity tag; empty if it is to be read again.
    pub etag: String,
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: Hash,
    /// Whether the mirror kept another version, so that this one was never common to both.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
}

/// A version in the mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// SHA-256 of its content.
    pub sha256: Hash,
    /// The generation that wrote it.
    pub generation: u64,
}

/// The result of a shard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShardResult {
    /// The name of the record with its [`Entry`]s, which depends on their content.
    pub entries: String,
    /// The segments, uploaded.
    pub segments: Vec<UploadedPart>,
    /// Their documents.
    pub pushes: Vec<Push>,
    /// Paths to remove from the mirror.
    pub removes: Vec<Remove>,
    /// Paths of files whose key is spelled in another Unicode form.
    pub spelled: Vec<String>,
    /// Files that are left as they are in the mirror, and why.
    pub left: Vec<Left>,
    /// Files that the source has.
    pub files: u64,
    /// Files of this part that it had in the run before.
    pub files_before: u64,
    /// The oldest generation that could be read when it was built.
    #[serde(default)]
    pub history_from: u64,
}

/// A segment that a shard uploaded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UploadedPart {
    /// Its id.
    pub id: SegmentId,
    /// Bytes.
    pub bytes: u64,
    /// Its table of contents.
    pub layout: Layout,
}

/// A document to publish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// Its path.
    pub path: String,
    /// Its segment, by index.
    pub segment: u32,
    /// Its id there.
    pub document: u32,
    /// Its kind.
    pub kind: Kind,
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: Hash,
    /// The mirror's version that it replaces.
    pub replaces: Option<Seen>,
}

/// A document to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remove {
    /// Its path.
    pub path: String,
    /// The mirror's version.
    pub seen: Seen,
}

/// A file that is left as it is in the mirror.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Its path, or its key if it has none.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// The state of a vault's builds. It is overwritten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The run that was published last.
    pub last: Option<LastRun>,
    /// The run that is being published.
    pub publishing: Option<Publishing>,
}

/// A published run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// The run.
    pub run: String,
    /// The mirror's lineage.
    pub lineage: Id,
    /// The generation after which it was published, or that it became.
    pub generation: u64,
    /// The files of the source.
    pub files: u64,
    /// How many documents changed.
    pub changes: Changes,
    /// Files that were left as the mirror had changed them since their shards were built.
    #[serde(default)]
    pub overtaken: Vec<Left>,
}

/// A run that claims to be the one that is published after another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Claim {
    run: String,
    time: Timestamp,
}

/// A run that is being published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publishing {
    /// The run.
    pub run: String,
    /// The newest generation when its publication began.
    pub since: u64,
    /// The files of the source.
    pub files: u64,
    /// When it was last begun; long ago in records of older versions.
    #[serde(default)]
    pub time: Timestamp,
}

impl Publishing {
    /// Whether its claim counts no more, so that another run may be published instead.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.time) > CLAIM_TIME
    }
}

/// The records of one run.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    mirror: &'a Mirror,
    run: &'a str,
}

impl<'a> Records<'a> {
    /// Those of `run`.
    ///
    /// # Errors [`BuildError::Invalid`] for text that cannot be a run's name.
    pub fn of(mirror: &'a Mirror, run: &'a str) -> Result<Self, BuildError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if run.is_empty() || run.len() > MAX_RUN || !run.bytes().all(is_plain) || [PUBLISHED, NEXT].contains(&run) {
            return Err(BuildError::Invalid(format!(
                "{run:?} cannot be a run's name: write 1 to {MAX_RUN} letters, digits, `-` or `_`, but not {PUBLISHED:?} or {NEXT:?}"
            )));
        }
        Ok(Self { mirror, run })
    }

    /// The name of a record below `state/`.
    pub fn name(&self, name: &str) -> String {
        format!("{FOLDER}/{}/{name}", self.run)
    }

    /// The plan.
    ///
    /// # Errors Those of reading the store.
    pub async fn plan(&self) -> Result<Option<Vec<Shard>>, BuildError> {
        self.get("plan").await
    }

    /// Keeps `plan`, unless there is one. Returns the one that is kept.
    ///
    /// # Errors Those of writing to the store.
    pub async fn keep_plan(&self, plan: Vec<Shard>) -> Result<Vec<Shard>, BuildError> {
        self.keep("plan", plan).await
    }

    /// The result of a shard, if it is built.
    ///
    /// # Errors Those of reading the store.
    pub async fn result(&self, shard: u32) -> Result<Option<ShardResult>, BuildError> {
        self.get(&format!("{shard:05}")).await
    }

    /// Keeps the `result` of a shard, unless there is one. Returns the one that is kept.
    ///
    /// # Errors Those of writing to the store.
    pub async fn keep_result(&self, shard: u32, result: ShardResult) -> Result<ShardResult, BuildError> {
        self.keep(&format!("{shard:05}"), result).await
    }

    /// The entries in the record `name`.
    ///
    /// # Errors Those of reading the store; [`BuildError::Unbuilt`].
    pub async fn entries(&self, shard: u32, name: &str) -> Result<Vec<Entry>, BuildError> {
        let gone = || BuildError::Unbuilt { run: self.run.to_owned(), shard };
        self.get(name).await?.ok_or_else(gone)
    }

    /// Keeps `entries`. Returns the name of their record.
    ///
    /// # Errors Those of writing to the store.
    pub async fn keep_entries(&self, shard: u32, entries: &Vec<Entry>) -> Result<String, BuildError> {
        let bytes = check_size(entries)?;
        let name = format!("{shard:05}-{}", Hash::of(&bytes));
        self.mirror.create_state_if_absent(&self.name(&name), entries).await?;
        Ok(name)
    }

    /// Claims to be the one run that is published after `base`, which nothing else may be before. A claim that is older than any run can be
    /// published counts no more, nor does one that was ended, or one of the run `done`. Returns its name.
    ///
    /// # Errors [`BuildError::Claimed`], and those of the store.
    pub async fn claim(&self, base: Option<&str>, done: Option<&str>, now: Timestamp) -> Result<String, BuildError> {
        let mut holder = String::new();
        for number in 0..MAX_CLAIMS {
            let name = format!("{FOLDER}/{NEXT}/{}-{number:03}", base.unwrap_or_default());
            let claim = Claim { run: self.run.to_owned(), time: now };
            // Garbage collection may delete an ended claim before its end, so that a name with an end is not used again.
            if self.mirror.get_state::<bool>(&ended(&name)).await?.is_some() {
                continue;
            }
            if self.mirror.create_state_if_absent(&name, &claim).await? {
                return Ok(name);
            }
            let Some(held) = self.mirror.get_state::<Claim>(&name).await? else { continue };
            if held.run == self.run {
                return Ok(name);
            }
            let is_over = now.duration_since(held.time) > CLAIM_TIME || done == Some(held.run.as_str());
            if !is_over {
                return Err(BuildError::Claimed { run: held.run });
            }
            holder = held.run;
        }
        Err(BuildError::Claimed { run: holder })
    }

    /// Ends a claim: nothing was committed under it, and nothing will be.
    ///
    /// # Errors Those of the store.
    pub async fn end_claim(&self, claim: &str) -> Result<(), BuildError> {
        self.mirror.create_state_if_absent(&ended(claim), &true).await?;
        Ok(())
    }

    async fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, BuildError> {
        Ok(self.mirror.get_state_up_to(&self.name(name), MAX_RECORD).await?)
    }

    async fn keep<T: Serialize + DeserializeOwned + Sync>(&self, name: &str, value: T) -> Result<T, BuildError> {
        check_size(&value)?;
        if self.mirror.create_state_if_absent(&self.name(name), &value).await? {
            return Ok(value);
        }
        let gone = || BuildError::Broken(format!("state/{} was deleted meanwhile", self.name(name)));
        self.get(name).await?.ok_or_else(gone)
    }
}

fn ended(claim: &str) -> String {
    format!("{claim}-ended")
}

/// `value` as it is stored, if it can be read again.
fn check_size(value: &impl Serialize) -> Result<Vec<u8>, BuildError> {
    let bytes = serde_json::to_vec(value).map_err(|error| BuildError::Broken(error.to_string()))?;
    if bytes.len() as u64 > MAX_RECORD {
        return Err(BuildError::TooLarge {
            limit: format!(
                "{MAX_RECORD} bytes of records of a shard: files of long names, or many that cannot be published"
            ),
        });
    }
    Ok(bytes)
}

/// The name of [`Published`] below the folder.
const PUBLISHED: &str = "published";
/// The folder of claims.
const NEXT: &str = "next";
/// Most claims on what follows one run.
const MAX_CLAIMS: u32 = 100;
/// After so long nothing can be published any more of what a run uploaded.
const CLAIM_TIME: SignedDuration = SignedDuration::from_hours(12);

impl Published {
    /// The state of the vault's builds.
    ///
    /// # Errors Those of reading the store.
    pub async fn read(mirror: &Mirror) -> Result<Self, BuildError> {
        let name = format!("{FOLDER}/{PUBLISHED}");
        Ok(mirror.get_state(&name).await?.unwrap_or_default())
    }

    /// Keeps it.
    ///
    /// # Errors Those of writing to the store.
    pub async fn write(&self, mirror: &Mirror) -> Result<(), BuildError> {
        Ok(mirror.put_state(&format!("{FOLDER}/{PUBLISHED}"), self).await?)
    }
}
