//! LEB128 unsigned integers.

pub(crate) fn write(out: &mut Vec<u8>, value: u64) {
    each_byte(value, |byte| out.push(byte));
}

/// Calls `each` with the bytes of an integer.
pub(crate) fn each_byte(mut value: u64, mut each: impl FnMut(u8)) {
    while value >= 0x80 {
        each(value as u8 | 0x80);
        value >>= 7;
    }
    each(value as u8);
}

/// Reads one integer from the front of `bytes`; `None` if it is truncated or too long.
pub(crate) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(values in prop::collection::vec(any::<u64>(), 0..20)) {
            let mut bytes = Vec::new();
            for value in &values {
                write(&mut bytes, *value);
            }
            let mut rest = bytes.as_slice();
            for value in values {
                prop_assert_eq!(read(&mut rest), Some(value));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            let mut rest = bytes.as_slice();
            while read(&mut rest).is_some() {}
        }
    }
}
