//! LZ-String in Base64 (<https://github.com/pieroxy/lz-string>, version 1.5), as the plugin Excalidraw compresses drawings. The crates that
//! read it set no bound to what a few bytes become.

use std::collections::{HashMap, HashSet};

/// The digits of Base64, by their values.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bits of a digit.
const DIGIT_BITS: u32 = 6;
/// Codes for a new unit of 8 bits, for one of 16, and for the end. Those of what was seen begin behind them.
const BYTE: u32 = 0;
const UNIT: u32 = 1;
const END: u32 = 2;
const FIRST: u32 = 3;
/// Longest code, in bits: no input that fits into memory has more.
const MAX_CODE_BITS: u32 = 30;

/// Why a text cannot be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LzError {
    /// A character that is no digit of Base64.
    #[error("{0:?} is no character of Base64")]
    Character(char),
    /// It ends before its end.
    #[error("it is cut off")]
    CutOff,
    /// A code for what was not seen yet.
    #[error("it is damaged")]
    Damaged,
    /// More comes out than was allowed.
    #[error("it becomes more than {0} characters")]
    TooLong(usize),
}

/// Compresses a text.
#[must_use]
pub fn compress_to_base64(text: &str) -> String {
    let mut out = Codes::default();
    let mut singles: HashMap<u16, u32> = HashMap::new();
    // The codes of longer runs, by the code of a run and the next unit.
    let mut runs: HashMap<(u32, u16), u32> = HashMap::new();
    let mut unwritten: HashSet<u16> = HashSet::new();
    let mut next = FIRST;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    // The run so far: its code, and its unit if it has only one.
    let mut run: Option<(u32, Option<u16>)> = None;
    for unit in text.encode_utf16() {
        let single = *singles.entry(unit).or_insert_with(|| {
            unwritten.insert(unit);
            fresh()
        });
        let Some((code, only)) = run else {
            run = Some((single, Some(unit)));
            continue;
        };
        if let Some(longer) = runs.get(&(code, unit)) {
            run = Some((*longer, None));
            continue;
        }
        out.write(code, only.filter(|only| unwritten.remove(only)));
        runs.insert((code, unit), fresh());
        run = Some((single, Some(unit)));
    }
    if let Some((code, only)) = run {
        out.write(code, only.filter(|only| unwritten.remove(only)));
    }
    out.finish()
}

/// Codes that are written as digits.
struct Codes {
    digits: String,
    /// The bits of the digit that is not full yet, and how many.
    open: u32,
    open_bits: u32,
    width: Width,
}

impl Default for Codes {
    fn default() -> Self {
        Self { digits: String::new(), open: 0, open_bits: 0, width: Width { bits: 2, left: 2 } }
    }
}

impl Codes {
    /// Writes the code of a run, or `new`, the unit that it stands for, if nobody has seen that.
    fn write(&mut self, code: u32, new: Option<u16>) {
        match new {
            Some(unit) if unit < 256 => self.new_unit(BYTE, unit, 8),
            Some(unit) => self.new_unit(UNIT, unit, 16),
            None => self.bits(code, self.width.bits),
        }
        self.width.step();
    }

    fn new_unit(&mut self, marker: u32, unit: u16, bits: u32) {
        self.bits(marker, self.width.bits);
        self.bits(unit.into(), bits);
        self.width.step();
    }

    /// Writes the lowest bits of a value, the lowest first.
    fn bits(&mut self, value: u32, count: u32) {
        for at in 0..count {
            self.open = self.open << 1 | (value >> at & 1);
            self.open_bits += 1;
            if self.open_bits == DIGIT_BITS {
                self.digits.extend(DIGITS.get(self.open as usize).map(|digit| char::from(*digit)));
                (self.open, self.open_bits) = (0, 0);
            }
        }
    }

    fn finish(mut self) -> String {
        self.bits(END, self.width.bits);
        // At least one bit fills the last digit up, also where it is full.
        self.bits(0, DIGIT_BITS - self.open_bits);
        while !self.digits.len().is_multiple_of(4) {
            self.digits.push('=');
        }
        self.digits
    }
}

/// How many bits a code has, and how many codes until there is one more.
#[derive(Clone, Copy)]
struct Width {
    bits: u32,
    left: u32,
}

impl Width {
    const fn step(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.left = 1 << self.bits;
            if self.bits < MAX_CODE_BITS {
                self.bits += 1;
            }
        }
    }
}

/// Decompresses a text to at most `max_units` units of UTF-16. White space in it counts for nothing.
///
/// # Errors
/// When it is no such text, or becomes longer.
pub fn decompress_from_base64(text: &str, max_units: usize) -> Result<String, LzError> {
    let mut digits = Digits { chars: text.chars(), value: 0, left: 0 };
    let mut out: Vec<u16> = Vec::new();
    // Each code stands for a run that was written before: where that begins, and how long it is.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut width = Width { bits: 2, left: 1 };
    let mut before: Option<(usize, usize)> = None;
    loop {
        let mut code = digits.bits(width.bits)?;
        let start = out.len();
        match code {
            END => break,
            BYTE | UNIT => {
                let unit = digits.bits(8 + 8 * code)?;
                code = FIRST + runs.len() as u32;
                runs.push((start, 1));
                out.push(u16::try_from(unit).map_err(|_| LzError::Damaged)?);
                // The first one counts once, and with what is learnt of it.
                if before.is_some() {
                    width.step();
                }
            }
            _ => {}
        }
        let place = code.checked_sub(FIRST).ok_or(LzError::Damaged)? as usize;
        let (from, length) = match (runs.get(place), before) {
            (Some(run), _) => *run,
            // A code that is being added: the previous run, and its first unit once more.
            (None, Some((from, length))) if place == runs.len() => (from, length + 1),
            _ => return Err(LzError::Damaged),
        };
        if start + length > max_units {
            return Err(LzError::TooLong(max_units));
        }
        if out.len() == start {
            let end = (from + length).min(start);
            out.extend_from_within(from..end);
            // The copied range may overlap the copy.
            for at in end..from + length {
                let unit = *out.get(at).ok_or(LzError::Damaged)?;
                out.push(unit);
            }
        }
        if let Some((from, length)) = before {
            runs.push((from, length + 1));
        }
        width.step();
        before = Some((start, length));
    }
    String::from_utf16(&out).map_err(|_| LzError::Damaged)
}

/// The bits of digits.
struct Digits<'a> {
    chars: std::str::Chars<'a>,
    value: u32,
    left: u32,
}

impl Digits<'_> {
    /// The next bits, the lowest first.
    fn bits(&mut self, count: u32) -> Result<u32, LzError> {
        let mut value = 0;
        for at in 0..count {
            if self.left == 0 {
                (self.value, self.left) = (self.digit()?, DIGIT_BITS);
            }
            self.left -= 1;
            value |= (self.value >> self.left & 1) << at;
        }
        Ok(value)
    }

    fn digit(&mut self) -> Result<u32, LzError> {
        let one = self.chars.find(|one| !one.is_ascii_whitespace()).ok_or(LzError::CutOff)?;
        Ok(match one {
            'A'..='Z' => one as u32 - 'A' as u32,
            'a'..='z' => one as u32 - 'a' as u32 + 26,
            '0'..='9' => one as u32 - '0' as u32 + 52,
            '+' => 62,
            '/' => 63,
            '=' => return Err(LzError::CutOff),
            other => return Err(LzError::Character(other)),
        })
    }
}

/// So many codes, each for one space more than the one before.
#[cfg(test)]
pub(crate) fn bomb(codes: u32) -> String {
    let mut out = Codes::default();
    out.write(FIRST, Some(u16::from(b' ')));
    (FIRST + 1..FIRST + codes).for_each(|code| out.write(code, None));
    out.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MANY: usize = 1 << 20;

    #[test]
    fn what_lz_string_writes_is_written_and_read() {
        for (text, compressed) in [
            ("", "Q==="),
            ("a", "IZA="),
            ("aaaaaaaaaa", "IY1o"),
            ("hello, hello!", "BYUwNmD2A0AEoUgQiA=="),
            ("é漢🦀", "JeIntHwbgBu0A==="),
        ] {
            assert_eq!(compress_to_base64(text), compressed, "{text:?}");
            assert_eq!(decompress_from_base64(compressed, MANY).as_deref(), Ok(text));
        }
        assert_eq!(decompress_from_base64("IY\n\n1\r\no", MANY).as_deref(), Ok("aaaaaaaaaa"));
    }

    #[test]
    fn what_is_damaged_is_refused() {
        for (text, error) in [
            ("", LzError::CutOff),
            ("IY1", LzError::CutOff),
            ("IY1o", LzError::TooLong(9)),
            ("I*", LzError::Character('*')),
            ("////", LzError::Damaged),
        ] {
            assert_eq!(decompress_from_base64(text, 9), Err(error), "{text:?}");
        }
    }

    /// Half a million equal characters are some thousand digits: what comes out is what is bounded.
    #[test]
    fn a_bomb_is_stopped() {
        let bomb = compress_to_base64(&"x".repeat(500_000));
        assert!(bomb.len() < 3000, "{}", bomb.len());
        assert_eq!(decompress_from_base64(&bomb, 499_999), Err(LzError::TooLong(499_999)));
        assert_eq!(decompress_from_base64(&bomb, 500_000).map(|text| text.len()), Ok(500_000));
        assert_eq!(decompress_from_base64(&super::bomb(1000), MANY).as_deref(), Ok(&*" ".repeat(500_500)));
    }

    proptest! {
        #[test]
        fn what_is_compressed_is_read_again(text in "(?s).{0,300}", few in "[ab]{0,2000}") {
            for text in [text, few] {
                let compressed = compress_to_base64(&text);
                prop_assert!(compressed.len().is_multiple_of(4));
                let read = decompress_from_base64(&compressed, MANY);
                prop_assert_eq!(read.as_deref(), Ok(text.as_str()));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[A-Za-z0-9+/=\n]{0,400}", any in "(?s).{0,100}") {
            for text in [text, any] {
                if let Ok(read) = decompress_from_base64(&text, 1000) {
                    prop_assert!(read.encode_utf16().count() <= 1000);
                }
            }
        }
    }
}
