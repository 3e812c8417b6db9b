//! How good the counts are, on texts and requests whose tokens are known. `tokens/README.md` says from where.
#![expect(clippy::disallowed_macros, reason = "how wrong the counts are is printed for people to read")]

use std::collections::BTreeMap;
use std::sync::Arc;

use junto_llm::wire::Incoming;
use junto_llm::{
    Content, Media, Message, Origin, Part, Request, Role, Thinking, ToolCall, ToolChoice, ToolResult,
    ToolSpec, Wire, tokens,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Sample {
    kind: String,
    text: String,
    tokens: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Known {
    wire: Wire,
    model: String,
    tokens: u64,
    body: Value,
}

fn texts() -> Vec<Sample> {
    serde_json::from_str(include_str!("tokens/texts.json")).unwrap()
}

fn requests() -> Vec<Known> {
    serde_json::from_str(include_str!("tokens/requests.json")).unwrap()
}

/// The request that a server would read from a body.
fn request(wire: Wire, model: &str, body: &Value) -> Request {
    let mut body = body.clone();
    if wire != Wire::Gemini {
        body["model"] = model.into();
    }
    if wire == Wire::Anthropic {
        body["max_tokens"] = 1000.into();
    }
    let path = match wire {
        Wire::Anthropic => "/v1/messages".to_owned(),
        Wire::Responses => "/v1/responses".to_owned(),
        Wire::Chat => "/v1/chat/completions".to_owned(),
        Wire::Gemini => format!("/v1beta/models/{model}:generateContent"),
    };
    let origin = Arc::new(Origin { wire, provider: "p".into(), model: model.into() });
    wire.codec().decode_request(Incoming { path: &path, body: &body }, &origin).unwrap().0
}

/// By how much counts are wrong.
#[derive(Default)]
struct Errors(Vec<f64>);

impl Errors {
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn add(&mut self, counted: u64, known: u64) -> f64 {
        let error = counted as f64 / known as f64 - 1.0;
        self.0.push(error);
        error
    }

    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    fn mean(&self) -> f64 {
        self.0.iter().map(|error| error.abs()).sum::<f64>() / self.0.len() as f64
    }

    fn median(&self) -> f64 {
        let mut errors: Vec<f64> = self.0.iter().map(|error| error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        errors[errors.len() / 2]
    }
}

/// OpenAI's own vocabulary is exact on every text; for the others, the mean error over all kinds of text and
/// scripts.
#[test]
fn texts_in_many_languages() {
    // The name in the corpus, the model that is asked for, its wire, and how wrong it may be on average.
    let families = [
        ("gpt-5", "gpt-5.5", Wire::Responses, 0.0),
        ("claude-2", "claude-sonnet-4-5", Wire::Anthropic, 0.09),
        ("gemini-2.5-pro", "gemini-2.5-pro", Wire::Gemini, 0.08),
        ("llama-3", "llama-3.3-70b", Wire::Chat, 0.05),
        ("qwen3", "qwen3-coder", Wire::Chat, 0.09),
        ("deepseek-v3", "deepseek-v3.2", Wire::Chat, 0.08),
    ];
    for (known, model, wire, allowed) in families {
        let mut errors = Errors::default();
        for Sample { kind, text, tokens } in texts() {
            let count = tokens::count_text(&text, model, wire);
            let error = errors.add(count.tokens, tokens[known]);
            assert_eq!(count.exact, known == "gpt-5");
            println!(
                "{model:18} {kind:20} {:5} known {:5} {:+6.1} %",
                count.tokens,
                tokens[known],
                error * 100.0
            );
        }
        println!("{model:18} mean error {:.1} %\n", errors.mean() * 100.0);
        assert!(errors.mean() <= allowed, "{model}: {:.3}", errors.mean());
    }
}

/// Whole requests against what providers charged for them.
#[test]
fn requests_that_were_charged() {
    let mut errors: BTreeMap<&str, Errors> = BTreeMap::new();
    for Known { wire, model, tokens, body } in requests() {
        let request = request(wire, &model, &body);
        let count = tokens::count(&request, &model, wire);
        // Of a few tokens, one more or less is a large part.
        let error = if tokens < 20 {
            assert!(count.tokens.abs_diff(tokens) <= 6, "{model}: {} for {tokens}", count.tokens);
            Errors::default().add(count.tokens, tokens)
        } else {
            errors.entry(wire.name()).or_default().add(count.tokens, tokens)
        };
        println!(
            "{:9} {model:28} {:2} messages {:2} tools {:5} charged {tokens:5} {:+6.1} %{}",
            wire.name(),
            request.messages.len(),
            request.tools.len(),
            count.tokens,
            error * 100.0,
            if count.exact { " exact" } else { "" }
        );
        assert!(
            !count.exact || count.tokens == tokens,
            "it says that {model} takes {} exactly",
            count.tokens
        );
    }
    for (wire, errors) in errors {
        let (mean, median) = (errors.mean(), errors.median());
        println!("{wire:9} mean error {:.1} %, median {:.1} %", mean * 100.0, median * 100.0);
        assert!(mean <= 0.13 && median <= 0.06, "{wire}: {mean:.3} {median:.3}");
    }
}

#[test]
fn everything_in_a_request_counts() {
    let small = Request::prompt("hi");
    let parts = |content: Vec<Content>| {
        Request::of([Message::new(Role::User, content.into_iter().map(Part::new).collect())])
    };
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string", "enum": ["Ghent", "Bruges"]}}});
    let tool = ToolSpec::foreign("weather", "The weather in a city", schema);
    let with_tool = small.clone().tools([tool.clone()]);
    let call = ToolCall::function("c1", "weather", r#"{"city":"Ghent"}"#);
    let called = Request::of([
        Message::user("hi"),
        Message::new(Role::Assistant, vec![Part::new(Content::ToolCall(call))]),
        Message::tool_results([ToolResult::text("c1", "rain, then more rain")]),
    ]);
    let thought = Request::of([
        Message::user("hi"),
        Message::new(
            Role::Assistant,
            vec![Part::new(Content::Thinking(Thinking {
                text: "a long thought".repeat(9),
                signature: None,
            }))],
        ),
    ]);
    let larger = [
        with_tool.clone(),
        called,
        thought,
        parts(vec![Content::Text("hi".into()), Content::Image(Media::url("https://a/b.png"))]),
        parts(vec![
            Content::Text("hi".into()),
            Content::Document(Media::bytes("text of a document".repeat(9))),
        ]),
        parts(vec![Content::Text("hi".into()), Content::Document(Media::url("https://a/b.pdf"))]),
        parts(vec![
            Content::Text("hi".into()),
            Content::Other(json!({"type": "new", "said": "something else"})),
        ]),
    ];
    for (model, wire) in [
        ("claude-opus-5-5", Wire::Anthropic),
        ("gpt-5.5", Wire::Responses),
        ("gemini-3.1-pro-preview", Wire::Gemini),
        ("local-model", Wire::Chat),
    ] {
        let least = tokens::count(&small, model, wire);
        for request in &larger {
            let count = tokens::count(request, model, wire);
            assert!(count.tokens > least.tokens + 5, "{model}: {count:?} {request:?}");
            assert!(!count.exact);
        }
        let forced = Request { tool_choice: Some(ToolChoice::Required), ..with_tool.clone() };
        assert!(tokens::count(&forced, model, wire).tokens >= tokens::count(&with_tool, model, wire).tokens);
        assert!(tokens::count(&Request::default(), model, wire).tokens > 0, "never nothing");
        assert!(tokens::count_text("", model, wire).tokens > 0, "never nothing");
    }
}

/// Whatever a server of OpenAI's wire serves under a name of its own may count as it likes.
#[test]
fn only_known_models_are_counted_exactly() {
    let exact = |model: &str| tokens::count(&Request::prompt("hi"), model, Wire::Responses).exact;
    assert!(exact("gpt-5.5") && exact("openai/gpt-4o-mini"));
    assert!(!exact("my-model") && !exact("gpt-4-turbo") && !exact("claude-opus-5-5"));
}

/// A thought that belongs to a turn that is over is not sent to the model again.
#[test]
fn old_thoughts_do_not_count() {
    let thought = Thinking { text: "a long thought".repeat(50), signature: None };
    let assistant =
        Message::new(Role::Assistant, vec![Part::new(Content::Thinking(thought)), Part::text("ok")]);
    let count = |messages: Vec<Message>| {
        tokens::count(&Request::of(messages), "claude-sonnet-4-5", Wire::Anthropic).tokens
    };
    let open = count(vec![Message::user("hi"), assistant.clone()]);
    let over = count(vec![Message::user("hi"), assistant, Message::user("and?")]);
    assert!(open > over + 100, "{open} {over}");
}
