//! Random cases: the same ones in each run, unless `ATLAS_HISTORIES` asks for so many others.

use proptest::test_runner::{Config, RngSeed};

const SEED: u64 = 15;

/// What is drawn: `number` cases. One that fails is printed; no file is kept of it.
pub fn cases(number: u32) -> Config {
    let wanted = std::env::var("ATLAS_HISTORIES").ok().map(|wanted| wanted.parse().unwrap());
    let (cases, rng_seed) = wanted.map_or((number, RngSeed::Fixed(SEED)), |wanted| (wanted, RngSeed::Random));
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}
