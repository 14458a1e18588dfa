//! End-to-end tests: a vault folder is published to a store, and the functions answer from that store alone.
//!
//! `support` is what tests share. `http` and `mcp` are the doors, `tools` the operations, `access` who may call them; `store` and `sync` are what
//! lies below. Most run in this process, over the functions' own routes; those in `programs`, and `killed`, `browser` and `rclone_mount`, run the
//! real programs.
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
mod programs;
mod store;
mod support;
mod sync;
mod tools;
