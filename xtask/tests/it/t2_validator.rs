//! The validator of recorded requests must see what is wrong, else its silence proves nothing.

use std::process::Command;

#[test]
fn the_request_validator_tells_good_bodies_from_bad_ones() {
    let python = std::env::var_os("JUNTO_PEER_PYTHON").expect("run by `cargo xtask test`");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/peers/validate_requests.py");
    let output = Command::new(python).args([script, "--self-test"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().last(), Some("ok"), "{said}");
}
