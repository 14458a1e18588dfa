//! Access control: authentication, access lists, visibility and throttle.

mod acl;
mod approvals;
mod browser;
mod confirmation;
mod destruction;
mod door;
mod gates;
mod inspected;
mod parts;
mod throttle;
mod unseen;
mod visibility;
mod work;

pub(crate) use self::confirmation::unthrottled;
