//! Outputs that come in pieces of any size, and lines of any length.

use std::fs;

use junto_runner::{CliEvent, LINE_LIMIT, Line, Lines};
use serde_json::{Value, json};

use crate::listing::listing;
use crate::parsed::{CLAUDE, CODEX, GEMINI, KINDS, Kind, output, parse, parse_in_pieces};
use crate::t0_golden::recordings;

#[test]
fn recordings_say_the_same_in_pieces_of_any_size() {
    for kind in KINDS {
        for (name, path) in recordings(kind) {
            let bytes = fs::read(path).unwrap();
            let whole = listing(&parse(kind, &bytes));
            for size in [1, 2, 3, 5, 61, 4096] {
                let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
                assert_eq!(listing(&parse_in_pieces(kind.1, &pieces)), whole, "{name} in pieces of {size}");
            }
        }
    }
}

/// What each command prints for an answer.
fn answer((kind, _): Kind, text: &str) -> Vec<Value> {
    match kind {
        "claude" => vec![
            json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": text}]}}),
        ],
        "codex" => vec![
            json!({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}}),
        ],
        _ => vec![json!({"type": "message", "role": "assistant", "content": text, "delta": true})],
    }
}

fn texts(events: &[CliEvent]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match event {
        CliEvent::TextEnd(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn characters_may_be_cut_anywhere() {
    let text = "ä€𝄞 – «é» 日本 👩‍👩‍👧";
    for kind in KINDS {
        let bytes = output(&answer(kind, text));
        for cut in 0..=bytes.len() {
            let (one, other) = bytes.split_at(cut);
            let events = parse_in_pieces(kind.1, &[one, other]);
            assert_eq!(texts(&events), [text], "{} cut at {cut}", kind.0);
        }
    }
}

#[test]
fn a_line_of_many_megabytes_is_read() {
    let text = "ä".repeat(LINE_LIMIT / 4);
    for kind in KINDS {
        let bytes = output(&answer(kind, &text));
        let pieces: Vec<&[u8]> = bytes.chunks(65_537).collect();
        let events = parse_in_pieces(kind.1, &pieces);
        let [read] = texts(&events)[..] else { panic!("{} texts", texts(&events).len()) };
        assert!(*read == text, "{}: {} bytes of {}", kind.0, read.len(), text.len());
    }
}

#[test]
fn a_line_without_an_end_is_not_kept() {
    for kind in KINDS {
        let mut parser = kind.1();
        let mut lines = Lines::new(LINE_LIMIT);
        let (mut events, mut too_long) = (Vec::new(), 0);
        let mut take = |line: Line<'_>| match line {
            Line::Whole(line) => parser.line(line, &mut events),
            Line::TooLong => too_long += 1,
        };
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            lines.push(&piece, &mut take);
        }
        lines.push(b"\n", &mut take);
        lines.push(&output(&answer(kind, "after it")), &mut take);
        lines.finish(&mut take);
        parser.finish(&mut events);
        assert_eq!((too_long, texts(&events)), (1, vec!["after it"]), "{}", kind.0);
    }
}

#[test]
fn a_text_without_an_end_is_kept_up_to_a_limit() {
    let piece = "x".repeat(1 << 20);
    let stream = |event: Value| json!({"type": "stream_event", "event": event});
    let claude = [
        stream(json!({"type": "message_start", "message": {"id": "m"}})),
        stream(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}})),
    ];
    let delta = json!({"type": "text_delta", "text": piece});
    let more = [
        (CLAUDE, stream(json!({"type": "content_block_delta", "index": 0, "delta": delta}))),
        (CODEX, json!({"msg": {"type": "agent_message_delta", "delta": piece}})),
        (GEMINI, json!({"type": "message", "role": "assistant", "content": piece, "delta": true})),
    ];
    for (kind, more) in more {
        let mut parser = kind.1();
        let mut events = Vec::new();
        if kind.0 == "claude" {
            for line in &claude {
                parser.line(line.to_string().as_bytes(), &mut events);
            }
        }
        let more = more.to_string();
        let mut said = 0;
        for _ in 0..20 {
            parser.line(more.as_bytes(), &mut events);
            said += events
                .drain(..)
                .map(|event| if let CliEvent::TextDelta(text) = event { text.len() } else { 0 })
                .sum::<usize>();
        }
        parser.finish(&mut events);
        assert_eq!((said, texts(&events)[0].len()), (LINE_LIMIT, LINE_LIMIT), "{}", kind.0);
    }
}

#[test]
fn what_is_unknown_is_no_answer() {
    let unknown = [
        json!({"type": "from_the_future", "text": "no", "result": "no", "message": "no", "content": "no"}),
        json!({"type": "item.completed", "item": {"id": "i", "type": "from_the_future", "text": "no"}}),
        json!({"type": "item.completed", "item": "no"}),
        json!({"type": "item.from_the_future", "item": {"id": "i", "type": "agent_message", "text": "no"}}),
        json!({"type": "system", "subtype": "from_the_future", "content": "no"}),
        json!({"type": "message", "role": "from_the_future", "content": "no"}),
        json!({"type": "stream_event", "event": {"type": "from_the_future", "text": "no"}}),
        json!({"msg": {"type": "from_the_future", "message": "no"}, "type": "x"}),
    ];
    for kind in KINDS {
        let bytes = [&output(&unknown)[..], b"\nno\n\"no\"\n[\"no\"]\n"].concat();
        let said = listing(&parse(kind, &bytes));
        let lines: Vec<&str> =
            said.lines().filter(|line| !line.starts_with("warning unreadable_output")).collect();
        // That somebody spoke to the model is all that a strange role tells.
        assert!(lines.iter().all(|line| *line == "turn"), "{}: {said}", kind.0);
        assert_eq!(said.matches("unreadable_output").count(), 1, "{}: said once\n{said}", kind.0);
    }
}
