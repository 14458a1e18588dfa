//! `list_vaults`: the vaults of the deployment that the caller may name.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use futures::future::try_join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VaultState;

/// Lists the vaults that the caller may name, with their published state.
pub struct ListVaults;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The vaults.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vaults, the default one first.
    vaults: Vec<VaultState>,
}

impl Operation for ListVaults {
    const INFO: Info = Info {
        name: "list_vaults",
        title: "List vaults",
        description: "Lists the vaults that the caller may name, with what is published of each since when. Example: {}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let vaults = try_join_all(super::named(context).map(|vault| async move {
            Ok::<_, Error>(VaultState::of(context, vault, super::head(vault).await?.as_ref()))
        }))
        .await?;
        Ok(Answer { value: Output { vaults }, generation: None })
    }
}
