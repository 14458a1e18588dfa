//! Many short strings in one buffer, so that substring search runs over it at memory speed.

use std::collections::HashSet;
use std::ops::Range;

use memchr::memmem;

use crate::error::FormatError;
use crate::section::SectionName;

/// Strings without line feeds; each is followed by one.
#[derive(Debug, Default)]
pub(crate) struct LineStrings {
    bytes: Vec<u8>,
    /// Start of each line, and the end of the last.
    starts: Vec<u32>,
}

impl LineStrings {
    pub(crate) fn new(bytes: Vec<u8>, section: SectionName) -> Result<Self, FormatError> {
        if u32::try_from(bytes.len()).is_err() || bytes.last().is_some_and(|last| *last != b'\n') {
            return Err(FormatError::damaged(section, "its lines are not ended"));
        }
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', &bytes).map(|end| end as u32 + 1)).collect();
        Ok(Self { bytes, starts })
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(crate) fn get(&self, line: u32) -> Option<&[u8]> {
        self.bytes.get(self.range(line)?)
    }

    /// The place of a line in [`bytes`](Self::bytes), without its line feed.
    pub(crate) fn range(&self, line: u32) -> Option<Range<usize>> {
        let start = *self.starts.get(line as usize)? as usize;
        let end = *self.starts.get(line as usize + 1)? as usize;
        Some(start..end - 1)
    }

    /// All lines, each with its line feed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The indexes of the lines that contain `needle`, ascending, each once.
    pub(crate) fn holding<'a>(&'a self, needle: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        let finder = memmem::Finder::new(needle);
        let mut from = if needle.is_empty() || needle.contains(&b'\n') { self.bytes.len() } else { 0 };
        std::iter::from_fn(move || {
            let at = from + finder.find(self.bytes.get(from..)?)?;
            let line = self.starts.partition_point(|start| *start as usize <= at) - 1;
            from = *self.starts.get(line + 1)? as usize;
            Some(line as u32)
        })
    }

    /// The indexes of the lines that are one of `wanted`, ascending.
    pub(crate) fn among<'a>(&'a self, wanted: &'a HashSet<String>) -> impl Iterator<Item = u32> + 'a {
        // Lengths and first bytes rule out most lines.
        let mut firsts = [[0_u64; 4]; 64];
        for line in wanted {
            let (place, bit) = place(line.as_bytes());
            firsts[place.0][place.1] |= bit;
        }
        (0..self.len() as u32).filter(move |index| {
            self.get(*index).is_some_and(|line| {
                let (place, bit) = place(line);
                firsts[place.0][place.1] & bit != 0 && std::str::from_utf8(line).is_ok_and(|line| wanted.contains(line))
            })
        })
    }

    pub(crate) fn weight(&self) -> usize {
        self.bytes.len() + self.starts.len() * 4
    }
}

/// The slot of `line` in a table of lengths and first bytes.
fn place(line: &[u8]) -> ((usize, usize), u64) {
    let first = usize::from(line.first().copied().unwrap_or_default());
    ((line.len() % 64, first / 64), 1 << (first % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn holding_is_a_plain_scan(lines in prop::collection::vec("[ab ]{0,6}", 0..20), needle in "[ab]{0,3}") {
            let mut bytes = lines.join("\n").into_bytes();
            if !lines.is_empty() {
                bytes.push(b'\n');
            }
            let table = LineStrings::new(bytes, SectionName::Names).unwrap();
            prop_assert_eq!(table.len(), lines.len());
            let expected: Vec<u32> = (0..lines.len() as u32)
                .filter(|line| !needle.is_empty() && lines[*line as usize].contains(&needle))
                .collect();
            prop_assert_eq!(table.holding(needle.as_bytes()).collect::<Vec<_>>(), expected);
            let wanted = lines.iter().step_by(3).cloned().chain([needle]).collect::<HashSet<String>>();
            let expected: Vec<u32> =
                (0..lines.len() as u32).filter(|line| wanted.contains(&lines[*line as usize])).collect();
            prop_assert_eq!(table.among(&wanted).collect::<Vec<_>>(), expected);
            for (index, line) in lines.iter().enumerate() {
                prop_assert_eq!(table.get(index as u32), Some(line.as_bytes()));
            }
        }
    }
}
