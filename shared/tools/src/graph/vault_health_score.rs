//! `vault_health_score`: a score of how well the notes of the vault are connected.

use atlas_ops::arguments::Bounded;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scores the links of the vault.
pub struct VaultHealthScore;

/// The definition of a hub.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Least number of notes that link to a hub; 20 if not given.
    #[serde(default)]
    hub_threshold: Bounded<1, 10_000, 20>,
}

/// The score and its parts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// From 0 to 100; 100 is best.
    score: u32,
    /// The number of notes.
    total_notes: usize,
    /// The number of their links.
    total_links: u64,
    /// The counts.
    metrics: Metrics,
    /// The deductions.
    breakdown: Breakdown,
}

/// The counts behind the score.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Metrics {
    /// Notes that no other note links to: see find_orphans.
    orphans: usize,
    /// Links that lead to no file: see find_unresolved_links.
    unresolved_links: u64,
    /// Notes that many others link to.
    hubs: usize,
    /// Cycles of links, at most 100: see find_link_cycles.
    cycles: usize,
}

/// The deductions from 100.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Breakdown {
    /// For orphans, up to 30.
    orphan_penalty: u32,
    /// For unresolved links, up to 30.
    unresolved_penalty: u32,
    /// For cycles, up to 20.
    cycle_penalty: u32,
    /// For hubs, up to 20.
    hub_penalty: u32,
}

const MAX_CYCLES: usize = 100;

impl Operation for VaultHealthScore {
    const INFO: Info = Info {
        name: "vault_health_score",
        title: "Health of the links",
        description: "Scores how well the vault's notes are connected, from 0 to 100, with the counts behind the score: orphans, unresolved links, hubs and cycles. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let hub_threshold = arguments.hub_threshold.get();
        let score = |view: View| async move {
            let graph = Graph::fetch(context, view).await?;
            let network = graph.network(context)?;
            context.work.check()?;
            let (mut links, mut unresolved) = (0, 0);
            graph.each_target(|_, (_, own), meant| {
                let count = u64::from(own.count);
                links += count;
                unresolved += if meant.is_none() { count } else { 0 };
                Ok(())
            })?;
            context.work.check()?;
            let (mut notes, mut orphans, mut hubs) = (0, 0, 0);
            for (node, document) in (0..).zip(network.documents()) {
                if VaultPath::parse(&graph.path(*document)?).is_ok_and(|path| path.is_note()) {
                    let incoming = network.incoming(node).count();
                    notes += 1;
                    orphans += usize::from(incoming == 0);
                    hubs += usize::from(incoming >= hub_threshold);
                }
            }
            let cycles = network.cycles(MAX_CYCLES).cycles.len();
            let metrics = Metrics { orphans, unresolved_links: unresolved, hubs, cycles };
            Ok(scored(notes, links, metrics))
        };
        context.read(score).await
    }
}

fn scored(total_notes: usize, total_links: u64, metrics: Metrics) -> Output {
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let notes = total_notes as f64;
    let orphans = 30.0 * share(metrics.orphans as f64, notes);
    let unresolved = 30.0 * share(metrics.unresolved_links as f64, total_links as f64);
    let cycles = 2.0 * metrics.cycles.min(10) as f64;
    let hubs = 20.0 * share(metrics.hubs as f64, notes);
    let whole = |number: f64| number.round().clamp(0.0, 100.0) as u32;
    let breakdown = Breakdown {
        orphan_penalty: whole(orphans),
        unresolved_penalty: whole(unresolved),
        cycle_penalty: whole(cycles),
        hub_penalty: whole(hubs),
    };
    Output { score: whole(100.0 - orphans - unresolved - cycles - hubs), total_notes, total_links, metrics, breakdown }
}
