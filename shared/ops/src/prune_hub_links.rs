//! `prune_hub_links`: takes links out of a note that has too many, by a policy.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{ChangeSet, Derived, Hash, Snapshot};
use atlas_vault::VaultPath;
use atlas_vault::unlink::{Standing, standings, without};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{self, Bounded, Text};
use crate::batch::{Batch, New};
use crate::edit_note::text;
use crate::error::Error;
use crate::governor::cut;
use crate::graph::Graph;
use crate::notes::{self, Found};
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::read_note::yes;
use crate::view::View;
use crate::writing::{self, Done, Last};

/// The operation.
pub struct PruneHubLinks;

/// Of which note, and by which policy.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PruneHubLinksRequest")]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: String,
    /// Which links go. Those in properties, and embeds, stay.
    policy: Policy,
    /// Most links that go, the first in the note; 50 if not given.
    #[serde(default = "fifty")]
    max_removals: Bounded<1, 1000>,
    /// Change nothing, and tell what would go: so if it is not given.
    #[serde(default = "yes")]
    dry_run: bool,
    /// Why, for the log.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    message: Option<Text<4096>>,
}

fn fifty() -> Bounded<1, 1000> {
    Bounded::nearest(50)
}

/// Which links of a note go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PrunePolicy")]
pub struct Policy {
    /// How it is decided.
    kind: Kind,
    /// For `drop_below_score` and `keep_top_n`: what counts.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Score")]
    score_field: Option<Score>,
    /// For `drop_below_score`: the least score that stays.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "f64")]
    threshold: Option<f64>,
    /// For `keep_top_n`: how many stay.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<0, 100_000>")]
    n: Option<Bounded<0, 100_000>>,
    /// For `drop_unannotated_list_items`: how many characters must stand beside the links of a list item; 1 if not given.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<0, 100_000>")]
    min_annotation_chars: Option<Bounded<0, 100_000>>,
    /// For `drop_no_prose_context`: how many characters must stand beside the links of a paragraph; 1 if not given.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<0, 100_000>")]
    min_prose_chars: Option<Bounded<0, 100_000>>,
    /// For `jsonlogic`.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Map<String, Value>")]
    #[expect(dead_code, reason = "the kind is refused")]
    logic: Option<Map<String, Value>>,
}

/// How it is decided which links go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PrunePolicyKind")]
pub(crate) enum Kind {
    /// Those to files with a low score.
    DropBelowScore,
    /// All but those to the files with the highest scores.
    KeepTopN,
    /// Those in list items that say little else.
    DropUnannotatedListItems,
    /// Those in paragraphs, or list items, that say little else.
    DropNoProseContext,
    /// By an expression: not yet.
    Jsonlogic,
}

/// What counts of the file that a link means; 0 for one that means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PruneScore")]
pub(crate) enum Score {
    /// How many other notes link to it.
    TargetBacklinkCount,
    /// How many links it has, those to one target once.
    TargetOutgoingCount,
}

impl Score {
    const fn as_str(self) -> &'static str {
        match self {
            Self::TargetBacklinkCount => "target_backlink_count",
            Self::TargetOutgoingCount => "target_outgoing_count",
        }
    }
}

/// What was taken out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PruneHubLinksResponse")]
pub struct Output {
    /// The note's path.
    path: String,
    /// The policy.
    policy_used: Kind,
    /// How many links it had.
    links_before: usize,
    /// How many it has.
    links_after: usize,
    /// Those that went. What they show stays; a list item that has nothing else goes.
    removed: Vec<Removed>,
    /// Whether there are more than these: an answer has no room for all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// SHA-256 of the note's bytes, in hex; absent on a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    /// Whether nothing was changed, and this is what would be.
    dry_run: bool,
}

/// A link that went. A keyed commit keeps it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PrunedLink")]
pub struct Removed {
    /// What it led to, as it was written.
    target: String,
    /// Why it went.
    reason: String,
    /// The number of its line before, counted from 1.
    line: u32,
}

impl Operation for PruneHubLinks {
    const INFO: Info = Info {
        name: "prune_hub_links",
        title: "Prune the links of a hub",
        description: "Takes links out of a note that has too many: those to files that few notes link to (drop_below_score, keep_top_n), bare list items (drop_unannotated_list_items), or links without text around them (drop_no_prose_context). What a link shows stays in the text; a list item with nothing else goes. It is a dry run unless dry_run is false; then a person has to confirm it.",
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["links"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Arguments) -> Result<Vec<Touch>, Error> {
        Ok(vec![(Access::Write, writing::path("path", &arguments.path)?)])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        !arguments.dry_run
    }

    fn is_dry_run(arguments: &Arguments) -> bool {
        arguments.dry_run
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = writing::path("path", &arguments.path)?;
        let rule = Rule::of(&arguments.policy)?;
        if !arguments.dry_run {
            context.require_key()?;
        }
        let change = Pruning { context, path, rule, most: arguments.max_removals.get(), last: Last::default() };
        let message = arguments.message.as_ref().map(Text::as_str);
        let (pruned, generation) = if arguments.dry_run {
            let look = |view: View| {
                let change = &change;
                async move { Ok((change.plan(view.snapshot()).await?.0, view.generation())) }
            };
            context.read(look).await?.value
        } else {
            match writing::commit(context, &Self::INFO, message, &change, &change.last).await? {
                Done::Committed { value, generation, .. } | Done::Unchanged { value, newest: generation } => {
                    (value, generation)
                }
            }
        };
        let links_after = pruned.links.saturating_sub(pruned.removed.len());
        let mut removed = pruned.removed;
        // What was done is told, however much it was.
        let truncated = cut(&mut removed, context);
        let output = Output {
            path: change.path.as_str().to_owned(),
            policy_used: arguments.policy.kind,
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

/// A policy that has all that it needs.
#[derive(Clone, Copy)]
enum Rule {
    Below(Score, f64),
    Top(Score, usize),
    Annotation(usize),
    Prose(usize),
}

impl Rule {
    fn of(policy: &Policy) -> Result<Self, Error> {
        let missing = |name: &str| {
            let message = format!("policy.{name}: this kind needs it");
            Error::bad_request("invalid_input", message).with("field", format!("policy.{name}"))
        };
        let score = || policy.score_field.ok_or_else(|| missing("score_field"));
        Ok(match policy.kind {
            Kind::DropBelowScore => Self::Below(score()?, policy.threshold.ok_or_else(|| missing("threshold"))?),
            Kind::KeepTopN => Self::Top(score()?, policy.n.ok_or_else(|| missing("n"))?.get()),
            Kind::DropUnannotatedListItems => Self::Annotation(policy.min_annotation_chars.map_or(1, Bounded::get)),
            Kind::DropNoProseContext => Self::Prose(policy.min_prose_chars.map_or(1, Bounded::get)),
            Kind::Jsonlogic => {
                let message = "policy.kind: jsonlogic is not there yet: take another kind";
                return Err(Error::bad_request("invalid_input", message).with("field", "policy.kind"));
            }
        })
    }

    const fn score(self) -> Option<Score> {
        match self {
            Self::Below(score, _) | Self::Top(score, _) => Some(score),
            Self::Annotation(_) | Self::Prose(_) => None,
        }
    }

    /// Why each of the links goes, if it does. `scores` are theirs, if the rule asks for them.
    fn reasons(self, links: &[Standing], scores: &[usize]) -> Vec<Option<String>> {
        let score = |at: usize| scores.get(at).copied().unwrap_or_default();
        let best: BTreeSet<usize> = match self {
            Self::Top(_, n) => {
                let mut order: Vec<usize> = (0..links.len()).collect();
                order.sort_by_key(|at| std::cmp::Reverse(score(*at)));
                order.into_iter().take(n).collect()
            }
            _ => BTreeSet::new(),
        };
        let reason = |(at, link): (usize, &Standing)| match self {
            Self::Below(field, least) => {
                ((score(at) as f64) < least).then(|| format!("{} is {}, below {least}", field.as_str(), score(at)))
            }
            Self::Top(field, n) => {
                (!best.contains(&at)).then(|| format!("{} is {}, not among the {n} highest", field.as_str(), score(at)))
            }
            Self::Annotation(least) => (link.is_in_list_item && link.annotation < least)
                .then(|| format!("its list item has {} characters besides, fewer than {least}", link.annotation)),
            Self::Prose(least) => (link.prose < least)
                .then(|| format!("its paragraph has {} characters besides, fewer than {least}", link.prose)),
        };
        links.iter().enumerate().map(reason).collect()
    }
}

struct Pruning<'a> {
    context: &'a Context<'a>,
    path: VaultPath,
    rule: Rule,
    most: usize,
    last: Last<Pruned>,
}

/// What came of it. A keyed commit keeps it.
#[derive(Clone, Serialize, Deserialize)]
struct Pruned {
    links: usize,
    removed: Vec<Removed>,
    sha256: Hash,
}

impl Pruning<'_> {
    async fn plan<'h>(&self, head: &'h Arc<Snapshot>) -> Result<(Pruned, Batch<'h>), Error> {
        let found = notes::find(head, self.path.as_str(), |_| true).await?;
        let found = found.ok_or_else(|| notes::missing(self.path.as_str()))?;
        let note = text(&found)?;
        let links = standings(note);
        let scores = match self.rule.score() {
            Some(score) => self.scores(head, score, &links).await?,
            None => Vec::new(),
        };
        let reasons = self.rule.reasons(&links, &scores);
        let going: Vec<(&Standing, String)> =
            links.iter().zip(reasons).filter_map(|(link, reason)| Some((link, reason?))).take(self.most).collect();
        let dropped: Vec<&Standing> = going.iter().map(|(link, _)| *link).collect();
        let pruned = without(note, &dropped).ok_or_else(|| {
            let message =
                format!("links of {} cannot be told apart from what is around them: use edit_note", self.path);
            Error::bad_request("link_impossible", message).with("path", self.path.as_str())
        })?;
        let removed = going.into_iter().map(|(link, reason)| Removed {
            target: link.target.clone(),
            reason,
            line: link.line.saturating_add(1),
        });
        let removed: Vec<Removed> = removed.collect();
        let mut batch = Batch::on(head, self.context.now);
        let sha256 = self.put(&mut batch, &found, pruned, removed.is_empty())?;
        Ok((Pruned { links: links.len(), removed, sha256 }, batch))
    }

    /// Puts the note, unless nothing went; its hash.
    fn put(&self, batch: &mut Batch<'_>, found: &Found, pruned: String, is_unchanged: bool) -> Result<Hash, Error> {
        if is_unchanged {
            return Ok(Hash::from_bytes(found.record.sha256));
        }
        let new = New::note(self.path.clone(), pruned.into(), Some(found), self.context.now)?;
        let sha256 = new.sha256();
        batch.put(new, Some(found));
        Ok(sha256)
    }

    async fn scores(&self, head: &Arc<Snapshot>, score: Score, links: &[Standing]) -> Result<Vec<usize>, Error> {
        let graph = Graph::fetch(self.context, self.context.view(head.clone())).await?;
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut scores = Vec::with_capacity(links.len());
        for link in links {
            let scored = match known.get(link.target.as_str()) {
                Some(scored) => *scored,
                None => match graph.meant(&link.target, &self.path)? {
                    None => 0,
                    Some(file) if score == Score::TargetOutgoingCount => graph.count_outgoing(file),
                    Some(file) => match VaultPath::parse(&graph.path(file)?) {
                        Ok(path) => graph.incoming(&path, file)?.len(),
                        Err(_) => 0,
                    },
                },
            };
            known.insert(&link.target, scored);
            scores.push(scored);
        }
        Ok(scores)
    }
}

impl ChangeSet for Pruning<'_> {
    type Error = Error;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Option<Derived>, Error> {
        let (pruned, batch) = self.plan(writing::published(head)?).await?;
        if batch.is_empty() {
            return self.last.unchanged(pruned);
        }
        self.last.changes(pruned, batch.derived().await?)
    }
}
