//! The program itself. This file makes `cargo test` build it together with all other tests, which run it too.

use std::process::Command;

#[test]
fn it_says_what_is_not_set() {
    let output = Command::new(env!("CARGO_BIN_EXE_builder")).arg("{}").env_clear().output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && told.contains("ATLAS_STORE"), "{told}");
}
