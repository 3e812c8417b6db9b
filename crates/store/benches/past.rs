//! Sessions as they happen: what a model says, what it calls, what comes back.

use jiff::Timestamp;
use junto_core::{
    Abilities, AgentId, Approve, Body, CallEnd, CallPurpose, EndReason, Event, Input, Payload, Seq, Steer,
    VERSION, Via,
};
use junto_llm::{CallId, Cost, SessionId, ToolCall, Usage};
use serde_json::json;

/// The session with this number.
pub(crate) fn session(number: usize) -> SessionId {
    SessionId(format!("0190f3c1a2b37c4d8e5f6a7b{number:08x}"))
}

/// The events of a session, one after another, as many as are wanted.
pub(crate) struct Past {
    session: SessionId,
    agent: AgentId,
    seq: u64,
    turn: u32,
}

impl Past {
    pub(crate) fn of(session: SessionId) -> Self {
        Self { session, agent: AgentId("0190f3c1a2b37c4d8e5f6a7b8c9d0e2a".to_owned()), seq: 0, turn: 0 }
    }

    /// The next event with this body.
    pub(crate) fn event(&mut self, corr: Option<&str>, body: Body) -> Event {
        self.seq += 1;
        Event {
            v: VERSION,
            seq: Seq(self.seq),
            at: Timestamp::from_microsecond(1_790_000_000_000_000 + i64::try_from(self.seq).unwrap() * 7919)
                .unwrap(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            parent: None,
            parent_call: None,
            turn: self.turn,
            corr: corr.map(|id| CallId(id.to_owned())),
            body,
        }
    }

    /// A tool call that says this.
    pub(crate) fn output(&mut self, text: String) -> Event {
        self.event(
            None,
            Body::ToolCallEnd {
                of: Some(Seq(self.seq)),
                call_id: "toolu_01A09q90qw90lq917835lq9".to_owned(),
                name: "read_file".to_owned(),
                call: None,
                output: Payload::Inline(text),
                is_error: false,
                seen: None,
                via: Via::default(),
            },
        )
    }

    /// An input with this many rounds of tools, from its beginning to its end. Outputs have half a kilobyte
    /// to sixteen.
    pub(crate) fn turn(&mut self, rounds: usize) -> Vec<Event> {
        self.turn += 1;
        let mut events = Vec::new();
        if self.seq == 0 {
            events.push(self.event(None, start()));
        }
        let input = Input::text("Make the parser accept comments.");
        events.push(self.event(None, Body::UserInput { input, pictures: None }));
        for round in 0..rounds {
            let id = format!("call-{}-{round}", self.turn);
            let command = format!("sed -n '{round}00,{round}90p' crates/parser/src/lib.rs");
            let call = ToolCall::function(
                format!("toolu_{}_{round}", self.turn),
                "shell",
                json!({"command": command}).to_string(),
            );
            let said = "I look at the next part of the parser before I change it. ".repeat(1 + round % 3);
            events.push(self.event(Some(&id), Body::AssistantTextStart {}));
            let of = Seq(self.seq);
            events.push(self.event(Some(&id), Body::AssistantTextEnd { of, text: said.clone().into() }));
            let raw =
                json!({"type": "tool_use", "id": call.id, "name": "shell", "input": {"command": command}});
            let answer = json!({"role": "assistant", "content": [
                {"type": "thinking", "text": said.repeat(4), "signature": "RXJyb3IgaXMgbm90IGFuIG9wdGlvbg".repeat(12)},
                {"type": "text", "text": said}, raw]});
            events.push(self.event(
                Some(&id),
                Body::Call {
                    provider: "anthropic".to_owned(),
                    model: "claude-opus-5-5".to_owned(),
                    response_id: Some(format!("msg_{}_{round}", self.turn)),
                    usage: Usage::new(18_000 + 700 * round as u64, 240),
                    cost: Cost::Unknown,
                    answer: Some(answer.to_string().into()),
                    end: CallEnd::Whole,
                    purpose: CallPurpose::Input,
                    prefix: None,
                },
            ));
            events.push(self.event(None, Body::ToolCallStart { call, via: Via::default() }));
            events.push(self.output(source(512 << (round % 6))));
        }
        let text = "The parser accepts comments now; two tests were added.".into();
        events.push(self.event(None, Body::InputEnd { reason: EndReason::Done, text }));
        events
    }
}

fn start() -> Body {
    let abilities = Abilities {
        steer: Steer::Now,
        approve: Approve::PerCall,
        resume: true,
        interrupt: true,
        follow_up: true,
        compact: true,
    };
    let (model, workdir) = (Some("claude-opus-5-5".to_owned()), Some("/home/dev/project".to_owned()));
    Body::SessionStart { kind: "native".to_owned(), model, workdir, abilities, setup: None }
}

/// So many bytes of a program's text.
pub(crate) fn source(bytes: usize) -> String {
    const LINES: &[&str] = &[
        "    fn comment(&mut self) -> Result<Token, Error> {",
        "        let start = self.at;",
        "        while let Some(byte) = self.peek() && byte != b'\\n' {",
        "            self.at += 1;",
        "        }",
        "        // What is between them belongs to nobody, and “quotes” may stand in it.",
        "        Ok(Token::new(\"comment\", start..self.at))",
        "    }",
        "",
    ];
    let mut text = String::with_capacity(bytes + 80);
    for line in LINES.iter().cycle() {
        if text.len() >= bytes {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text.truncate(text.floor_char_boundary(bytes));
    text
}
