//! The page for people.

mod approvals;
mod attacks;
mod browser;
mod conflicts;
mod consent;
mod pages;
mod sessions;
mod visitor;
mod webdriver;
