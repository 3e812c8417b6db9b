//! Reads the media that messages name by local path. The only place of this crate that opens files.

use std::path::Path;

use bytes::Bytes;

use crate::{Content, Error, Media, MediaSource, Part, Request};

/// The largest file that is sent inline; every provider refuses more.
const MAX_FILE: u64 = 50 * 1024 * 1024;

/// Whether the request names a local path. A conversation that names none stays shared.
pub(crate) fn is_to_be_loaded(request: &Request) -> bool {
    request.messages.iter().flat_map(|message| &message.content).any(names_a_path)
}

/// Replaces every local path of the request by the file's bytes.
///
/// # Errors
/// `configuration`, naming the file, if it cannot be read or is too large.
pub(crate) async fn load(request: &mut Request) -> Result<(), Error> {
    for message in request.messages.iter_mut() {
        for part in &mut message.content {
            if let Some(loaded) = load_part(part).await? {
                *part = loaded;
            }
        }
    }
    Ok(())
}

async fn load_part(part: &Part) -> Result<Option<Part>, Error> {
    let content = match part.content() {
        Content::Image(media) => read_image(media).await?.map(Content::Image),
        Content::Audio(media) => read(media).await?.map(Content::Audio),
        Content::Document(media) => read(media).await?.map(Content::Document),
        Content::ToolResult(result) if result.images.iter().any(is_path) => {
            let mut result = result.clone();
            for image in &mut result.images {
                if let Some(loaded) = read(image).await? {
                    *image = loaded;
                }
            }
            Some(Content::ToolResult(result))
        }
        _ => None,
    };
    Ok(content.map(Part::new))
}

fn names_a_path(part: &Part) -> bool {
    match part.content() {
        Content::Image(media) | Content::Audio(media) | Content::Document(media) => is_path(media),
        Content::ToolResult(result) => result.images.iter().any(is_path),
        _ => false,
    }
}

fn is_path(media: &Media) -> bool {
    matches!(media.source, MediaSource::Path(_))
}

/// A picture. Not every provider says what else it was given, and some file may have been meant for nobody.
async fn read_image(media: &Media) -> Result<Option<Media>, Error> {
    let loaded = read(media).await?;
    match (&loaded, &media.source) {
        (Some(loaded), MediaSource::Path(path)) if !loaded.mime().starts_with("image/") => {
            let message = format!("`{}` is no picture, but {}", path.display(), loaded.mime());
            Err(Error::configuration(message).with_hint("name a PNG, JPEG, GIF or WebP"))
        }
        _ => Ok(loaded),
    }
}

async fn read(media: &Media) -> Result<Option<Media>, Error> {
    let MediaSource::Path(path) = &media.source else { return Ok(None) };
    let data = read_file(path).await?;
    let name = media.name.clone().or_else(|| path.file_name().map(|n| n.to_string_lossy().into_owned()));
    // The first bytes tell the type of pictures and PDFs; for plain text only the file's name does.
    let media_type = media.media_type.clone().unwrap_or_else(|| match infer::get(&data) {
        Some(kind) => kind.mime_type().to_owned(),
        None => media.mime().to_owned(),
    });
    Ok(Some(Media {
        source: MediaSource::Bytes(data),
        media_type: Some(media_type),
        detail: media.detail,
        name,
    }))
}

async fn read_file(path: &Path) -> Result<Bytes, Error> {
    let fault = |what: String| {
        Error::configuration(format!("cannot read `{}`: {what}", path.display()))
            .with_hint("check that the file exists, is readable and is not larger than 50 MiB")
    };
    let meta = tokio::fs::metadata(path).await.map_err(|e| fault(e.to_string()).with_source(e))?;
    if !meta.is_file() {
        return Err(fault("it is not a file".into()));
    }
    if meta.len() > MAX_FILE {
        return Err(fault(format!("it has {} bytes", meta.len())));
    }
    tokio::fs::read(path).await.map(Bytes::from).map_err(|e| fault(e.to_string()).with_source(e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Message, Role};

    #[tokio::test]
    async fn paths_become_bytes_with_their_type() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bin");
        std::fs::write(&path, b"\x89PNG\r\n\x1a\n rest").unwrap();
        let part = Part::image(Media::path(&path));
        let mut request = Request::of([Message::new(Role::User, vec![part])]);
        assert!(is_to_be_loaded(&request));
        load(&mut request).await.unwrap();
        assert!(!is_to_be_loaded(&request));
        let Content::Image(media) = request.messages[0].content[0].content() else { panic!("no image") };
        assert_eq!((media.mime(), media.name.as_deref()), ("image/png", Some("a.bin")));
        assert!(media.base64().is_some());
    }

    #[tokio::test]
    async fn what_is_no_picture_is_not_sent_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwd");
        std::fs::write(&path, "root:x:0:0::/root:/bin/sh\n").unwrap();
        let load_as = async |part: Part| load(&mut Request::of([Message::new(Role::User, vec![part])])).await;
        let error = load_as(Part::image(Media::path(&path))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.message().contains("is no picture"), "{error}");
        // Whoever says that it is one knows better.
        let said = Media { media_type: Some("image/x".into()), ..Media::path(&path) };
        load_as(Part::image(said)).await.unwrap();
    }

    #[tokio::test]
    async fn unreadable_paths_are_named() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().join("missing.png"), dir.path().to_owned()] {
            let mut request = Request::of([Message::new(Role::User, vec![Part::image(Media::path(&path))])]);
            let error = load(&mut request).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.message().contains(&path.display().to_string()), "{error}");
        }
    }
}
