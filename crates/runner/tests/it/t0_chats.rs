//! What gemini writes down about its conversations.

use std::fs;
use std::time::{Duration, SystemTime};

use junto_env::LocalEnvironment;
use junto_runner::RecordedTurn;
use serde_json::{Value, json};
use tempfile::TempDir;

const SESSION: &str = "dd0678bf-cfef-41b7-aa0b-f67d3fe46e7a";

fn began(session: &str) -> Value {
    json!({"sessionId": session, "projectHash": "d43a", "startTime": "2026-11-15T19:11:44.892Z", "kind": "main"})
}

fn answer(id: &str, total: u64) -> Value {
    let tokens = json!({"input": total.saturating_sub(2), "output": 2, "cached": 0, "thoughts": 0, "tool": 0, "total": total});
    json!({"id": id, "type": "gemini", "content": "Done.", "tokens": tokens, "model": "gemini-3.5-flash-lite"})
}

fn put(home: &TempDir, path: &str, lines: &[Value]) {
    let path = home.path().join(".gemini/tmp").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    fs::write(path, text).unwrap();
}

async fn last(home: &TempDir) -> Option<(String, Option<u64>)> {
    let env = LocalEnvironment::new(home.path()).unwrap();
    let turn = RecordedTurn::of_gemini(&env, home.path().to_str().unwrap(), SESSION).await;
    turn.map(|turn| (turn.id, turn.context))
}

#[tokio::test]
async fn the_last_answer_tells_how_large_its_call_was() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(last(&home).await, None);
    let said = json!({"id": "u-1", "type": "user", "content": [{"text": "hello"}]});
    let lines = [began(SESSION), said.clone(), json!({"$set": {"lastUpdated": "x"}})];
    put(&home, "work/chats/session-2026-11-15T19-11-dd0678bf.jsonl", &lines);
    assert_eq!(last(&home).await, None, "nothing was answered");
    let untold = json!({"id": "g-3", "type": "gemini", "content": "", "tokens": null});
    let more = [answer("g-1", 9897), said.clone(), answer("g-2", 12_000), untold, json!("what is no answer")];
    put(&home, "work/chats/session-2026-11-15T19-11-dd0678bf.jsonl", &[&lines[..], &more].concat());
    assert_eq!(last(&home).await, Some(("g-2".to_owned(), Some(12_000))));
    // A run in another minute begins another file, and goes on in the first.
    put(&home, "work/chats/session-2026-11-15T19-12-dd0678bf.jsonl", &[began(SESSION)]);
    assert_eq!(last(&home).await, Some(("g-2".to_owned(), Some(12_000))));
    // One that was taken up in another file goes on there, and a beginning may be that of others.
    put(
        &home,
        "work/chats/session-2026-11-16T08-00-dd0678bf.jsonl",
        &[began(SESSION), answer("g-4", 13_000)],
    );
    let other = began("dd0678bf-0000-0000-0000-000000000000");
    put(&home, "other/chats/session-2026-11-17T08-00-dd0678bf.jsonl", &[other, answer("g-5", 1)]);
    put(
        &home,
        "work/chats/session-2026-11-17T08-00-11111111.jsonl",
        &[began("11111111-x"), answer("g-6", 1)],
    );
    assert_eq!(last(&home).await, Some(("g-4".to_owned(), Some(13_000))));
    // What was written last counts, however it is called.
    put(
        &home,
        "work/chats/session-2026-11-15T19-11-dd0678bf.jsonl",
        &[began(SESSION), answer("g-4", 13_000), answer("g-7", 14_000)],
    );
    let times = fs::FileTimes::new().set_modified(SystemTime::now() + Duration::from_mins(1));
    let path = home.path().join(".gemini/tmp/work/chats/session-2026-11-15T19-11-dd0678bf.jsonl");
    fs::File::options().append(true).open(path).unwrap().set_times(times).unwrap();
    assert_eq!(last(&home).await, Some(("g-7".to_owned(), Some(14_000))));
}
