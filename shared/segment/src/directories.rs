//! Both directories of a segment's pages, and where they are: with its layout, or in its object alone.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::directory::{GramDirectory, KeyDirectory};
use crate::error::FormatError;

/// Both directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    /// The position of each page of document records, by path.
    pub records: KeyDirectory,
    /// The position of each page of postings, by gram.
    pub grams: GramDirectory,
}

impl Directories {
    /// Their checksum, by which a layout names them.
    pub(crate) fn crc32(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.records.encode());
        hasher.update(&self.grams.encode());
        hasher.finalize()
    }

    /// Bytes that they take in a layout as JSON, nearly.
    #[must_use]
    pub fn bytes_in_json(&self) -> usize {
        (self.records.encode().len() + self.grams.encode().len()).div_ceil(3) * 4
    }

    pub(crate) fn weight(&self) -> usize {
        self.records.weight() + self.grams.weight()
    }
}

/// The directories of a layout. Those that it leaves in the object are not there before they are read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PageDirectories {
    read: OnceLock<Arc<Directories>>,
    /// The checksum, if they are only in the object.
    left_out: Option<u32>,
}

impl PageDirectories {
    pub(crate) fn get(&self) -> Result<&Directories, FormatError> {
        self.read.get().map(Arc::as_ref).ok_or(FormatError::NotRead)
    }

    /// The checksum of directories that are not read yet.
    pub(crate) fn missing(&self) -> Option<u32> {
        self.left_out.filter(|_| self.read.get().is_none())
    }

    fn crc32(&self) -> Option<u32> {
        self.left_out.or_else(|| self.read.get().map(|directories| directories.crc32()))
    }

    pub(crate) fn set(&self, directories: Arc<Directories>) {
        self.read.get_or_init(|| directories);
    }

    pub(crate) const fn are_left_out(&self) -> bool {
        self.left_out.is_some()
    }

    pub(crate) fn leave_out(&mut self) {
        self.left_out = self.crc32();
    }
}

impl From<Directories> for PageDirectories {
    fn from(directories: Directories) -> Self {
        Self { read: Arc::new(directories).into(), left_out: None }
    }
}

/// Equal if they mean the same directories, wherever these are.
impl PartialEq for PageDirectories {
    fn eq(&self, other: &Self) -> bool {
        match (self.left_out, other.left_out) {
            (None, None) => self.read == other.read,
            _ => self.crc32() == other.crc32(),
        }
    }
}

impl Eq for PageDirectories {}

/// Directories as JSON has them.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record_pages: Option<KeyDirectory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gram_pages: Option<GramDirectory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directories_crc32: Option<u32>,
}

impl From<PageDirectories> for Written {
    fn from(directories: PageDirectories) -> Self {
        let PageDirectories { read, left_out } = directories;
        let read = read.into_inner().filter(|_| left_out.is_none()).map(Arc::unwrap_or_clone);
        let (record_pages, gram_pages) = read.map(|read| (read.records, read.grams)).unzip();
        Self { record_pages, gram_pages, directories_crc32: left_out }
    }
}

impl TryFrom<Written> for PageDirectories {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written { record_pages: Some(records), gram_pages: Some(grams), directories_crc32: None } => {
                Ok(Directories { records, grams }.into())
            }
            Written { record_pages: None, gram_pages: None, directories_crc32: left_out @ Some(_) } => {
                Ok(Self { read: OnceLock::new(), left_out })
            }
            _ => Err("a layout has either both directories of pages, or their checksum"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_has_both_directories_or_their_checksum() {
        let read = |json: &str| serde_json::from_str::<PageDirectories>(json).map(|read| read.are_left_out());
        assert!(matches!(read(r#"{"record_pages":"AA","gram_pages":""}"#), Ok(false)));
        assert!(matches!(read(r#"{"directories_crc32":7}"#), Ok(true)));
        let neither =
            ["{}", r#"{"record_pages":"AA"}"#, r#"{"record_pages":"AA","gram_pages":"","directories_crc32":7}"#];
        assert!(neither.into_iter().all(|json| read(json).is_err()));
    }
}
