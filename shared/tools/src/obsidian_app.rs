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
    /// `search_dql`.
    SearchDql, SearchDqlRequest, "search_dql", "Dataview query", "dataview", ReadVault, "Runs a Dataview query.", {
        /// The query.
        dql: Text<10_000>,
        ;
        /// `table`, `list`, `task` or `calendar`.
        format: Text<64> as "Text<64>" = "table",
    };
    /// `validate_dql`.
    ValidateDql, ValidateDqlRequest, "validate_dql", "Check a Dataview query", "dataview", ReadVault, "Says whether a Dataview query can be read.", {
        /// The query.
        dql: Text<10_000>,
    };
    /// `eval_dataview_field`.
    EvalDataviewField, EvalDataviewFieldRequest, "eval_dataview_field", "Evaluate a Dataview expression", "dataview", ReadVault, "Evaluates a Dataview expression for a note.", {
        /// The note.
        path: String,
        /// The expression.
        expression: Text<10_000>,
    };
    /// `ocr_attachment`.
    OcrAttachment, OcrAttachmentRequest, "ocr_attachment", "Read text in a picture", "text-extractor", ReadVault, "Recognises the text of a picture or PDF.", {
        /// The attachment.
        path: String,
        ;
        /// Whether to do it again.
        force: bool as "bool" = false,
    };
    /// `ocr_bulk`.
    OcrBulk, OcrBulkRequest, "ocr_bulk", "Read text in pictures", "text-extractor", ReadVault, "Recognises the text of several pictures or PDFs.", {
        ;
        /// The attachments.
        paths: Vec<String> as "Vec<String>",
        /// The folder that they are in.
        root: String as "String",
        /// Of these kinds only.
        extensions: Vec<String> as "Vec<String>" = [".pdf", ".png", ".jpg", ".jpeg", ".tiff"],
        /// Whether to do it again.
        force: bool as "bool" = false,
        /// How many at once.
        max_concurrent: Bounded<1, 4> as "Bounded<1, 4>" = 2,
    };
    /// `makemd_list_spaces`.
    MakemdListSpaces, MakemdListSpacesRequest, "makemd_list_spaces", "List make.md spaces", "make-md", ReadVault, "Lists the spaces of make.md.", {
    };
    /// `makemd_query`.
    MakemdQuery, MakemdQueryRequest, "makemd_query", "Query a make.md space", "make-md", ReadVault, "Queries a space of make.md.", {
        /// The space.
        space_id: Text<1024>,
        ;
        /// Which notes.
        filter: Map<String, Value> as "Map<String, Value>",
        /// In which order.
        sort: Map<String, Value> as "Map<String, Value>",
        /// Most notes to return.
        limit: Bounded<1, 1000> as "Bounded<1, 1000>",
        /// The cursor of the page before.
        cursor: Text<4096> as "Text<4096>",
    };
    /// `open_workspace`.
    OpenWorkspace, OpenWorkspaceRequest, "open_workspace", "Open a workspace", "workspaces", WriteVault, "Switches to a saved workspace.", {
        /// The workspace.
        name: Text<256>,
        ;
        /// Whether to save the one that is open.
        save_current_first: bool as "bool" = false,
    };
    /// `save_workspace`.
    SaveWorkspace, SaveWorkspaceRequest, "save_workspace", "Save a workspace", "workspaces", WriteVault, "Saves the layout of the windows.", {
        /// The workspace.
        name: Text<256>,
        ;
        /// Whether one of the name may be replaced.
        overwrite: bool as "bool" = false,
    };
    /// `list_commands`.
    ListCommands, ListCommandsRequest, "list_commands", "List commands", "obsidian-tc", ReadVault, "Lists Obsidian's commands.", {
        ;
        /// A part of their names.
        filter: Text<256> as "Text<256>",
        /// Most commands to return.
        limit: Bounded<1, 1000> as "Bounded<1, 1000>",
        /// The cursor of the page before.
        cursor: Text<4096> as "Text<4096>",
    };
    /// `execute_command`.
    ExecuteCommand, ExecuteCommandRequest, "execute_command", "Run a command", "obsidian-tc", WriteVault, "Runs one of Obsidian's commands.", {
        /// The command.
        command_id: Text<256>,
        ;
        /// What it is given.
        args: Map<String, Value> as "Map<String, Value>",
    };
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
