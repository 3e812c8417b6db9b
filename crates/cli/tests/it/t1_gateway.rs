use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use junto::llm::{CallCx, Client, Endpoint, Error, ErrorKind, HttpProvider, Request, StreamEvent, Wire};
use junto::twin::{After, Fault, Play, Step};

use crate::Machine;
use crate::stage::{KEY, SETUPS, Stage, on_every_wire};
use crate::t1_interrupt::{interrupt, start};

/// A gateway that runs.
pub(crate) struct Gateway {
    child: Child,
    err: BufReader<ChildStderr>,
    said: String,
    url: String,
}

impl Gateway {
    pub(crate) fn start(machine: &Machine, flags: &[&str]) -> Self {
        Self::started(machine, flags, "listening on ")
    }

    /// One that notes JSON.
    pub(crate) fn start_for_programs(machine: &Machine, flags: &[&str]) -> Self {
        Self::started(machine, flags, "\"msg\":\"listening on ")
    }

    fn started(machine: &Machine, flags: &[&str], mark: &str) -> Self {
        let mut child = start(machine, &[&["gateway", "--port", "0"], flags].concat());
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let from = said.len();
            assert_ne!(err.read_line(&mut said).unwrap(), 0, "{said}");
            if let Some((_, rest)) = said[from..].split_once(mark) {
                break rest.split(' ').next().unwrap().to_owned();
            }
        };
        Self { child, err, said, url }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The port it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.url.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// A client of this gateway. Its requests name the model.
    pub(crate) fn client(&self, wire: Wire, key: &str) -> Client {
        let base = match wire {
            Wire::Responses | Wire::Chat => format!("{}/v1", self.url),
            Wire::Anthropic | Wire::Gemini => self.url.clone(),
        };
        let provider = HttpProvider::new(Endpoint::new("gateway", wire, base).key(key)).unwrap();
        Client::builder().provider("gateway", Arc::new(provider)).build().unwrap()
    }

    /// Asks for a text, whole and streamed; both must be the same.
    pub(crate) fn ask(&self, wire: Wire, model: &str) -> Result<String, Error> {
        self.put(wire, model, "Hello.")
    }

    /// The same with this question.
    pub(crate) fn put(&self, wire: Wire, model: &str, question: &str) -> Result<String, Error> {
        let client = self.client(wire, "any");
        let request = Request::prompt(question).model(model);
        run(async {
            let whole = client.complete(request.clone(), &CallCx::new()).await?.text();
            let mut streamed = String::new();
            let mut events = client.stream(request, &CallCx::new()).await?;
            while let Some(event) = events.next().await {
                if let StreamEvent::TextDelta { text, .. } = event? {
                    streamed.push_str(&text);
                }
            }
            assert_eq!(streamed, whole);
            Ok(whole)
        })
    }

    /// What it answers to a request without a body.
    pub(crate) fn get(&self, path: &str) -> String {
        let address = self.url.strip_prefix("http://").unwrap();
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"))
    }

    /// What it answers to these bytes.
    pub(crate) fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.url.strip_prefix("http://").unwrap()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The models it tells OpenAI's clients of.
    pub(crate) fn models(&self) -> Vec<String> {
        let answer = self.get("/v1/models");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        let list: serde_json::Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
        list["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The next line that it says.
    pub(crate) fn next_line(&mut self) -> String {
        let from = self.said.len();
        assert_ne!(self.err.read_line(&mut self.said).unwrap(), 0, "{}", self.said);
        self.said[from..].to_owned()
    }

    /// Interrupts it and reads nothing of what it says; gives the exit code.
    pub(crate) fn end_unread(mut self) -> Option<i32> {
        interrupt(&self.child);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_mins(1) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end")
    }

    /// Interrupts it; gives the exit code and everything it said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        interrupt(&self.child);
        self.err.read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap().code(), std::mem::take(&mut self.said))
    }
}

impl Drop for Gateway {
    /// One that a test has not ended, because it failed, serves nobody.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn every_wire_is_answered_from_every_wire() {
    on_every_wire(
        || Play::text("From the other side."),
        |setup, stage| {
            let gateway = Gateway::start(&stage.machine, &[]);
            for wire in Wire::ALL {
                let answer = gateway.ask(wire, "whatever-1");
                assert_eq!(answer.unwrap(), "From the other side.", "{wire:?} from {:?}", setup.wire);
            }
            let (code, said) = gateway.end();
            assert_eq!(code, Some(0), "{said}");
            let who = format!("{}/{}", setup.provider, setup.model);
            assert!(said.contains(&format!("{who} answers\n")), "{said}");
            assert!(said.contains(" — Anthropic (/v1/messages) + OpenAI (/v1/responses)"), "{said}");
            let hint = "junto gateway setup claude|codex|gemini --url http://127.0.0.1:";
            assert!(said.contains(hint), "a port that is not the usual one is named: {said}");
            assert_eq!(said.matches(&format!("{who} · in ")).count(), 8, "{said}");
            assert!(!said.contains(KEY), "{said}");
        },
    );
}

#[test]
fn a_request_can_name_its_provider() {
    let stage = Stage::new(&SETUPS[3], Play::default());
    let gateway = Gateway::start(&stage.machine, &[]);
    gateway.ask(Wire::Anthropic, "local/other/one").unwrap();
    gateway.ask(Wire::Responses, "unknown/other").unwrap();
    assert_eq!(gateway.end().0, Some(0));
    let asked: Vec<String> =
        stage.requests().iter().map(|r| r.body["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(asked, ["other/one", "other/one", "mistral", "mistral"]);
}

#[test]
fn a_council_can_answer() {
    let stage = Stage::new(&SETUPS[3], Play::of([Step::text("We agree.")]));
    let gateway = Gateway::start(&stage.machine, &["--council", "local/a-1,local/b-1", "--no-progress"]);
    assert_eq!(gateway.put(Wire::Anthropic, "any-1", "Explain why.").unwrap(), "We agree.");
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("a council of local/a-1, local/b-1 answers"), "{said}");
    assert!(said.contains(" · cost unknown"), "nobody knows their prices: {said}");
    assert_eq!(stage.requests().len(), 4);
}

#[test]
fn a_council_costs_what_its_members_cost() {
    let stage = Stage::new(&SETUPS[3], Play::of([Step::text("We agree.")]));
    stage.price(&["a-1", "b-1"]);
    let gateway = Gateway::start(&stage.machine, &["--council", "local/a-1,local/b-1", "--no-progress"]);
    gateway.put(Wire::Anthropic, "any-1", "Explain why.").unwrap();
    let (_, said) = gateway.end();
    // Whole and streamed, each the half.
    let half = stage.tokens() / 2;
    assert_eq!(said.matches(&format!(" · about ${half}.00\n")).count(), 2, "{said}");
}

/// A second interrupt waits for nobody, but what is known of the running answers is written down.
#[test]
fn a_second_interrupt_loses_nothing_of_the_books() {
    const STREAMS: usize = 20;
    let stalled = Fault { stall: Some(After(500)), ..Fault::default() };
    let step = Step { repeat: Some(1000), fault: Some(stalled), ..Step::text("word ") };
    let stage = Stage::on_any_wire(Play::of(vec![step; STREAMS]));
    let mut gateway = Gateway::start(&stage.machine, &[]);
    let body = r#"{"model": "claude-opus-5-5", "max_tokens": 900, "stream": true, "messages": [{"role": "user", "content": "Hello."}]}"#;
    let running: Vec<TcpStream> = (0..STREAMS)
        .map(|session| {
            let mut stream = TcpStream::connect(gateway.url.strip_prefix("http://").unwrap()).unwrap();
            let head = format!(
                "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-claude-code-session-id: s-{session}\r\n\
                 content-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
            let mut said = String::new();
            let mut lines = BufReader::new(&stream);
            while !said.contains("content_block_delta") {
                assert_ne!(lines.read_line(&mut said).unwrap(), 0, "{said}");
            }
            stream
        })
        .collect();
    interrupt(&gateway.child);
    while !gateway.said.contains("shutting down") {
        assert_ne!(gateway.err.read_line(&mut gateway.said).unwrap(), 0, "{}", gateway.said);
    }
    let (code, said) = gateway.end();
    drop(running);
    assert_eq!(code, Some(130), "{said}");
    // What they cost is not what they would, had they ended where they began.
    assert_eq!(said.matches(" · cost unknown · broken off\n").count(), STREAMS, "{said}");
    let cost: serde_json::Value = serde_json::from_str(&stage.machine.run(&["cost", "--json"]).ok()).unwrap();
    assert_eq!(cost["total"]["calls"], STREAMS, "{cost}");
    let sessions = stage.machine.path(".local/state/junto/gateway/sessions.json");
    assert_eq!(std::fs::read_to_string(sessions).unwrap().matches("\"s-").count(), STREAMS);
}

/// What a client was not told, because it did not ask, is not nothing.
#[test]
fn a_stream_without_usage_is_noted_and_booked_as_unknown() {
    let setup = &SETUPS[3];
    let stage = Stage::new(setup, Play::text("Here."));
    stage.price(&[setup.model]);
    let gateway = Gateway::start(&stage.machine, &[]);
    let body = format!(
        "{{\"model\": \"{}\", \"stream\": true, \"messages\": [{{\"role\": \"user\", \"content\": \"Hello.\"}}]}}",
        setup.model
    );
    let answer = gateway.send(&format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert!(answer.contains("[DONE]") && !answer.contains("usage"), "{answer}");
    let (_, said) = gateway.end();
    assert!(said.contains("local/mistral · what it used was not told · cost unknown\n"), "{said}");
    let cost: serde_json::Value = serde_json::from_str(&stage.machine.run(&["cost", "--json"]).ok()).unwrap();
    let total = &cost["total"];
    assert_eq!((&total["calls"], &total["cost"]["unknown_calls"]), (&1.into(), &1.into()), "{cost}");
}

#[test]
fn calls_that_fail_are_noted_with_what_to_do() {
    // As the client's own bytes, and translated.
    for flags in [&["--provider", "anthropic"][..], &["--model", "anthropic/claude-haiku-5-5"]] {
        let mut stage = Stage::on_any_wire(Play::default());
        stage.machine.write(".config/junto/config.toml", "");
        stage.machine = stage.machine.with("ANTHROPIC_API_KEY", "wrong-key-8a7b");
        let gateway = Gateway::start(&stage.machine, flags);
        gateway.ask(Wire::Anthropic, "claude-opus-5-5").unwrap_err();
        let (code, said) = gateway.end();
        assert_eq!(code, Some(0), "{said}");
        let noted = said.lines().find(|line| line.contains("failed")).unwrap_or_default();
        assert!(noted.starts_with("anthropic/claude-"), "{said}");
        assert!(noted.contains(" · failed: 401, authentication: "), "{said}");
        assert!(noted.ends_with(" · check the key in ANTHROPIC_API_KEY"), "{said}");
        assert!(!said.contains("wrong-key") && !said.contains(KEY), "{said}");
    }
}

#[test]
fn requests_that_make_no_sense_are_noted() {
    let stage = Stage::on_any_wire(Play::default());
    let gateway = Gateway::start(&stage.machine, &[]);
    for body in ["{", r#"{"model": "any-1", "messages": 3}"#] {
        let answer = gateway.send(&format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\na request · failed: 400, invalid_request: the body is not JSON"), "{said}");
    assert!(said.contains("\nanthropic/claude-opus-5-5 · failed: 400, invalid_request: "), "{said}");
}

#[test]
fn another_program_can_sit_in_the_council() {
    let mut stage = Stage::new(&SETUPS[3], Play::of([Step::fault(Fault::status(400))]));
    stage.machine = stage.machine.with_claude();
    let gateway = Gateway::start(&stage.machine, &["--council", "local/a-1,claude", "--no-progress"]);
    assert_eq!(gateway.ask(Wire::Anthropic, "any-1").unwrap(), "I was told: Hello.");
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("a council of local/a-1, claude answers"), "{said}");
}

#[test]
fn strangers_need_a_key() {
    let mut stage = Stage::new(&SETUPS[3], Play::text("Welcome."));
    stage
        .machine
        .run(&["gateway", "--host", "0.0.0.0", "--port", "0"])
        .fails(2, &["could use your keys", "JUNTO_GATEWAY_TOKEN", "--key-env"]);
    stage.machine.run(&["gateway", "--key-env", "NOT_SET"]).fails(2, &["NOT_SET is empty or not set"]);
    stage.machine.variables.push(("CLIENT_KEY".to_owned(), "open-sesame".to_owned()));
    let mut local = Gateway::start(&stage.machine, &["--host", "0.0.0.0", "--key-env", "CLIENT_KEY"]);
    local.url = local.url.replace("0.0.0.0", "127.0.0.1");
    let ask = |key: &str| {
        let client = local.client(Wire::Anthropic, key);
        run(client.complete(Request::prompt("Hello.").model("m-1"), &CallCx::new()))
    };
    assert_eq!(ask("open-sesame").unwrap().text(), "Welcome.");
    assert_eq!(ask("guessed").unwrap_err().kind(), ErrorKind::Authentication);
    let (code, said) = local.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("warning: other machines can reach"), "{said}");
    assert!(!said.contains("open-sesame"), "{said}");
}

#[test]
fn wrong_calls_end_with_2() {
    let stage = Stage::new(&SETUPS[3], Play::default());
    let check = |flags: &[&str], said: &str| {
        stage.machine.run(&[&["gateway"], flags].concat()).fails(2, &[said]);
    };
    check(&["--council", "small"], "nobody knows");
    check(&["--council", "gone/tiny"], "there is no provider \"gone\"");
    check(&["--council", "local/a,local/a"], "two members");
    check(&["--host", "no.such.host.invalid"], "cannot listen on");
    Machine::new().run(&["gateway"]).fails(2, &["no model provider is configured"]);
}
