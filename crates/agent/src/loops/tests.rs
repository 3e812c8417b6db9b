use proptest::prelude::*;
use serde_json::json;

use super::*;

fn rules() -> Rules {
    Rules { enabled: true, window: 10, stop: false }
}

/// Plays calls, one a round: each letter is a call, and a letter's result is the letter. Says after how
/// many calls something was noticed, and what.
fn play(rules: Rules, calls: &str) -> Vec<(usize, Circle)> {
    let mut loops = Loops::new(rules);
    let mut noticed = Vec::new();
    for (n, c) in calls.chars().enumerate() {
        let call = ToolCall::function(format!("id-{n}"), "read", json!({"path": c.to_string()}).to_string());
        let result = ToolResult::text(format!("id-{n}"), c);
        noticed.extend(loops.note([(&call, &result)].into_iter()).map(|circle| (n + 1, circle)));
    }
    noticed
}

fn warning(window: usize) -> Circle {
    Circle::Warn(format!(
        "Loop detected: the last {window} tool calls follow a repeating pattern. Try a different approach."
    ))
}

#[test]
fn patterns_are_noticed_when_the_window_is_full() {
    let check = |calls: &str, at: &[usize]| {
        let seen: Vec<usize> = play(rules(), calls).into_iter().map(|(n, _)| n).collect();
        assert_eq!(seen, at, "{calls}");
    };
    check("aaaaaaaaa", &[]);
    check("aaaaaaaaaa", &[10]);
    check("ababababab", &[10]);
    check("abcabcabcabc", &[10]);
    check("abcdabcdabcd", &[10]);
    check("abcdeabcde", &[10]);
    check("abcdefabcdef", &[]);
    check("abcdefghijkl", &[]);
    check("xyaaaaaaaaaa", &[12]);
    // What comes before the whole repetitions that fit into the window is out of sight.
    check("xbcabcabca", &[10]);
    check("xyabcdabcd", &[10]);
    check("xababababab", &[11]);
    check("aaaaabaaaaa", &[]);
    check("abababbababa", &[11]);
}

#[test]
fn the_window_can_be_another() {
    let window = |window, calls| play(Rules { window, ..rules() }, calls);
    assert_eq!(window(4, "xabab"), [(5, warning(4))]);
    assert_eq!(window(2, "aa"), [(2, warning(2))]);
    assert_eq!(window(3, "aaa"), [(3, warning(3))]);
    for (size, calls) in [(0, "aaaa"), (1, "aaaa"), (4, "abca"), (6, "abcdabcd")] {
        assert_eq!(window(size, calls), [], "{size} {calls}");
    }
}

#[test]
fn it_is_said_once_and_ends_the_input_if_that_is_wanted() {
    let calls = "a".repeat(40);
    assert_eq!(play(rules(), &calls), [(10, warning(10))]);
    let stopped = play(Rules { stop: true, ..rules() }, &calls);
    assert_eq!(stopped.len(), 4);
    assert_eq!(stopped[0], (10, warning(10)));
    assert!(matches!(&stopped[1], (20, Circle::Stop(message)) if message.contains("warned before")));
    assert_eq!(play(Rules { enabled: false, ..rules() }, &calls), []);
}

#[test]
fn another_input_begins_anew() {
    let mut loops = Loops::new(rules());
    let call = ToolCall::function("1", "read", "{}");
    let result = ToolResult::text("1", "x");
    let times =
        |loops: &mut Loops, n| (0..n).filter_map(|_| loops.note([(&call, &result)].into_iter())).count();
    assert_eq!(times(&mut loops, 9), 0);
    loops.begin_input();
    assert_eq!(times(&mut loops, 9), 0);
    assert_eq!(times(&mut loops, 1), 1);
    loops.begin_input();
    assert_eq!(times(&mut loops, 10), 1);
}

#[test]
fn a_round_of_several_calls_counts_each() {
    let mut loops = Loops::new(rules());
    let (call, result) = (ToolCall::function("1", "read", "{}"), ToolResult::text("1", "x"));
    assert_eq!(loops.note((0..25).map(|_| (&call, &result))), Some(warning(10)));
}

#[test]
fn what_makes_two_calls_the_same() {
    let call = |name: &str, raw: &str| ToolCall::function("c", name, raw);
    let check = |same: bool, a: (ToolCall, ToolResult), b: (ToolCall, ToolResult)| {
        assert_eq!(signature(&a.0, &a.1) == signature(&b.0, &b.1), same, "{a:?} {b:?}");
    };
    let ok = |text: &str| ToolResult::text("c", text);
    check(
        true,
        (call("f", r#"{"a":1,"b":[2]}"#), ok("x")),
        (call("f", r#"{ "b" : [2], "a" : 1 }"#), ok("x")),
    );
    check(true, (call("f", ""), ok("x")), (call("f", "{}"), ok("x")));
    check(true, (call("f", "{}"), ok("in 3ms")), (call("f", "{}"), ok("in 4ms")));
    check(true, (call("f", "{}"), ok("x")), (call("f", "{}"), ToolResult::text("another id", "x")));
    check(false, (call("f", "{}"), ok("x")), (call("g", "{}"), ok("x")));
    check(false, (call("f", r#"{"a":[1,2]}"#), ok("x")), (call("f", r#"{"a":[2,1]}"#), ok("x")));
    check(false, (call("f", r#"{"a":1}"#), ok("x")), (call("f", r#"{"a":"1"}"#), ok("x")));
    check(false, (call("f", r#"{"a":{"b":1}}"#), ok("x")), (call("f", r#"{"a":{},"b":1}"#), ok("x")));
    check(false, (call("f", r#"{"wait":"3ms"}"#), ok("x")), (call("f", r#"{"wait":"4ms"}"#), ok("x")));
    check(false, (call("f", "{a"), ok("x")), (call("f", "{b"), ok("x")));
    check(false, (call("f", "{}"), ok("x")), (call("f", "{}"), ok("y")));
    check(false, (call("f", "{}"), ok("x")), (call("f", "{}"), ToolResult::error("c", "x")));
    check(false, (ToolCall::custom("c", "f", "x"), ok("")), (ToolCall::custom("c", "f", "y"), ok("")));
    let seen = |bytes: &'static [u8]| ToolResult { images: vec![Media::bytes(bytes)], ..ok("") };
    check(true, (call("f", "{}"), seen(b"one")), (call("f", "{}"), seen(b"one")));
    check(false, (call("f", "{}"), seen(b"one")), (call("f", "{}"), seen(b"two")));
}

/// What the definition says, without the shortcuts.
fn by_definition(calls: &[u64], window: usize) -> bool {
    calls.len() >= window
        && (1..=5).any(|length| {
            let times = window / length;
            let last = &calls[calls.len() - times * length..];
            let repeats = |length: usize| last.chunks(length).all(|chunk| chunk == &last[..length]);
            times >= 2 && repeats(length) && !(1..length).any(|n| length % n == 0 && repeats(n))
        })
}

proptest! {
    #[test]
    fn a_pattern_is_a_pattern(calls in prop::collection::vec(0u64..3, 0..24), window in 0usize..14) {
        prop_assert_eq!(repeats(&calls, window), by_definition(&calls, window));
    }

    #[test]
    fn any_repeated_pattern_is_noticed(pattern in prop::collection::vec(0u64..100, 1..=5), window in 10usize..30) {
        let calls: Vec<u64> = pattern.iter().copied().cycle().take(window).collect();
        prop_assert!(repeats(&calls, window));
    }

    /// The same call over and over is no circle while its results go on changing.
    #[test]
    fn changing_results_are_progress(steps in 1usize..60, window in 2usize..12) {
        let mut loops = Loops::new(Rules { window, ..rules() });
        let call = ToolCall::function("c", "shell", r#"{"command":"make"}"#);
        for n in 0..steps {
            let result = ToolResult::text("c", format!("{n} objects built in {n}ms"));
            prop_assert_eq!(loops.note([(&call, &result)].into_iter()), None);
        }
    }
}
