//! The object's frame: magic number, format version, the sections, and a footer that repeats the layout. The footer makes a segment
//! readable without its manifest.

use bytes::Bytes;

use crate::directories::Directories;
use crate::error::FormatError;
use crate::growing;
use crate::layout::{FORMAT_VERSION, Layout};

const MAGIC: &[u8; 8] = b"ATLASSEG";
const END: &[u8; 8] = b"ATLASEND";
const FOOTER_BYTES: usize = 16;

pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        Self(bytes)
    }

    /// Appends a section; returns its offset and length.
    pub(crate) fn append(&mut self, section: &[u8]) -> (u64, u64) {
        let offset = self.len();
        growing::append(&mut self.0, section);
        (offset, section.len() as u64)
    }

    pub(crate) const fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn finish(self, layout: &Layout) -> Result<Vec<u8>, FormatError> {
        finish(self.0, layout)
    }
}

/// Appends the footer to `bytes`, which `layout` describes.
pub(crate) fn finish(mut bytes: Vec<u8>, layout: &Layout) -> Result<Vec<u8>, FormatError> {
    const TOO_LARGE: FormatError = FormatError::TooLarge { what: "the layout" };
    let layout = serde_json::to_vec(layout).map_err(|_| TOO_LARGE)?;
    let length = u32::try_from(layout.len()).map_err(|_| TOO_LARGE)?;
    bytes.extend_from_slice(&layout);
    let crc32 = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&crc32.to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(END);
    Ok(bytes)
}

const CUT: FormatError = FormatError::Frame { reason: "it is cut short or not a segment" };

/// Reads the directories from the end of an object, which begins with its layout. Those with another checksum are damaged.
pub(crate) fn directories(end: &Bytes, crc32: u32) -> Result<Directories, FormatError> {
    let (layout, footer) = end.split_last_chunk::<FOOTER_BYTES>().ok_or(CUT)?;
    if !footer.ends_with(END) {
        return Err(CUT);
    }
    let layout = parsed(layout)?;
    let directories = layout.directories()?;
    match directories.crc32() == crc32 {
        true => Ok(directories.clone()),
        false => Err(FormatError::Frame { reason: "its directories are not those that the manifest means" }),
    }
}

fn parsed(layout: &[u8]) -> Result<Layout, FormatError> {
    serde_json::from_slice(layout).map_err(|_| FormatError::Frame { reason: "its layout is not of this format" })
}

/// Reads the layout of a whole segment, after checking the checksum of all its bytes.
pub fn verify(object: &Bytes) -> Result<Layout, FormatError> {
    let version = object.strip_prefix(MAGIC).and_then(<[u8]>::first_chunk::<4>).ok_or(CUT)?;
    let version = u32::from_le_bytes(*version);
    if version > FORMAT_VERSION {
        return Err(FormatError::Version { found: version, supported: FORMAT_VERSION });
    }
    let (before, footer) = object.split_last_chunk::<FOOTER_BYTES>().ok_or(CUT)?;
    let [checksum @ .., _, _, _, _, _, _, _, _, _, _, _, _] = *footer;
    let [_, _, _, _, length @ .., _, _, _, _, _, _, _, _] = *footer;
    if !footer.ends_with(END) {
        return Err(CUT);
    }
    if crc32fast::hash(before) != u32::from_le_bytes(checksum) {
        return Err(FormatError::Frame { reason: "its checksum does not match" });
    }
    let start = before.len().checked_sub(u32::from_le_bytes(length) as usize).ok_or(CUT)?;
    let layout = parsed(before.get(start..).ok_or(CUT)?)?;
    if layout.version != version {
        return Err(FormatError::Frame { reason: "its version differs from that in its layout" });
    }
    if layout.bytes != start as u64 || layout.sections.values().any(|section| section.range(layout.bytes).is_none()) {
        return Err(FormatError::Frame { reason: "a section lies outside of it" });
    }
    Ok(layout)
}
