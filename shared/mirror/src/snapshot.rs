//! A vault at one generation: its manifest, and parts of segments that are fetched on request.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use atlas_segment::error::FormatError;
use atlas_segment::part::{Part, PartRef};
use bytes::Bytes;
use futures::future::{FutureExt as _, try_join};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use object_store::path::Path;

use crate::cache::PartCache;
use crate::error::MirrorError;
use crate::id::{Hash, SegmentId};
use crate::keys::Keys;
use crate::manifest::{MAX_BYTES, Manifest, ManifestError, SegmentEntry};
use crate::ranges::{self, Span};
use crate::store::Store;
use crate::tombstones::{DocumentSet, StoredTombstones, Tombstones};

/// Most bytes that one load requests.
const MAX_LOAD: u64 = 512 << 20;
/// Most parallel requests; more wait.
const MAX_PARALLEL: usize = 128;

/// A vault at one generation. Immutable; loaded parts are kept in the process's cache.
#[derive(Debug)]
pub struct Snapshot {
    state: Arc<State>,
    reader: Reader,
    /// Key of an object that was missing.
    missing: Arc<OnceLock<String>>,
}

/// A manifest, and what is known about it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) manifest: Manifest,
    pub(crate) hash: Hash,
    /// Bytes of the manifest's object.
    pub(crate) size: u64,
    /// For each segment its tombstones, if they are a separate object that has been fetched.
    stored: Vec<OnceLock<Arc<DocumentSet>>>,
}

/// An object of a segment: its index twice, and one more for its vectors; or the vault's clusters.
#[derive(Clone, Copy)]
struct Object(usize);

impl Object {
    const fn segment(segment: usize) -> Self {
        Self(segment.saturating_mul(2))
    }

    const CLUSTERS: Self = Self(usize::MAX);

    const fn of(segment: usize, part: &PartRef) -> Self {
        match part.kind.is_of_clusters() {
            true => Self::CLUSTERS,
            false => Self(Self::segment(segment).0 + part.kind.is_of_vectors() as usize),
        }
    }
}

/// How to fetch.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) store: Store,
    pub(crate) keys: Arc<Keys>,
    pub(crate) cache: Arc<PartCache>,
    pub(crate) max_requests: usize,
    pub(crate) max_flat: u64,
}

impl State {
    /// Decodes the manifest's object at `key`, which must be of `generation` if given.
    pub(crate) fn decode(key: &Path, bytes: &Bytes, generation: Option<u64>) -> Result<Self, MirrorError> {
        let manifest = Manifest::decode(bytes).map_err(|error| error.of(key))?;
        if generation.is_some_and(|generation| generation != manifest.generation) {
            return Err(MirrorError::damaged(key, format!("it is the manifest of generation {}", manifest.generation)));
        }
        Ok(Self::new(manifest, bytes))
    }

    pub(crate) fn new(manifest: Manifest, bytes: &Bytes) -> Self {
        let stored = manifest.segments.iter().map(|_| OnceLock::new()).collect();
        Self { hash: Hash::of(bytes), size: bytes.len() as u64, manifest, stored }
    }
}

impl ManifestError {
    fn of(self, key: &Path) -> MirrorError {
        match self {
            Self::Newer(found) => {
                MirrorError::Newer { object: key.to_string(), found, supported: crate::manifest::FORMAT }
            }
            error => MirrorError::damaged(key, error),
        }
    }
}

impl Snapshot {
    pub(crate) fn new(state: Arc<State>, reader: Reader) -> Self {
        Self { state, reader, missing: Arc::default() }
    }

    /// The same generation, with this limit on the requests of one load, beyond which gaps are read too.
    #[must_use]
    pub fn with_max_requests(&self, max_requests: usize) -> Self {
        let reader = Reader { max_requests, ..self.reader.clone() };
        Self { state: self.state.clone(), reader, missing: self.missing.clone() }
    }

    /// Whether the tables and codes of all vectors are few enough to be read without [clusters](crate::Options::max_flat).
    pub fn is_flat(&self) -> bool {
        let layouts = self.segments().iter().filter_map(|entry| Some(entry.vectors?.layout));
        let bytes = |part: PartRef| part.range.end.saturating_sub(part.range.start);
        layouts.map(|layout| bytes(layout.table()) + bytes(layout.codes())).sum::<u64>() <= self.reader.max_flat
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.state.manifest
    }

    /// SHA-256 of the manifest's bytes. Caches and cursors use it as a key, since another history can have the same
    /// generation number.
    pub fn hash(&self) -> Hash {
        self.state.hash
    }

    /// The generation.
    pub fn generation(&self) -> u64 {
        self.state.manifest.generation
    }

    /// The live segments, in order. Everywhere else a segment is named by its index here.
    pub fn segments(&self) -> &[SegmentEntry] {
        &self.state.manifest.segments
    }

    /// Whether `document` of segment `segment` is neither replaced nor deleted.
    ///
    /// Valid only after [`load`](Self::load) of a part of that segment. Tombstones in a separate object come with the
    /// first load; until then every document of the segment counts as deleted.
    pub fn is_live(&self, segment: usize, document: u32) -> bool {
        let Some(entry) = self.segments().get(segment) else { return false };
        document < entry.layout.documents && self.tombstones(segment).is_some_and(|set| !set.contains(document))
    }

    /// The tombstones of segment `segment`; [`None`] before the first [`load`](Self::load) of a part of it, if they are a separate object.
    pub fn tombstones(&self, segment: usize) -> Option<&DocumentSet> {
        match &self.segments().get(segment)?.deleted {
            Tombstones::Inline(set) => Some(set),
            Tombstones::Stored(_) => self.stored(segment).map(Arc::as_ref),
        }
    }

    /// The tombstones of segment `segment`, fetched if necessary.
    ///
    /// # Errors As [`load`](Self::load).
    pub async fn deleted(&self, segment: usize) -> Result<Arc<DocumentSet>, MirrorError> {
        self.load_tombstones(&[segment]).await?;
        match self.segments().get(segment).map(|entry| &entry.deleted) {
            Some(Tombstones::Inline(set)) => Ok(Arc::new(set.clone())),
            _ => Ok(self.stored(segment).cloned().unwrap_or_default()),
        }
    }

    /// Parts of segments, in the order of `wants`, in at most one wave of requests: parts that are not cached are
    /// fetched at once, in few requests. Parts of the vault's clusters are those of any segment.
    ///
    /// # Errors
    /// - [`MirrorError::Damaged`], which names the object, when one differs from its description in the manifest.
    /// - [`MirrorError::Gone`] when one is missing; [`Mirror::read`](crate::Mirror::read) then looks for a newer
    ///   generation.
    /// - [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    /// - [`MirrorError::TooLarge`] when more than 512 MiB is wanted at once.
    pub async fn load(&self, wants: &[(usize, PartRef)]) -> Result<Vec<Arc<Part>>, MirrorError> {
        let cached = |(segment, part): &(usize, PartRef)| {
            let (id, _) = self.object(Object::of(*segment, part)).ok()?;
            self.reader.cache.part(id, part)
        };
        let mut parts: Vec<Option<Arc<Part>>> = wants.iter().map(cached).collect();
        // Many documents share a part: it is decoded once.
        let mut first: HashMap<&(usize, PartRef), usize> = HashMap::new();
        let mut missing: Vec<usize> = Vec::new();
        for (at, want) in wants.iter().enumerate().filter(|(at, _)| parts.get(*at).is_none_or(Option::is_none)) {
            if *first.entry(want).or_insert(at) == at {
                missing.push(at);
            }
        }
        let spans: Vec<Span> = missing
            .iter()
            .filter_map(|at| wants.get(*at))
            .map(|(segment, part)| Span { object: Object::of(*segment, part).0, range: part.range.clone() })
            .collect();
        let segments: Vec<usize> = wants.iter().map(|(segment, _)| *segment).collect();
        let (bodies, ()) = try_join(self.fetch_spans(&spans), self.load_tombstones(&segments)).await?;
        for (at, bytes) in missing.into_iter().zip(bodies) {
            if let (Some((segment, part)), Some(slot)) = (wants.get(at), parts.get_mut(at)) {
                *slot = Some(self.decode(*segment, part, &bytes)?);
            }
        }
        let of_want = |(at, want): (usize, &(usize, PartRef))| {
            parts.get(at).cloned().flatten().or_else(|| parts.get(*first.get(want)?).cloned().flatten())
        };
        Ok(wants.iter().enumerate().filter_map(of_want).collect())
    }

    /// Bytes that a load of `wants` would request from the store; 0 when all are cached.
    ///
    /// # Errors [`MirrorError::Conflict`] for a segment that does not exist.
    pub fn cost(&self, wants: &[(usize, PartRef)]) -> Result<u64, MirrorError> {
        let mut missing = Vec::new();
        for (segment, part) in wants {
            let object = Object::of(*segment, part);
            if self.reader.cache.part(self.object(object)?.0, part).is_none() {
                missing.push(Span { object: object.0, range: part.range.clone() });
            }
        }
        Ok(ranges::plan(&missing, self.reader.max_requests).iter().map(Span::len).sum())
    }

    /// Raw bytes of segments, in the order of `wants`, in one wave of requests. They are neither cached nor checked
    /// before [`decode`](Self::decode).
    ///
    /// # Errors As [`load`](Self::load).
    pub async fn fetch(&self, wants: &[(usize, Range<u64>)]) -> Result<Vec<Bytes>, MirrorError> {
        let spans: Vec<Span> = wants
            .iter()
            .map(|(segment, range)| Span { object: Object::segment(*segment).0, range: range.clone() })
            .collect();
        self.fetch_spans(&spans).await
    }

    /// The error for a format error in segment `segment`; it names the object.
    pub fn fault(&self, segment: usize, error: FormatError) -> MirrorError {
        let object = match self.entry(segment) {
            Ok(entry) => self.reader.keys.segment(entry.id).to_string(),
            Err(error) => return error,
        };
        match error {
            FormatError::NotRead => MirrorError::unavailable(format!("{object}: {error}")),
            // Also a newer format: the manifest, which was read first, lists one that this crate knows.
            error => MirrorError::damaged(object, error),
        }
    }

    /// Whether an error is of the vault's clusters: they are missing or damaged.
    #[must_use]
    pub fn is_of_clusters(&self, error: &MirrorError) -> bool {
        let (MirrorError::Damaged { object, .. } | MirrorError::Gone { object }) = error else { return false };
        let clusters = self.manifest().clusters.map(|clusters| self.reader.keys.segment(clusters.id));
        clusters.is_some_and(|clusters| clusters.as_ref() == object)
    }

    async fn fetch_spans(&self, wants: &[Span]) -> Result<Vec<Bytes>, MirrorError> {
        for want in wants {
            let (id, bytes) = self.object(Object(want.object))?;
            if want.range.start > want.range.end || want.range.end > bytes {
                return Err(self.damaged(id, "a part lies outside of it"));
            }
        }
        let requests = ranges::plan(wants, self.reader.max_requests);
        if requests.iter().map(Span::len).sum::<u64>() > MAX_LOAD {
            return Err(MirrorError::TooLarge { what: "a load", limit: format!("{MAX_LOAD} bytes") });
        }
        // Boxed, so that the compiler can prove that callers are `Send`.
        let bodies: Vec<_> = requests.iter().map(|request| self.fetch_span(request).boxed()).collect();
        let bodies: Vec<Bytes> = stream::iter(bodies).buffered(MAX_PARALLEL).try_collect().await?;
        let cut = |want: &Span| {
            let not_covered = || MirrorError::unavailable("the planned requests do not cover a part");
            ranges::cut(want, &requests, &bodies).ok_or_else(not_covered)
        };
        wants.iter().map(cut).collect()
    }

    async fn fetch_span(&self, span: &Span) -> Result<Bytes, MirrorError> {
        let (id, size) = self.object(Object(span.object))?;
        let key = self.reader.keys.segment(id);
        let bytes = self.reader.store.get_range(&key, span.range.clone(), size).await?;
        bytes.ok_or_else(|| self.gone(&key))
    }

    /// Decodes `bytes`, fetched with [`fetch`](Self::fetch), as a part, and caches it like a loaded one.
    ///
    /// # Errors [`MirrorError::Damaged`], which names the object, when they are no such part.
    pub fn decode(&self, segment: usize, part: &PartRef, bytes: &Bytes) -> Result<Arc<Part>, MirrorError> {
        let (id, _) = self.object(Object::of(segment, part))?;
        let decoded = Part::decode(part.kind, bytes);
        let decoded = decoded.map_err(|error| MirrorError::damaged(self.reader.keys.segment(id), error))?;
        let decoded = Arc::new(decoded);
        self.reader.cache.keep_part(id, part, decoded.clone());
        Ok(decoded)
    }

    /// Fetches the tombstones of `segments` that are separate objects and not known yet.
    async fn load_tombstones(&self, segments: &[usize]) -> Result<(), MirrorError> {
        let unknown = |segment: &usize| match &self.segments().get(*segment)?.deleted {
            Tombstones::Stored(stored) if self.stored(*segment).is_none() => Some((*segment, stored)),
            _ => None,
        };
        let mut unknown: Vec<(usize, &StoredTombstones)> = segments.iter().filter_map(unknown).collect();
        unknown.sort_unstable_by_key(|(segment, _)| *segment);
        unknown.dedup_by_key(|(segment, _)| *segment);
        let fetch = async |segment: usize, stored: &StoredTombstones| {
            let set = match self.reader.cache.tombstones(stored.id) {
                Some(set) => set,
                None => self.fetch_tombstones(segment, stored).await?,
            };
            if let Some(slot) = self.state.stored.get(segment) {
                slot.get_or_init(|| set);
            }
            Ok(())
        };
        let fetches: Vec<_> = unknown.into_iter().map(|(segment, stored)| fetch(segment, stored).boxed()).collect();
        stream::iter(fetches).buffer_unordered(MAX_PARALLEL).try_collect().await
    }

    async fn fetch_tombstones(
        &self,
        segment: usize,
        stored: &StoredTombstones,
    ) -> Result<Arc<DocumentSet>, MirrorError> {
        let documents = self.entry(segment)?.layout.documents;
        let key = self.reader.keys.segment(stored.id);
        let bytes = self.reader.store.get(&key, u64::from(stored.bytes)).await?.ok_or_else(|| self.gone(&key))?;
        let sound = crc32fast::hash(&bytes) == stored.crc32;
        let set = DocumentSet::decode(&bytes)
            .filter(|set| sound && set.len() == stored.count as usize && set.last().is_none_or(|last| last < documents))
            .ok_or_else(|| self.damaged(stored.id, "it is not the set of tombstones that the manifest says"))?;
        let set = Arc::new(set);
        self.reader.cache.keep_tombstones(stored.id, set.clone());
        Ok(set)
    }

    /// Key of an object that was missing when it was loaded.
    pub(crate) fn missing(&self) -> Option<&String> {
        self.missing.get()
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    fn stored(&self, segment: usize) -> Option<&Arc<DocumentSet>> {
        self.state.stored.get(segment)?.get()
    }

    fn entry(&self, segment: usize) -> Result<&SegmentEntry, MirrorError> {
        let none = || MirrorError::conflict(format!("generation {} has no segment {segment}", self.generation()));
        self.segments().get(segment).ok_or_else(none)
    }

    /// The id and the bytes of an object.
    fn object(&self, object: Object) -> Result<(SegmentId, u64), MirrorError> {
        if object.0 == Object::CLUSTERS.0 {
            let none = || MirrorError::conflict(format!("generation {} has no clusters", self.generation()));
            return self.manifest().clusters.map(|clusters| (clusters.id, clusters.layout.bytes)).ok_or_else(none);
        }
        let entry = self.entry(object.0 / 2)?;
        match (object.0 % 2, entry.vectors) {
            (0, _) => Ok((entry.id, entry.bytes)),
            (_, Some(vectors)) => Ok((vectors.id, vectors.layout.bytes)),
            (_, None) => Err(MirrorError::conflict(format!("segment {} has no vectors", entry.id))),
        }
    }

    fn gone(&self, key: &Path) -> MirrorError {
        let object = self.missing.get_or_init(|| key.to_string()).clone();
        MirrorError::Gone { object }
    }

    pub(crate) fn damaged(&self, id: SegmentId, reason: &str) -> MirrorError {
        MirrorError::damaged(self.reader.keys.segment(id), reason)
    }
}

/// Most bytes of a manifest object that is read.
pub(crate) const MAX_MANIFEST: u64 = MAX_BYTES as u64;
