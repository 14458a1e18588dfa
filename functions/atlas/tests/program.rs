//! The program itself. This file makes `cargo test` build it together with all other tests, which run it too.

use std::process::Command;

#[test]
fn it_says_its_version_and_how_commands_end() {
    let said = |argument: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_atlas")).arg(argument).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(said("--version"), concat!("atlas ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = said("--help");
    for line in ["  up ", "  sync ", "Exit status: 0 done"] {
        assert!(help.contains(line), "{help}");
    }
}
