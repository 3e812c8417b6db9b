//! The strict half of a twin: it refuses what the real provider refuses.
//!
//! A [`Checker`] looks at the raw path, headers and body of a request, and either says what it saw
//! or refuses with the provider's own status and error envelope. It works on plain JSON and never
//! uses the decoders of `junto_llm`, so that client and twin cannot share one misunderstanding. It
//! also signs what the twin's models "think" and remembers what it handed out, so that reasoning
//! that was lost or changed on the way back is noticed, and it keeps the prompt cache.
//!
//! Each wire has two readings of a request: `check`, which refuses, and `read`, which takes what it
//! can and never fails (a lenient checker uses that one alone).

mod anthropic;
mod chat;
mod envelope;
mod gemini;
mod issue;
mod json;
mod key;
mod ledger;
mod model;
mod openai;
pub(crate) mod recent;
mod responses;
mod schema;
mod talk;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use junto_llm::wire::Mode;
use junto_llm::{Response, ToolChoice, Wire};
use serde_json::Value;

use crate::cache::{PromptCache, Rule, Unit};
use crate::sign::Signer;
use ledger::Ledger;
use talk::Saying;

pub use envelope::envelope;

/// A refusal, or nothing to say.
type Verdict = Result<(), Refusal>;

/// Judges requests and marks answers, for one twin.
///
/// Its memory (what it issued, what it has cached) is bounded: only what was used last is kept.
#[derive(Debug)]
pub struct Checker {
    key: String,
    strict: bool,
    signer: Signer,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    ledger: Ledger,
    cache: PromptCache,
}

/// What a checker saw in a request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The wire it came in on.
    pub wire: Wire,
    /// The model as it was asked for.
    pub model: String,
    /// Whether the answer shall come whole or streamed.
    pub mode: Mode,
    /// The tools that the model may call and the client runs.
    pub tools: Vec<SeenTool>,
    /// The text of the last user message; neighbouring user messages are one.
    pub last_user: String,
    /// The texts of the tool results that follow the model's last word.
    pub last_results: Vec<String>,
    /// How often the model has spoken since the last real user message.
    pub round: u32,
    /// Real user messages so far.
    pub turn: u32,
    /// Whether the real provider would show reasoning for this request.
    pub thinking: bool,
    /// The schema the answer must fit; `{"type": "object"}` where any JSON object will do.
    pub schema: Option<Value>,
    /// The most tokens the answer may have.
    pub max_tokens: Option<u64>,
    /// Whether and which tool must be called.
    pub tool_choice: Option<ToolChoice>,
    /// Everything the model reads, cached or not.
    pub input_tokens: u64,
    /// The part of `input_tokens` that was in the cache.
    pub cache_read: u64,
    /// The part of `input_tokens` that went into the cache now.
    pub cache_write: u64,
    /// The body as it came; `null` if it was no JSON.
    pub body: Value,
}

/// A tool as a request declared it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenTool {
    /// Its name on the wire.
    pub name: String,
    /// Whether it takes free text instead of JSON.
    pub custom: bool,
    /// The JSON Schema of its arguments, where it has one.
    pub schema: Option<Value>,
}

/// How a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The provider's error envelope.
    pub body: Value,
}

/// What a wire's check needs beside the body.
struct Cx<'a> {
    model: &'a str,
    headers: &'a HeaderMap,
    /// Whether tokens are to be counted only, and no answer is asked for.
    counting: bool,
    signer: &'a Signer,
    ledger: &'a mut Ledger,
}

/// What a wire's `read` found.
#[derive(Default)]
struct Reading {
    tools: Vec<SeenTool>,
    talk: Vec<Saying>,
    thinking: bool,
    schema: Option<Value>,
    max_tokens: Option<u64>,
    tool_choice: Option<ToolChoice>,
    units: Vec<Unit>,
}

impl Checker {
    /// A strict checker for a twin with this key.
    pub fn new(key: String) -> Self {
        Self { signer: Signer::new(&key), key, strict: true, memory: Mutex::default() }
    }

    /// A checker that checks the key and nothing else, and still sees what it can.
    pub fn lenient(key: String) -> Self {
        Self { strict: false, ..Self::new(key) }
    }

    /// Checks the key alone, for paths without a body.
    ///
    /// # Errors
    /// The wire's refusal of a wrong or missing key.
    pub fn check_key(&self, wire: Wire, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        key::check(wire, &self.key, path, headers)
    }

    /// Judges a request. `path` is the path with its query; paths that count tokens only
    /// (`…/count_tokens`, `…:countTokens`) need no limit for the answer and leave the cache alone.
    ///
    /// # Errors
    /// What the real provider would answer.
    pub fn check(&self, wire: Wire, path: &str, headers: &HeaderMap, body: &[u8]) -> Result<Seen, Refusal> {
        self.check_key(wire, path, headers)?;
        let body = match serde_json::from_slice::<Value>(body) {
            Ok(body) => body,
            Err(_) if !self.strict => Value::Null,
            Err(e) => return Err(envelope::not_json(wire, &e.to_string())),
        };
        let route = model::Route::of(wire, path, &body);
        let mut memory = self.memory();
        if self.strict {
            let cx = Cx {
                model: &route.model,
                headers,
                counting: route.counting,
                signer: &self.signer,
                ledger: &mut memory.ledger,
            };
            judge(wire, &body, cx)?;
        }
        let reading = match wire {
            Wire::Anthropic => anthropic::read(&body),
            Wire::Responses => responses::read(&body),
            Wire::Chat => chat::read(&body),
            Wire::Gemini => gemini::read(&body, &route.model),
        };
        let input_tokens = reading.units.iter().map(|unit| unit.tokens).sum();
        if self.strict && !route.counting {
            model::fits(wire, &route.model, input_tokens)?;
        }
        let hit = if route.counting {
            crate::cache::Hit::default()
        } else {
            let scope = format!("{} {}", wire.name(), route.model);
            memory.cache.visit(cache_rule(wire), &scope, &reading.units)
        };
        drop(memory);
        let summary = talk::summary(&reading.talk);
        Ok(Seen {
            wire,
            model: route.model,
            mode: route.mode,
            tools: reading.tools,
            last_user: summary.last_user,
            last_results: summary.last_results,
            round: summary.round,
            turn: summary.turn,
            thinking: reading.thinking,
            schema: reading.schema,
            max_tokens: reading.max_tokens,
            tool_choice: reading.tool_choice,
            input_tokens,
            cache_read: hit.read,
            cache_write: hit.write,
            body,
        })
    }

    /// Marks an answer before it is encoded: signs thinking, gives reasoning, messages and calls the
    /// ids and raw items of the wire, and remembers what was issued. A call that has an id keeps it.
    pub fn issue(&self, seen: &Seen, response: &mut Response) {
        issue::issue(&self.signer, &mut self.memory().ledger, seen, response);
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn judge(wire: Wire, body: &Value, cx: Cx<'_>) -> Verdict {
    match wire {
        Wire::Anthropic => anthropic::check(body, cx),
        Wire::Responses => responses::check(body, cx),
        Wire::Chat => chat::check(body, cx),
        Wire::Gemini => gemini::check(body, cx),
    }
}

fn cache_rule(wire: Wire) -> Rule {
    match wire {
        Wire::Anthropic => Rule::Breakpoints,
        Wire::Responses | Wire::Chat => Rule::Automatic { step: 128 },
        Wire::Gemini => Rule::Automatic { step: 1 },
    }
}
