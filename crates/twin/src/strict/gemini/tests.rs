//! What the Gemini twin refuses, as a table.

use junto_llm::Wire;
use serde_json::{Value, json};

use crate::strict::Checker;
use crate::strict::testing::*;

pub(super) const WIRE: Wire = Wire::Gemini;
pub(super) const MODEL: &str = "gemini-3-pro";
pub(super) const BAD: &str = "INVALID_ARGUMENT";

pub(super) fn base() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": shape()}]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "HIGH"}}
    })
}

fn table(cases: Vec<Case>) {
    run(WIRE, MODEL, &base(), cases);
}

pub(super) fn user(part: Value) -> Value {
    json!({"contents": [{"role": "user", "parts": [part]}]})
}

pub(super) fn call(name: &str) -> Value {
    json!({"functionCall": {"name": name, "args": {}}, "thoughtSignature": "skip_thought_signature_validator"})
}

pub(super) fn result(name: &str) -> Value {
    json!({"functionResponse": {"name": name, "response": {"output": "ok"}}})
}

fn round(calls: Vec<Value>, results: Vec<Value>) -> Value {
    json!({"contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": results}
    ]})
}

#[test]
fn names() {
    table(vec![
        ("a good request", json!({}), 200, "", ""),
        (
            "snake case",
            json!({"system_instruction": {"parts": {"text": "x"}}, "systemInstruction": null, "generation_config": {"max_output_tokens": 5}}),
            200,
            "",
            "",
        ),
        ("at the top", json!({"foo": 1}), 400, BAD, "Unknown name \"foo\": Cannot find field."),
        (
            "in a content",
            json!({"contents": [{"role": "user", "parts": [{"text": "x"}], "name": "n"}]}),
            400,
            BAD,
            "Unknown name \"name\" at 'contents[0]'",
        ),
        ("in a part", user(json!({"text": "x", "cache": 1})), 400, BAD, "at 'contents[0].parts[0]'"),
        (
            "in a call",
            round(vec![json!({"functionCall": {"name": "f", "arguments": {}}})], vec![result("f")]),
            400,
            BAD,
            "at 'contents[1].parts[0].function_call'",
        ),
        (
            "in the configuration",
            json!({"generationConfig": {"max_tokens": 1}}),
            400,
            BAD,
            "at 'generation_config'",
        ),
        (
            "in thinking",
            json!({"generationConfig": {"thinkingConfig": {"effort": 1}}}),
            400,
            BAD,
            "thinking_config",
        ),
        (
            "in a tool",
            json!({"tools": [{"functions": []}]}),
            400,
            BAD,
            "Unknown name \"functions\" at 'tools[0]'",
        ),
        ("contents as text", json!({"contents": "hi"}), 400, BAD, "Invalid value at 'contents'"),
    ]);
    let refusal =
        send(&Checker::new(KEY.into()), WIRE, MODEL, &patch(&base(), &json!({"foo": 1}))).unwrap_err();
    assert!(refusal.body["error"]["details"][0]["fieldViolations"][0]["description"].is_string());
}

#[test]
fn contents() {
    let data = |mime: &str, data: &str| user(json!({"inlineData": {"mimeType": mime, "data": data}}));
    table(vec![
        ("none", json!({"contents": null}), 400, BAD, "contents is not specified"),
        ("empty", json!({"contents": []}), 400, BAD, "contents is not specified"),
        (
            "odd role",
            json!({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}),
            400,
            BAD,
            "valid role: user, model",
        ),
        ("no role", json!({"contents": [{"parts": [{"text": "x"}]}]}), 200, "", ""),
        (
            "model first",
            json!({"contents": [{"role": "model", "parts": [{"text": "x"}]}]}),
            400,
            BAD,
            "start with a user turn",
        ),
        ("no parts", json!({"contents": [{"role": "user", "parts": []}]}), 400, BAD, "must not be empty"),
        ("empty part", user(json!({})), 400, BAD, "required oneof field 'data'"),
        (
            "two in one part",
            user(json!({"text": "x", "inlineData": {"mimeType": "image/png", "data": "AQID"}})),
            400,
            BAD,
            "oneof field 'data' is already set",
        ),
        ("picture", data("image/png", "AQID"), 200, "", ""),
        ("picture in the other alphabet", data("image/png", "-_-_"), 200, "", ""),
        ("bad data", data("image/png", "?"), 400, BAD, "Base64 decoding failed"),
        ("no media type", user(json!({"inlineData": {"data": "AQID"}})), 400, BAD, "Unsupported MIME type"),
        ("odd media type", data("application/octet-stream", "AQID"), 400, BAD, "Unsupported MIME type"),
        (
            "cached content",
            json!({"cachedContent": "cachedContents/x"}),
            403,
            "PERMISSION_DENIED",
            "CachedContent not found",
        ),
    ]);
}

#[test]
fn calls_and_responses() {
    let uneven = "number of function response parts is equal to the number of function call parts";
    let text = json!({"text": "so"});
    table(vec![
        ("answered", round(vec![call("f"), call("g")], vec![result("f"), result("g")]), 200, "", ""),
        ("one missing", round(vec![call("f"), call("f")], vec![result("f")]), 400, BAD, uneven),
        ("one too many", round(vec![call("f")], vec![result("f"), result("f")]), 400, BAD, uneven),
        ("another name", round(vec![call("f")], vec![result("g")]), 400, BAD, "`g` does not answer `f`"),
        ("not answered", round(vec![call("f")], vec![text.clone()]), 400, BAD, uneven),
        ("out of the blue", user(result("f")), 400, BAD, "immediately after a function call turn"),
        (
            "a call at the end",
            json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [call("f")]}]}),
            400,
            BAD,
            uneven,
        ),
        (
            "a call after the model",
            json!({"contents": [
                {"role": "user", "parts": [text]}, {"role": "model", "parts": [text]},
                {"role": "model", "parts": [call("f")]}, {"role": "user", "parts": [result("f")]}]}),
            400,
            BAD,
            "comes immediately after a user turn",
        ),
        (
            "response as text",
            round(vec![call("f")], vec![json!({"functionResponse": {"name": "f", "response": "ok"}})]),
            400,
            BAD,
            "google.protobuf.Struct",
        ),
        (
            "no response",
            round(vec![call("f")], vec![json!({"functionResponse": {"name": "f"}})]),
            400,
            BAD,
            "response: must be set",
        ),
        (
            "args as text",
            round(vec![json!({"functionCall": {"name": "f", "args": "{}"}})], vec![result("f")]),
            400,
            BAD,
            "function_call.args",
        ),
    ]);
}

#[test]
fn declarations_and_choice() {
    let function = |declared: Value| json!({"tools": [{"functionDeclarations": [declared]}]});
    let own = |schema: Value| function(json!({"name": "f", "parameters": schema}));
    let with = |schema: Value| own(json!({"type": "OBJECT", "properties": {"a": schema}}));
    let config = |config: Value| json!({"toolConfig": {"functionCallingConfig": config}});
    table(vec![
        ("bad name", function(json!({"name": "9"})), 400, BAD, "Invalid function name"),
        ("a dotted name", function(json!({"name": "a.b:c-d"})), 200, "", ""),
        ("long name", function(json!({"name": "a".repeat(65)})), 400, BAD, "Invalid function name"),
        (
            "twice",
            json!({"tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]}),
            400,
            BAD,
            "Duplicate function declaration",
        ),
        ("own schema", with(json!({"type": "string"})), 200, "", ""),
        (
            "a foreign keyword",
            own(patch(&shape(), &json!({"additionalProperties": false}))),
            400,
            BAD,
            "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'",
        ),
        (
            "a foreign keyword below",
            with(json!({"type": "string", "const": "x"})),
            400,
            BAD,
            "Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[0].value'",
        ),
        ("odd type", with(json!({"type": "text"})), 400, BAD, "v1beta.Type"),
        ("two types", with(json!({"type": ["string", "null"]})), 400, BAD, "cannot start list"),
        ("no items", with(json!({"type": "array"})), 400, BAD, "items: missing field"),
        (
            "odd format",
            with(json!({"type": "string", "format": "uri"})),
            400,
            BAD,
            "only 'enum' and 'date-time'",
        ),
        ("numbers in an enum", with(json!({"type": "string", "enum": [1]})), 400, BAD, "enum"),
        (
            "undefined and required",
            own(patch(&shape(), &json!({"required": ["z"]}))),
            400,
            BAD,
            "property is not defined",
        ),
        ("no properties", own(json!({"type": "object"})), 400, BAD, "should be non-empty for OBJECT type"),
        (
            "JSON Schema",
            function(
                json!({"name": "f", "parametersJsonSchema": {"type": "object", "additionalProperties": false}}),
            ),
            200,
            "",
            "",
        ),
        (
            "bad JSON Schema",
            function(json!({"name": "f", "parametersJsonSchema": {"type": "object", "properties": 1}})),
            400,
            BAD,
            "not a valid JSON Schema",
        ),
        (
            "both",
            function(json!({"name": "f", "parameters": shape(), "parametersJsonSchema": shape()})),
            400,
            BAD,
            "only one of parameters",
        ),
        ("any", config(json!({"mode": "ANY", "allowedFunctionNames": ["f"]})), 200, "", ""),
        ("odd mode", config(json!({"mode": "MUST"})), 400, BAD, "FunctionCallingConfig.Mode"),
        (
            "names without any",
            config(json!({"mode": "AUTO", "allowedFunctionNames": ["f"]})),
            400,
            BAD,
            "only be set when the mode is ANY",
        ),
        (
            "undeclared",
            config(json!({"mode": "ANY", "allowedFunctionNames": ["g"]})),
            400,
            BAD,
            "`g` is not a declared function",
        ),
        (
            "any of nothing",
            json!({"tools": null, "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
            400,
            BAD,
            "without function_declarations",
        ),
    ]);
}

#[test]
fn configuration() {
    let config = |config: Value| json!({"generationConfig": config});
    let thinking = |thinking: Value| json!({"generationConfig": {"thinkingConfig=": thinking}});
    table(vec![
        (
            "both",
            thinking(json!({"thinkingLevel": "low", "thinkingBudget": 5})),
            400,
            BAD,
            "only one of thinking budget and thinking level",
        ),
        ("odd level", thinking(json!({"thinkingLevel": "huge"})), 400, BAD, "ThinkingLevel"),
        ("odd budget", thinking(json!({"thinkingBudget": -2})), 400, BAD, "thinking budget -2 is invalid"),
        ("hot", config(json!({"temperature": 2.1})), 400, BAD, "generation_config.temperature"),
        ("no tokens", config(json!({"maxOutputTokens": 0})), 400, BAD, "max_output_tokens"),
        ("two candidates", config(json!({"candidateCount": 2})), 400, BAD, "Multiple candidates"),
        (
            "six stops",
            config(json!({"stopSequences": ["a", "b", "c", "d", "e", "f"]})),
            400,
            BAD,
            "stop_sequences",
        ),
        (
            "schema",
            config(json!({"responseMimeType": "application/json", "responseSchema": shape()})),
            200,
            "",
            "",
        ),
        (
            "JSON Schema",
            config(
                json!({"responseMimeType": "application/json", "responseJsonSchema": {"type": "object", "additionalProperties": false}}),
            ),
            200,
            "",
            "",
        ),
        (
            "foreign keyword",
            config(
                json!({"responseMimeType": "application/json", "responseSchema": {"type": "object", "$defs": {}}}),
            ),
            400,
            BAD,
            "Unknown name \"$defs\" at 'generation_config.response_schema'",
        ),
        ("schema of text", config(json!({"responseSchema": shape()})), 400, BAD, "response_mime_type"),
        (
            "both schemas",
            config(
                json!({"responseMimeType": "application/json", "responseSchema": shape(), "responseJsonSchema": shape()}),
            ),
            400,
            BAD,
            "only one of response_schema",
        ),
        ("odd media type", config(json!({"responseMimeType": "text/html"})), 400, BAD, "response_mime_type"),
        (
            "too long",
            user(json!({"text": long(1_050_000)})),
            400,
            BAD,
            "exceeds the maximum number of tokens allowed (1048576)",
        ),
    ]);
    run(
        WIRE,
        "gemini-2.5-flash",
        &base(),
        vec![
            ("level on old models", json!({}), 400, BAD, "Thinking level is not supported"),
            ("budget on old models", thinking(json!({"thinkingBudget": 0})), 200, "", ""),
            (
                "JSON with functions",
                patch(&thinking(json!({})), &config(json!({"responseMimeType": "application/json"}))),
                400,
                BAD,
                "is unsupported",
            ),
        ],
    );
    run(
        WIRE,
        "gemini-tiny",
        &base(),
        vec![("too long", user(json!({"text": long(1500)})), 400, BAD, "input token count (")],
    );
    run(
        WIRE,
        "no-such-model",
        &base(),
        vec![("no such model", json!({}), 404, "NOT_FOUND", "models/no-such-model is not found")],
    );
}
