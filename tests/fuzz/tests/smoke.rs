//! Runs every target over its seeds, and over copies of them that are cut and altered.

use atlas_fuzz::seeds::targets;

#[test]
fn seeds_and_damaged_copies_of_them_pass() {
    for target in targets() {
        assert!(!target.seeds.is_empty(), "{}", target.name);
        for seed in &target.seeds {
            (target.check)(seed);
            for step in 1..20 {
                let at = seed.len() * step / 20;
                (target.check)(&seed[..at]);
                let mut altered = seed.clone();
                altered[at] ^= 1 << (step % 8);
                (target.check)(&altered);
            }
        }
    }
}
