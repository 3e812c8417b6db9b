//! What the real client printed, and what must be read from it.

use std::collections::BTreeSet;

use junto_llm::{Cost, ErrorKind, Usd};
use junto_runner::{ClaudeParser, CliEvent, Parser as _, Verdict};

use crate::parsed::{CLAUDE, assert_paired, parse, reports, short, used, verdict};

struct Facts {
    name: &'static str,
    /// How the session's id begins; empty if the output never says it.
    session: &'static str,
    reports: usize,
    /// Of the last report.
    verdict: &'static str,
    text: &'static str,
    /// Tool calls, subagents' included.
    calls: usize,
    input: u64,
    output: u64,
    nano_usd: i64,
}

#[rustfmt::skip]
const RECORDINGS: &[Facts] = &[
    Facts { name: "append-system-prompt", session: "a0ba474f", reports: 1, verdict: "done", text: "Hello from the fake server.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "budget-final-answer", session: "8c88419b", reports: 1, verdict: "limit", text: "final", calls: 0, input: 2000, output: 300, nano_usd: 14_000_000 },
    Facts { name: "budget", session: "5c5a8310", reports: 1, verdict: "limit", text: "", calls: 1, input: 2000, output: 300, nano_usd: 14_000_000 },
    Facts { name: "control-interrupt", session: "732a7998", reports: 2, verdict: "done", text: "second turn", calls: 1, input: 200, output: 20, nano_usd: 900_000 },
    Facts { name: "empty-content", session: "4a74234e", reports: 1, verdict: "done", text: "second", calls: 0, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "err-400-toolong", session: "ccd4a098", reports: 1, verdict: "failed", text: "", calls: 0, input: 0, output: 0, nano_usd: 0 },
    Facts { name: "err-401", session: "22e9a0b8", reports: 1, verdict: "failed", text: "", calls: 0, input: 0, output: 0, nano_usd: 0 },
    Facts { name: "err-429-recover", session: "528318d8", reports: 1, verdict: "done", text: "Recovered.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "err-500-recover", session: "8936d729", reports: 1, verdict: "done", text: "Recovered.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "err-529-exhaust2", session: "814bdafe", reports: 1, verdict: "failed", text: "", calls: 0, input: 0, output: 0, nano_usd: 0 },
    Facts { name: "err-drop-mid-recover", session: "18142334", reports: 1, verdict: "done", text: "Recovered.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "err-drop-mid", session: "be06ed95", reports: 1, verdict: "done", text: "This text gets cut off in the middle of the stream.", calls: 0, input: 200, output: 11, nano_usd: 1_020_000 },
    Facts { name: "err-malformed-json", session: "80fd4d18", reports: 1, verdict: "done", text: "This text meets garbage.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "err-sse-overloaded", session: "9e3c3355", reports: 1, verdict: "done", text: "This text gets cut off.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "hooks", session: "a6179114", reports: 1, verdict: "done", text: "done", calls: 2, input: 300, output: 30, nano_usd: 1_800_000 },
    Facts { name: "json-schema", session: "3ac0a42e", reports: 1, verdict: "done", text: "{\"name\":\"bob\"}", calls: 1, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "max-tokens-stop", session: "afd44492", reports: 1, verdict: "done", text: "rest", calls: 0, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "maxturns", session: "2a70d6d9", reports: 1, verdict: "limit", text: "", calls: 2, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "mcp", session: "b7bc58eb", reports: 1, verdict: "done", text: "done", calls: 1, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "old-tools", session: "b6f7509e", reports: 1, verdict: "done", text: "ok", calls: 3, input: 400, output: 40, nano_usd: 3_000_000 },
    Facts { name: "out-json", session: "", reports: 1, verdict: "done", text: "Hello from the fake server.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "partial", session: "b763c402", reports: 1, verdict: "done", text: "Hello there, this is streamed.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "plain", session: "5ae6631d", reports: 1, verdict: "done", text: "Hello from the fake server.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "refusal-stop", session: "bc09c356", reports: 1, verdict: "failed", text: "no", calls: 0, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "resume-badid.1", session: "", reports: 1, verdict: "failed", text: "", calls: 0, input: 0, output: 0, nano_usd: 0 },
    Facts { name: "resume-fork.1", session: "27b15e7b", reports: 1, verdict: "done", text: "Answer one.", calls: 1, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "resume-fork.2", session: "603a0e0a", reports: 1, verdict: "done", text: "Answer two.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "resume.1", session: "9a5cd0a4", reports: 1, verdict: "done", text: "Answer one.", calls: 1, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "resume.2", session: "9a5cd0a4", reports: 1, verdict: "done", text: "Answer two.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "resume.3", session: "9a5cd0a4", reports: 1, verdict: "done", text: "Answer three.", calls: 0, input: 100, output: 10, nano_usd: 300_000 },
    Facts { name: "sigint-stream", session: "9feef01d", reports: 1, verdict: "interrupted", text: "Slow streaming t", calls: 0, input: 0, output: 0, nano_usd: 0 },
    Facts { name: "sigint-tool", session: "0770b743", reports: 1, verdict: "interrupted", text: "", calls: 1, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "sigkill-tool", session: "b6d5805a", reports: 0, verdict: "none", text: "", calls: 1, input: 0, output: 0, nano_usd: 0 },
    Facts { name: "sigterm-tool", session: "8091e56b", reports: 0, verdict: "none", text: "", calls: 1, input: 0, output: 0, nano_usd: 0 },
    Facts { name: "stream-input-steer", session: "b6f65551", reports: 1, verdict: "done", text: "after tool", calls: 1, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "stream-input", session: "5016b934", reports: 2, verdict: "done", text: "two", calls: 0, input: 200, output: 20, nano_usd: 1_200_000 },
    Facts { name: "subagent-bg", session: "aab63363", reports: 2, verdict: "done", text: "Main finished with sub answer.", calls: 2, input: 500, output: 50, nano_usd: 3_000_000 },
    Facts { name: "subagent-fg", session: "7337129c", reports: 1, verdict: "done", text: "Main finished with sub answer.", calls: 2, input: 400, output: 40, nano_usd: 2_400_000 },
    Facts { name: "think-budget", session: "a150a4e7", reports: 1, verdict: "done", text: "Hello from the fake server.", calls: 0, input: 100, output: 10, nano_usd: 600_000 },
    Facts { name: "thinking-nosig", session: "5f755ab3", reports: 1, verdict: "done", text: "done", calls: 2, input: 300, output: 30, nano_usd: 1_800_000 },
    Facts { name: "tools-all", session: "aa668a2f", reports: 1, verdict: "done", text: "All done.", calls: 12, input: 800, output: 80, nano_usd: 4_800_000 },
    Facts { name: "tools-grepglob", session: "315a6623", reports: 1, verdict: "done", text: "done", calls: 4, input: 300, output: 30, nano_usd: 1_800_000 },
    Facts { name: "usage-cache", session: "b3bb7f49", reports: 1, verdict: "done", text: "hi", calls: 0, input: 1_000_000, output: 0, nano_usd: 200_000_000 },
];

fn recorded(name: &str) -> Vec<u8> {
    std::fs::read(junto_testkit::recording(&format!("claude/{name}"))).unwrap()
}

#[test]
fn every_recording_is_read_right() {
    for facts in RECORDINGS {
        let name = facts.name;
        let events = parse(CLAUDE, &recorded(name));
        let reports = reports(&events);
        assert_eq!(reports.len(), facts.reports, "{name}");
        assert_eq!(reports.last().map_or("none", |report| verdict(report)), facts.verdict, "{name}");
        assert_eq!(reports.last().map_or("", |report| &report.text), facts.text, "{name}");
        let session = events.iter().find_map(|event| match event {
            CliEvent::Session { id, .. } => Some(id.as_str()),
            _ => None,
        });
        assert_eq!(session.map_or("", |id| &id[..8]), facts.session, "{name}");
        let calls = events.iter().filter(|event| matches!(event, CliEvent::ToolStart(_))).count();
        assert_eq!(calls, facts.calls, "{name}");
        let (usage, cost) = used(&events);
        assert_eq!((usage.input, usage.output), (facts.input, facts.output), "{name}");
        assert_eq!(cost, Cost::Reported(Usd(facts.nano_usd)), "{name}");
    }
}

#[test]
fn no_recording_is_forgotten() {
    let folder = junto_testkit::recording("claude/plain");
    let names = std::fs::read_dir(folder.parent().unwrap()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let present: BTreeSet<String> =
        names.filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned)).collect();
    assert_eq!(present, RECORDINGS.iter().map(|facts| facts.name.to_owned()).collect());
}

#[test]
fn failures_have_their_kind() {
    for (name, kind, status) in [
        ("err-401", ErrorKind::Authentication, Some(401)),
        ("err-529-exhaust2", ErrorKind::Server, Some(529)),
        ("err-400-toolong", ErrorKind::ContextLength, Some(400)),
        ("refusal-stop", ErrorKind::ContentFilter, None),
        ("resume-badid.1", ErrorKind::Unknown, None),
    ] {
        let events = parse(CLAUDE, &recorded(name));
        match &reports(&events).last().unwrap().verdict {
            Verdict::Failed(error) => assert_eq!((error.kind(), error.status()), (kind, status), "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn words_of_the_client_are_no_answer() {
    let events = parse(CLAUDE, &recorded("err-401"));
    assert!(!events.iter().any(|event| matches!(event, CliEvent::TextStart)), "{events:#?}");
    let excuses = events.iter().filter(|event| matches!(event, CliEvent::Excuse(_))).count();
    assert_eq!(excuses, 1);
}

#[test]
fn a_streamed_answer_comes_once() {
    let expected = [
        "session b763c402-7751-4540-820e-7e6d83c6a57c",
        "turn",
        "(",
        "+Let me think abo",
        "+ut it.",
        ")Let me think about it.",
        "(",
        "+Hello there, thi",
        "+s is streamed.",
        ")Hello there, this is streamed.",
        "context 110",
        "done Hello there, this is streamed.",
    ];
    assert_eq!(short(&parse(CLAUDE, &recorded("partial"))), expected);
}

#[test]
fn an_answer_that_broke_off_is_continued_by_its_repetition() {
    let expected = [
        "session be06ed95-a5a4-429d-a7e7-7589d2673f79",
        "retry 1 unknown",
        "turn",
        "(",
        "+This text gets c",
        "+ut off in the mi",
        "retry 2 unknown",
        "turn",
        "+ddle of the stream.",
        ")This text gets cut off in the middle of the stream.",
        "context 110",
        "done This text gets cut off in the middle of the stream.",
    ];
    assert_eq!(short(&parse(CLAUDE, &recorded("err-drop-mid"))), expected);
}

#[test]
fn a_subagent_acts_in_the_open_and_answers_nobody_but_its_parent() {
    let events = parse(CLAUDE, &recorded("subagent-fg"));
    let texts: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            CliEvent::TextEnd(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["Delegating.", "Main finished with sub answer."]);
    assert!(short(&events).contains(&"output from-sub".to_owned()), "{events:#?}");
}

#[test]
fn an_output_cut_anywhere_is_read_as_far_as_it_goes() {
    for name in ["partial", "err-drop-mid"] {
        let mut parser = ClaudeParser::new();
        let mut before = Vec::new();
        for line in recorded(name).split(|byte| *byte == b'\n') {
            for end in 0..line.len() {
                let (mut cut, mut events) = (parser.clone(), before.clone());
                cut.line(&line[..end], &mut events);
                cut.finish(&mut events);
                assert_paired(&events);
                assert!(
                    reports(&events).is_empty(),
                    "{name}: the result is its last line, {end} bytes of it"
                );
            }
            parser.line(line, &mut before);
        }
        assert_eq!(reports(&before).len(), 1, "{name}");
    }
}
