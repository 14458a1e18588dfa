//! End-to-end tests: a vault folder is published to a store, and the functions answer from that store alone.
//!
//! Most run in this process, over the functions' own routes; `process`, `killed`, `browser` and `rclone_mount` run the real programs.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod access;
mod acl;
mod admin;
mod agent;
mod answer_sizes;
mod answers;
mod attachments;
mod bookmarks;
mod bridge;
mod browser;
mod buckets;
mod bulk;
mod bundles;
mod calls;
mod clock;
mod configured;
mod confirmation;
mod connectors;
mod context;
mod cors;
mod costs;
mod damage;
mod deploying;
mod deployment;
mod destruction;
mod events;
mod facts;
mod find;
mod gates;
mod golden;
mod guardrails;
mod https;
mod inspected;
mod keyed;
mod killed;
mod link_tools;
mod links;
mod lossless;
mod mcp;
mod mcp_stdio;
mod moves;
mod moves_back;
mod names;
mod note_tools;
mod notes;
mod pages;
mod periodic;
mod policies;
mod process;
mod programs;
mod properties;
mod publish;
mod queries;
mod query;
mod random;
mod ranked;
mod rclone_mount;
mod real_moves;
mod repair;
mod requests;
mod restore;
mod schemas;
mod search;
mod sections;
mod signals;
mod store_faults;
mod stores;
mod surface;
mod tags;
mod tasks;
mod throttle;
mod tools;
mod traversal;
mod uploads;
mod vault_mcp;
mod visibility;
mod work;
mod world;
mod writers;
mod writes;
