//! The built program.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use junto_llm::Wire;
use serde_json::Value;

use crate::client::{http1, json_of, with_key};

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_junto-twin"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn it_prints_one_line_and_serves_until_its_input_closes() {
    let dir = tempfile::tempdir().unwrap();
    let play = dir.path().join("play.toml");
    std::fs::write(&play, "[[steps]]\ntext = 'hi'").unwrap();
    let tapes = dir.path().join("tapes");
    let mut child = start(&[
        "--play",
        play.to_str().unwrap(),
        "--port",
        "0",
        "--key",
        "another-key",
        "--record",
        tapes.to_str().unwrap(),
    ]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let addr = ready["addr"].as_str().unwrap();
    assert!(addr.starts_with("127.0.0.1:"));
    assert_eq!(ready["urls"]["anthropic"], format!("http://{addr}"));
    assert_eq!(ready["urls"]["openai"], format!("http://{addr}/v1"));
    assert_eq!(ready["urls"]["chat"], format!("http://{addr}/v1"));
    assert_eq!(ready["urls"]["gemini"], format!("http://{addr}"));
    assert_eq!(ready["key"], "another-key");
    let request = http1().get(format!("http://{addr}/v1/models"));
    json_of(with_key(request, Wire::Responses, "another-key").send().await.unwrap()).await;
    assert!(tapes.join("0001-request.json").exists());

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "standard output is the one line only");
}

#[test]
fn a_bad_play_is_named_and_the_program_fails() {
    let dir = tempfile::tempdir().unwrap();
    let play = dir.path().join("bad.toml");
    std::fs::write(&play, "[[steps]]\ntxt = 'hi'").unwrap();
    let output = start(&["--play", play.to_str().unwrap()]).wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("bad.toml") && told.contains("`txt`"), "{told}");
    assert!(output.stdout.is_empty());
}

#[test]
fn help_shows_a_play() {
    let output = start(&["--help"]).wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    for part in ["--play", "--record", "--lenient", "[[steps]]", "x-twin-fault"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}
