//! One part of a content, between the wire and the normalised view.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::body::Str;
use super::{camel, field};
use crate::names::NameMap;
use crate::{Content, Error, Media, MediaSource, Thinking, ToolCall, ToolCallKind};

/// A part as it came. What is not text stays JSON: it is small, or rare, or not known here.
#[derive(Debug, Default)]
pub(super) struct WirePart {
    pub(super) text: Option<String>,
    /// Whether the text is the model's thought.
    pub(super) thought: bool,
    pub(super) signature: Option<String>,
    /// All other fields, their names in camelCase.
    pub(super) rest: Map<String, Value>,
}

impl<'de> Deserialize<'de> for WirePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = WirePart;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WirePart, A::Error> {
                let mut part = WirePart::default();
                while let Some(Str(key)) = map.next_key::<Str<'de>>()? {
                    match &*key {
                        "text" => part.text = map.next_value()?,
                        "thought" => part.thought = map.next_value::<Option<bool>>()?.unwrap_or(false),
                        "thoughtSignature" | "thought_signature" => part.signature = map.next_value()?,
                        _ => {
                            part.rest.insert(camel(&key).into_owned(), map.next_value()?);
                        }
                    }
                }
                Ok(part)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl WirePart {
    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_none() && self.signature.is_none() && self.rest.is_empty()
    }

    /// The call, if the part is one that can be read.
    pub(super) fn function_call(&self) -> Option<&Map<String, Value>> {
        let call = self.rest.get("functionCall")?.as_object()?;
        call.get("name")?.as_str()?;
        Some(call)
    }

    /// The whole item.
    fn into_raw(self) -> Value {
        let mut raw = Map::new();
        if let Some(text) = self.text {
            raw.insert("text".to_owned(), text.into());
        }
        if self.thought {
            raw.insert("thought".to_owned(), true.into());
        }
        raw.extend(self.rest);
        if let Some(signature) = self.signature {
            raw.insert("thoughtSignature".to_owned(), signature.into());
        }
        Value::Object(raw)
    }

    /// The normalised view, and the item where the view does not say everything it said. `made_id`
    /// names a call that came without an id.
    pub(super) fn read(
        mut self,
        names: &NameMap,
        made_id: impl FnOnce() -> String,
    ) -> (Content, Option<Value>) {
        if let Some(call) = self.function_call() {
            let says_all = self.signature.is_none()
                && !self.thought
                && self.text.is_none()
                && self.rest.len() == 1
                && call.contains_key("args")
                && call.iter().all(|(key, value)| match key.as_str() {
                    "id" => value.as_str().is_some_and(|id| !id.is_empty()),
                    "name" => true,
                    "args" => value.is_object(),
                    _ => false,
                });
            let call = read_call(call, names, made_id);
            return (Content::ToolCall(call), if says_all { None } else { Some(self.into_raw()) });
        }
        if self.rest.is_empty() {
            // A bare signature is an empty text, or an empty thought, that is signed.
            let text = self.text.clone().unwrap_or_default();
            if self.thought {
                let signature = self.signature.take();
                return (Content::Thinking(Thinking { text, signature }), None);
            }
            let plain = self.signature.is_none();
            return (Content::Text(text), if plain { None } else { Some(self.into_raw()) });
        }
        if let Some(text) = &self.text {
            let content = if self.thought {
                Content::Thinking(Thinking { text: text.clone(), signature: self.signature.clone() })
            } else {
                Content::Text(text.clone())
            };
            return (content, Some(self.into_raw()));
        }
        let only = self.rest.len() == 1 && self.signature.is_none() && !self.thought;
        if let Some((media, says_all)) = read_media(&self.rest) {
            let raw = if only && says_all { None } else { Some(self.into_raw()) };
            return (by_type(media), raw);
        }
        (Content::Other(self.into_raw()), None)
    }
}

fn read_call(call: &Map<String, Value>, names: &NameMap, made_id: impl FnOnce() -> String) -> ToolCall {
    let text = |key: &str| call.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let arguments = call.get("args").filter(|args| args.is_object()).cloned().unwrap_or_else(|| json!({}));
    let call = ToolCall {
        id: text("id").map_or_else(made_id, str::to_owned),
        name: names.from_wire(text("name").unwrap_or_default()).to_owned(),
        raw_arguments: arguments.to_string(),
        arguments,
        kind: ToolCallKind::Function,
    };
    if names.is_custom(&call.name) { call.into_custom() } else { call }
}

/// The arguments of a call as the object this wire demands: free text, and what is no object,
/// becomes the field `input`.
pub(super) fn arguments(call: &ToolCall) -> Value {
    match &call.arguments {
        Value::Object(_) if call.kind == ToolCallKind::Function => call.arguments.clone(),
        _ => json!({"input": call.raw_arguments}),
    }
}

/// A part of media.
///
/// # Errors
/// `configuration` if it is a local file that was not loaded.
pub(super) fn write_media(media: &Media) -> Result<Value, Error> {
    match &media.source {
        MediaSource::Bytes(_) => {
            Ok(json!({"inlineData": {"mimeType": media.mime(), "data": media.base64().unwrap_or_default()}}))
        }
        MediaSource::Url(url) if url.starts_with("data:") => match Media::from_wire_url(url) {
            inline @ Media { source: MediaSource::Bytes(_), .. } => write_media(&inline),
            _ => Err(Error::configuration("a `data:` URL is not in base64")),
        },
        MediaSource::Url(url) => Ok(match media.mime() {
            "application/octet-stream" => json!({"fileData": {"fileUri": url}}),
            mime => json!({"fileData": {"mimeType": mime, "fileUri": url}}),
        }),
        MediaSource::Path(path) => {
            Err(Error::configuration(format!("`{}` was not loaded before it was sent", path.display())))
        }
    }
}

/// Reads `inlineData` or `fileData`; also tells whether the media says everything the item said.
pub(super) fn read_media(part: &Map<String, Value>) -> Option<(Media, bool)> {
    if let Some(item) = part.get("inlineData").and_then(Value::as_object) {
        let (mime, data) = (field(item, "mimeType")?.as_str()?, item.get("data")?.as_str()?);
        // Both alphabets are in use, with and without padding.
        let url_safe = data.contains(['-', '_']);
        let decoded = if url_safe {
            LENIENT.decode(data.replace('-', "+").replace('_', "/"))
        } else {
            LENIENT.decode(data)
        };
        let media = Media { media_type: Some(mime.to_owned()), ..Media::bytes(decoded.ok()?) };
        let says_all = item.len() == 2 && item.contains_key("mimeType") && !url_safe && data.len() % 4 == 0;
        return Some((media, says_all));
    }
    let item = part.get("fileData")?.as_object()?;
    let url = field(item, "fileUri")?.as_str()?;
    let mime = field(item, "mimeType").and_then(Value::as_str).map(str::to_owned);
    let says_all = item.contains_key("fileUri") && item.len() == 1 + usize::from(mime.is_some());
    let guessed = mime.is_none() && Media::url(url).mime() != "application/octet-stream";
    Some((Media { media_type: mime, ..Media::url(url) }, says_all && !guessed))
}

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The content that fits the media's type.
fn by_type(media: Media) -> Content {
    match media.mime().split('/').next() {
        Some("image") => Content::Image(media),
        Some("audio") => Content::Audio(media),
        _ => Content::Document(media),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(part: Value) -> (Content, Option<Value>) {
        let part: WirePart = serde_json::from_str(&part.to_string()).unwrap();
        part.read(&NameMap::default(), || "made".to_owned())
    }

    #[test]
    fn parts_become_content_and_keep_what_it_does_not_say() {
        let check = |part: Value, expected: Content, keeps_raw: bool| {
            let (content, raw) = read(part.clone());
            assert_eq!(content, expected, "{part}");
            assert_eq!(raw, keeps_raw.then_some(part));
        };
        let thinking = |text: &str, signature: Option<&str>| {
            Content::Thinking(Thinking { text: text.into(), signature: signature.map(str::to_owned) })
        };
        let call = |id: &str, args: &str| Content::ToolCall(ToolCall::function(id, "f", args));
        let png = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) };
        let pdf = Media { media_type: Some("application/pdf".into()), ..Media::url("https://x/y") };
        let wav = Media { media_type: Some("audio/wav".into()), ..Media::bytes(vec![0xfb, 0xff]) };
        check(json!({"text": "a"}), Content::Text("a".into()), false);
        check(json!({"text": "a", "thoughtSignature": "s"}), Content::Text("a".into()), true);
        check(json!({"text": "a", "videoMetadata": {}}), Content::Text("a".into()), true);
        check(json!({"thoughtSignature": "s"}), Content::Text(String::new()), true);
        check(json!({"text": "a", "thought": true}), thinking("a", None), false);
        check(
            json!({"text": "a", "thought": true, "thoughtSignature": "s"}),
            thinking("a", Some("s")),
            false,
        );
        check(json!({"text": "a", "thought": true, "new": 1}), thinking("a", None), true);
        check(json!({"functionCall": {"name": "f", "args": {"a": 1}}}), call("made", "{\"a\":1}"), false);
        check(json!({"functionCall": {"id": "7", "name": "f", "args": {}}}), call("7", "{}"), false);
        check(json!({"functionCall": {"name": "f"}}), call("made", "{}"), true);
        check(json!({"functionCall": {"name": "f"}, "thoughtSignature": "s"}), call("made", "{}"), true);
        check(json!({"functionCall": {"name": "f", "willContinue": true}}), call("made", "{}"), true);
        check(json!({"functionCall": {"name": "f", "id": ""}}), call("made", "{}"), true);
        check(json!({"inlineData": {"mimeType": "image/png", "data": "AQID"}}), Content::Image(png), false);
        check(json!({"inlineData": {"mimeType": "audio/wav", "data": "-_8"}}), Content::Audio(wav), true);
        check(
            json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://x/y"}}),
            Content::Document(pdf),
            false,
        );
        for odd in [
            json!({"executableCode": {"code": "1"}}),
            json!({"functionCall": {"args": {}}}),
            json!({"inlineData": {"mimeType": "image/png", "data": "?"}}),
            json!({"functionCall": 3, "thought": true}),
        ] {
            check(odd.clone(), Content::Other(odd), false);
        }
    }

    #[test]
    fn snake_case_is_read() {
        let (content, _) = read(json!({"function_call": {"name": "f"}, "thought_signature": "s"}));
        assert!(matches!(content, Content::ToolCall(_)));
        let (content, raw) = read(json!({"inline_data": {"mime_type": "image/png", "data": "AQID"}}));
        assert!(matches!(content, Content::Image(_)) && raw.is_some());
    }

    #[test]
    fn media_is_written_inline_or_by_reference() {
        let check = |media: Media, expected: Value| assert_eq!(write_media(&media).unwrap(), expected);
        let png = json!({"inlineData": {"mimeType": "image/png", "data": "AQID"}});
        check(Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) }, png.clone());
        check(Media::url("data:image/png;base64,AQID"), png);
        check(
            Media::url("https://x/a.png"),
            json!({"fileData": {"mimeType": "image/png", "fileUri": "https://x/a.png"}}),
        );
        check(Media::url("files/7"), json!({"fileData": {"fileUri": "files/7"}}));
        assert!(write_media(&Media::path("/a.png")).unwrap_err().message().contains("/a.png"));
        assert!(write_media(&Media::url("data:text/plain,x")).is_err());
    }

    #[test]
    fn arguments_are_always_an_object() {
        let check = |call: ToolCall, expected: Value| assert_eq!(arguments(&call), expected);
        check(ToolCall::function("1", "f", "{\"a\":1}"), json!({"a": 1}));
        check(ToolCall::function("1", "f", ""), json!({}));
        check(ToolCall::function("1", "f", "[1"), json!({"input": "[1"}));
        check(ToolCall::custom("1", "f", "{}"), json!({"input": "{}"}));
    }
}
