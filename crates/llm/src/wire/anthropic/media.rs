//! Pictures and documents as blocks.

use serde_json::{Value, json};

use crate::{Error, ErrorKind, Media, MediaSource};

const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// An `image` block.
///
/// # Errors
/// `invalid_request` for a type this wire does not take, `configuration` for a path.
pub(super) fn image(media: &Media) -> Result<Value, Error> {
    let media = &in_memory(media);
    let source = match &media.source {
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
        MediaSource::Bytes(_) => {
            let mime = media.mime();
            if !IMAGE_TYPES.contains(&mime) {
                return Err(unsupported("an image", mime));
            }
            json!({"type": "base64", "media_type": mime, "data": media.base64()})
        }
        MediaSource::Path(path) => return Err(not_loaded(path)),
    };
    Ok(json!({"type": "image", "source": source}))
}

/// A `document` block: PDF or text.
///
/// # Errors
/// As [`image`].
pub(super) fn document(media: &Media) -> Result<Value, Error> {
    let media = &in_memory(media);
    let source = match &media.source {
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
        MediaSource::Bytes(data) => {
            let mime = media.mime();
            // Plain text has no signature to be recognised by.
            let may_be_text = mime.starts_with("text/") || mime == "application/octet-stream";
            match std::str::from_utf8(data) {
                _ if mime == "application/pdf" => {
                    json!({"type": "base64", "media_type": mime, "data": media.base64()})
                }
                Ok(text) if may_be_text => json!({"type": "text", "media_type": "text/plain", "data": text}),
                _ => return Err(unsupported("a document", mime)),
            }
        }
        MediaSource::Path(path) => return Err(not_loaded(path)),
    };
    let mut block = json!({"type": "document", "source": source});
    if let (Some(title), Value::Object(fields)) = (&media.name, &mut block) {
        fields.insert("title".to_owned(), Value::from(title.as_str()));
    }
    Ok(block)
}

/// The error for sound, which this wire has no block for.
pub(super) fn no_audio() -> Error {
    Error::new(ErrorKind::InvalidRequest, "the Anthropic wire takes no audio")
        .with_hint("transcribe the sound, or choose a provider that listens")
}

/// `data:` URLs are data; the provider would try to fetch them.
fn in_memory(media: &Media) -> Media {
    match &media.source {
        MediaSource::Url(url) if url.starts_with("data:") => {
            let loaded = Media::from_wire_url(url);
            Media { name: media.name.clone(), ..loaded }
        }
        _ => media.clone(),
    }
}

fn unsupported(what: &str, mime: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("the Anthropic wire takes no {mime} as {what}"))
        .with_hint("images: JPEG, PNG, GIF, WebP; documents: PDF, plain text")
}

fn not_loaded(path: &std::path::Path) -> Error {
    Error::configuration(format!(
        "the file `{}` must be loaded before the request is encoded",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_by_kind() {
        let png = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) };
        let base64 =
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
        assert_eq!(image(&png).unwrap(), base64);
        assert_eq!(image(&Media::url("data:image/png;base64,AQID")).unwrap(), base64);
        assert_eq!(
            image(&Media::url("https://x/y.png")).unwrap(),
            json!({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}})
        );
        let notes = Media { name: Some("notes".into()), ..Media::bytes("plain") };
        assert_eq!(
            document(&notes).unwrap(),
            json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}, "title": "notes"})
        );
        assert_eq!(
            document(&Media::bytes("%PDF-1.7")).unwrap()["source"]["media_type"],
            json!("application/pdf")
        );
    }

    #[test]
    fn what_cannot_be_sent_is_named() {
        let check = |result: Result<Value, Error>, kind: ErrorKind, names: &str| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.message().contains(names), "{error}");
        };
        let bmp = Media { media_type: Some("image/bmp".into()), ..Media::bytes(vec![1]) };
        check(image(&bmp), ErrorKind::InvalidRequest, "image/bmp");
        check(document(&Media::bytes(vec![0xff])), ErrorKind::InvalidRequest, "octet-stream");
        check(image(&Media::path("a/b.png")), ErrorKind::Configuration, "a/b.png");
        check(Err(no_audio()), ErrorKind::InvalidRequest, "audio");
    }
}
