//! Random cases: the same ones in each run, unless `ATLAS_HISTORIES` gives another number.

use proptest::test_runner::{Config, RngSeed};

const SEED: u64 = 15;

/// The configuration for `number` cases. A failing one is printed; no file is written.
pub fn cases(number: u32) -> Config {
    let wanted = std::env::var("ATLAS_HISTORIES").ok().map(|wanted| wanted.parse().unwrap());
    let (cases, rng_seed) = wanted.map_or((number, RngSeed::Fixed(SEED)), |wanted| (wanted, RngSeed::Random));
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}
