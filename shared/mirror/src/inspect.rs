//! Finds the flaws of a generation's objects: missing ones, wrong sizes, wrong content.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use atlas_segment::{Record, object};
use futures::TryStreamExt as _;
use serde::{Deserialize, Serialize};

use crate::clusters::check as check_clusters;
use crate::error::MirrorError;
use crate::held_vectors::HeldVectors;
use crate::keys::{BlobKey, key_of};
use crate::manifest::Totals;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;

/// The name of the noted damage, below `state/`.
const NOTED: &str = "damage";

/// A missing or damaged object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flaw {
    /// Its key in the store.
    pub object: String,
    /// The problem.
    pub reason: String,
}

/// The result of an inspection.
#[derive(Debug, Default)]
pub struct Inspection {
    /// The flaws.
    pub flaws: Vec<Flaw>,
    /// Number of objects inspected.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// DamagedSegment segments, by index.
    pub(crate) unusable: BTreeMap<usize, DamagedSegment>,
    /// Attachments of usable segments whose object is missing.
    pub(crate) bare: Vec<Bare>,
    /// Usable segments whose vectors cannot be read: they are made anew.
    pub(crate) without_vectors: Vec<usize>,
    /// Whether the clusters cannot be read: they are made anew.
    pub(crate) without_clusters: bool,
    /// The paths of usable segments.
    pub(crate) paths: HashSet<String>,
    /// The totals of usable segments, without `bare`.
    pub(crate) totals: Totals,
    /// The attachments' objects that exist, and their bytes.
    pub(crate) blobs: BTreeMap<String, u64>,
}

/// Why a segment cannot be used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DamagedSegment {
    /// Whether its own object is flawed, rather than only that of its tombstones.
    pub(crate) is_itself: bool,
}

/// An attachment without its object.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    pub(crate) segment: usize,
    pub(crate) document: u32,
    pub(crate) record: Record,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged: {}", self.object, self.reason)
    }
}

/// The flaw of the object that `error` names; the error itself if it names none.
pub(crate) fn flaw_of(error: MirrorError) -> Result<Flaw, MirrorError> {
    match error {
        MirrorError::Damaged { object, reason } => Ok(Flaw { object, reason }),
        MirrorError::Gone { object } => Ok(Flaw { object, reason: "it is missing".to_owned() }),
        error => Err(error),
    }
}

impl Mirror {
    /// Checks every object that `head` refers to. Segments, tombstones and vectors are read whole; of attachments' objects only
    /// the size is checked, or with `checksum` the hash.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`], [`MirrorError::Newer`].
    pub async fn inspect(&self, head: &Snapshot, checksum: bool) -> Result<Inspection, MirrorError> {
        let mut found = Inspection::default();
        for listed in self.store.list(&self.keys().blobs(), None).await? {
            let name = key_of(&listed.key).rsplit('/').next().unwrap_or_default().to_owned();
            found.blobs.insert(name, listed.bytes);
        }
        if let Some(clusters) = head.manifest().clusters {
            found.objects += 1;
            found.bytes += clusters.layout.bytes;
            if let Err(error) = check_clusters(head, &clusters).await {
                found.flaws.push(flaw_of(error)?);
                found.without_clusters = true;
            }
        }
        let mut looked_at: BTreeMap<String, Option<Flaw>> = BTreeMap::new();
        for segment in 0..head.segments().len() {
            let Some(documents) = self.inspect_segment(head, segment, &mut found).await? else { continue };
            for (document, record) in documents {
                found.paths.insert(record.path.clone());
                let flaw = match &record.blob {
                    Some(name) => match looked_at.get(name) {
                        Some(known) => known.clone(),
                        None => {
                            let flaw = self.inspect_blob(&found.blobs, &record, name, checksum).await?;
                            found.objects += 1;
                            found.bytes += record.bytes;
                            found.flaws.extend(flaw.clone());
                            looked_at.insert(name.clone(), flaw.clone());
                            flaw
                        }
                    },
                    None => None,
                };
                if flaw.is_some() {
                    found.bare.push(Bare { segment, document, record });
                } else {
                    count(&mut found.totals, &record);
                }
            }
        }
        Ok(found)
    }

    /// Inspects the live documents of a segment; does nothing for an unusable one.
    async fn inspect_segment(
        &self,
        head: &Snapshot,
        segment: usize,
        found: &mut Inspection,
    ) -> Result<Option<Vec<(u32, Record)>>, MirrorError> {
        let Some(entry) = head.segments().get(segment) else { return Ok(None) };
        found.objects += 1;
        found.bytes += entry.bytes;
        if let Err(error) = whole(head, segment).await {
            found.flaws.push(flaw_of(error)?);
            found.unusable.insert(segment, DamagedSegment { is_itself: true });
        }
        if let Err(error) = head.deleted(segment).await {
            found.flaws.push(flaw_of(error)?);
            found.unusable.entry(segment).or_default();
        }
        if found.unusable.contains_key(&segment) {
            return Ok(None);
        }
        if let Some(vectors) = entry.vectors {
            found.objects += 1;
            found.bytes += vectors.layout.bytes;
            if let Err(error) = HeldVectors::load_sound(head, segment).await {
                found.flaws.push(flaw_of(error)?);
                found.without_vectors.push(segment);
            }
        }
        self.records_of(head, segment, true).await.map(Some)
    }

    async fn inspect_blob(
        &self,
        there: &BTreeMap<String, u64>,
        record: &Record,
        name: &str,
        checksum: bool,
    ) -> Result<Option<Flaw>, MirrorError> {
        let object = format!("{}/{name}", self.keys().blobs());
        let flaw = |reason: String| Ok(Some(Flaw { object: object.clone(), reason }));
        let Ok(key) = name.parse::<BlobKey>() else { return flaw("it is not named for its content".to_owned()) };
        match there.get(name) {
            None => flaw(format!("it is missing, and {:?} refers to it", record.path)),
            Some(bytes) if *bytes != record.bytes => {
                flaw(format!("it has {bytes} bytes instead of {}, and {:?} refers to it", record.bytes, record.path))
            }
            Some(_) if checksum => match self.read_blob(&key).await {
                Ok(()) => Ok(None),
                Err(error) => flaw_of(error).map(Some),
            },
            Some(_) => Ok(None),
        }
    }

    async fn read_blob(&self, key: &BlobKey) -> Result<(), MirrorError> {
        let mut pieces = self.get_blob(key).await?;
        while pieces.try_next().await?.is_some() {}
        Ok(())
    }

    /// The generation of the copy in `latest`, if it is later than the newest: its manifest was lost.
    ///
    /// # Errors As [`head`](Self::head).
    pub async fn lost_generation(&self) -> Result<Option<u64>, MirrorError> {
        let hinted = self.hinted().await?;
        let head = self.head().await?;
        Ok(hinted.and_then(|hinted| hinted.lost_after(&head)).map(|lost| lost.generation()))
    }

    /// Records `flaw` for every sync, or that there is no flaw any more.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn note_damage(&self, flaw: Option<&Flaw>) -> Result<(), MirrorError> {
        match flaw {
            Some(flaw) => self.create_state_if_absent(NOTED, flaw).await.map(drop),
            None => self.delete_state(NOTED).await,
        }
    }

    /// The recorded flaw.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn noted_damage(&self) -> Result<Option<Flaw>, MirrorError> {
        match self.get_state(NOTED).await {
            Err(MirrorError::Damaged { .. }) => Ok(None),
            noted => noted,
        }
    }
}

/// Reads a whole segment, and checks that it is the one that the manifest lists.
async fn whole(head: &Snapshot, segment: usize) -> Result<(), MirrorError> {
    let Some(entry) = head.segments().get(segment) else { return Ok(()) };
    for bytes in head.fetch(&[(segment, 0..entry.bytes)]).await? {
        let layout = object::verify(&bytes).map_err(|error| head.fault(segment, error))?;
        if layout != entry.layout {
            let key = head.fault(
                segment,
                atlas_segment::FormatError::Frame { reason: "it is not the one that the manifest lists" },
            );
            return Err(key);
        }
    }
    Ok(())
}

/// Counts a document, unless it is in the trash.
pub(crate) fn count(totals: &mut Totals, record: &Record) {
    if !record.path.starts_with(".trash/") {
        totals.add(record.kind, record.bytes);
    }
}
