//! In the place of the network where a program is built without it.

use super::REMEDY;
use crate::ModelError;
use crate::architecture::Architecture;

/// A network that this program cannot run, so there is none.
#[derive(Debug)]
pub enum Network {}

impl Network {
    /// Fails: the program has no code for it.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &Architecture, _: usize, _: impl Iterator<Item = f32>) -> Result<Self, ModelError> {
        Err(ModelError::Absent(REMEDY))
    }

    pub(crate) fn pooled(&self, _: &[f32]) -> Option<Vec<f32>> {
        match *self {}
    }
}
