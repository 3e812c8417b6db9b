//! What the client costs, as ratios: each figure and its yardstick are measured side by side in one
//! run, turn by turn, so that a busy machine slows both. Run with `cargo xtask bench llm`; fails if
//! a bound is broken. The last run's table is in `docs/performance.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, clippy::cast_precision_loss)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads clocks and prints"
)]

mod firehose;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::names::NameMap;
use junto_llm::wire::{DecodeCx, EncodeCx, Mode};
use junto_llm::{
    CallCx, Client, Content, Finish, FinishReason, Message, Origin, Part, Request, Role, SegmentId,
    StreamEvent, ToolCall, ToolCallKind, ToolResult, ToolSpec, Usage, Wire, sse,
};
use junto_twin::{Options, Play, Step, Twin};
use serde_json::{Value, json};

/// Long enough that no single busy moment of the machine decides.
const CALLS: usize = 5000;

fn main() {
    // `cargo bench --workspace --bench llm complete` measures only that.
    let only = std::env::args().nth(1).filter(|word| !word.starts_with('-'));
    let wanted = |what: &str| only.as_deref().is_none_or(|only| only == what);
    let mut table = Table::default();
    for wire in Wire::ALL.into_iter().filter(|_| wanted("decode")) {
        decode(wire, &mut table);
    }
    for wire in Wire::ALL.into_iter().filter(|_| wanted("encode")) {
        encode(wire, &mut table);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        for wire in Wire::ALL.into_iter().filter(|_| wanted("complete")) {
            complete(wire, &mut table).await;
        }
        for wire in Wire::ALL.into_iter().filter(|_| wanted("memory")) {
            memory(wire, &mut table).await;
        }
    });
    table.print_and_check();
}

#[derive(Default)]
struct Table {
    rows: Vec<(String, String, f64, f64)>,
}

impl Table {
    fn row(&mut self, what: String, figures: String, ratio: f64, bound: f64) {
        eprintln!("{what}: {figures}, {ratio:.2} (at most {bound})");
        self.rows.push((what, figures, ratio, bound));
    }

    fn print_and_check(&self) {
        println!("| what | measured | ratio | bound |\n|---|---|---|---|");
        for (what, figures, ratio, bound) in &self.rows {
            println!("| {what} | {figures} | {ratio:.2} | {bound} |");
        }
        let broken: Vec<_> = self.rows.iter().filter(|(_, _, ratio, bound)| ratio > bound).collect();
        assert!(broken.is_empty(), "over their bounds: {broken:#?}");
    }
}

/// The best times of both, run in turns: other work on the machine only ever adds to them.
fn side_by_side(rounds: usize, mut ours: impl FnMut(), mut yardstick: impl FnMut()) -> (Duration, Duration) {
    let time = |work: &mut dyn FnMut()| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        a.push(time(&mut ours));
        b.push(time(&mut yardstick));
    }
    (best(a), best(b))
}

fn best(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}

/// The lower quartile: a call over the network has no best time worth comparing.
fn typical(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 4]
}

fn origin(wire: Wire) -> Arc<Origin> {
    Arc::new(Origin { wire, provider: "bench".into(), model: "m".into() })
}

/// A streamed answer with reasoning, text and a tool call, in pieces of the size models send.
fn answer(pieces: usize) -> Vec<StreamEvent> {
    let (think, text, call) = (SegmentId(0), SegmentId(1), SegmentId(2));
    let mut events = vec![
        StreamEvent::StreamStart {
            id: "answer-1".into(),
            model: "m".into(),
            provider: "bench".into(),
            origin: None,
            usage: Some(Usage::new(1000, 1)),
            warnings: vec![],
            rate_limit: None,
        },
        StreamEvent::ReasoningStart { id: think },
    ];
    events.extend(
        (0..pieces / 4).map(|n| StreamEvent::ReasoningDelta { id: think, text: format!("thought {n}, ") }),
    );
    events.push(StreamEvent::ReasoningEnd {
        id: think,
        signature: Some("c2lnbmF0dXJl".repeat(8)),
        raw: None,
    });
    events.push(StreamEvent::TextStart { id: text });
    events.extend(
        (0..pieces).map(|n| StreamEvent::TextDelta { id: text, text: format!("word{n} and \"more\" ") }),
    );
    events.push(StreamEvent::TextEnd { id: text, raw: None });
    let (call_id, name) = ("call_1".to_owned(), "write_file".to_owned());
    events.push(StreamEvent::ToolCallStart {
        id: call,
        call_id: call_id.clone(),
        name: name.clone(),
        kind: ToolCallKind::Function,
    });
    let arguments = json!({"path": "a.txt", "content": "line\n".repeat(pieces)}).to_string();
    for piece in arguments.as_bytes().chunks(16) {
        let arguments = String::from_utf8_lossy(piece).into_owned();
        events.push(StreamEvent::ToolCallDelta { id: call, arguments });
    }
    events.push(StreamEvent::ToolCallEnd {
        id: call,
        call: ToolCall::function(call_id, name, arguments),
        raw: None,
    });
    events.push(StreamEvent::Finish {
        reason: FinishReason::new(Finish::ToolCalls),
        usage: Usage::new(1000, 900),
        response: None,
    });
    events
}

fn encoded(wire: Wire, events: &[StreamEvent]) -> Vec<u8> {
    let mut encoder = wire.codec().stream_encoder();
    let mut bytes = Vec::new();
    for event in events {
        encoder.event(event, &mut bytes);
    }
    bytes
}

/// Bytes to events, against `serde_json` reading the same payloads into values.
fn decode(wire: Wire, table: &mut Table) {
    let bytes = encoded(wire, &answer(2000));
    let mut payloads = Vec::new();
    let keep = |frame: sse::Frame<'_>| {
        payloads.push(frame.data.to_owned());
        Ok(())
    };
    sse::Decoder::new().push(&bytes, keep).unwrap();
    payloads.retain(|p| p != "[DONE]");
    let ours = || {
        let cx = DecodeCx { origin: origin(wire), names: Arc::default(), warnings: vec![], rate_limit: None };
        let mut decoder = wire.codec().stream_decoder(cx);
        let mut sse = sse::Decoder::new();
        let mut events = Vec::new();
        let mut seen = 0;
        for chunk in bytes.chunks(4096) {
            sse.push(chunk, |frame| decoder.frame(frame, &mut events)).unwrap();
            seen += events.len();
            black_box(&events);
            events.clear();
        }
        decoder.end(&mut events).unwrap();
        assert!(seen > 2000);
    };
    let yardstick = || {
        for payload in &payloads {
            black_box(serde_json::from_str::<Value>(payload).unwrap());
        }
    };
    let (a, b) = side_by_side(60, ours, yardstick);
    let mib = bytes.len() as f64 / 1024.0 / 1024.0;
    let figures =
        format!("{:.0} MiB/s; serde_json {:.0} MiB/s", mib / a.as_secs_f64(), mib / b.as_secs_f64());
    table.row(format!("decode a stream, {}", wire.name()), figures, a.as_secs_f64() / b.as_secs_f64(), 1.5);
}

fn history(messages: usize) -> Request {
    let mut list = vec![Message::system("You are a coding agent.")];
    while list.len() < messages {
        let n = list.len();
        let id = format!("call_{n}");
        list.push(Message::user(format!("Please do step {n}.")));
        let call = ToolCall::function(
            &id,
            "write_file",
            json!({"path": "a.txt", "content": "text ".repeat(40)}).to_string(),
        );
        list.push(Message::new(
            Role::Assistant,
            vec![Part::text("I will."), Part::new(Content::ToolCall(call))],
        ));
        list.push(Message::tool_results([ToolResult::text(&id, "done ".repeat(20))]));
        list.push(Message::assistant("It is done."));
    }
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}});
    Request::of(list).model("m").tools([ToolSpec::new("write_file", "Writes a file", schema).unwrap()])
}

/// Twice the history, twice the time.
fn encode(wire: Wire, table: &mut Table) {
    let run = |request: &Request| {
        let names = NameMap::for_request(request, wire);
        let origin = origin(wire);
        let cx = EncodeCx {
            origin: &origin,
            mode: Mode::Stream,
            session: Some("s"),
            model: None,
            names: &names,
            auto_cache: true,
        };
        let body = wire.codec().encode_request(request, &cx).unwrap().body;
        black_box(serde_json::to_vec(&body).unwrap());
    };
    let (long, short) = (history(2000), history(1000));
    let (a, b) = side_by_side(200, || run(&long), || run(&short));
    let figures = format!(
        "2,000 messages in {:.2} ms; 1,000 in {:.2} ms",
        a.as_secs_f64() * 1e3,
        b.as_secs_f64() * 1e3
    );
    table.row(
        format!("encode twice the history, {}", wire.name()),
        figures,
        a.as_secs_f64() / b.as_secs_f64(),
        2.5,
    );
}

/// A whole answer, against a bare HTTP call with the same body to the same server.
async fn complete(wire: Wire, table: &mut Table) {
    let twin = Twin::start(Play::of([Step::text("A short answer.")]), Options::default()).unwrap();
    let endpoint = Endpoint::new("twin", wire, twin.base_url(wire)).key("twin-key");
    let client =
        Client::builder().provider("twin", Arc::new(HttpProvider::new(endpoint).unwrap())).build().unwrap();
    let request =
        Request::prompt("A question of ordinary length, as people ask them.").model("m").max_tokens(100);
    client.complete(request.clone(), &CallCx::new()).await.unwrap();
    let seen = twin.requests().pop().unwrap();
    let body = serde_json::to_vec(&seen.body).unwrap();
    let bare = reqwest::Client::builder().tcp_nodelay(true).build().unwrap();
    let url = format!("http://{}{}", twin.addr(), seen.path);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let begin = Instant::now();
        black_box(client.complete(request.clone(), &CallCx::new()).await.unwrap());
        a.push(begin.elapsed());
        let begin = Instant::now();
        let call = bare
            .post(&url)
            .header("content-type", "application/json")
            .header("authorization", "Bearer twin-key")
            .header("x-api-key", "twin-key")
            .header("x-goog-api-key", "twin-key")
            .header("anthropic-version", "2023-06-01")
            .body(body.clone());
        black_box(call.send().await.unwrap().error_for_status().unwrap().bytes().await.unwrap());
        b.push(begin.elapsed());
    }
    let (a, b) = (typical(a), typical(b));
    let figures = format!("{} µs; bare {} µs", a.as_micros(), b.as_micros());
    table.row(format!("complete, {}", wire.name()), figures, a.as_secs_f64() / b.as_secs_f64(), 1.2);
}

/// Peak memory over a stream of 100 MB, against one of 10 MB.
async fn memory(wire: Wire, table: &mut Table) {
    let mut peaks = Vec::new();
    for megabytes in [10, 100] {
        let piece = "x".repeat(1000);
        let pieces = megabytes * 1000;
        let server = firehose::serve(frames(wire, &piece), pieces).await;
        let base = if matches!(wire, Wire::Responses | Wire::Chat) {
            format!("http://{server}/v1")
        } else {
            format!("http://{server}")
        };
        let client = Client::builder()
            .provider("p", Arc::new(HttpProvider::new(Endpoint::new("p", wire, base)).unwrap()))
            .build()
            .unwrap();
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let mut events =
            client.stream_events(Request::prompt("go").model("m"), &CallCx::new()).await.unwrap();
        let mut bytes = 0;
        while let Some(event) = events.next().await {
            if let StreamEvent::TextDelta { text, .. } = event.unwrap() {
                bytes += text.len();
            }
        }
        assert_eq!(bytes, pieces * piece.len());
        peaks.push(peak_kib());
    }
    let figures = format!("{:.1} MiB; {:.1} MiB over 10 MB", peaks[1] / 1024.0, peaks[0] / 1024.0);
    table.row(
        format!("peak memory over a 100 MB stream, {}", wire.name()),
        figures,
        peaks[1] / peaks[0],
        1.25,
    );
}

/// What a stream starts with, one piece of text, and what it ends with. The frames that repeat the
/// whole text at the end (Responses) say only the last piece, as the text is not held anywhere.
fn frames(wire: Wire, piece: &str) -> [Vec<u8>; 3] {
    let id = SegmentId(0);
    let mut encoder = wire.codec().stream_encoder();
    let mut write = |events: &[StreamEvent]| {
        let mut bytes = Vec::new();
        for event in events {
            encoder.event(event, &mut bytes);
        }
        bytes
    };
    let all = answer(0);
    let start = write(&[all[0].clone(), StreamEvent::TextStart { id }]);
    let text = write(&[StreamEvent::TextDelta { id, text: piece.to_owned() }]);
    // Numbered events that come twice are dropped as duplicates; these are not numbered.
    let text =
        String::from_utf8_lossy(&text).replace("\"sequence_number\":4", "\"sequence_number\":0").into_bytes();
    let finish = StreamEvent::Finish {
        reason: FinishReason::new(Finish::Stop),
        usage: Usage::new(1, 1),
        response: None,
    };
    let end = write(&[StreamEvent::TextEnd { id, raw: None }, finish]);
    [start, text, end]
}

fn peak_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
