//! The shape of a function: a hash of its tokens from the parameters to the end, in which locals go by their order.

use std::collections::HashMap;

/// Functions of fewer tokens than this are alike without being copies.
const LEAST_TOKENS: usize = 24;
/// Most locals that are told apart.
const MAX_LOCALS: usize = 10_000;

/// Builds a shape.
#[derive(Debug)]
pub(crate) struct Shape<'t> {
    hash: u64,
    tokens: usize,
    locals: HashMap<&'t str, u32>,
}

impl<'t> Shape<'t> {
    /// That of a function of this name.
    pub(crate) fn of(name: &'t str) -> Self {
        // FNV-1a, of 64 bits: equal on all machines, and nothing depends on its strength.
        Self { hash: 0xcbf2_9ce4_8422_2325, tokens: 0, locals: HashMap::from([(name, 0)]) }
    }

    /// Declares a local.
    pub(crate) fn declare(&mut self, name: &'t str) {
        let next = u32::try_from(self.locals.len()).unwrap_or(u32::MAX);
        if self.locals.len() < MAX_LOCALS {
            self.locals.entry(name).or_insert(next);
        }
    }

    /// Adds a token, which may name a local.
    pub(crate) fn add(&mut self, token: &str, may_be_local: bool) {
        self.tokens += 1;
        match self.locals.get(token).filter(|_| may_be_local) {
            Some(local) => self.bytes(&[&[1], &local.to_le_bytes()[..]].concat()),
            None => {
                self.bytes(token.as_bytes());
                self.bytes(&[0]);
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The shape; 0 if the function is too small to have one.
    pub(crate) const fn finish(&self) -> u64 {
        if self.tokens < LEAST_TOKENS { 0 } else { self.hash }
    }
}
