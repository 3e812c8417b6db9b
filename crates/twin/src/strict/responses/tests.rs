//! What the Responses twin refuses, as a table.

use junto_llm::Wire;
use serde_json::{Value, json};

use crate::strict::testing::*;

pub(super) const WIRE: Wire = Wire::Responses;
pub(super) const MODEL: &str = "gpt-5.2";

pub(super) fn base() -> Value {
    json!({
        "model": MODEL,
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        "tools": [{"type": "function", "name": "f", "parameters": shape(), "strict": false}],
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": false
    })
}

fn table(cases: Vec<Case>) {
    run(WIRE, MODEL, &base(), cases);
}

pub(super) fn ask() -> Value {
    json!({"role": "user", "content": "hi"})
}

pub(super) fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
}

pub(super) fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "ok"})
}

fn input(items: Vec<Value>) -> Value {
    json!({"input": items})
}

#[test]
fn parameters() {
    table(vec![
        ("a good request", json!({}), 200, "", ""),
        ("plain input", json!({"input": "hi"}), 200, "", ""),
        ("unknown", json!({"foo": 1}), 400, "unknown_parameter", "Unknown parameter: 'foo'."),
        ("max_tokens", json!({"max_tokens": 9}), 400, "unknown_parameter", "max_tokens"),
        ("no model", json!({"model": null}), 400, "missing_required_parameter", "'model'"),
        ("no such model", json!({"model": "no-such-model"}), 404, "model_not_found", "does not exist"),
        ("another model", json!({"model": "mystery"}), 200, "", ""),
        ("no input", json!({"input": null}), 400, "missing_required_parameter", "'input'"),
        ("empty input", json!({"input": []}), 400, "empty_array", "input"),
        ("few tokens", json!({"max_output_tokens": 15}), 400, "integer_below_min_value", ">= 16"),
        ("enough tokens", json!({"max_output_tokens": 16}), 200, "", ""),
        (
            "temperature",
            json!({"temperature": 0.5}),
            400,
            "unsupported_parameter",
            "'temperature' is not supported",
        ),
        (
            "temperature of old models",
            json!({"model": "gpt-4.1", "temperature": 0.5, "reasoning": null, "include": null}),
            200,
            "",
            "",
        ),
        ("without effort", json!({"temperature": 0.5, "reasoning": {"effort": "none"}}), 200, "", ""),
        ("hot", json!({"model": "m", "temperature": 3}), 400, "decimal_above_max_value", "temperature"),
        (
            "odd effort",
            json!({"reasoning": {"effort": "huge"}}),
            400,
            "invalid_value",
            "Supported values are",
        ),
        (
            "effort of old models",
            json!({"model": "gpt-4o", "include": null}),
            400,
            "unsupported_parameter",
            "reasoning.effort",
        ),
        (
            "encrypted on old models",
            json!({"model": "gpt-4o", "reasoning": null}),
            400,
            "null",
            "Encrypted content is not supported",
        ),
        ("odd include", json!({"include": ["everything"]}), 400, "invalid_value", "'everything'"),
        ("odd reasoning", json!({"reasoning": {"budget": 1}}), 400, "unknown_parameter", "reasoning.budget"),
        (
            "stream options",
            json!({"stream_options": {"include_obfuscation": false}}),
            400,
            "null",
            "only allowed when 'stream'",
        ),
        ("metadata", json!({"metadata": {"n": 1}}), 400, "invalid_type", "metadata.n"),
        (
            "cache key",
            json!({"prompt_cache_key": "k".repeat(65)}),
            400,
            "string_above_max_length",
            "prompt_cache_key",
        ),
        ("previous", json!({"previous_response_id": "resp_1"}), 400, "previous_response_not_found", "resp_1"),
        ("conversation", json!({"conversation": "conv_1"}), 404, "null", "conv_1"),
        (
            "today's coding agent",
            json!({"client_metadata": {"a": "b"}, "prompt_cache_key": "k", "text": {"verbosity": "low"}, "tool_choice": "auto", "parallel_tool_calls": true, "stream": true}),
            200,
            "",
            "",
        ),
        (
            "too long",
            json!({"model": "tiny", "input": long(1500)}),
            400,
            "context_length_exceeded",
            "context window",
        ),
    ]);
}

#[test]
fn tools_and_formats() {
    let tool = |tool: Value| json!({"tools": [tool]});
    let function = |name: &str, parameters: Value, strict: bool| json!({"tools": [{"type": "function", "name": name, "parameters": parameters, "strict": strict}]});
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let format = |format: Value| json!({"text": {"format": format}});
    let (parameters, schema) = ("invalid_function_parameters", "invalid_json_schema");
    table(vec![
        ("bad name", function("a.b", shape(), false), 400, "invalid_value", "does not match pattern"),
        (
            "long name",
            function(&"a".repeat(65), shape(), false),
            400,
            "string_above_max_length",
            "tools[0].name",
        ),
        ("empty name", function("", shape(), false), 400, "empty_string", "tools[0].name"),
        ("no object", function("f", json!({"type": "string"}), false), 400, parameters, "type: \"object\""),
        (
            "bad schema",
            function("f", json!({"type": "object", "required": 1}), false),
            400,
            parameters,
            "Invalid schema for function 'f'",
        ),
        (
            "anyOf at the top",
            function("f", json!({"type": "object", "anyOf": []}), false),
            400,
            parameters,
            "at the top level",
        ),
        (
            "strict and open",
            function("f", json!({"type": "object", "properties": {}}), true),
            400,
            parameters,
            "'additionalProperties' is required",
        ),
        (
            "strict and optional",
            function("f", patch(&closed, &json!({"required": []})), true),
            400,
            parameters,
            "Missing 'a'",
        ),
        ("strict", function("f", closed.clone(), true), 200, "", ""),
        ("custom", tool(json!({"type": "custom", "name": "patch", "format": {"type": "text"}})), 200, "", ""),
        ("hosted", tool(json!({"type": "web_search"})), 200, "", ""),
        ("odd type", tool(json!({"type": "magic"})), 400, "invalid_value", "'magic'"),
        (
            "nested function",
            tool(json!({"type": "function", "function": {"name": "f"}})),
            400,
            "unknown_parameter",
            "tools[0].function",
        ),
        ("choice", json!({"tool_choice": {"type": "function", "name": "f"}}), 200, "", ""),
        (
            "unknown choice",
            json!({"tool_choice": {"type": "function", "name": "g"}}),
            400,
            "null",
            "Tool choice 'g' not found",
        ),
        ("odd choice", json!({"tool_choice": "any"}), 400, "invalid_value", "'any'"),
        (
            "required of nothing",
            json!({"tools": null, "tool_choice": "required"}),
            400,
            "null",
            "must be specified with 'tools'",
        ),
        (
            "format",
            format(json!({"type": "json_schema", "name": "o", "schema": closed, "strict": true})),
            200,
            "",
            "",
        ),
        (
            "unnamed format",
            format(json!({"type": "json_schema", "schema": closed})),
            400,
            "missing_required_parameter",
            "text.format.name",
        ),
        (
            "no schema",
            format(json!({"type": "json_schema", "name": "o"})),
            400,
            "missing_required_parameter",
            "text.format.schema",
        ),
        (
            "open format",
            format(json!({"type": "json_schema", "name": "o", "schema": shape(), "strict": true})),
            400,
            schema,
            "response_format 'o'",
        ),
        ("loose format", format(json!({"type": "json_schema", "name": "o", "schema": shape()})), 200, "", ""),
        (
            "json without the word",
            format(json!({"type": "json_object"})),
            400,
            "null",
            "must contain the word 'json'",
        ),
        ("json", patch(&format(json!({"type": "json_object"})), &json!({"input": "in JSON"})), 200, "", ""),
        ("odd format", format(json!({"type": "xml"})), 400, "invalid_value", "'xml'"),
    ]);
}

#[test]
fn items() {
    let message = |role: &str, part: Value| input(vec![json!({"role": role, "content": [part]})]);
    let image = |url: &str| message("user", json!({"type": "input_image", "image_url": url}));
    let one = |item: Value| input(vec![item]);
    table(vec![
        ("unknown type", one(json!({"type": "thing"})), 400, "invalid_value", "'thing'"),
        ("no type", one(json!({"content": "x"})), 400, "missing_required_parameter", "input[0].type"),
        ("odd role", one(json!({"role": "tool", "content": "x"})), 400, "invalid_value", "'tool'"),
        (
            "unknown field",
            one(json!({"role": "user", "content": "x", "y": 1})),
            400,
            "unknown_parameter",
            "input[0].y",
        ),
        (
            "output text of the user",
            message("user", json!({"type": "output_text", "text": "x"})),
            400,
            "invalid_value",
            "'output_text'",
        ),
        (
            "input text of the assistant",
            message("assistant", json!({"type": "input_text", "text": "x"})),
            400,
            "invalid_value",
            "'input_text'",
        ),
        ("image", image("data:image/png;base64,AQID"), 200, "", ""),
        ("bad image", image("data:image/png;base64,!"), 400, "invalid_value", "image_url"),
        (
            "image as an object",
            message("user", json!({"type": "input_image", "image_url": {"url": "https://x"}})),
            400,
            "invalid_type",
            "image_url",
        ),
        (
            "odd detail",
            message("user", json!({"type": "input_image", "image_url": "https://x", "detail": "huge"})),
            400,
            "invalid_value",
            "'huge'",
        ),
        (
            "call with an odd id",
            input(vec![patch(&call("c"), &json!({"id": "x_1"})), output("c")]),
            400,
            "invalid_value",
            "begins with 'fc'",
        ),
        (
            "message with an odd id",
            one(json!({"type": "message", "role": "assistant", "id": "x", "content": []})),
            400,
            "invalid_value",
            "begins with 'msg'",
        ),
        (
            "arguments as an object",
            input(vec![patch(&call("c"), &json!({"arguments=": {}})), output("c")]),
            400,
            "invalid_type",
            "expected a string, but got an object",
        ),
        (
            "bad name",
            input(vec![patch(&call("c"), &json!({"name": "a b"})), output("c")]),
            400,
            "invalid_value",
            "input[0].name",
        ),
        (
            "long call id",
            input(vec![call(&"c".repeat(65)), output(&"c".repeat(65))]),
            400,
            "string_above_max_length",
            "call_id",
        ),
        (
            "output as an object",
            input(vec![call("c"), patch(&output("c"), &json!({"output=": {}}))]),
            400,
            "invalid_type",
            "input[1].output",
        ),
        (
            "reasoning without summary",
            one(json!({"type": "reasoning", "id": "rs_1"})),
            400,
            "missing_required_parameter",
            "summary",
        ),
        (
            "reference",
            input(vec![json!({"type": "item_reference", "id": "rs_1"}), ask()]),
            404,
            "null",
            "not persisted when `store` is set to false",
        ),
        (
            "reference of a store",
            patch(
                &input(vec![json!({"type": "item_reference", "id": "rs_1"}), ask()]),
                &json!({"store": true}),
            ),
            404,
            "null",
            "not found",
        ),
        (
            "same id twice",
            input(vec![
                json!({"role": "assistant", "type": "message", "id": "msg_1", "content": []}),
                json!({"role": "assistant", "type": "message", "id": "msg_1", "content": []}),
            ]),
            400,
            "null",
            "Duplicate item found with id msg_1",
        ),
    ]);
}

#[test]
fn calls_and_outputs() {
    let custom = json!({"type": "custom_tool_call", "call_id": "c", "name": "p", "input": "text"});
    let custom_output = json!({"type": "custom_tool_call_output", "call_id": "c", "output": "ok"});
    table(vec![
        ("answered", input(vec![ask(), call("a"), call("b"), output("b"), output("a")]), 200, "", ""),
        (
            "not answered",
            input(vec![ask(), call("a"), call("b"), output("b")]),
            400,
            "null",
            "No tool output found for function call a.",
        ),
        (
            "not asked",
            input(vec![ask(), output("a")]),
            400,
            "null",
            "No tool call found for function call output with call_id a.",
        ),
        ("before the call", input(vec![ask(), output("a"), call("a")]), 400, "null", "No tool call found"),
        (
            "answered twice",
            input(vec![call("a"), output("a"), output("a")]),
            400,
            "null",
            "Duplicate function call output",
        ),
        (
            "called twice",
            input(vec![call("a"), call("a"), output("a")]),
            400,
            "null",
            "Duplicate function call",
        ),
        ("custom", input(vec![custom.clone(), custom_output.clone()]), 200, "", ""),
        (
            "custom not answered",
            input(vec![custom.clone()]),
            400,
            "null",
            "No tool output found for custom tool call c.",
        ),
        (
            "custom answered as a function",
            input(vec![custom, output("c")]),
            400,
            "null",
            "No tool call found for function call output",
        ),
        (
            "function answered as custom",
            input(vec![call("c"), custom_output]),
            400,
            "null",
            "No tool call found for custom tool call output",
        ),
    ]);
}
