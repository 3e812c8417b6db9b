//! Content parts of user messages, in both directions.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::{Content, Detail, Error, ErrorKind, Media, MediaSource, Origin, Part};

/// The name of a sound's format on this wire, and its media types; the first is the one to give.
const AUDIO: [(&str, &[&str]); 6] = [
    ("wav", &["audio/wav", "audio/x-wav", "audio/vnd.wave"]),
    ("mp3", &["audio/mpeg", "audio/mp3"]),
    ("flac", &["audio/flac", "audio/x-flac"]),
    ("m4a", &["audio/m4a", "audio/mp4", "audio/x-m4a"]),
    ("ogg", &["audio/ogg"]),
    ("aac", &["audio/aac"]),
];

/// Writes a picture.
pub(super) fn write_image(media: &Media, at: &str) -> Result<Value, Error> {
    let url = media.to_url().ok_or_else(|| not_loaded(at))?;
    let mut image = json!({ "url": url });
    if let Some(detail) = media.detail {
        image["detail"] = detail_name(detail).into();
    }
    Ok(json!({ "type": "image_url", "image_url": image }))
}

/// Writes a sound, which this wire takes in memory only.
pub(super) fn write_audio(media: &Media, at: &str) -> Result<Value, Error> {
    let data = in_memory(media, "a sound", at)?;
    let mime = media.mime();
    let known = AUDIO.iter().find(|(_, types)| types.contains(&mime)).map(|(format, _)| *format);
    let format = known.or_else(|| mime.split_once('/').map(|(_, subtype)| subtype)).unwrap_or("wav");
    Ok(json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } }))
}

/// Writes a document, which this wire takes in memory only.
pub(super) fn write_document(media: &Media, at: &str) -> Result<Value, Error> {
    let data = in_memory(media, "a document", at)?;
    let mime = media.mime();
    let fallback = if mime == "application/pdf" { "document.pdf" } else { "document" };
    let name = media.name.as_deref().unwrap_or(fallback);
    let file = json!({ "filename": name, "file_data": format!("data:{mime};base64,{data}") });
    Ok(json!({ "type": "file", "file": file }))
}

fn in_memory(media: &Media, what: &str, at: &str) -> Result<String, Error> {
    match media.source {
        MediaSource::Bytes(_) => media.base64().ok_or_else(|| not_loaded(at)),
        MediaSource::Path(_) => Err(not_loaded(at)),
        MediaSource::Url(_) => Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("{at}: Chat Completions takes {what} as data, not by URL"),
        )
        .with_hint("give the bytes or a local path instead of a URL")),
    }
}

fn not_loaded(at: &str) -> Error {
    Error::configuration(format!("{at}: a file given by path has not been read"))
}

fn detail_name(detail: Detail) -> &'static str {
    match detail {
        Detail::Auto => "auto",
        Detail::Low => "low",
        Detail::High => "high",
    }
}

/// Reads a part. What the normalised view cannot hold stays beside it as the raw item; parts of
/// unknown types are kept whole.
pub(super) fn read(item: &Value, origin: &Arc<Origin>, at: &str) -> Result<Part, Error> {
    let kind = item.get("type").and_then(Value::as_str);
    let (content, whole) = match kind {
        Some("text") => (text(item).map(|t| Content::Text(t.to_owned())), has_only(item, &["type", "text"])),
        Some("refusal") => {
            let text = item.get("refusal").and_then(Value::as_str);
            (text.map(|t| Content::Text(t.to_owned())), true)
        }
        Some("image_url") => read_image(item),
        Some("input_audio") => read_audio(item),
        Some("file") => read_file(item),
        Some(_) => (Some(Content::Other(item.clone())), false),
        None => (None, false),
    };
    let content = content.ok_or_else(|| {
        let what =
            kind.map_or_else(|| "has no type".to_owned(), |kind| format!("is not a valid {kind} part"));
        Error::new(ErrorKind::InvalidRequest, format!("{at} {what}"))
    })?;
    Ok(Part::received(content, Arc::clone(origin), (!whole).then(|| item.clone())))
}

/// The text of a text part.
pub(super) fn text(item: &Value) -> Option<&str> {
    item.get("text").and_then(Value::as_str)
}

fn read_image(item: &Value) -> (Option<Content>, bool) {
    let image = &item["image_url"];
    let Some(url) = image.as_str().or_else(|| image.get("url").and_then(Value::as_str)) else {
        return (None, false);
    };
    let detail = match image.get("detail").and_then(Value::as_str) {
        Some("auto") => Some(Detail::Auto),
        Some("low") => Some(Detail::Low),
        Some("high") => Some(Detail::High),
        _ => None,
    };
    let whole = has_only(item, &["type", "image_url"])
        && has_only(image, &["url", "detail"])
        && detail.is_some() == image.get("detail").is_some();
    (Some(Content::Image(Media { detail, ..Media::from_wire_url(url) })), whole)
}

fn read_audio(item: &Value) -> (Option<Content>, bool) {
    let audio = &item["input_audio"];
    let format = audio.get("format").and_then(Value::as_str).unwrap_or("wav");
    let known = AUDIO.iter().find(|(name, _)| *name == format).and_then(|(_, types)| types.first());
    let media_type = known.map_or_else(|| format!("audio/{format}"), |known| (*known).to_owned());
    let data = audio.get("data").and_then(Value::as_str).and_then(|data| STANDARD.decode(data).ok());
    let content =
        data.map(|data| Content::Audio(Media { media_type: Some(media_type), ..Media::bytes(data) }));
    (content, has_only(item, &["type", "input_audio"]) && has_only(audio, &["data", "format"]))
}

fn read_file(item: &Value) -> (Option<Content>, bool) {
    let file = &item["file"];
    let Some(data) = file.get("file_data").and_then(Value::as_str) else {
        // A file that was uploaded before has only an id, which means something to its server alone.
        return (file.is_object().then(|| Content::Other(item.clone())), false);
    };
    let (media, is_url) = match STANDARD.decode(data) {
        Ok(bytes) => (Media::bytes(bytes), false),
        Err(_) => (Media::from_wire_url(data), true),
    };
    let name = file.get("filename").and_then(Value::as_str).map(str::to_owned);
    let whole = is_url
        && matches!(media.source, MediaSource::Bytes(_))
        && name.is_some()
        && has_only(item, &["type", "file"])
        && has_only(file, &["filename", "file_data"]);
    (Some(Content::Document(Media { name, ..media })), whole)
}

fn has_only(item: &Value, keys: &[&str]) -> bool {
    item.as_object().is_some_and(|object: &Map<_, _>| object.keys().all(|key| keys.contains(&key.as_str())))
}
