//! Trigrams.

/// Three consecutive bytes of folded text.
pub type Trigram = [u8; 3];
