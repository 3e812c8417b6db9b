//! A small client for every wire that knows none of our codecs.

use std::sync::Once;

use junto_llm::Wire;
use junto_twin::{Options, Play, Twin};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

pub(crate) const KEY: &str = junto_twin::DEFAULT_KEY;

/// A twin that plays this TOML.
pub(crate) fn twin(play: &str) -> Twin {
    Twin::start(Play::from_toml(play).unwrap(), Options::default()).unwrap()
}

/// An HTTP/1.1 client with connections of its own.
pub(crate) fn http1() -> Client {
    builder().build().unwrap()
}

/// An HTTP/2 client that does not ask first.
pub(crate) fn http2() -> Client {
    builder().http2_prior_knowledge().build().unwrap()
}

fn builder() -> reqwest::ClientBuilder {
    static CRYPTO: Once = Once::new();
    CRYPTO.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Client::builder().no_proxy()
}

/// A conversation on one wire.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    pub(crate) wire: Wire,
    pub(crate) body: Value,
}

impl Talk {
    /// A conversation that starts with this text.
    pub(crate) fn new(wire: Wire, text: &str) -> Self {
        let user = json!([{"role": "user", "content": text}]);
        let body = match wire {
            Wire::Anthropic => json!({"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": user}),
            Wire::Responses => json!({
                "model": "gpt-5.5", "input": user, "store": false, "include": ["reasoning.encrypted_content"],
            }),
            Wire::Chat => json!({"model": "local", "messages": user}),
            Wire::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        };
        Self { wire, body }
    }

    /// This conversation with two tools, `look` and `add`.
    pub(crate) fn with_tools(mut self) -> Self {
        let tools = [("look", "place", "string"), ("add", "n", "integer")].map(|(name, field, kind)| {
            let schema =
                json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
            let (key, wrap): (&str, fn(Value) -> Value) = match self.wire {
                Wire::Anthropic => ("input_schema", |tool| tool),
                Wire::Responses => ("parameters", |mut tool| {
                    tool["type"] = json!("function");
                    tool
                }),
                Wire::Chat => ("parameters", |tool| json!({"type": "function", "function": tool})),
                Wire::Gemini => ("parameters", |tool| tool),
            };
            wrap(json!({"name": name, "description": "a tool", key: schema}))
        });
        self.body["tools"] = match self.wire {
            Wire::Gemini => json!([{"functionDeclarations": tools}]),
            _ => json!(tools),
        };
        self
    }

    /// The request for a whole answer.
    pub(crate) fn whole(&self, client: &Client, twin: &Twin) -> RequestBuilder {
        self.request(client, twin, "generateContent", &self.body)
    }

    /// The request for a streamed answer.
    pub(crate) fn streamed(&self, client: &Client, twin: &Twin) -> RequestBuilder {
        let mut body = self.body.clone();
        if self.wire != Wire::Gemini {
            body["stream"] = json!(true);
        }
        if self.wire == Wire::Chat {
            body["stream_options"] = json!({"include_usage": true});
        }
        self.request(client, twin, "streamGenerateContent?alt=sse", &body)
    }

    fn request(&self, client: &Client, twin: &Twin, method: &str, body: &Value) -> RequestBuilder {
        let base = twin.base_url(self.wire);
        let url = match self.wire {
            Wire::Anthropic => format!("{base}/v1/messages"),
            Wire::Responses => format!("{base}/responses"),
            Wire::Chat => format!("{base}/chat/completions"),
            Wire::Gemini => format!("{base}/v1beta/models/gemini-2.5-pro:{method}"),
        };
        let request = client.post(url).header("content-type", "application/json").body(body.to_string());
        with_key(request, self.wire, KEY)
    }

    /// The conversation after this answer and these results of its calls.
    pub(crate) fn after(&self, answer: &Value, results: &[&str]) -> Self {
        let mut next = self.clone();
        let calls = calls(self.wire, answer);
        let results = calls.iter().zip(results);
        match self.wire {
            Wire::Anthropic => {
                let results: Vec<Value> = results
                    .map(|(call, text)| json!({"type": "tool_result", "tool_use_id": call.id, "content": text}))
                    .collect();
                push(
                    &mut next.body["messages"],
                    [
                        json!({"role": "assistant", "content": answer["content"]}),
                        json!({"role": "user", "content": results}),
                    ],
                );
            }
            Wire::Responses => {
                push(&mut next.body["input"], answer["output"].as_array().unwrap().clone());
                let results = results.map(
                    |(call, text)| json!({"type": "function_call_output", "call_id": call.id, "output": text}),
                );
                push(&mut next.body["input"], results);
            }
            Wire::Chat => {
                push(&mut next.body["messages"], [answer["choices"][0]["message"].clone()]);
                let results = results
                    .map(|(call, text)| json!({"role": "tool", "tool_call_id": call.id, "content": text}));
                push(&mut next.body["messages"], results);
            }
            Wire::Gemini => {
                let results: Vec<Value> = results
                    .map(|(call, text)| {
                        let response = json!({"output": text});
                        let mut part = json!({"name": call.name, "response": response});
                        if !call.id.is_empty() {
                            part["id"] = json!(call.id);
                        }
                        json!({"functionResponse": part})
                    })
                    .collect();
                push(
                    &mut next.body["contents"],
                    [answer["candidates"][0]["content"].clone(), json!({"role": "user", "parts": results})],
                );
            }
        }
        next
    }
}

fn push(list: &mut Value, items: impl IntoIterator<Item = Value>) {
    list.as_array_mut().unwrap().extend(items);
}

/// A request that carries this key as its wire wants it.
pub(crate) fn with_key(request: RequestBuilder, wire: Wire, key: &str) -> RequestBuilder {
    match wire {
        Wire::Anthropic => request.header("x-api-key", key).header("anthropic-version", "2023-06-01"),
        Wire::Responses | Wire::Chat => request.bearer_auth(key),
        Wire::Gemini => request.header("x-goog-api-key", key),
    }
}

/// A whole answer, which must be a success.
pub(crate) async fn json_of(response: Response) -> Value {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// The text of a whole answer.
pub(crate) fn text(wire: Wire, answer: &Value) -> String {
    let texts = |list: &Value, kind: &str| -> String {
        let items = list.as_array().into_iter().flatten();
        items.filter(|i| i["type"] == kind).filter_map(|i| i["text"].as_str()).collect()
    };
    match wire {
        Wire::Anthropic => texts(&answer["content"], "text"),
        Wire::Responses => {
            let items = answer["output"].as_array().unwrap().iter();
            items.map(|item| texts(&item["content"], "output_text")).collect()
        }
        Wire::Chat => answer["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned(),
        Wire::Gemini => {
            let parts = answer["candidates"][0]["content"]["parts"].as_array().into_iter().flatten();
            parts.filter(|p| p["thought"] != true).filter_map(|p| p["text"].as_str()).collect()
        }
    }
}

/// One call of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) args: Value,
}

/// The calls of a whole answer.
pub(crate) fn calls(wire: Wire, answer: &Value) -> Vec<Call> {
    let call = |id: &Value, name: &Value, args: Value| Call {
        id: id.as_str().unwrap_or_default().to_owned(),
        name: name.as_str().unwrap().to_owned(),
        args,
    };
    let parsed = |text: &Value| serde_json::from_str(text.as_str().unwrap()).unwrap();
    let list = match wire {
        Wire::Anthropic => &answer["content"],
        Wire::Responses => &answer["output"],
        Wire::Chat => &answer["choices"][0]["message"]["tool_calls"],
        Wire::Gemini => &answer["candidates"][0]["content"]["parts"],
    };
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|item| match wire {
            Wire::Anthropic if item["type"] == "tool_use" => {
                Some(call(&item["id"], &item["name"], item["input"].clone()))
            }
            Wire::Responses if item["type"] == "function_call" => {
                Some(call(&item["call_id"], &item["name"], parsed(&item["arguments"])))
            }
            Wire::Chat => {
                let function = &item["function"];
                Some(call(&item["id"], &function["name"], parsed(&function["arguments"])))
            }
            Wire::Gemini if item.get("functionCall").is_some() => {
                let function = &item["functionCall"];
                Some(call(&function["id"], &function["name"], function["args"].clone()))
            }
            _ => None,
        })
        .collect()
}

/// The data of the events in a stream, but for the closing `[DONE]`.
pub(crate) fn events(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The text in these events.
pub(crate) fn streamed_text(wire: Wire, events: &[Value]) -> String {
    let texts = events.iter().map(|event| match wire {
        Wire::Anthropic => event["delta"]["text"].as_str().unwrap_or_default().to_owned(),
        Wire::Responses if event["type"] == "response.output_text.delta" => {
            event["delta"].as_str().unwrap().to_owned()
        }
        Wire::Responses => String::new(),
        Wire::Chat => event["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned(),
        Wire::Gemini => text(wire, event),
    });
    texts.collect()
}
