//! The program prints its release. Because of this test cargo builds the binary that all the others run.

use std::process::Command;

#[test]
fn the_program_says_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_switchboard")).arg("--version").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), concat!("switchboard ", env!("CARGO_PKG_VERSION")));
}
