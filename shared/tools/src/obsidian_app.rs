//! Tools of obsidian-tc's surface that need the Obsidian app itself, with a plugin. No function has an app beside it, so they answer
//! `plugin_missing` and name the plugin; they are not listed unless a configuration allows them by name. Where an app can be reached,
//! what asks it comes in place of [`missing`].

use atlas_ops::arguments::{Bounded, Given, Text};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What tags them.
pub use atlas_access::visibility::NEEDS_APP;

/// What such a tool would return.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What the plugin says.
    #[serde(flatten)]
    answer: Map<String, Value>,
}

/// The error for a tool whose plugin is not at hand.
fn missing(plugin: &str) -> Error {
    let message = format!(
        "this needs the Obsidian app with {plugin}, which is not reachable from here: use a tool that works on the vault's files"
    );
    Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", plugin)
}

macro_rules! tools {
    ($($(#[$doc:meta])* $operation:ident, $arguments:ident, $name:literal, $title:literal, $plugin:literal, $scope:ident, $description:literal, {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        $(;$($(#[$option_doc:meta])* $option:ident: $option_type:ty as $schema:literal $(= $default:expr)?,)*)?
    };)*) => {$(
        $(#[$doc])*
        pub struct $operation;

        /// What it is given.
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "it is checked, and there is nobody to give it to")]
        pub struct $arguments {
            $($(#[$field_doc])* $field: $type,)*
            $($($(#[$option_doc])* #[serde(default)] #[schemars(with = $schema)] $(#[schemars(extend("default" = $default))])? $option: Given<$option_type>,)*)?
        }

        impl Operation for $operation {
            const INFO: Info = Info {
                name: $name,
                title: $title,
                description: concat!($description, " Needs the Obsidian app with ", $plugin, ", which is not reachable from here: it answers plugin_missing."),
                scopes: &[Scope::$scope],
                tags: &[NEEDS_APP],
                ..Info::HARMLESS
            };
            type Arguments = $arguments;
            type Output = Output;

            async fn run(_: &Context<'_>, _: Self::Arguments) -> Result<Answer<Output>, Error> {
                Err(missing($plugin))
            }
        }
    )*};
}

tools! {
    /// `plur_recall`.
    PlurRecall, PlurRecallRequest, "plur_recall", "Recall", "plur", ReadVault, "Finds engrams by words.", {
        /// The words.
        query: Text<1000>,
        ;
        /// How many.
        k: Bounded<1, 50> as "Bounded<1, 50>" = 10,
        /// Of this scope only.
        scope: Text<256> as "Text<256>",
    };
    /// `plur_recall_hybrid`.
    PlurRecallHybrid, PlurRecallHybridRequest, "plur_recall_hybrid", "Recall by words and meaning", "plur", ReadVault, "Finds engrams by words and by meaning.", {
        /// The words.
        query: Text<1000>,
        ;
        /// How many.
        k: Bounded<1, 50> as "Bounded<1, 50>" = 10,
        /// Of this scope only.
        scope: Text<256> as "Text<256>",
        /// How much the words count, from 0 to 1.
        bm25_weight: f64 as "f64" = 0.5,
    };
    /// `plur_similarity_search`.
    PlurSimilaritySearch, PlurSimilaritySearchRequest, "plur_similarity_search", "Recall by meaning", "plur", ReadVault, "Finds engrams by meaning.", {
        /// What they are about.
        query: Text<1000>,
        ;
        /// How many.
        k: Bounded<1, 50> as "Bounded<1, 50>" = 10,
        /// Of this scope only.
        scope: Text<256> as "Text<256>",
        /// The least similarity.
        min_score: f64 as "f64",
    };
    /// `plur_get`.
    PlurGet, PlurGetRequest, "plur_get", "Get an engram", "plur", ReadVault, "Returns an engram.", {
        /// The engram.
        engram_id: Text<256>,
    };
}
