//! Who may call what, see what, and how often.

mod acl;
mod approvals;
mod browser;
mod confirmation;
mod destruction;
mod door;
mod gates;
mod inspected;
mod throttle;
mod visibility;
mod work;
