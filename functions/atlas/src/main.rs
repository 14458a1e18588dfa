//! `atlas`, the host program: one file for each command in [`commands`], wired to the library crates here.

mod bar;
mod bucket;
mod commands;
mod output;
mod store;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// Publishes a folder of notes to an object store, and reads it back.
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
