//! `prune_hub_links`: removes links from a note that has too many, by a policy.

mod policy;

use std::collections::HashMap;
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Hash, Snapshot};
use atlas_ops::arguments::{self, Bounded, Given, Message, Versions, WritePath, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_ops::write::batch::{Batch, NewDocument};
use atlas_ops::write::commit;
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::writable;
use atlas_ops::write::writable::text_of;
use atlas_vault::VaultPath;
use atlas_vault::remove_links::{LinkOccurrence, link_occurrences, remove_links};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::links::prune_hub_links::policy::{Kind, Meant, Policy, Rule};

/// Removes links from a note that has too many.
pub struct PruneHubLinks;

/// The note, and the policy.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// Which links to remove; the kind `drop_unresolved_and_duplicates` if not given. Those in properties, and embeds, stay.
    #[serde(default)]
    policy: Given<Policy>,
    /// Instead of a policy: remove links that lead to no file; true if not given.
    #[serde(default)]
    remove_unresolved: Given<bool>,
    /// Instead of a policy: remove links to a file that an earlier link leads to; true if not given.
    #[serde(default)]
    remove_duplicates: Given<bool>,
    /// Most links to remove, the first in the note; 50 if not given.
    #[serde(default)]
    max_removals: Bounded<1, 1000, 50>,
    /// Change nothing, and return which links would be removed; true if not given.
    #[serde(default = "arguments::yes")]
    dry_run: bool,
    #[serde(default)]
    if_match: Given<Versions>,
    #[serde(default)]
    message: Given<Message>,
}

impl Arguments {
    fn rule(&mut self) -> Result<(Kind, Rule), Error> {
        let flags = (self.remove_unresolved.0, self.remove_duplicates.0);
        let policy = match (self.policy.0.take(), flags) {
            (Some(policy), (None, None)) => policy,
            (Some(_), _) => {
                return Err(invalid_input(
                    "policy",
                    "give a policy, or remove_unresolved and remove_duplicates, not both",
                ));
            }
            (None, (unresolved, duplicates)) => {
                let kind = Kind::of_flags(unresolved.unwrap_or(true), duplicates.unwrap_or(true));
                Policy::of(kind.ok_or_else(|| {
                    invalid_input("remove_unresolved", "nothing is left to remove: one of both must be true")
                })?)
            }
        };
        Ok((policy.kind, Rule::of(policy)?))
    }
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// The policy.
    policy_used: Kind,
    /// The number of links before.
    links_before: usize,
    /// The number of links after.
    links_after: usize,
    /// The removed links. Their display text stays; a list item with nothing else is removed.
    removed: Vec<Removed>,
    /// Whether more were removed than fit into the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// SHA-256 of the note's bytes, in hex; absent on a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    /// Whether this was a dry run, so that nothing was changed.
    dry_run: bool,
}

/// A removed link. A keyed commit stores it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Its target, as written.
    target: String,
    /// Why it was removed.
    reason: String,
    /// The number of its line before, counted from 1.
    line: u32,
}

impl Operation for PruneHubLinks {
    const INFO: Info = Info {
        name: "prune_hub_links",
        title: "Prune the links of a hub",
        description: "Removes links from a note that has too many: by default those that lead nowhere or repeat an earlier one; those to files that few notes link to (drop_below_score, keep_top_n), bare list items (drop_unannotated_list_items), links without text around them (drop_no_prose_context), or those that do not meet a JSONLogic condition (jsonlogic). The display text of a link stays; a list item with nothing else is removed. It is a dry run unless dry_run is false; then a person has to confirm it. Example: {\"path\": \"Home.md\", \"policy\": {\"kind\": \"drop_unannotated_list_items\"}, \"dry_run\": false}",
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["links"],
        idempotent: true,
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        !arguments.dry_run
    }

    fn is_dry_run(arguments: &Arguments) -> bool {
        arguments.dry_run
    }

    async fn run(context: &Context<'_>, mut arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let (kind, rule) = arguments.rule()?;
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let change = Pruning { context, path, condition, rule, most: arguments.max_removals.get() };
        let message = arguments.message.as_ref().map(Message::as_str);
        let (pruned, generation) = if arguments.dry_run {
            let look = |view: View| {
                let change = &change;
                async move { Ok((change.plan(view.snapshot()).await?.0, view.generation())) }
            };
            context.read(look).await?.value
        } else {
            commit::commit(context, &Self::INFO, message, &change).await?.kept()
        };
        let links_after = pruned.links.saturating_sub(pruned.removed.len());
        let mut removed = pruned.removed;
        // Changes are reported even if the report must be cut.
        let truncated = cut(&mut removed, context);
        let output = Output {
            path: change.path.as_str().to_owned(),
            policy_used: kind,
            links_before: pruned.links,
            links_after,
            removed,
            truncated,
            content_hash: (!arguments.dry_run).then(|| pruned.sha256.to_string()),
            dry_run: arguments.dry_run,
        };
        Ok(Answer { value: output, generation: Some(generation) })
    }
}

struct Pruning<'a> {
    context: &'a Context<'a>,
    path: VaultPath,
    condition: Condition<'a>,
    rule: Rule,
    most: usize,
}

/// The result. A keyed commit stores it.
#[derive(Clone, Serialize, Deserialize)]
struct Pruned {
    links: usize,
    removed: Vec<Removed>,
    sha256: Hash,
}

impl Pruning<'_> {
    async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<(Pruned, Batch<'h>), Error> {
        let found = notes::find(head, self.path.as_str(), |_| true).await?;
        let found = found.ok_or_else(|| notes::missing(self.path.as_str()))?;
        self.condition.check(self.path.as_str(), Some(&found))?;
        let note = text_of(&found)?;
        let links = link_occurrences(note);
        let meant = if self.rule.is_of_targets() { self.meant(head, &links).await? } else { HashMap::new() };
        let deadline = self.context.deadline(self.context.limits.max_scan_time);
        let reasons = self.rule.reasons(&links, &meant, &deadline)?;
        let going: Vec<(&LinkOccurrence, String)> =
            links.iter().zip(reasons).filter_map(|(link, reason)| Some((link, reason?))).take(self.most).collect();
        let dropped: Vec<&LinkOccurrence> = going.iter().map(|(link, _)| *link).collect();
        let pruned = remove_links(note, &dropped).ok_or_else(|| {
            let message = format!("links of {} cannot be separated from their surroundings: use edit_note", self.path);
            Error::bad_request(Reason::LinkImpossible, message).with("path", self.path.as_str())
        })?;
        let removed = going.into_iter().map(|(link, reason)| Removed {
            target: link.target.clone(),
            reason,
            line: link.line.saturating_add(1),
        });
        let removed: Vec<Removed> = removed.collect();
        let mut batch = Batch::on(head, self.context);
        let sha256 = self.put(&mut batch, &found, pruned, removed.is_empty())?;
        Ok((Pruned { links: links.len(), removed, sha256 }, batch))
    }

    /// Puts the note, unless it is unchanged; returns its hash.
    fn put(&self, batch: &mut Batch<'_>, found: &Found, pruned: String, is_unchanged: bool) -> Result<Hash, Error> {
        if is_unchanged {
            return Ok(Hash::from_bytes(found.record.sha256));
        }
        let new = NewDocument::text(self.path.clone(), pruned.into(), Some(found), self.context.now)?;
        let sha256 = new.sha256();
        batch.put(new, Some(found));
        Ok(sha256)
    }

    /// The files that the links' targets mean.
    async fn meant(&self, head: &Arc<Snapshot>, links: &[LinkOccurrence]) -> Result<HashMap<String, Meant>, Error> {
        let graph = Graph::fetch(self.context, self.context.view(head.clone())).await?;
        let mut meant = HashMap::new();
        for link in links {
            if meant.contains_key(&link.target) {
                continue;
            }
            let of = match graph.meant(&link.target, &self.path)? {
                None => Meant::default(),
                Some(file) => {
                    let path = graph.path(file)?;
                    let backlinks = match VaultPath::parse(&path) {
                        Ok(path) => graph.incoming(&path, file)?.len(),
                        Err(_) => 0,
                    };
                    Meant { path: Some(path), backlinks, outgoing: graph.count_outgoing(file) }
                }
            };
            meant.insert(link.target.clone(), of);
        }
        Ok(meant)
    }
}

impl ChangeSet for Pruning<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<Pruned>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let (pruned, batch) = self.plan(writable::published(head)?).await?;
        if batch.is_empty() {
            return Ok(Attempt::nothing(pruned.into()));
        }
        Ok(Attempt::changes(batch.derived().await?, pruned.into()))
    }
}
