//! `get_metrics`: the metrics of the answering instance, and the size of the vault.

use std::collections::BTreeMap;

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::{Atlas, Caller};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most values that are returned.
const MAX_METRICS: usize = 5000;

/// Returns the metrics of the answering instance since its start (requests, their times, requests to the store), and
/// the size of the vault, unless the token is for some folders only: those of vaults that the caller may name, and those of the whole instance where these are all.
pub struct GetMetrics;

/// No arguments: the vault is that of the call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The metrics.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The values.
    metrics: Vec<Metric>,
    /// Whether some were left out, since there are too many for one answer.
    partial: bool,
}

/// A value.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Metric {
    /// Its name in Prometheus's format: a histogram has three, with `_bucket`, `_sum` and `_count` at the end.
    name: String,
    /// Its kind.
    r#type: Kind,
    /// The number.
    value: f64,
    /// Distinguishes it from others of its name.
    labels: BTreeMap<String, String>,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// It only grows while the instance runs.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts values by size.
    Histogram,
}

impl Operation for GetMetrics {
    const INFO: Info = Info {
        name: "get_metrics",
        title: "Get metrics",
        description: "Returns the metrics of the answering instance since its start (requests, their times, requests to the store), and the size of the published vault. Other instances have their own. Example: {}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let head = super::head(context.vault).await?;
        let mut metrics = Vec::new();
        if let Some(head) = &head {
            let totals = head.manifest().totals;
            let labels = BTreeMap::from([("vault".to_owned(), context.vault.id.clone())]);
            let age = context.now.duration_since(head.manifest().time).as_secs_f64().max(0.0);
            let state = [("atlas_vault_generation", head.generation() as f64), ("atlas_vault_age_seconds", age)];
            let size = [
                ("atlas_vault_notes", totals.notes as f64),
                ("atlas_vault_attachments", totals.attachments as f64),
                ("atlas_vault_documents", totals.documents as f64),
                ("atlas_vault_text_bytes", totals.text_bytes as f64),
                ("atlas_vault_segments", head.segments().len() as f64),
            ];
            let size = size.into_iter().filter(|_| super::is_told_sizes(context));
            for (name, value) in state.into_iter().chain(size) {
                metrics.push(Metric { name: name.to_owned(), r#type: Kind::Gauge, value, labels: labels.clone() });
            }
        }
        if let Some(text) = seen_by(context.caller, context.atlas) {
            metrics.extend(read(&text));
        }
        let is_long = metrics.len() > MAX_METRICS;
        metrics.truncate(MAX_METRICS);
        let partial = cut(&mut metrics, context) || is_long;
        Ok(Answer { value: Output { metrics, partial }, generation: head.map(|head| head.generation()) })
    }
}

/// The metrics of this process in Prometheus's format, if it has some: those of vaults that `caller` may name, and those
/// of the whole process if these are all vaults.
pub fn seen_by(caller: &Caller, atlas: &Atlas) -> Option<String> {
    let text = atlas.about.metrics.as_ref()?();
    let default = atlas.vault(None).map_or("", |vault| vault.id.as_str());
    let may_name_all = atlas.vaults().iter().all(|vault| caller.may_name(&vault.id, default));
    let sees_all = caller.is_trusted() || may_name_all && !atlas.about.has_more_vaults;
    let is_seen =
        |line: &&str| line.starts_with('#') || vault_of(line).map_or(sees_all, |vault| caller.may_name(vault, default));
    Some(text.lines().filter(is_seen).flat_map(|line| [line, "\n"]).collect())
}

/// The vault that a line counts for, if it is one.
fn vault_of(line: &str) -> Option<&str> {
    let (vault, _) = line.split_once("vault=\"")?.1.split_once('"')?;
    (!vault.is_empty()).then_some(vault)
}

/// Parses a text in Prometheus's format; other lines are ignored.
fn read(text: &str) -> Vec<Metric> {
    let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
    let mut metrics = Vec::new();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            let kind = match kind {
                "counter" => Kind::Counter,
                "histogram" => Kind::Histogram,
                _ => Kind::Gauge,
            };
            kinds.insert(name, kind);
        } else if !line.starts_with('#') {
            metrics.extend(sample(line, &kinds));
        }
    }
    metrics
}

fn sample(line: &str, kinds: &BTreeMap<&str, Kind>) -> Option<Metric> {
    let (of, value) = line.rsplit_once(' ')?;
    let (name, labels) = of.split_once('{').unwrap_or((of, "}"));
    let kind = kinds
        .iter()
        .rfind(|(family, _)| name.strip_prefix(**family).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')));
    let labels = labels.strip_suffix('}')?.split("\",").filter_map(|label| {
        let (name, value) = label.split_once("=\"")?;
        Some((name.to_owned(), value.strip_suffix('"').unwrap_or(value).to_owned()))
    });
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(Metric {
        name: name.to_owned(),
        r#type: kind.map_or(Kind::Gauge, |(_, kind)| *kind),
        value,
        labels: labels.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_prometheus_is_read() {
        let text = "# HELP a_requests Requests.\n# TYPE a_requests counter\na_requests_total{operation=\"find\",status=\"200\"} 3\n\
                    # TYPE a_seconds histogram\na_seconds_sum 0.5\na_seconds_bucket{le=\"+Inf\"} 1\nno number\n# EOF\n";
        let metric = |name: &str, r#type, value, labels: &[(&str, &str)]| Metric {
            name: name.to_owned(),
            r#type,
            value,
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        assert_eq!(
            read(text),
            [
                metric("a_requests_total", Kind::Counter, 3.0, &[("operation", "find"), ("status", "200")]),
                metric("a_seconds_sum", Kind::Histogram, 0.5, &[]),
                metric("a_seconds_bucket", Kind::Histogram, 1.0, &[("le", "+Inf")]),
            ]
        );
    }
}
