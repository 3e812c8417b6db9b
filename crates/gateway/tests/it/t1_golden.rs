//! What clients are sent, byte for byte, as it is checked in: `tests/golden/SCENE.WIRE.sse` for a stream,
//! `.json` for a whole answer. Run with `JUNTO_BLESS=1` to write them anew, and read the difference.
//! `t2_types` checks the same files against the vendors' own types.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use junto_gateway::{Gateway, Settings, Target};
use junto_llm::{Error, ErrorKind, Wire};
use serde_json::Value;

use crate::scripted::{Cue, shared};
use crate::support::{addressed, ask, hello, post, raw};

/// Where the files are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A scene: what the provider does, one line each. A line is an event of a stream, a `wait` in seconds
/// or the message of a `fail`ure.
fn scenes() -> Vec<(String, Vec<Cue>)> {
    let files = fs::read_dir(folder().join("scenes")).unwrap().map(|entry| entry.unwrap().path());
    let mut scenes: Vec<_> = files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (name, text.lines().map(cue).collect())
        })
        .collect();
    scenes.sort_by(|(a, _): &(String, Vec<Cue>), (b, _)| a.cmp(b));
    scenes
}

fn cue(line: &str) -> Cue {
    let line: Value = serde_json::from_str(line).unwrap();
    match (&line["wait"], &line["fail"]) {
        (Value::Number(seconds), _) => Cue::Wait(Duration::from_secs(seconds.as_u64().unwrap())),
        (_, Value::String(why)) => Cue::Fail(Error::new(ErrorKind::Server, why).with_status(529)),
        _ => Cue::Event(serde_json::from_value(line).unwrap()),
    }
}

/// What a client of this surface is sent, but for what is another each time: its id, and the time.
async fn sent(cues: &[Cue], wire: Wire, stream: bool) -> String {
    let provider = shared(cues);
    let target = Target::new("maker", provider.clone()).model("some-model");
    let gateway = Gateway::builder().route("*", target).settings(Settings::default()).build().unwrap();
    let (path, body) = addressed(wire, hello(wire, stream).to_string().into());
    let answer = raw(ask(&gateway, post(&path, body)).await).await;
    let call = provider.asked()[0].1.call.to_string();
    let mut text = answer.text().replace(&call, "CALL");
    for name in ["\"created\":", "\"created_at\":"] {
        let pieces: Vec<&str> = text.split(name).collect();
        let undated = pieces.iter().enumerate().map(|(n, piece)| match n {
            0 => (*piece).to_owned(),
            _ => format!("{name}1{}", piece.trim_start_matches(|c: char| c.is_ascii_digit())),
        });
        text = undated.collect();
    }
    if stream { text } else { format!("{:#}\n", serde_json::from_str::<Value>(&text).unwrap()) }
}

#[tokio::test(start_paused = true)]
async fn clients_are_sent_what_is_checked_in() {
    let bless = std::env::var_os("JUNTO_BLESS").is_some();
    let (mut changed, mut written) = (Vec::new(), BTreeSet::new());
    for (scene, cues) in scenes() {
        for wire in Wire::ALL {
            for (stream, extension) in [(true, "sse"), (false, "json")] {
                let name = format!("{scene}.{}.{extension}", wire.name());
                let (file, now) = (folder().join(&name), sent(&cues, wire, stream).await);
                if bless {
                    fs::write(&file, &now).unwrap();
                } else if fs::read_to_string(&file).ok().as_ref() != Some(&now) {
                    changed.push(format!("{name}:\n{now}"));
                }
                written.insert(name);
            }
        }
    }
    assert!(changed.is_empty(), "not as checked in; JUNTO_BLESS=1 if that is meant\n{}", changed.join("\n"));
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let files = files.filter(|entry| entry.file_type().unwrap().is_file());
    let kept: BTreeSet<String> = files.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(kept, written, "files without a scene");
}
