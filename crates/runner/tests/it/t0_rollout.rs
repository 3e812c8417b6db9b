//! What codex writes down about its turns.

use std::fs;
use std::path::PathBuf;

use junto_env::LocalEnvironment;
use junto_llm::Usage;
use junto_runner::RecordedTurn;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use tempfile::TempDir;

const THREAD: &str = "01a1dcb5-834e-77d0-8a93-29e55103c032";

/// A home of codex, with what a test puts into it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file below the home.
    fn put(&self, path: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn rollout(&self, lines: &[Value]) -> PathBuf {
        self.put(&day("2026/11/15", ".jsonl"), &written(lines))
    }

    async fn last(&self) -> Option<RecordedTurn> {
        self.of(THREAD).await
    }

    async fn of(&self, thread: &str) -> Option<RecordedTurn> {
        let env = LocalEnvironment::new(self.0.path()).unwrap();
        RecordedTurn::of_codex(&env, self.0.path().to_str().unwrap(), thread).await
    }
}

fn day(day: &str, extension: &str) -> String {
    format!("sessions/{day}/rollout-{}T01-02-03-{THREAD}{extension}", day.replace('/', "-"))
}

fn written(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-11-15T01:02:03.004Z", "ordinal": 1, "type": kind, "payload": payload})
}

fn started(turn: &str) -> Value {
    line("event_msg", json!({"type": "task_started", "turn_id": turn}))
}

fn tokens(input: u64, output: u64) -> Value {
    json!({"input_tokens": input, "cached_input_tokens": 1, "output_tokens": output,
        "reasoning_output_tokens": 0, "total_tokens": input + output})
}

fn count(last: Value, total: Value) -> Value {
    let info = json!({"total_token_usage": total, "last_token_usage": last, "model_context_window": 1000});
    line("event_msg", json!({"type": "token_count", "info": info}))
}

fn record(turn: &str, call: Value, of_turn: Value, of_thread: Value) -> Value {
    line(
        "token_usage_record",
        json!({"turn_id": turn, "thread_id": THREAD, "response_id": "r",
        "usage": call, "turn_token_usage": of_turn, "thread_token_usage": of_thread}),
    )
}

fn shape(usage: Option<&Usage>) -> Option<(u64, u64)> {
    usage.map(|usage| (usage.input, usage.output))
}

#[tokio::test]
async fn the_last_turn_is_told() {
    let home = Home::new();
    home.rollout(&[
        line("session_meta", json!({"id": THREAD})),
        started("one"),
        count(tokens(100, 10), tokens(100, 10)),
        started("two"),
        line("turn_context", json!({"turn_id": "two", "model": "gpt-5.5"})),
        line("response_item", json!({"type": "message", "content": "event_msg token_count"})),
        record("two", tokens(110, 11), tokens(110, 11), tokens(210, 21)),
        count(tokens(110, 11), tokens(210, 21)),
        line("event_msg", json!({"type": "token_count", "info": null})),
        record("two", tokens(120, 12), tokens(230, 23), tokens(330, 33)),
        count(tokens(120, 12), tokens(330, 33)),
        line("event_msg", json!({"type": "task_complete", "turn_id": "two"})),
        line("from_the_future", json!({"turn_id": "three"})),
    ]);
    let turn = home.last().await.unwrap();
    assert_eq!((turn.id.as_str(), turn.model.as_deref()), ("two", Some("gpt-5.5")));
    assert_eq!(turn.context, Some(132));
    assert_eq!((shape(turn.usage.as_ref()), shape(turn.total.as_ref())), (Some((230, 23)), Some((330, 33))));
    let used = turn.used(None, false).unwrap();
    assert_eq!((used[0].model.as_str(), used[0].usage.input), ("gpt-5.5", 230));
    assert_eq!(turn.clone().after(None), Some(turn.clone()));
    assert_eq!(turn.clone().after(Some(&turn)), None, "a turn that was there before is another's");
}

/// What codex 0.166.0 wrote down about a thread of five runs: one with a tool, one that resumed it, one that found
/// its window full, one that summed the conversation up and went on, counting anew, and one more. Long texts are
/// left out.
#[tokio::test]
async fn a_thread_is_told_after_each_of_its_runs() {
    let whole = include_str!("../rollouts/thread.jsonl");
    let thread = "01a1e00a-23d8-7ab3-a9e0-f469dd127696";
    let home = Home::new();
    let ends: Vec<usize> = whole
        .match_indices("\"task_complete\"")
        .map(|(at, _)| at + whole[at..].find('\n').unwrap())
        .collect();
    let mut before: Option<RecordedTurn> = None;
    for (end, context, turn_used, total) in [
        (ends[0], 1052, Some((2003, 100)), (2003, 100)),
        (ends[1], 1053, Some((1003, 50)), (3006, 150)),
        (ends[2], 258_400, None, (0, 0)),
        (ends[3], 1052, Some((2003, 100)), (2003, 100)),
        (ends[4], 1053, Some((1003, 50)), (3006, 150)),
    ] {
        home.put(
            &format!("sessions/2026/11/15/rollout-2026-11-15T16-28-43-{thread}.jsonl"),
            &whole.as_bytes()[..=end],
        );
        let turn = home.of(thread).await.unwrap().after(before.as_ref()).unwrap();
        assert_eq!((turn.model.as_deref(), turn.context), (Some("gpt-5.5"), Some(context)));
        assert_eq!((shape(turn.usage.as_ref()), shape(turn.total.as_ref())), (turn_used, Some(total)));
        before = Some(turn);
    }
}

#[tokio::test]
async fn a_turn_without_a_call_has_no_size() {
    let home = Home::new();
    let old = count(tokens(100, 10), tokens(100, 10));
    home.rollout(&[started("one"), old.clone(), started("two"), old.clone()]);
    let turn = home.last().await.unwrap();
    assert_eq!((turn.id.as_str(), turn.context, turn.usage), ("two", None, None));
    assert_eq!(shape(turn.total.as_ref()), Some((100, 10)));
    home.rollout(&[started("one"), old, started("two"), count(tokens(0, 0), tokens(100, 10))]);
    assert_eq!(home.last().await.unwrap().context, None);
}

#[tokio::test]
async fn a_window_that_is_full_is_told_as_a_total() {
    let home = Home::new();
    let full = json!({"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0, "total_tokens": 900});
    let mut total = tokens(100, 10);
    total["total_tokens"] = json!(1000);
    home.rollout(&[
        started("one"),
        count(tokens(100, 10), tokens(100, 10)),
        started("two"),
        count(full, total),
    ]);
    assert_eq!(home.last().await.unwrap().context, Some(900));
    let empty = |total: u64| json!({"input_tokens": 0, "output_tokens": 0, "total_tokens": total});
    home.rollout(&[
        started("one"),
        count(tokens(100, 10), tokens(100, 10)),
        started("two"),
        count(empty(890), empty(1000)),
    ]);
    assert_eq!(home.last().await.unwrap().context, Some(1000));
}

#[tokio::test]
async fn older_turns_have_no_name_and_no_use_of_their_own() {
    let home = Home::new();
    let unnamed = line("event_msg", json!({"type": "task_started", "model_context_window": 1000}));
    home.rollout(&[unnamed, count(tokens(50, 5), tokens(150, 15))]);
    let turn = home.last().await.unwrap();
    assert_eq!((turn.id.as_str(), turn.context), ("2026-11-15T01:02:03.004Z", Some(55)));
    let used =
        |before: Option<Usage>, fresh| turn.used(before.as_ref(), fresh).map(|used| used[0].usage.input);
    assert_eq!(used(None, true), Some(150));
    assert_eq!(used(Some(Usage::new(100, 10)), false), Some(50));
    assert_eq!(used(None, false), None);
}

#[tokio::test]
async fn a_long_rollout_is_read_from_its_end() {
    let home = Home::new();
    let filler = line("response_item", json!({"type": "message", "content": "x".repeat(100_000)}));
    let mut lines = vec![started("one"), count(tokens(9, 9), tokens(9, 9)), started("two")];
    lines.extend(std::iter::repeat_n(filler.clone(), 30));
    lines.push(count(tokens(10, 1), tokens(19, 10)));
    home.rollout(&lines);
    let turn = home.last().await.unwrap();
    assert_eq!((turn.id.as_str(), turn.context), ("two", Some(11)));
    // So much that the beginning of the turn is not reached: a line that names the turn does as well.
    lines.extend(std::iter::repeat_n(filler, 100));
    home.rollout(&lines);
    assert_eq!(home.last().await, None);
    lines.push(record("two", tokens(20, 2), tokens(30, 3), tokens(39, 12)));
    home.rollout(&lines);
    let turn = home.last().await.unwrap();
    assert_eq!(
        (turn.id.as_str(), turn.context, shape(turn.total.as_ref())),
        ("two", Some(22), Some((39, 12)))
    );
}

#[tokio::test]
async fn what_was_counted_before_is_looked_for_before_the_turn() {
    let home = Home::new();
    let filler = line("response_item", json!({"type": "message", "content": "x".repeat(300_000)}));
    let old = count(tokens(100, 10), tokens(100, 10));
    home.rollout(&[started("one"), old.clone(), filler, started("two"), old]);
    let turn = home.last().await.unwrap();
    assert_eq!((turn.id.as_str(), turn.context), ("two", None), "it was told again, and no call was made");
}

#[tokio::test]
async fn a_line_that_is_being_written_is_passed_over() {
    let home = Home::new();
    let mut bytes = written(&[started("one"), count(tokens(10, 1), tokens(10, 1))]);
    bytes.extend_from_slice(
        b"{\"timestamp\":\"2026\",\"type\":\"event_msg\",\"payload\":{\"type\":\"token_co",
    );
    home.put(&day("2026/11/15", ".jsonl"), &bytes);
    assert_eq!(home.last().await.unwrap().context, Some(11));
    home.put(&day("2026/11/15", ".jsonl"), &[&b"\xff\xfe[]\n1\n\n"[..], &bytes].concat());
    assert_eq!(home.last().await.unwrap().context, Some(11));
}

#[tokio::test]
async fn a_compressed_rollout_is_read() {
    let home = Home::new();
    let packed = |lines: &[Value]| compress_to_vec(&written(lines)[..], CompressionLevel::Fastest);
    let first = packed(&[started("one"), count(tokens(10, 1), tokens(10, 1))]);
    let second = packed(&[started("two"), count(tokens(20, 2), tokens(30, 3))]);
    home.put(&day("2026/11/15", ".jsonl.zst"), &[&first[..], &second].concat());
    let turn = home.last().await.unwrap();
    assert_eq!((turn.id.as_str(), turn.context), ("two", Some(22)));
    for broken in [&second[..second.len() / 2], b"no such format", b""] {
        home.put(&day("2026/11/15", ".jsonl.zst"), broken);
        assert_eq!(home.last().await, None);
    }
    home.rollout(&[started("three"), count(tokens(30, 3), tokens(60, 6))]);
    assert_eq!(home.last().await.unwrap().id, "three", "the plain one is the newer");
}

#[tokio::test]
async fn the_newest_rollout_of_the_thread_is_found_wherever_it_is() {
    let home = Home::new();
    assert_eq!(home.last().await, None);
    let turn = |id: &str| written(&[started(id)]);
    home.put(&format!("archived_sessions/rollout-2026-01-01T01-02-03-{THREAD}.jsonl"), &turn("archived"));
    home.put("sessions/2027/01/01/rollout-2027-01-01T01-02-03-another.jsonl", &turn("another"));
    assert_eq!(home.last().await.unwrap().id, "archived");
    for name in ["2025/12/31", "2026/01/02", "2026/11/09"] {
        home.put(&day(name, ".jsonl"), &turn(name));
        assert_eq!(home.last().await.unwrap().id, name);
    }
    for thread in ["", "../../x", "another-one", "29e55103c032/"] {
        assert_eq!(home.of(thread).await, None, "{thread:?}");
    }
}
