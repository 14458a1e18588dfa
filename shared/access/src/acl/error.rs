//! Why an access list cannot be used.

/// An access list that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {text:?} cannot be used: {remedy}")]
pub struct AclError {
    /// The list that it is in.
    pub name: &'static str,
    /// What is wrong.
    pub text: String,
    /// What to write instead.
    pub remedy: &'static str,
}
