//! Writes the object.

use super::{MAX_DIMENSIONS, MAX_ROWS, PAGE, StoredVector, VectorLayout, code_bytes, row_bytes};
use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::varint;

const MAGIC: &[u8; 8] = b"ATLASVEC";
const VERSION: u32 = 1;

/// A finished object.
#[derive(Clone, Debug)]
pub struct BuiltVectors {
    /// The object.
    pub bytes: Vec<u8>,
    /// Where its parts are, for the manifest.
    pub layout: VectorLayout,
}

/// Collects the vectors of a segment's documents, in the order of their ids.
pub struct VectorWriter {
    dimensions: u32,
    documents: u64,
    table: Vec<u8>,
    codes: Vec<u8>,
    keys: Vec<u8>,
    rows: Vec<u8>,
    count: u32,
    waiting: u32,
}

impl VectorWriter {
    /// A writer of vectors with so many dimensions.
    #[must_use]
    pub const fn new(dimensions: u32) -> Self {
        Self {
            dimensions,
            documents: 0,
            table: Vec::new(),
            codes: Vec::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            count: 0,
            waiting: 0,
        }
    }

    /// Adds the next document with its vectors, in the order of their lines; [`None`] if it waits for them. Vectors of other dimensions are
    /// as if it waited.
    pub fn push(&mut self, vectors: Option<&[StoredVector]>) {
        self.documents += 1;
        let fits = |vector: &StoredVector| {
            vector.code.len() as u64 == code_bytes(self.dimensions)
                && vector.row.len() as u64 == row_bytes(self.dimensions)
        };
        let is_in_order = |vectors: &[StoredVector]| {
            vectors.windows(2).all(|pair| matches!(pair, [one, next] if u64::from(one.line) + u64::from(one.lines) <= u64::from(next.line)))
        };
        let Some(vectors) = vectors.filter(|vectors| vectors.iter().all(fits) && is_in_order(vectors)) else {
            varint::write(&mut self.table, 0);
            self.waiting += 1;
            return;
        };
        varint::write(&mut self.table, vectors.len() as u64 + 1);
        let mut line = 0;
        for vector in vectors {
            varint::write(&mut self.table, u64::from(vector.line - line));
            varint::write(&mut self.table, u64::from(vector.lines));
            line = vector.line.saturating_add(vector.lines);
            self.codes.extend_from_slice(&vector.code);
            self.keys.extend_from_slice(&vector.key.to_le_bytes());
            self.rows.extend_from_slice(&vector.row);
            self.count += 1;
        }
    }

    /// The object; [`None`] if every document waits.
    ///
    /// # Errors
    /// When there are too many vectors, or dimensions.
    pub fn finish(self) -> Result<Option<BuiltVectors>, FormatError> {
        if u64::from(self.waiting) >= self.documents {
            return Ok(None);
        }
        if self.count > MAX_ROWS || !(1..=MAX_DIMENSIONS).contains(&self.dimensions) {
            return Err(FormatError::TooLarge { what: "the number of vectors" });
        }
        let mut table = Vec::new();
        varint::write(&mut table, self.documents);
        table.extend_from_slice(&self.table);
        let table = Packer::new()?.pack(&table)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&table);
        bytes.append(&mut frame::seal(self.codes));
        bytes.append(&mut frame::seal(self.keys));
        for page in self.rows.chunks(PAGE as usize * row_bytes(self.dimensions) as usize) {
            bytes.append(&mut frame::seal(page.to_vec()));
        }
        let table = u32::try_from(table.len()).map_err(|_| FormatError::TooLarge { what: "the number of vectors" })?;
        let layout = VectorLayout {
            bytes: bytes.len() as u64,
            dimensions: self.dimensions,
            rows: self.count,
            waiting: self.waiting,
            table,
        };
        Ok(Some(BuiltVectors { bytes, layout }))
    }
}
