//! The record of a run.

use std::fs;

use junto_testkit::fake_claude::Behaviour;

use crate::stage::{Stage, with_variable};

#[tokio::test]
async fn a_run_is_recorded_without_its_secrets() {
    let mut stage = Stage::new(Behaviour { stderr_bytes: 10, ..Behaviour::default() });
    with_variable(&mut stage.host, "ANTHROPIC_API_KEY", "sk-very-secret");
    let folder = stage.path().join("records");
    stage.host.logs = Some(folder.clone());
    let events = stage.play("my key is sk-very-secret").await;
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let call = events.iter().find_map(|event| event.corr.clone()).unwrap();
    assert_eq!(file.file_name().unwrap().to_str().unwrap(), format!("claude-{call}.log"));
    let text = fs::read_to_string(file).unwrap();
    // Both streams.
    assert!(text.contains("!!!!!!!!!!") && text.contains(r#""subtype":"success""#), "{text}");
    assert!(text.contains("my key is [redacted]") && !text.contains("sk-very-secret"), "{text}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn without_a_folder_nothing_is_recorded() {
    let stage = Stage::new(Behaviour::default());
    stage.play("hello").await;
    let files = fs::read_dir(stage.path()).unwrap().flatten();
    assert!(files.map(|file| file.path()).all(|path| path.extension().is_none_or(|e| e != "log")));
}
