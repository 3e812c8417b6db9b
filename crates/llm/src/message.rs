//! Messages and the parts they are made of.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::Wire;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions from whoever built the application.
    System,
    /// Instructions with a developer's authority; a system message where a wire has no such role.
    Developer,
    /// The person, or the program, that asks.
    User,
    /// The model.
    Assistant,
    /// Results of tool calls.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<Part>,
    /// A name for the speaker, where the wire has a place for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// A message of these parts.
    pub fn new(role: Role, content: Vec<Part>) -> Self {
        Self { role, content, name: None }
    }

    /// A system message of one text.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, vec![Part::text(text)])
    }

    /// A developer message of one text.
    pub fn developer(text: impl Into<String>) -> Self {
        Self::new(Role::Developer, vec![Part::text(text)])
    }

    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::text(text)])
    }

    /// An assistant message of one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Part::text(text)])
    }

    /// A message with the results of tool calls.
    pub fn tool_results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(|r| Part::new(Content::ToolResult(r))).collect())
    }

    /// The text parts, joined.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|p| match p.content() {
            Content::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(|p| match p.content() {
            Content::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// The readable reasoning, joined.
    pub fn reasoning(&self) -> String {
        self.content
            .iter()
            .filter_map(|p| match p.content() {
                Content::Thinking(t) => Some(t.text.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// Where a part came from: the wire it was read from, and the provider and model that made it.
///
/// A signature, an encrypted reasoning item and a provider's raw item hold only for the origin they
/// came from; for any other target the part is rebuilt from its normalised view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The wire the part was read from.
    pub wire: Wire,
    /// The provider's name in the client.
    pub provider: String,
    /// The model as it was asked for (not the dated name the provider answers with).
    pub model: String,
}

/// One part of a message: the normalised view and, where it came off a wire, its origin and the
/// provider's raw item.
///
/// The fields are private so that the view and the raw item cannot drift apart: to change a part,
/// make a new one. Clones share what they hold, so that a long conversation is cheap to hand on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(Arc<Kept>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Arc<Origin>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<Value>,
}

impl Part {
    /// A part of our own making.
    pub fn new(content: Content) -> Self {
        Self(Arc::new(Kept { content, origin: None, raw: None }))
    }

    /// A part that came off a wire. `raw` is the provider's item, to be sent back verbatim to the
    /// same origin; `None` where the normalised view says everything the item said.
    pub fn received(content: Content, origin: Arc<Origin>, raw: Option<Value>) -> Self {
        Self(Arc::new(Kept { content, origin: Some(origin), raw }))
    }

    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// An image part.
    pub fn image(media: Media) -> Self {
        Self::new(Content::Image(media))
    }

    /// The normalised view.
    pub fn content(&self) -> &Content {
        &self.0.content
    }

    /// The normalised view, by value; a copy if the part is shared.
    pub fn into_content(self) -> Content {
        Arc::unwrap_or_clone(self.0).content
    }

    /// Where the part came from, if it came off a wire.
    pub fn origin(&self) -> Option<&Arc<Origin>> {
        self.0.origin.as_ref()
    }

    /// Whether the part came from exactly this wire, provider and model, so that signatures hold.
    pub fn is_from(&self, target: &Origin) -> bool {
        self.0.origin.as_deref() == Some(target)
    }

    /// The provider's raw item, if the part came from exactly this origin and the item was kept.
    pub fn raw_for(&self, target: &Origin) -> Option<&Value> {
        if self.is_from(target) { self.0.raw.as_ref() } else { None }
    }

    /// The text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.0.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// What a part says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A document, for instance a PDF.
    Document(Media),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// Reasoning that can be read.
    Thinking(Thinking),
    /// Reasoning that only its maker can read; goes back to its origin unchanged.
    RedactedThinking(String),
    /// An item only its own provider understands; goes back to its origin unchanged.
    Other(Value),
}

/// Reasoning text, and the signature with which its maker recognises it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// The reasoning, or a summary of it. May be empty while the signature carries the substance.
    pub text: String,
    /// The provider's signature or encrypted content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A picture, sound or document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Where the data is.
    pub source: MediaSource,
    /// The media type, for instance `image/png`; inferred from the data where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How closely the model should look, where the wire has such a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// A file name, where the wire has a place for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Media {
    /// Media that the provider fetches by itself.
    pub fn url(url: impl Into<String>) -> Self {
        Self { source: MediaSource::Url(url.into()), media_type: None, detail: None, name: None }
    }

    /// Media in memory; its type is inferred from its first bytes.
    pub fn bytes(data: impl Into<Bytes>) -> Self {
        Self { source: MediaSource::Bytes(data.into()), media_type: None, detail: None, name: None }
    }

    /// A local file, read when the request is sent.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self { source: MediaSource::Path(path.into()), media_type: None, detail: None, name: None }
    }

    /// The data in base64, if it is in memory.
    pub fn base64(&self) -> Option<String> {
        match &self.source {
            MediaSource::Bytes(data) => Some(base64::engine::general_purpose::STANDARD.encode(data)),
            _ => None,
        }
    }

    /// A `data:` URL, if the data is in memory; otherwise the URL it is at.
    pub fn to_url(&self) -> Option<String> {
        match &self.source {
            MediaSource::Url(url) => Some(url.clone()),
            MediaSource::Bytes(_) => Some(format!("data:{};base64,{}", self.mime(), self.base64()?)),
            MediaSource::Path(_) => None,
        }
    }

    /// The media type: as given, else inferred from the data, else `application/octet-stream`.
    pub fn mime(&self) -> &str {
        if let Some(given) = &self.media_type {
            return given;
        }
        match &self.source {
            MediaSource::Bytes(data) => infer::get(data).map_or(OCTETS, |kind| kind.mime_type()),
            MediaSource::Url(url) => mime_by_extension(url.split(['?', '#']).next().unwrap_or(url)),
            MediaSource::Path(path) => mime_by_extension(&path.to_string_lossy()),
        }
    }

    /// Media from a URL as it stands on a wire: a `data:` URL becomes bytes, anything else stays a URL.
    pub fn from_wire_url(url: &str) -> Self {
        if let Some(rest) = url.strip_prefix("data:")
            && let Some((head, body)) = rest.split_once(',')
            && let Some(media_type) = head.strip_suffix(";base64")
            && let Ok(data) = base64::engine::general_purpose::STANDARD.decode(body)
        {
            return Self { media_type: Some(media_type.to_owned()), ..Self::bytes(data) };
        }
        Self::url(url)
    }
}

const OCTETS: &str = "application/octet-stream";

fn mime_by_extension(path: &str) -> &'static str {
    let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "txt" | "md" => "text/plain",
        _ => OCTETS,
    }
}

/// Where media data is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// At a URL that the provider fetches.
    Url(String),
    /// In memory.
    #[serde(serialize_with = "bytes_as_base64", deserialize_with = "bytes_from_base64")]
    Bytes(Bytes),
    /// In a local file.
    Path(PathBuf),
}

fn bytes_as_base64<S: Serializer>(data: &Bytes, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&base64::engine::general_purpose::STANDARD.encode(data))
}

fn bytes_from_base64<'de, D: Deserializer<'de>>(d: D) -> Result<Bytes, D::Error> {
    let text = String::deserialize(d)?;
    base64::engine::general_purpose::STANDARD.decode(text).map(Bytes::from).map_err(serde::de::Error::custom)
}

/// How closely a model should look at a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The model decides.
    Auto,
    /// Coarse and cheap.
    Low,
    /// Fine and dear.
    High,
}

/// A model's request to run a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the result to the call. Unique within a conversation.
    pub id: String,
    /// The tool's name as the caller declared it.
    pub name: String,
    /// The arguments, parsed; `Null` if the model wrote something that is no JSON
    /// (see [`ToolCall::raw_arguments`]). A custom tool's input is a JSON string.
    pub arguments: Value,
    /// The arguments exactly as the model wrote them.
    pub raw_arguments: String,
    /// Function or custom tool.
    #[serde(default)]
    pub kind: ToolCallKind,
}

/// Function tools take JSON; custom tools take free text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallKind {
    /// Arguments are a JSON object.
    #[default]
    Function,
    /// The input is free text.
    Custom,
}

impl ToolCall {
    /// A function call from the arguments as the model wrote them. No arguments at all are `{}`.
    pub fn function(
        id: impl Into<String>,
        name: impl Into<String>,
        raw_arguments: impl Into<String>,
    ) -> Self {
        let raw_arguments = raw_arguments.into();
        let arguments = parse_arguments(&raw_arguments);
        Self { id: id.into(), name: name.into(), arguments, raw_arguments, kind: ToolCallKind::Function }
    }

    /// A call of a custom tool with its free-text input.
    pub fn custom(id: impl Into<String>, name: impl Into<String>, input: impl Into<String>) -> Self {
        let raw_arguments = input.into();
        Self {
            id: id.into(),
            name: name.into(),
            arguments: Value::String(raw_arguments.clone()),
            raw_arguments,
            kind: ToolCallKind::Custom,
        }
    }

    /// This call as the call of a custom tool. On wires without custom tools such a tool is a
    /// function with one parameter, `input`, whose text this takes out.
    pub(crate) fn into_custom(self) -> Self {
        let input = self.arguments.get("input").and_then(Value::as_str).map(str::to_owned);
        Self::custom(self.id, self.name, input.unwrap_or(self.raw_arguments))
    }

    /// Whether a function call's arguments are a JSON object, as they must be.
    pub fn is_well_formed(&self) -> bool {
        self.kind == ToolCallKind::Custom || self.arguments.is_object()
    }
}

/// Parses what a model wrote as arguments: nothing at all is `{}`, no JSON is `Null`. Never fails.
pub(crate) fn parse_arguments(raw: &str) -> Value {
    if raw.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(raw).unwrap_or(Value::Null)
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call this answers.
    pub call_id: String,
    /// The answer.
    pub output: ResultOutput,
    /// Whether the tool failed; the output then says how.
    #[serde(default)]
    pub is_error: bool,
    /// Pictures that belong to the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Media>,
}

impl ToolResult {
    /// A text answer.
    pub fn text(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            output: ResultOutput::Text(text.into()),
            is_error: false,
            images: Vec::new(),
        }
    }

    /// A structured answer.
    pub fn json(call_id: impl Into<String>, value: Value) -> Self {
        Self {
            call_id: call_id.into(),
            output: ResultOutput::Json(value),
            is_error: false,
            images: Vec::new(),
        }
    }

    /// A failure, told to the model.
    pub fn error(call_id: impl Into<String>, message: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(call_id, message) }
    }
}

/// Text or structured output of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultOutput {
    /// Plain text.
    Text(String),
    /// A JSON value.
    Json(Value),
}

impl ResultOutput {
    /// The output as text: JSON is printed compactly.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(value) => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_survive_json() {
        let origin = Arc::new(Origin { wire: Wire::Anthropic, provider: "a".into(), model: "m".into() });
        let message = Message::new(
            Role::Assistant,
            vec![
                Part::text("hi"),
                Part::image(Media::bytes(vec![1, 2, 3])),
                Part::received(
                    Content::Thinking(Thinking { text: "t".into(), signature: Some("s".into()) }),
                    origin,
                    Some(json!({"type": "thinking"})),
                ),
                Part::new(Content::ToolCall(ToolCall::function("c1", "f", "{\"a\":1}"))),
                Part::new(Content::ToolResult(ToolResult::json("c1", json!([1])))),
                Part::new(Content::RedactedThinking("xx".into())),
                Part::new(Content::Other(json!({"k": null}))),
            ],
        );
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }

    #[test]
    fn arguments_never_fail() {
        assert_eq!(ToolCall::function("1", "f", "").arguments, json!({}));
        assert_eq!(ToolCall::function("1", "f", "{\"a\":").arguments, Value::Null);
        assert!(!ToolCall::function("1", "f", "[1]").is_well_formed());
        assert!(ToolCall::custom("1", "f", "*** Begin").is_well_formed());
    }

    #[test]
    fn data_urls_become_bytes_and_back() {
        let media = Media::from_wire_url("data:image/png;base64,AQID");
        assert_eq!(media.source, MediaSource::Bytes(Bytes::from_static(&[1, 2, 3])));
        assert_eq!(media.to_url().unwrap(), "data:image/png;base64,AQID");
        assert_eq!(Media::from_wire_url("https://x/y.jpg").mime(), "image/jpeg");
    }
}
