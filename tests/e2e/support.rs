//! Helpers shared by tests.

pub mod agent;
pub mod clock;
pub mod costs;
pub mod damage;
pub mod deployment;
pub mod generated;
pub mod models;
pub mod note_calls;
pub mod obsidian;
pub mod programs;
pub mod publish;
pub mod random;
pub mod reading;
pub mod signing;
pub mod throttled;
pub mod tokens;
pub mod tool_calls;
pub mod tools;
pub mod world;
