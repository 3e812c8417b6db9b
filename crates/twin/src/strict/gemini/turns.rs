//! Contents: who speaks, which calls are answered, whether thought signatures came back.

use junto_llm::Wire;
use serde_json::{Map, Value};

use super::super::{Cx, Verdict, json};
use super::{bad, bad_field, bad_value};

/// The documented words that stand for a signature where a call came from elsewhere.
const SKIP: &[&str] = &["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// The fields of a part that carry its data; exactly one is set.
const DATA: &[&str] = &[
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

/// How the media types that the models read begin.
const MEDIA: &[&str] =
    &["image/", "audio/", "video/", "text/", "application/pdf", "application/json", "application/x-"];

/// Refuses bad contents.
pub(super) fn check(body: &Value, cx: &Cx<'_>) -> Verdict {
    if let Some(system) = json::field(body, "systemInstruction") {
        for (i, part) in json::list(system, "parts").iter().enumerate() {
            check_part(&format!("system_instruction.parts[{i}]"), part)?;
        }
    }
    let contents = json::list(body, "contents");
    if contents.is_empty() {
        return Err(bad_field("contents", "contents is not specified"));
    }
    for (i, content) in contents.iter().enumerate() {
        let at = format!("contents[{i}]");
        if !matches!(json::field(content, "role").map(Value::as_str), None | Some(Some("user" | "model"))) {
            return Err(bad("Please use a valid role: user, model."));
        }
        let parts = json::list(content, "parts");
        if parts.is_empty() {
            return Err(bad_field(&format!("{at}.parts"), "contents.parts must not be empty."));
        }
        for (j, part) in parts.iter().enumerate() {
            check_part(&format!("{at}.parts[{j}]"), part)?;
        }
    }
    if contents.first().is_some_and(is_model) {
        return Err(bad("Please ensure that multiturn requests start with a user turn."));
    }
    calls(contents)?;
    signatures(contents, cx)
}

fn is_model(content: &Value) -> bool {
    json::text(content, "role") == Some("model")
}

fn check_part(at: &str, part: &Value) -> Verdict {
    let mut set = DATA.iter().filter(|name| json::field(part, name).is_some());
    let Some(data) = set.next() else {
        return Err(bad_field(
            &format!("{at}.data"),
            "required oneof field 'data' must have one initialized field",
        ));
    };
    if let Some(other) = set.next() {
        return Err(bad(format!(
            "Invalid value at '{at}' (oneof), oneof field 'data' is already set. Cannot set '{other}'"
        )));
    }
    let Some(value) = json::field(part, data) else { return Ok(()) };
    match *data {
        "text" if !value.is_string() => Err(bad_value(&format!("{at}.text"), "TYPE_STRING", value)),
        "inlineData" => blob(&format!("{at}.inline_data"), value),
        "fileData" if json::text(value, "fileUri").is_none_or(str::is_empty) => {
            Err(bad_field(&format!("{at}.file_data.file_uri"), "must not be empty."))
        }
        "functionCall" => structure(&format!("{at}.function_call"), value, "args", Needed::No),
        "functionResponse" => {
            let at = format!("{at}.function_response");
            structure(&at, value, "response", Needed::Yes)?;
            for (i, part) in json::list(value, "parts").iter().enumerate() {
                if let Some(data) = json::field(part, "inlineData") {
                    blob(&format!("{at}.parts[{i}].inline_data"), data)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn blob(at: &str, blob: &Value) -> Verdict {
    let mime = json::text(blob, "mimeType").unwrap_or_default();
    if !MEDIA.iter().any(|start| mime.starts_with(start)) {
        return Err(bad(format!("Unsupported MIME type: {mime}")));
    }
    match json::text(blob, "data") {
        None | Some("") => Err(bad_field(&format!("{at}.data"), "must not be empty.")),
        Some(data) if json::any_base64(data).is_none() => {
            Err(bad(format!("Invalid value at '{at}.data' (TYPE_BYTES), Base64 decoding failed")))
        }
        Some(_) => Ok(()),
    }
}

enum Needed {
    Yes,
    No,
}

/// A call or its response: a name, and a field that is an object.
fn structure(at: &str, value: &Value, field: &str, needed: Needed) -> Verdict {
    if json::text(value, "name").is_none_or(str::is_empty) {
        return Err(bad_field(&format!("{at}.name"), "Name cannot be empty."));
    }
    match json::field(value, field) {
        Some(Value::Object(_)) => Ok(()),
        None if matches!(needed, Needed::No) => Ok(()),
        None => Err(bad_field(&format!("{at}.{field}"), "must be set.")),
        Some(other) => {
            Err(bad_value(&format!("{at}.{field}"), "type.googleapis.com/google.protobuf.Struct", other))
        }
    }
}

/// The names in the parts that have this field, in order.
fn names<'a>(content: &'a Value, field: &str) -> Vec<&'a str> {
    json::list(content, "parts")
        .iter()
        .filter_map(|part| json::field(part, field))
        .map(|inner| json::text(inner, "name").unwrap_or_default())
        .collect()
}

/// Calls follow the user, and the next turn answers exactly them.
fn calls(contents: &[Value]) -> Verdict {
    let mut open: Option<Vec<&str>> = None;
    for (i, content) in contents.iter().enumerate() {
        let mut answered = names(content, "functionResponse");
        match open.take() {
            Some(mut called) => {
                if called.len() != answered.len() {
                    return Err(uneven());
                }
                called.sort_unstable();
                answered.sort_unstable();
                if let Some((called, answered)) = called.iter().zip(&answered).find(|(a, b)| a != b) {
                    return Err(bad(format!(
                        "Please ensure that function response names match the function calls: `{answered}` \
                         does not answer `{called}`."
                    )));
                }
            }
            None if !answered.is_empty() => {
                return Err(bad(
                    "Please ensure that function response turn comes immediately after a function call turn.",
                ));
            }
            None => {}
        }
        let called = names(content, "functionCall");
        if called.is_empty() {
            continue;
        }
        let after_model = i.checked_sub(1).and_then(|before| contents.get(before)).is_some_and(is_model);
        if !is_model(content) || after_model {
            return Err(bad(
                "Please ensure that function call turn comes immediately after a user turn or after a function \
                 response turn.",
            ));
        }
        open = Some(called);
    }
    if open.is_some() { Err(uneven()) } else { Ok(()) }
}

fn uneven() -> super::super::Refusal {
    bad(
        "Please ensure that the number of function response parts is equal to the number of function call parts \
         of the function call turn.",
    )
}

/// Signatures must be genuine wherever they are, and the newest models demand one on the first call
/// of every step since the user last spoke.
fn signatures(contents: &[Value], cx: &Cx<'_>) -> Verdict {
    let demanded = cx.model.starts_with("gemini-3");
    let current = contents
        .iter()
        .rposition(|content| !is_model(content) && names(content, "functionResponse").is_empty())
        .unwrap_or(0);
    for (i, content) in contents.iter().enumerate().filter(|(_, content)| is_model(content)) {
        let mut first = true;
        for part in json::list(content, "parts") {
            let call = json::field(part, "functionCall");
            match json::field(part, "thoughtSignature") {
                Some(signature) => genuine(part, signature, cx)?,
                None if demanded && i > current && first && call.is_some() => {
                    let name = call.and_then(|call| json::text(call, "name")).unwrap_or_default();
                    return Err(bad(format!(
                        "Function call is missing a thought_signature in functionCall parts. Additional data, \
                         function call `default_api:{name}`, position {}.",
                        i + 1
                    )));
                }
                None => {}
            }
            first &= call.is_none();
        }
    }
    Ok(())
}

fn genuine(part: &Value, signature: &Value, cx: &Cx<'_>) -> Verdict {
    let text = signature.as_str().unwrap_or_default();
    let bytes = json::any_base64(text);
    let skipped = SKIP.iter().any(|word| *word == text || bytes.as_deref() == Some(word.as_bytes()));
    let signed = match json::field(part, "functionCall") {
        Some(call) => call_text(
            json::text(call, "name").unwrap_or_default(),
            json::field(call, "args").unwrap_or(&Value::Null),
        ),
        None => json::text(part, "text").unwrap_or_default().to_owned(),
    };
    // Clients that keep bytes write them back in whichever alphabet they like.
    let holds =
        || bytes.is_some() && bytes == json::any_base64(&cx.signer.sign(Wire::Gemini, cx.model, &signed));
    if skipped || holds() { Ok(()) } else { Err(bad("Thought signature is not valid.")) }
}

/// What the signature of a call is made over: the name and the arguments, whatever the order of
/// their fields.
pub(in super::super) fn call_text(name: &str, args: &Value) -> String {
    let args = if args.is_null() { Value::Object(Map::new()) } else { sorted(args) };
    format!("{name} {args}")
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        other => other.clone(),
    }
}
