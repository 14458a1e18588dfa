//! Writes the object.

use super::{ClusterLayout, ListedRow, MAX_CLUSTERS, PAGE};
use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::varint;
use crate::vectors::{MAX_DIMENSIONS, VectorLayout, VectorTable, row_bytes};

const MAGIC: &[u8; 8] = b"ATLASCLU";
const VERSION: u32 = 1;
const TOO_LARGE: FormatError = FormatError::TooLarge { what: "the number of clustered vectors" };

/// A finished object.
#[derive(Clone, Debug)]
pub struct BuiltClusters {
    /// The object.
    pub bytes: Vec<u8>,
    /// Where its parts are, for the manifest.
    pub layout: ClusterLayout,
}

/// Collects the rows of objects of vectors.
pub struct ClusterWriter {
    dimensions: u32,
    centroids: Vec<u8>,
    lists: Vec<List>,
    documents: Vec<u32>,
    /// The pages, and the bytes of each.
    pages: Vec<u8>,
    sizes: Vec<u64>,
    rows: u64,
}

#[derive(Clone, Default)]
struct List {
    count: u64,
    rows: Vec<u8>,
    codes: Vec<u8>,
    last: ListedRow,
}

impl List {
    fn push(&mut self, row: ListedRow, code: &[u8]) {
        let last = if row.place > self.last.place { ListedRow::default() } else { self.last };
        for number in [
            row.place - self.last.place,
            row.document.saturating_sub(last.document),
            row.row.saturating_sub(last.row),
            row.line,
            row.lines,
        ] {
            varint::write(&mut self.rows, u64::from(number));
        }
        self.codes.extend_from_slice(code);
        self.count += 1;
        self.last = row;
    }

    fn seal(self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.rows.len() + self.codes.len() + 8);
        varint::write(&mut payload, self.count);
        payload.extend_from_slice(&self.rows);
        payload.extend_from_slice(&self.codes);
        frame::seal(payload)
    }
}

impl ClusterWriter {
    /// A writer of clusters with these centroids, each as a row of so many dimensions.
    ///
    /// # Errors
    /// When there are none, too many, or they have other dimensions.
    pub fn new(dimensions: u32, centroids: Vec<u8>) -> Result<Self, FormatError> {
        let size = row_bytes(dimensions) as usize;
        let count = centroids.len() / size;
        let fits = centroids.len().is_multiple_of(size) && (1..=MAX_CLUSTERS as usize).contains(&count);
        if !fits || !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(TOO_LARGE);
        }
        Ok(Self {
            dimensions,
            centroids,
            lists: vec![List::default(); count],
            documents: Vec::new(),
            pages: Vec::new(),
            sizes: Vec::new(),
            rows: 0,
        })
    }

    /// Lists the next object of vectors, of which these are the table and the codes; `clusters` has the cluster of each row.
    ///
    /// # Errors
    /// When they do not fit together.
    pub fn push(
        &mut self,
        layout: &VectorLayout,
        table: &VectorTable,
        codes: &[u8],
        clusters: &[u32],
    ) -> Result<(), FormatError> {
        let place = u32::try_from(self.documents.len()).map_err(|_| TOO_LARGE)?;
        let count = layout.rows as usize;
        if layout.dimensions != self.dimensions || table.len() as usize != count || clusters.len() != count {
            return Err(FormatError::TooLarge { what: "an object of vectors to be clustered" });
        }
        for document in 0..table.documents() {
            for row in table.rows(document) {
                let (line, lines) = table.lines(row).unwrap_or_default();
                let cluster = clusters.get(row as usize).and_then(|cluster| self.lists.get_mut(*cluster as usize));
                if let (Some(list), Some(code)) = (cluster, codes.get(layout.code_of(row))) {
                    list.push(ListedRow { place, document, row, line, lines }, code);
                    self.rows += 1;
                }
            }
        }
        for first in (0..table.documents()).step_by(PAGE as usize) {
            let mut page = Vec::new();
            varint::write(&mut page, u64::from(table.rows(first).start));
            table.write(first..(first + PAGE).min(table.documents()), &mut page);
            let page = frame::seal(page);
            self.sizes.push(page.len() as u64);
            self.pages.extend_from_slice(&page);
        }
        self.documents.push(table.documents());
        Ok(())
    }

    /// The object.
    ///
    /// # Errors
    /// When it is too large.
    pub fn finish(self) -> Result<BuiltClusters, FormatError> {
        let clusters = u32::try_from(self.lists.len()).map_err(|_| TOO_LARGE)?;
        let lists: Vec<Vec<u8>> = self.lists.into_iter().map(List::seal).collect();
        let mut head = Vec::new();
        varint::write(&mut head, self.documents.len() as u64);
        self.documents.iter().for_each(|documents| varint::write(&mut head, u64::from(*documents)));
        for bytes in self.sizes.iter().copied().chain(lists.iter().map(|list| list.len() as u64)) {
            u32::try_from(bytes).map_err(|_| TOO_LARGE)?;
            varint::write(&mut head, bytes);
        }
        let head = Packer::new()?.pack(&head)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&head);
        bytes.append(&mut frame::seal(self.centroids));
        bytes.extend_from_slice(&self.pages);
        lists.into_iter().for_each(|list| bytes.extend_from_slice(&list));
        let layout = ClusterLayout {
            bytes: bytes.len() as u64,
            dimensions: self.dimensions,
            clusters,
            rows: self.rows,
            head: u32::try_from(head.len()).map_err(|_| TOO_LARGE)?,
        };
        Ok(BuiltClusters { bytes, layout })
    }
}
