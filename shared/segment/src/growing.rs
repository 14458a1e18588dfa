//! Long buffers that grow in small steps: doubled, they would have twice the memory that they need.

/// The least step.
const STEP: usize = 4 << 10;

/// A buffer is long from this many bytes on.
const LONG: usize = 64 << 10;

/// Makes room for a few small values, if the buffer is long and has none. Its room grows by an eighth.
pub(crate) fn make_room(buffer: &mut Vec<u8>) {
    if buffer.len() >= LONG && buffer.capacity() - buffer.len() < STEP {
        buffer.reserve_exact(buffer.len() / 8);
    }
}

/// Appends to a buffer. Its room grows by an eighth at least.
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8]) {
    if buffer.capacity() - buffer.len() < bytes.len() {
        buffer.reserve_exact(bytes.len().max(buffer.len() / 8).max(STEP));
    }
    buffer.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_buffer_has_little_more_room_than_it_needs() {
        let mut buffer = Vec::new();
        (0..10_000).for_each(|_| append(&mut buffer, &[1; 100]));
        assert_eq!(buffer, [1; 1_000_000]);
        assert!(buffer.capacity() < 1_150_000, "{}", buffer.capacity());
    }

    #[test]
    fn a_long_buffer_of_small_values_has_little_more_room_than_it_needs() {
        let mut buffer = Vec::new();
        for _ in 0..11_000 {
            make_room(&mut buffer);
            (0..100).for_each(|_| buffer.push(1));
        }
        assert!(buffer.len() == 1_100_000 && buffer.capacity() < 1_265_000, "{}", buffer.capacity());
    }
}
