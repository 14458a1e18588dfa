//! `atlas config`

use std::path::PathBuf;

use atlas_web::config::{ConfigSource, listing};
use atlas_web::state::Reach;
use atlas_web::{App, Settings};
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::commands::Outcome;
use crate::output;
use crate::store::variables;

/// Arguments of `atlas config`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show all settings, their values and where those come from
    Show {
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Check whether the functions and `atlas serve` would start with these settings
    Validate {
        /// The configuration document to check [default: the one that ATLAS_CONFIG names]
        file: Option<PathBuf>,
    },
}

/// Runs `atlas config`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let mut environment = Settings::read(variables())?;
    match arguments.what {
        What::Show { json } => show(&App::settings(&environment).await?, json),
        What::Validate { file } => {
            if let Some(file) = file {
                environment.config = Some(ConfigSource::File(file));
            }
            App::open(&environment, Reach::Loopback).await?;
            output::line("the settings can be used");
            Ok(())
        }
    }
}

fn show(settings: &Settings, json: bool) -> Outcome {
    let rows = listing::list(settings);
    if json {
        return output::json(&rows);
    }
    let width = rows.iter().map(|row| row.setting.len()).max().unwrap_or_default();
    for row in rows {
        let value = match row.value {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        output::line(format_args!("{:11}  {:width$}  {value}", row.source.as_str(), row.setting));
    }
    Ok(())
}
