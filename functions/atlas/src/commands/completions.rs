//! `atlas completions` and `atlas manual`

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::commands::Outcome;
use crate::output;

/// Arguments of `atlas completions`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Runs `atlas completions`: a script that the shell reads.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "atlas", &mut script);
    // A closed pipe is not an error.
    let _ = io::Write::write_all(&mut io::stdout(), &script);
    Ok(())
}

/// Arguments of `atlas manual`.
#[derive(Debug, Args)]
pub(crate) struct ManualArguments {
    /// The folder to write the pages to, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

/// Runs `atlas manual`: a page for `man` of each command.
pub(crate) fn write_manual(arguments: &ManualArguments) -> Outcome {
    fs::create_dir_all(&arguments.to)?;
    clap_mangen::generate_to(crate::Arguments::command(), &arguments.to)?;
    output::line(format_args!("the pages are in {}", arguments.to.display()));
    Ok(())
}
