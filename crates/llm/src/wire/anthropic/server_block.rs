//! Content blocks of a client's request, read into parts.

use std::sync::Arc;

use base64::Engine as _;
use serde_json::Value;

use super::response;
use super::server::invalid;
use crate::{Content, Error, Media, Origin, Part, ResultOutput, Thinking, ToolCall, ToolResult};

/// A block as a part that keeps it verbatim. `place` says where it stands, for errors.
///
/// # Errors
/// `invalid_request` if the block is none, or lacks what its type must have.
pub(super) fn part(block: &Value, origin: &Arc<Origin>, place: &str) -> Result<Part, Error> {
    let Some(kind) = block.get("type").and_then(Value::as_str) else {
        return Err(invalid(place, "a content block needs a type"));
    };
    let content = match kind {
        "text" => Content::Text(string(block, "text", place)?),
        "image" => media(block, place)?.map_or_else(|| Content::Other(block.clone()), Content::Image),
        "document" => media(block, place)?.map_or_else(|| Content::Other(block.clone()), Content::Document),
        "thinking" => Content::Thinking(Thinking {
            text: string(block, "thinking", place)?,
            signature: response::signature(&block["signature"]),
        }),
        "redacted_thinking" => Content::RedactedThinking(string(block, "data", place)?),
        "tool_use" => {
            let input = block.get("input").filter(|input| input.is_object());
            let input = input.ok_or_else(|| invalid(place, "input must be an object"))?;
            let (id, name) = (string(block, "id", place)?, string(block, "name", place)?);
            Content::ToolCall(ToolCall::function(id, name, input.to_string()))
        }
        "tool_result" => Content::ToolResult(tool_result(block, place)?),
        "search_result" if !search_result(block).is_empty() => Content::Text(search_result(block)),
        _ => return Ok(Part::received(Content::Other(block.clone()), Arc::clone(origin), None)),
    };
    Ok(Part::received(content, Arc::clone(origin), Some(block.clone())))
}

fn string(block: &Value, field: &str, place: &str) -> Result<String, Error> {
    block[field]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| invalid(place, &format!("{field} must be a string")))
}

/// The media of an image or document block; none for sources that only the provider can read.
fn media(block: &Value, place: &str) -> Result<Option<Media>, Error> {
    let source = &block["source"];
    let media_type = source["media_type"].as_str().map(str::to_owned);
    let media = match source["type"].as_str() {
        Some("base64") => {
            let data = base64::engine::general_purpose::STANDARD
                .decode(string(source, "data", place)?)
                .map_err(|e| invalid(place, &format!("source.data is not base64: {e}")))?;
            Media { media_type, ..Media::bytes(data) }
        }
        Some("text") => Media { media_type, ..Media::bytes(string(source, "data", place)?) },
        Some("url") => Media::url(string(source, "url", place)?),
        Some(_) => return Ok(None),
        None => return Err(invalid(place, "source needs a type")),
    };
    Ok(Some(Media { name: block["title"].as_str().map(str::to_owned), ..media }))
}

/// A result; what is neither text nor picture stands in its text as a short note or as JSON, for
/// targets that know no such blocks.
fn tool_result(block: &Value, place: &str) -> Result<ToolResult, Error> {
    let call_id = string(block, "tool_use_id", place)?;
    let is_error = block["is_error"].as_bool().unwrap_or(false);
    let mut images = Vec::new();
    let mut texts = Vec::new();
    match &block["content"] {
        Value::Null => {}
        Value::String(text) => texts.push(text.clone()),
        Value::Array(blocks) => {
            for inner in blocks {
                match (inner["type"].as_str(), media_of(inner, place)?) {
                    (Some("text"), _) => texts.push(string(inner, "text", place)?),
                    (Some("image"), Some(image)) => images.push(image),
                    (Some("document"), Some(_)) if inner["source"]["type"] == "text" => {
                        texts.push(response::text(&inner["source"]["data"]));
                    }
                    (Some("search_result"), _) => texts.push(search_result(inner)),
                    (Some("image" | "document"), _) => texts.push("[a document was left out]".to_owned()),
                    _ => texts.push(inner.to_string()),
                }
            }
        }
        _ => return Err(invalid(place, "content must be a string or a list of blocks")),
    }
    Ok(ToolResult { call_id, output: ResultOutput::Text(texts.join("\n")), is_error, images })
}

/// What was found, as a text: where, and what it says.
fn search_result(block: &Value) -> String {
    let said = block["content"].as_array().into_iter().flatten().map(|inner| response::text(&inner["text"]));
    let head = [response::text(&block["title"]), response::text(&block["source"])];
    head.into_iter().chain(said).filter(|text| !text.is_empty()).collect::<Vec<String>>().join("\n")
}

fn media_of(block: &Value, place: &str) -> Result<Option<Media>, Error> {
    if block["type"] == "image" || block["type"] == "document" { media(block, place) } else { Ok(None) }
}
