//! `plur_recall`: finds engrams by words.

use atlas_ops::arguments::{Bounded, Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Output, asked, body};

/// Finds engrams by words.
pub struct PlurRecall;

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
}

impl Operation for PlurRecall {
    const INFO: Info = Info {
        name: "plur_recall",
        title: "Recall",
        description: "Finds engrams, which are things that agents learned, in plur by words (BM25). Not of a vault: the engrams are those of the deployment, and the token needs the scope read:plur besides. For words and meaning together take plur_recall_hybrid. Example: {\"query\": \"release checklist\"}",
        ..super::INFO
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        asked(context, "recall", body(&arguments)).await
    }
}
