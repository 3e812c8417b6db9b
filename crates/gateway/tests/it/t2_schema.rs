//! schemathesis makes requests out of the gateway's own OpenAPI file, good ones and bad ones, and finds nothing that
//! is the gateway's fault.

use std::path::Path;

use junto_gateway::{Gateway, Target};

use crate::scripted::{answer, shared};
use crate::support::House;

/// What a reply may not be: a failure of the server's, one with a status or a type that the file does not tell of, an
/// answer without a header that the file demands, a body of another shape, or none at all for a minute.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,missing_required_header";

#[tokio::test]
async fn no_request_is_the_servers_fault() {
    let python = std::env::var("JUNTO_PEER_PYTHON")
        .expect("JUNTO_PEER_PYTHON is not set: run the tests with `cargo xtask test`");
    let target = Target::new("s", shared(answer([], "yes")));
    let gateway = Gateway::builder().route("*", target).build().unwrap();
    let house = House::open(&gateway).await;
    let scratch = tempfile::tempdir().unwrap();
    let output = tokio::process::Command::new(python)
        .args(["-m", "schemathesis.cli", "run", "--url", &house.url, "--checks", CHECKS])
        // The same requests every time, good ones and bad ones.
        .args(["--generation-deterministic", "--mode", "all"])
        .args(["--max-examples", "20", "--phases", "examples,coverage,fuzzing"])
        .args(["--max-response-time", "60", "--continue-on-failure", "--no-color", "--warnings", "off"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json"))
        .current_dir(&scratch)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("No issues found"), "{said}");
    house.close().await;
}
