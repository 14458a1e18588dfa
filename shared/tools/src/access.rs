//! Access control, and the calls that wait for approval.

pub mod approve;
pub mod inspect_acl;
pub mod list_approvals;
pub mod refuse;
mod waiting;
