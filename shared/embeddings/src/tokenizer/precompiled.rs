//! SentencePiece's tables: a double array that finds strings, and what stands instead of each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use unicode_normalization::char::is_combining_mark;

use crate::ModelError;

/// Longer runs of a character and its marks are looked up character by character.
const LONGEST: usize = 6;

#[derive(Debug)]
pub(super) struct Precompiled {
    units: Vec<u32>,
    instead: Vec<u8>,
}

impl Precompiled {
    pub(super) fn from_base64(text: &str) -> Result<Self, ModelError> {
        let damaged = || ModelError::damaged("tokenizer.json", "the tables of the normalizer are cut short");
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (units, instead) = rest.split_at_checked(u32::from_le_bytes(*size) as usize).ok_or_else(damaged)?;
        let units = units.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        Ok(Self { units, instead: instead.to_vec() })
    }

    /// The replacement of the shortest string of the table that `text` begins with.
    fn instead_of(&self, text: &str) -> Option<&str> {
        let offset = |unit: u32| ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize;
        let mut at = offset(*self.units.first()?);
        for byte in text.bytes().take_while(|byte| *byte != 0) {
            at ^= usize::from(byte);
            let unit = *self.units.get(at)?;
            if unit & ((1 << 31) | 0xff) != u32::from(byte) {
                return None;
            }
            at ^= offset(unit);
            if (unit >> 8) & 1 == 1 {
                let value = self.units.get(at)? & ((1 << 31) - 1);
                let found = self.instead.get(value as usize..)?;
                let end = found.iter().position(|byte| *byte == 0)?;
                return std::str::from_utf8(found.get(..end)?).ok();
            }
        }
        None
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let mut normal = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let marks = rest.chars().skip(1).take_while(|c| is_combining_mark(*c));
            let length = first.len_utf8() + marks.map(char::len_utf8).sum::<usize>();
            let (cluster, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            rest = after;
            if cluster.len() < LONGEST
                && let Some(instead) = self.instead_of(cluster)
            {
                normal.push_str(instead);
                continue;
            }
            for c in cluster.chars() {
                match self.instead_of(c.encode_utf8(&mut [0; 4])) {
                    Some(instead) => normal.push_str(instead),
                    None => normal.push(c),
                }
            }
        }
        normal
    }
}
