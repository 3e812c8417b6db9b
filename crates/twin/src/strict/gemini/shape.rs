//! The shapes of Gemini's messages, as its JSON reader knows them.
//!
//! The API reads JSON into protobuf: a field is known in camelCase and in snake_case, a single
//! object may stand for a list of one, and a name that is not in the message is an error wherever
//! it is. [`normalise`] does all that once, so that everything after it meets camelCase only.

use serde_json::{Map, Value, json};

use super::super::Refusal;
use super::{bad, bad_value};

/// What a field holds.
enum Holds {
    /// Anything; not looked into.
    Any,
    /// A message.
    One(&'static str),
    /// Messages.
    Many(&'static str),
    /// Messages by name.
    Named(&'static str),
}
use Holds::{Any, Many, Named, One};

/// What becomes of names that are not in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Refused,
    Kept,
}

type Fields = &'static [(&'static str, Holds)];

const MESSAGES: &[(&str, Fields)] = &[
    (
        "GenerateContentRequest",
        &[
            ("model", Any),
            ("contents", Many("Content")),
            ("systemInstruction", One("Content")),
            ("tools", Many("Tool")),
            ("toolConfig", One("ToolConfig")),
            ("safetySettings", Many("SafetySetting")),
            ("generationConfig", One("GenerationConfig")),
            ("cachedContent", Any),
            ("labels", Any),
            ("serviceTier", Any),
            ("store", Any),
        ],
    ),
    (
        "CountTokensRequest",
        &[
            ("model", Any),
            ("contents", Many("Content")),
            ("generateContentRequest", One("GenerateContentRequest")),
        ],
    ),
    ("Content", &[("role", Any), ("parts", Many("Part"))]),
    (
        "Part",
        &[
            ("text", Any),
            ("inlineData", One("Blob")),
            ("fileData", One("FileData")),
            ("functionCall", One("FunctionCall")),
            ("functionResponse", One("FunctionResponse")),
            ("executableCode", Any),
            ("codeExecutionResult", Any),
            ("toolCall", Any),
            ("toolResponse", Any),
            ("thought", Any),
            ("thoughtSignature", Any),
            ("videoMetadata", Any),
            ("mediaResolution", Any),
            ("mediaProcessing", Any),
            ("partMetadata", Any),
            ("audioTranscription", Any),
            ("speechMetadata", Any),
        ],
    ),
    ("Blob", &[("mimeType", Any), ("data", Any), ("displayName", Any)]),
    ("FileData", &[("mimeType", Any), ("fileUri", Any), ("displayName", Any)]),
    (
        "FunctionCall",
        &[("id", Any), ("name", Any), ("args", Any), ("partialArgs", Any), ("willContinue", Any)],
    ),
    (
        "FunctionResponse",
        &[
            ("id", Any),
            ("name", Any),
            ("response", Any),
            ("parts", Many("FunctionResponsePart")),
            ("willContinue", Any),
            ("scheduling", Any),
        ],
    ),
    (
        "FunctionResponsePart",
        &[("inlineData", One("Blob")), ("fileData", One("FileData")), ("mediaProcessing", Any)],
    ),
    (
        "Tool",
        &[
            ("functionDeclarations", Many("FunctionDeclaration")),
            ("codeExecution", Any),
            ("computerUse", Any),
            ("fileSearch", Any),
            ("googleMaps", Any),
            ("googleSearch", Any),
            ("googleSearchRetrieval", Any),
            ("mcpServers", Any),
            ("retrieval", Any),
            ("urlContext", Any),
        ],
    ),
    (
        "FunctionDeclaration",
        &[
            ("name", Any),
            ("description", Any),
            ("behavior", Any),
            ("parameters", One("Schema")),
            ("parametersJsonSchema", Any),
            ("response", One("Schema")),
            ("responseJsonSchema", Any),
        ],
    ),
    (
        "Schema",
        &[
            ("type", Any),
            ("format", Any),
            ("title", Any),
            ("description", Any),
            ("nullable", Any),
            ("enum", Any),
            ("maxItems", Any),
            ("minItems", Any),
            ("properties", Named("Schema")),
            ("required", Any),
            ("minProperties", Any),
            ("maxProperties", Any),
            ("minLength", Any),
            ("maxLength", Any),
            ("pattern", Any),
            ("example", Any),
            ("anyOf", Many("Schema")),
            ("propertyOrdering", Any),
            ("default", Any),
            ("items", One("Schema")),
            ("minimum", Any),
            ("maximum", Any),
        ],
    ),
    (
        "ToolConfig",
        &[
            ("functionCallingConfig", One("FunctionCallingConfig")),
            ("retrievalConfig", Any),
            ("includeServerSideToolInvocations", Any),
        ],
    ),
    (
        "FunctionCallingConfig",
        &[("mode", Any), ("allowedFunctionNames", Any), ("streamFunctionCallArguments", Any)],
    ),
    ("SafetySetting", &[("category", Any), ("threshold", Any), ("method", Any)]),
    (
        "GenerationConfig",
        &[
            ("candidateCount", Any),
            ("stopSequences", Any),
            ("maxOutputTokens", Any),
            ("temperature", Any),
            ("topP", Any),
            ("topK", Any),
            ("seed", Any),
            ("responseMimeType", Any),
            ("responseSchema", One("Schema")),
            ("responseJsonSchema", Any),
            ("responseModalities", Any),
            ("responseFormat", Any),
            ("presencePenalty", Any),
            ("frequencyPenalty", Any),
            ("responseLogprobs", Any),
            ("logprobs", Any),
            ("enableEnhancedCivicAnswers", Any),
            ("speechConfig", Any),
            ("thinkingConfig", One("ThinkingConfig")),
            ("imageConfig", Any),
            ("mediaResolution", Any),
            ("audioTranscriptionConfig", Any),
            ("translationConfig", Any),
        ],
    ),
    ("ThinkingConfig", &[("includeThoughts", Any), ("thinkingBudget", Any), ("thinkingLevel", Any)]),
];

/// The request in a body that counts tokens, which may be wrapped.
pub(super) fn request(body: &Value) -> &Value {
    super::super::json::field(body, "generateContentRequest").unwrap_or(body)
}

/// Reads a value as a message: its names become camelCase, and single messages become lists where a
/// list is due.
pub(super) fn normalise(value: &Value, message: &str, unknown: Unknown) -> Result<Value, Refusal> {
    read(value, message, "", unknown)
}

fn read(value: &Value, message: &str, at: &str, unknown: Unknown) -> Result<Value, Refusal> {
    let fields = MESSAGES.iter().find(|(name, _)| *name == message).map_or(&[][..], |(_, fields)| fields);
    let Some(given) = value.as_object() else {
        if unknown == Unknown::Kept {
            return Ok(value.clone());
        }
        let place = if at.is_empty() { "body" } else { at };
        let kind = format!("type.googleapis.com/google.ai.generativelanguage.v1beta.{message}");
        return Err(bad_value(place, &kind, value));
    };
    let mut read_fields = Map::new();
    for (name, value) in given {
        let Some((known, holds)) = fields.iter().find(|(known, _)| known == name || snake(known) == *name)
        else {
            if unknown == Unknown::Refused {
                return Err(cannot_find(name, at));
            }
            read_fields.insert(name.clone(), value.clone());
            continue;
        };
        let at = if at.is_empty() { snake(known) } else { format!("{at}.{}", snake(known)) };
        let value = match (holds, value) {
            (_, Value::Null) => continue,
            (Any, value) => value.clone(),
            (One(message), value) => read(value, message, &at, unknown)?,
            (Many(message), Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(i, item)| read(item, message, &format!("{at}[{i}]"), unknown))
                .collect::<Result<Value, Refusal>>()?,
            (Many(message), value) => json!([read(value, message, &at, unknown)?]),
            (Named(message), Value::Object(named)) => named
                .iter()
                .enumerate()
                .map(|(i, (name, value))| {
                    let at = format!("{at}[{i}].value");
                    Ok((name.clone(), read(value, message, &at, unknown)?))
                })
                .collect::<Result<Map<String, Value>, Refusal>>()?
                .into(),
            (Named(_), value) if unknown == Unknown::Kept => value.clone(),
            (Named(_), value) => return Err(bad_value(&at, "Map", value)),
        };
        read_fields.insert((*known).to_owned(), value);
    }
    Ok(Value::Object(read_fields))
}

fn cannot_find(name: &str, at: &str) -> Refusal {
    let place = if at.is_empty() { String::new() } else { format!(" at '{at}'") };
    let what = format!("Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field.");
    bad(&what).with_detail(json!({
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": at, "description": what}]
    }))
}

/// A camelCase name in snake_case.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod shape_tests {
    use super::*;

    #[test]
    fn both_spellings_and_single_items_are_read() {
        let body = json!({
            "system_instruction": {"parts": {"text": "s"}},
            "contents": {"parts": [{"function_call": {"name": "f", "args": {"snake_case": 1}}}]},
            "generationConfig": {"max_output_tokens": 5, "topK": null}
        });
        let expected = json!({
            "systemInstruction": {"parts": [{"text": "s"}]},
            "contents": [{"parts": [{"functionCall": {"name": "f", "args": {"snake_case": 1}}}]}],
            "generationConfig": {"maxOutputTokens": 5}
        });
        assert_eq!(normalise(&body, "GenerateContentRequest", Unknown::Refused).unwrap(), expected);
    }

    #[test]
    fn every_message_that_is_named_is_there() {
        for (_, fields) in MESSAGES {
            for (field, holds) in *fields {
                if let One(name) | Many(name) | Named(name) = holds {
                    assert!(MESSAGES.iter().any(|(known, _)| known == name), "{field}: {name}");
                }
            }
        }
    }
}
