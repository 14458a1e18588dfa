//! `plur_recall_hybrid`: finds engrams by words and by meaning.

use atlas_ops::arguments::{Bounded, Given, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Output, asked, body};

/// Finds engrams by words and by meaning.
pub struct PlurRecallHybrid;

/// The question to plur.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The words to look for.
    query: Text<1000>,
    /// How many engrams at most.
    #[serde(default)]
    k: Bounded<1, 50, 10>,
    /// Engrams of this scope only.
    #[serde(default)]
    scope: Given<Text<256>>,
    /// How much the words count beside the meaning, from 0 to 1, if plur weighs them.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    bm25_weight: f64,
}

const fn half() -> f64 {
    0.5
}

impl Operation for PlurRecallHybrid {
    const INFO: Info = Info {
        name: "plur_recall_hybrid",
        title: "Recall by words and meaning",
        description: "Finds engrams, which are things that agents learned, in plur by words and by meaning together. Not of a vault: the engrams are those of the deployment, and the token needs the scope read:plur besides. Example: {\"query\": \"how do we ship a release\"}",
        ..super::INFO
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        if !(0.0..=1.0).contains(&arguments.bm25_weight) {
            return Err(invalid_input("bm25_weight", "write a number from 0 to 1"));
        }
        asked(context, "recall_hybrid", body(&arguments)).await
    }
}
