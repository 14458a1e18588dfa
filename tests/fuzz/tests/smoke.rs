//! Runs every target over its seeds, and over copies of them that are cut and altered.

use atlas_fuzz::forge::forge;
use atlas_fuzz::seeds::targets;
use atlas_segment::object;

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

#[test]
fn every_altered_bit_of_a_segment_is_noticed() {
    let seed = targets().into_iter().find(|target| target.name == "segment").unwrap().seeds.remove(0);
    let sound = forge(&seed[atlas_fuzz::segment::HEAD..]);
    object::verify(&sound.clone().into()).unwrap();
    for at in 0..sound.len() {
        for bit in 0..8 {
            let mut altered = sound.clone();
            altered[at] ^= 1 << bit;
            assert!(object::verify(&altered.into()).is_err(), "bit {bit} of byte {at}");
        }
    }
}
