//! Splits an input. Missing parts are zero or empty.

/// The rest of an input.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A little-endian number.
    pub(crate) fn number(&mut self) -> u16 {
        u16::from(self.byte()) | u16::from(self.byte()) << 8
    }

    /// At most `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes after their length, which is a [`number`](Self::number).
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let length = self.number();
        self.take(length.into())
    }
}
