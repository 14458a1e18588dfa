//! `plur_similarity_search`: finds engrams by meaning.

use atlas_ops::arguments::{Bounded, Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Output, asked, body};

/// Finds engrams by meaning.
pub struct PlurSimilaritySearch;

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
    /// The least similarity.
    #[serde(default)]
    min_score: Given<f64>,
}

impl Operation for PlurSimilaritySearch {
    const INFO: Info = Info {
        name: "plur_similarity_search",
        title: "Recall by meaning",
        description: "Finds engrams, which are things that agents learned, in plur by meaning, with the similarity of each. Not of a vault: the engrams are those of the deployment, and the token needs the scope read:plur besides. Example: {\"query\": \"how do we ship a release\"}",
        ..super::INFO
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        asked(context, "similarity_search", body(&arguments)).await
    }
}
