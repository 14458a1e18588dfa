//! `atlas`, the host program: one file for each command in [`commands`], wired to the library crates here.

mod bar;
mod bucket;
mod commands;
mod output;
mod repository;
mod store;
mod vault;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// Mirrors a folder of notes in an object store, both ways, and serves it from there.
#[derive(Debug, Parser)]
#[command(name = "atlas", version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::parse().command.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&*error);
            ExitCode::FAILURE
        }
    }
}
