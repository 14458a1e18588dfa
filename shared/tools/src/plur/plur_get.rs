//! `plur_get`: returns an engram.

use atlas_ops::arguments::Text;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Output, asked, body};

/// Returns an engram.
pub struct PlurGet;

/// The question to plur.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The engram.
    engram_id: Text<256>,
}

impl Operation for PlurGet {
    const INFO: Info = Info {
        name: "plur_get",
        title: "Get an engram",
        description: "Returns one engram of plur by its id, as a search gives it. Not of a vault: the engrams are those of the deployment, and the token needs the scope read:plur besides. Example: {\"engram_id\": \"ENG-2026-0411-001\"}",
        ..super::INFO
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        asked(context, "get", body(&arguments)).await
    }
}
