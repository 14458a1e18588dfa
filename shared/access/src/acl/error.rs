//! Errors in access lists.

/// An access list that is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {text:?} cannot be used: {remedy}")]
pub struct AclError {
    /// The list that it is in.
    pub name: &'static str,
    /// The invalid text.
    pub text: String,
    /// The text to write instead.
    pub remedy: &'static str,
}
