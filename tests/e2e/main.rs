//! End-to-end tests: a vault folder is published to a store, and the functions answer from that store alone.
//!
//! `support` has shared helpers. `http` and `mcp` test the doors, `tools` the operations, `access` access control;
//! `store` and `sync` the layers below. Most run in this process, over the functions' own routes; those in `programs`,
//! and `killed`, `browser` and `rclone_mount`, run the real programs.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod access;
mod http;
mod mcp;
mod oauth;
mod programs;
mod store;
mod support;
mod sync;
mod tools;
mod ui;
