//! The manifest's entries of vectors: the model, and for each segment the object with the vectors of its notes.

use atlas_embeddings::stored::Shape;
use atlas_segment::{ClusterLayout, VectorLayout};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::id::{Hash, SegmentId};

/// The provider of models in the store that are a look-up.
pub const STATIC: &str = "static";
/// The provider of those that have a network.
pub const CONTEXTUAL: &str = "contextual";
/// Most bytes of an object with vectors.
const MAX_VECTOR_BYTES: u64 = 1 << 30;
/// Most bytes of an object with clusters.
const MAX_CLUSTER_BYTES: u64 = 8 << 30;
/// Longest name of a provider or model, in bytes.
pub const MAX_MODEL_NAME: usize = 256;

/// The model that made all vectors of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embeddings {
    /// Its provider: `static` or `contextual` for a model in the store, else the kind of service.
    pub provider: String,
    /// Its name.
    pub model: String,
    /// Identifies it: the hash of a stored model's object, else of provider, name and dimensions.
    pub id: Hash,
    /// Dimensions of its vectors.
    pub dimensions: u32,
    /// Of a stored model, where the parts of its object are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Shape>,
}

/// The vectors of a segment's notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorEntry {
    /// The object's id, below `segments/`.
    pub id: SegmentId,
    /// Where its parts are.
    #[serde(flatten)]
    pub layout: VectorLayout,
    /// Its place in the vault's clusters, if they list its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<u32>,
}

/// The clusters of a vault's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterEntry {
    /// The object's id, below `segments/`.
    pub id: SegmentId,
    /// Where its parts are.
    #[serde(flatten)]
    pub layout: ClusterLayout,
}

/// Clusters to upload.
#[derive(Clone, Debug)]
pub struct NewClusters {
    /// The object.
    pub bytes: Bytes,
    /// Where its parts are.
    pub layout: ClusterLayout,
    /// The objects of vectors that it lists, in order.
    pub listed: Vec<SegmentId>,
}

/// Vectors to upload.
#[derive(Clone, Debug)]
pub struct NewVectors {
    /// The object.
    pub bytes: Bytes,
    /// Where its parts are.
    pub layout: VectorLayout,
}

impl From<atlas_segment::BuiltVectors> for NewVectors {
    fn from(built: atlas_segment::BuiltVectors) -> Self {
        Self { bytes: built.bytes.into(), layout: built.layout }
    }
}

impl Embeddings {
    /// Those of a model of a service.
    #[must_use]
    pub fn of_service(provider: &str, model: &str, dimensions: u32) -> Self {
        let id = Hash::of(format!("{provider}\n{model}\n{dimensions}").as_bytes());
        Self { provider: provider.to_owned(), model: model.to_owned(), id, dimensions, stored: None }
    }

    /// Whether a vector is a look-up in the store, so that it costs next to nothing.
    #[must_use]
    pub fn is_look_up(&self) -> bool {
        self.stored.is_some() && self.provider != CONTEXTUAL
    }

    /// Whether it is possible; the error is the reason why not.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.provider.len() > MAX_MODEL_NAME || self.model.len() > MAX_MODEL_NAME {
            return Err("the name of its model is too long");
        }
        if !(1..=atlas_segment::vectors::MAX_DIMENSIONS).contains(&self.dimensions) {
            return Err("its model has an impossible number of dimensions");
        }
        let is_sound = |shape: &Shape| shape.is_sound() && shape.dimensions == self.dimensions;
        if self.stored.as_ref().is_some_and(|shape| !is_sound(shape)) {
            return Err("the parts of its model do not fit together");
        }
        Ok(())
    }
}

impl VectorEntry {
    pub(crate) fn is_sound(&self, dimensions: Option<u32>) -> bool {
        self.layout.is_sound() && Some(self.layout.dimensions) == dimensions && self.layout.bytes <= MAX_VECTOR_BYTES
    }
}

impl ClusterEntry {
    pub(crate) fn is_sound(&self, dimensions: Option<u32>) -> bool {
        self.layout.is_sound() && Some(self.layout.dimensions) == dimensions && self.layout.bytes <= MAX_CLUSTER_BYTES
    }
}
