//! Python programs with the vendors' SDKs, as peers of the tests.

use std::path::Path;

/// Runs a program of this crate's `tests/peers`; it ends well and says `ok` last.
pub(crate) async fn run(script: &str, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var("JUNTO_PEER_PYTHON")
        .expect("JUNTO_PEER_PYTHON is not set: run the tests with `cargo xtask test`");
    let output = tokio::process::Command::new(python)
        .arg(root.join("tests/peers").join(script))
        .args(arguments)
        .env("PYTHONPATH", root.join("../../tests/peers"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.ends_with("ok\n"), "{script} {arguments:?}:\n{said}\n{errors}");
    said
}
