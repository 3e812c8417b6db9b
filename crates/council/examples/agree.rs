//! Calls of one model, and of a council whose members agree, for `cargo xtask bench council`.
//!
//! `agree URL KEY WORD MEMBERS COUNT` asks a model at that address, which speaks Anthropic's wire, so often with a
//! request of the size that an agent makes, whose last message is the word; with 0 members it is asked by itself.
//! It prints, as JSON, the CPU time that this process took for one call in microseconds.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement reads its arguments and prints"
)]

use std::error::Error;
use std::sync::Arc;

use futures_util::StreamExt as _;
use junto_council::{Council, FanOut, Member, Options, Scope};
use junto_llm::{CallCx, Endpoint, HttpProvider, Message, Provider, Request, StreamEvent, ToolSpec, Wire};
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long the conversation is, and how large each message.
const MESSAGES: usize = 24;
const LENGTH: usize = 1500;
/// How many tools there are beside the one that is called.
const TOOLS: usize = 11;
/// Calls that are not counted: connections are made, and the allocator finds its size.
const WARM_UP: u32 = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, key, word, members, count] = &arguments[..] else {
        return Err("agree URL KEY WORD MEMBERS COUNT".into());
    };
    let (members, count) = (members.parse::<usize>()?, count.parse::<u32>()?);
    let endpoint = Endpoint::new("anthropic", Wire::Anthropic, url.as_str()).key(key.as_str());
    let model: Arc<dyn Provider> = Arc::new(HttpProvider::new(endpoint)?);
    let asked: Arc<dyn Provider> = if members == 0 { model } else { council(&model, members)? };
    for _ in 0..WARM_UP {
        call(&*asked, word).await?;
    }
    let before = ticks()?;
    for _ in 0..count {
        call(&*asked, word).await?;
    }
    // The kernel counts in hundredths of a second.
    let micros = (ticks()? - before) * 10_000 / u64::from(count.max(1));
    println!("{}", json!({"cpu_us": micros}));
    Ok(())
}

/// A council of so many, all of which are asked in every turn. There is no judge: it would be asked for nothing.
fn council(model: &Arc<dyn Provider>, members: usize) -> Outcome<Arc<dyn Provider>> {
    let members: Vec<Member> =
        (0..members).map(|n| Member::new(format!("m{n}"), Arc::clone(model)).model(MODEL)).collect();
    let options =
        Options { fan_out: FanOut::Always, scope: Scope::PerTurn, ask: members.len(), ..Options::default() };
    Ok(Arc::new(Council::new(members, None, options)?))
}

const MODEL: &str = "claude-opus-5-5";

/// One turn, streamed to its end.
async fn call(asked: &dyn Provider, word: &str) -> Outcome {
    let mut stream = asked.stream(request(word)?, &CallCx::new()).await?;
    while let Some(event) = stream.next().await {
        if matches!(event?, StreamEvent::Finish { .. }) {
            return Ok(());
        }
    }
    Err("the answer did not end".into())
}

fn request(word: &str) -> Outcome<Request> {
    let long = "All work and no play makes the model a dull one. ".repeat(LENGTH / 49);
    let said = |n: usize| {
        if n.is_multiple_of(2) { Message::user(long.clone()) } else { Message::assistant(long.clone()) }
    };
    let messages: Vec<Message> = (0..MESSAGES).map(said).chain([Message::user(word)]).collect();
    let tool = |n: usize| {
        let name = if n == 0 { "shell".to_owned() } else { format!("tool_{n}") };
        let schema = json!({
            "type": "object",
            "properties": {"command": {"type": "string", "description": long}},
            "required": ["command"],
            "additionalProperties": false,
        });
        ToolSpec::new(name, "Does something.", schema)
    };
    let tools = (0..=TOOLS).map(tool).collect::<Result<Vec<_>, _>>()?;
    Ok(Request::of(messages).model(MODEL).tools(tools))
}

/// What this process took of the CPU, in user and kernel.
fn ticks() -> Outcome<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name before it may have spaces.
    let rest = stat.rsplit_once(')').ok_or("no name")?.1;
    let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()?)
}
