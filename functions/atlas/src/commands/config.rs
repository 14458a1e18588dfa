//! `atlas config`

use std::error::Error;
use std::path::PathBuf;

use atlas_web::config::ConfigSource;
use atlas_web::config::listing::{self, Row, SettingSource};
use atlas_web::state::Reach;
use atlas_web::{App, Settings};
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::commands::Outcome;
use crate::local;
use crate::output;
use crate::vault::DeploymentArguments;
use crate::vault_location::{GivenBy, VaultLocation};

/// Arguments of `atlas config`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show all settings with their values and sources
    Show {
        #[command(flatten)]
        deployment: DeploymentArguments,
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Check whether the functions and `atlas serve` would start with these settings
    Validate {
        #[command(flatten)]
        deployment: DeploymentArguments,
        /// The configuration document to check [default: the one that ATLAS_CONFIG names]
        file: Option<PathBuf>,
    },
}

/// Runs `atlas config`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    match arguments.what {
        ConfigCommand::Show { deployment, json } => {
            let (settings, location) = read(&deployment)?;
            show(&App::settings(&settings).await?, location.as_ref(), json)
        }
        ConfigCommand::Validate { deployment, file } => {
            let (mut settings, _) = read(&deployment)?;
            if let Some(file) = file {
                settings.config = Some(ConfigSource::File(file));
            }
            App::open(&settings, Reach::Loopback).await?;
            output::line("the settings can be used");
            Ok(())
        }
    }
}

/// The settings of what would serve the vault here, and where that is; without a vault, those of the environment.
fn read(deployment: &DeploymentArguments) -> Result<(Settings, Option<VaultLocation>), Box<dyn Error>> {
    let (settings, location) = match deployment.find() {
        Ok(location) => (Settings::read(location.variables())?, Some(location)),
        Err(_) => (Settings::read(deployment.variables())?, None),
    };
    Ok((Settings { current: local::current(), ..settings }, location))
}

/// The source of a row's setting, where it is not the environment itself.
fn source(row: &Row, location: &VaultLocation) -> SettingSource {
    let given_by = match row.setting.split(' ').next() {
        Some("ATLAS_STORE") => Some(location.store.given_by),
        Some("ATLAS_VAULT") => Some(location.vault.given_by),
        Some("ATLAS_CONFIG") => location.config.as_ref().map(|config| config.given_by),
        _ => None,
    };
    match given_by.filter(|_| row.source == SettingSource::Environment) {
        Some(GivenBy::Argument) => SettingSource::Named,
        Some(GivenBy::Remembered) => SettingSource::Remembered,
        Some(GivenBy::Default) => SettingSource::Default,
        Some(GivenBy::Environment) | None => row.source,
    }
}

fn show(settings: &Settings, location: Option<&VaultLocation>, json: bool) -> Outcome {
    let mut rows = listing::list(settings);
    if let Some(location) = location {
        rows.iter_mut().for_each(|row| row.source = source(row, location));
    }
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
