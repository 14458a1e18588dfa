//! The exact reasons of errors.

use std::fmt;

macro_rules! reasons {
    ($($name:ident = $text:literal: $meaning:literal, $remedy:literal;)*) => {
        /// Why a call failed: `details.reason` of an error. The text of a reason never changes, so programs may compare
        /// it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(#[doc = $meaning] $name,)*
        }

        impl Reason {
            /// All reasons, by their texts.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The reason as clients see it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The reason with this text.
            pub fn named(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == text)
            }

            /// The meaning, for people.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),* }
            }

            /// The advice to the caller, for people.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy),* }
            }
        }
    };
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

reasons! {
    AclDenied = "acl_denied": "The access list does not let the caller do this at the path.", "Use another path, or ask the operator.";
    ApprovalDecided = "approval_decided": "Somebody else has already decided on the call.", "Leave it, or ask them.";
    ApprovalLapsed = "approval_lapsed": "A note that the call would change was changed since.", "Wait for the call to be repeated, and check its changes then.";
    ApprovalNotFound = "approval_not_found": "No waiting call has this id.", "List the waiting calls with `list_approvals`.";
    ApprovalOwn = "approval_own": "The caller made this call.", "Let somebody else approve it: a person at the host, or another administrator.";
    ApprovalRefused = "approval_refused": "A person refused the call.", "Do not repeat it; ask them what they want instead.";
    ApprovalsFull = "approvals_full": "Too many calls wait for a person.", "Ask the person to decide on them, then call again.";
    BasesSyntaxError = "bases_syntax_error": "The base cannot be read.", "Change it at the line and column that the message names.";
    BodyInvalid = "body_invalid": "The route does not accept this body.", "Correct it as the message says.";
    BodyTooLarge = "body_too_large": "The body is too large.", "Send less at once.";
    BodyTooSlow = "body_too_slow": "The body did not arrive in time.", "Send the request again.";
    BodyUnreadable = "body_unreadable": "The body was cut short.", "Send the request again.";
    BulkPartial = "bulk_partial": "One of several items failed, so none was executed.", "Correct the items that `results` names, and call again.";
    CapturesFull = "captures_full": "Too many of the caller's captures wait.", "Commit some of those that `list_capture_queue` shows.";
    CommitUnknown = "commit_unknown": "It is not known whether the change was made.", "Do as the message says: make the same call again, or look whether the change is there.";
    ComputeBudgetExceeded = "compute_budget_exceeded": "The expression takes too many steps.", "Ask for less: a folder, or a simpler expression.";
    ConcurrentModification = "concurrent_modification": "The note's version is not the named one.", "Read it again, then decide.";
    ConfigUnusable = "config_unusable": "The deployment's configuration cannot be used.", "Its operator must look at the log.";
    ContentTypeInvalid = "content_type_invalid": "The body has a content type that the route does not take.", "Send the type that the message names.";
    CursorExpired = "cursor_expired": "The vault as it was at the first page is no longer kept.", "Begin again without a cursor.";
    CursorInvalid = "cursor_invalid": "The cursor is not one of this listing.", "Pass the cursor of the page before, with the same arguments.";
    DqlError = "dql_error": "The Dataview query cannot be run.", "Change it as the message says.";
    EditRefused = "edit_refused": "The edit cannot be made in this note.", "Do what the message says.";
    ElicitRequired = "elicit_required": "A person has to confirm the call.", "Ask a person to approve it as the message says, then make the same call again.";
    EmbeddingProviderError = "embedding_provider_error": "The vault has no embedding model, or it fails.", "Search by words.";
    GenerationNotFound = "generation_not_found": "There is no such generation, or it is no longer kept.", "Ask for the note's history.";
    GlobInvalid = "glob_invalid": "A glob is invalid.", "Correct it as the message says.";
    HostNotAllowed = "host_not_allowed": "The server does not answer for this host name.", "Use one of its own names, or let the operator allow this one.";
    IdempotencyKeyMismatch = "idempotency_key_mismatch": "The idempotency key was used for another call.", "Use a new key for each call.";
    IndexFailed = "index_failed": "The folder could not be indexed.", "Look at the program's log.";
    Internal = "internal": "An internal error.", "The operator must look at the log.";
    InvalidInput = "invalid_input": "The tool does not support an argument's value.", "Change the argument that `field` names.";
    JsonInvalid = "json_invalid": "The body is not JSON.", "Send JSON.";
    JsonlogicError = "jsonlogic_error": "The expression cannot be evaluated.", "Change it as the message says.";
    LinkImpossible = "link_impossible": "No link can be written to the file's new path.", "Choose another name, or leave links as they are.";
    MethodNotAllowed = "method_not_allowed": "The route does not support this method.", "Use one in the header `Allow`.";
    NameTaken = "name_taken": "A file and a folder would have one name.", "Choose another path.";
    NotDone = "not_done": "This item was skipped, since another item of the call failed.", "Correct that one, and call again.";
    NoteChanged = "note_changed": "The note's version is not the named one.", "Read it again, then decide.";
    NoteExists = "note_exists": "A file already exists at the path.", "Read it and name the version to replace, or choose another path.";
    NoteNotFound = "note_not_found": "There is no note at the path.", "Take one of `suggestions`, or search for it.";
    NoteNotUtf8 = "note_not_utf8": "The note is not UTF-8, so it cannot be edited in part.", "Replace it whole.";
    NoteTooLarge = "note_too_large": "The note is too large for this call.", "Read a part of it, or write a shorter one.";
    NotesTooLarge = "notes_too_large": "The notes together are too large to read at once.", "Name fewer.";
    OffsetInvalid = "offset_invalid": "The offset is beyond the end of the note, or inside a character.", "Use the offset from the previous answer.";
    OperationNotFound = "operation_not_found": "There is no such operation here.", "Look for another with `find_capability`, or list the tools.";
    OperationTimeout = "operation_timeout": "The call exceeded its time limit.", "Ask for less: a folder, or fewer notes.";
    OriginNotAllowed = "origin_not_allowed": "The server refuses requests from pages of this origin.", "Let the operator allow the origin.";
    Overflow = "overflow": "The answer is too large.", "Ask for less at a time.";
    PathInvalid = "path_invalid": "The path is invalid, or cannot be written to.", "Change it as the message says.";
    PatternInvalid = "pattern_invalid": "The regular expression is invalid.", "Change it as the message says.";
    PluginIncompatible = "plugin_incompatible": "The plugin in the Obsidian app speaks another version.", "Use another tool; the person has to update the plugin.";
    PluginMissing = "plugin_missing": "The tool needs the Obsidian app or one of its plugins.", "Use another tool.";
    PluginUnreachable = "plugin_unreachable": "A service that the tool asks does not answer as it should.", "Try again later, or use another tool.";
    PresignUnsupported = "presign_unsupported": "The store supports no URLs.", "Request the bytes themselves.";
    QueryInvalid = "query_invalid": "The query is invalid.", "Change it as the message says.";
    ReadOnlyMode = "read_only_mode": "The vault is read-only.", "Do not write, or ask the operator.";
    RouteNotFound = "route_not_found": "There is no such route.", "Look at /openapi.json.";
    ScopeMissing = "scope_missing": "The token lacks a scope that the call needs.", "Request a token with the scopes in `required`.";
    ServerBusy = "server_busy": "Too many calls run at once.", "Wait as long as `retry_after_seconds` says.";
    SettingsInvalid = "settings_invalid": "A setting of the vault is invalid.", "Change it in Obsidian as the message says.";
    StoreUnavailable = "store_unavailable": "The store does not answer.", "Try again in a few seconds.";
    StoreUnsafe = "store_unsafe": "The store does not honour conditional writes, so writing is unsafe.", "The operator must run `atlas doctor`.";
    TargetAmbiguous = "target_ambiguous": "The edit's target occurs several times in the note.", "Name one of `candidates`.";
    TargetNotFound = "target_not_found": "The edit's target does not occur in the note.", "Name one of `candidates`, or read the note again.";
    TemplateUnusable = "template_unusable": "The template cannot be used.", "Name another.";
    Throttled = "throttled": "The caller makes too many calls.", "Wait as long as `retry_after_seconds` says.";
    TimeBudgetExceeded = "time_budget_exceeded": "The call exceeded its time limit.", "Ask for less.";
    TokenExpired = "token_expired": "The token has expired.", "Get a new one.";
    TokenInvalid = "token_invalid": "The token is not valid for this server.", "Get one from its operator.";
    TokenMissing = "token_missing": "The call needs a token.", "Send one in the header `Authorization`.";
    TokenTwice = "token_twice": "The request has several `Authorization` headers.", "Send one.";
    TooManyLinks = "too_many_links": "Too many links would have to be rewritten.", "Move the file without updating links, or rewrite links folder by folder.";
    TooMuchWork = "too_much_work": "The call exceeded its limit of processor time.", "Ask for less at once, or make the note smaller.";
    ToolNotFound = "tool_not_found": "There is no such tool.", "List the tools.";
    TrashFull = "trash_full": "The trash has too many files of this name.", "Empty the trash in the vault.";
    UploadExpired = "upload_expired": "The upload is too old.", "Upload the bytes again.";
    UploadMismatch = "upload_mismatch": "The uploaded bytes differ from those announced.", "Upload them again.";
    UploadMissing = "upload_missing": "Nothing was uploaded for this id.", "PUT the bytes to the URL first.";
    UploadUnsupported = "upload_unsupported": "The store takes no uploads.", "Ask the person to put the file into the folder that `atlas sync` publishes.";
    ValidationError = "validation_error": "An argument is missing, unknown, or of the wrong type or size.", "Change the argument that `field` names.";
    VaultContended = "vault_contended": "Others kept changing the vault during this call.", "Make the same call again in a few seconds.";
    VaultForbidden = "vault_forbidden": "The token is not for this vault.", "Name its own vault.";
    VaultNotFound = "vault_not_found": "There is no such vault.", "List the vaults.";
    VaultNotPublished = "vault_not_published": "The vault is not published yet.", "Run `atlas sync`.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_order_and_say_what_to_do() {
        assert!(Reason::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()), "sort them by their texts");
        for reason in Reason::ALL {
            assert!(reason.meaning().ends_with('.') && reason.remedy().ends_with('.'), "{reason}");
        }
    }
}
