#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| atlas_fuzz::edit::check(data));
