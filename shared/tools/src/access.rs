//! Who may do what, and what a person has to confirm.

pub mod approve;
pub mod inspect_acl;
pub mod list_approvals;
pub mod refuse;
mod waiting;
