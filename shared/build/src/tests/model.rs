//! Random histories of a source, a mirror and runs, beside a model of a few lines.

use atlas_sync::decide::{Action, decide};
use proptest::prelude::*;

use super::*;

const PATHS: [&str; 5] = ["a.md", "b/c.md", "b/d.md", "e.md", "z.md"];
/// Few, so that both sides sometimes write the same.
const TEXTS: [&str; 3] = ["one\n", "two\n", "three\n"];

/// What happens to a path.
#[derive(Clone, Debug)]
enum Step {
    Source(usize, Option<usize>),
    Agent(usize, Option<usize>),
    /// A run, with what an agent does between its shards and its publication.
    Run(Vec<(usize, Option<usize>)>),
    /// A step of the last run is called again.
    Again,
}

/// A path in the model, by the numbers of texts.
#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    ancestor: Option<usize>,
    source: Option<usize>,
    /// With the number of its write.
    mirror: Option<(usize, u64)>,
}

#[derive(Default)]
struct Model {
    paths: [Versions; PATHS.len()],
    writes: u64,
}

impl Model {
    fn agent(&mut self, path: usize, text: Option<usize>) {
        self.writes += 1;
        self.paths[path].mirror = text.map(|text| (text, self.writes));
    }

    /// A run, as a sync would do it that never writes to the source.
    fn run(&mut self, meanwhile: &[(usize, Option<usize>)]) {
        let hash = |text: Option<usize>| text.map(|text| [text as u8; 32]);
        let seen = self.paths;
        meanwhile.iter().for_each(|(path, text)| self.agent(*path, *text));
        for (path, before) in self.paths.iter_mut().zip(seen) {
            let mirror = before.mirror.map(|(text, _)| text);
            let action = decide(hash(before.ancestor), hash(before.source), hash(mirror));
            if action == Action::Push && path.mirror == before.mirror {
                self.writes += 1;
                path.mirror = before.source.map(|text| (text, self.writes));
            }
            // What the mirror did not take, both sides never had.
            let is_left = action == Action::Push && path.mirror.map(|(text, _)| text) != before.source;
            path.ancestor = before.source.filter(|_| action != Action::Conflict && !is_left);
        }
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let text = || prop::option::weighted(0.8, 0..TEXTS.len());
    let agent = prop::collection::vec((0..PATHS.len(), text()), 0..3);
    prop_oneof![
        4 => (0..PATHS.len(), text()).prop_map(|(path, text)| Step::Source(path, text)),
        2 => (0..PATHS.len(), text()).prop_map(|(path, text)| Step::Agent(path, text)),
        3 => agent.prop_map(Step::Run),
        1 => Just(Step::Again),
    ]
}

async fn agent(site: &Site, path: usize, text: Option<usize>) {
    match text {
        Some(text) => site.agent_puts(PATHS[path], TEXTS[text]).await,
        None => site.agent_deletes(PATHS[path]).await,
    }
}

async fn check(steps: &[Step]) {
    let site = Site { allow_mass_delete: true, ..Site::with(&[]).await };
    let mut model = Model::default();
    let mut last = None;
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Source(path, text) => {
                match text {
                    Some(text) => site.put(PATHS[*path], TEXTS[*text]).await,
                    None if model.paths[*path].source.is_some() => site.delete(PATHS[*path]).await,
                    None => {}
                }
                model.paths[*path].source = *text;
            }
            Step::Agent(path, text) => {
                agent(&site, *path, *text).await;
                model.agent(*path, *text);
            }
            Step::Run(meanwhile) => {
                let run = format!("run-{number}");
                site.built(&run).await;
                for (path, text) in meanwhile {
                    agent(&site, *path, *text).await;
                }
                model.run(meanwhile);
                site.publish_whatever(&run, true).await.unwrap();
                last = Some(run);
            }
            Step::Again => {
                if let Some(last) = &last {
                    site.built(last).await;
                    site.publish_whatever(last, true).await.unwrap();
                }
            }
        }
        let expected: BTreeMap<&str, &str> = PATHS
            .iter()
            .zip(&model.paths)
            .filter_map(|(path, versions)| Some((*path, TEXTS[versions.mirror?.0])))
            .collect();
        let Ok(head) = site.mirror().head().await else {
            assert!(expected.is_empty(), "{steps:?}");
            continue;
        };
        let all = atlas_sync::head::all(&head).await.unwrap();
        assert!(all.values().all(|documents| documents.len() == 1), "{steps:?}");
        assert_eq!(head.manifest().totals.notes, expected.len() as u64, "{steps:?}");
        let texts = site.mirrored().await;
        let texts: BTreeMap<&str, &str> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(texts, expected, "{steps:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_history_ends_as_in_the_model(steps in prop::collection::vec(any_step(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(&steps));
    }
}
