//! The path of a call: it names the model and the mode.

use crate::wire::Mode;
use crate::{Error, ErrorKind};

/// The path below the base URL. A model that is already a resource name (`models/x`,
/// `tunedModels/x`) stays one.
pub(super) fn write(model: &str, mode: Mode) -> String {
    let (collection, name) = match model.split_once('/') {
        Some((collection @ ("models" | "tunedModels"), name)) => (collection, name),
        _ => ("models", model),
    };
    let method = match mode {
        Mode::Complete => "generateContent",
        Mode::Stream => "streamGenerateContent?alt=sse",
    };
    format!("/v1beta/{collection}/{}:{method}", escape(name))
}

/// The model and the mode that a path names, whatever the API version.
///
/// # Errors
/// `invalid_request` if it names none, or asks for a stream in another form than events.
pub(super) fn read(path: &str) -> Result<(String, Mode), Error> {
    let bad = |what: &str| Error::new(ErrorKind::InvalidRequest, format!("{what}: `{path}`"));
    let (path_only, query) = path.split_once('?').unwrap_or((path, ""));
    let (resource, method) = path_only.rsplit_once(':').ok_or_else(|| bad("the path names no method"))?;
    // Some clients write slashes in a name as they are.
    let named = ["/models/", "/tunedModels/"].iter().find_map(|of| Some((*of, resource.split_once(of)?.1)));
    let (collection, name) = named.ok_or_else(|| bad("the path names no model"))?;
    let name =
        unescape(name).filter(|name| !name.is_empty()).ok_or_else(|| bad("the path names no model"))?;
    let model = if collection == "/models/" { name } else { format!("tunedModels/{name}") };
    match method {
        "generateContent" => Ok((model, Mode::Complete)),
        "streamGenerateContent" if query.split('&').any(|pair| pair == "alt=sse") => {
            Ok((model, Mode::Stream))
        }
        "streamGenerateContent" => Err(bad("a stream is served as events only; add `alt=sse` to the path")),
        _ => Err(bad("the path names an unknown method")),
    }
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(|digit| char::from(HEX[usize::from(digit)])));
        }
    }
    out
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_model_and_mode() {
        let check = |model: &str, path: &str, read_back: &str| {
            let complete = write(model, Mode::Complete);
            assert_eq!(complete, format!("{path}:generateContent"));
            assert_eq!(read(&complete).unwrap(), (read_back.to_owned(), Mode::Complete));
            let stream = write(model, Mode::Stream);
            assert_eq!(stream, format!("{path}:streamGenerateContent?alt=sse"));
            assert_eq!(read(&stream).unwrap(), (read_back.to_owned(), Mode::Stream));
        };
        check("gemini-3-pro", "/v1beta/models/gemini-3-pro", "gemini-3-pro");
        check("models/x", "/v1beta/models/x", "x");
        check("tunedModels/x", "/v1beta/tunedModels/x", "tunedModels/x");
        check("a b:ü/?", "/v1beta/models/a%20b%3A%C3%BC%2F%3F", "a b:ü/?");
    }

    #[test]
    fn other_versions_and_queries_are_read() {
        let check = |path: &str, model: &str, mode: Mode| {
            assert_eq!(read(path).unwrap(), (model.to_owned(), mode));
        };
        check("/v1/models/m:generateContent?key=k", "m", Mode::Complete);
        check("/v1beta/models/a/b:c:generateContent", "a/b:c", Mode::Complete);
        check("/gate/v1alpha/models/m:streamGenerateContent?key=k&alt=sse", "m", Mode::Stream);
    }

    #[test]
    fn other_paths_are_refused() {
        for path in [
            "",
            "/v1beta/models/m",
            "/v1beta/models/m:countTokens",
            "/v1beta/models/:generateContent",
            "/v1beta/files/m:generateContent",
            "/v1beta/models/%zz:generateContent",
            "/v1beta/models/%f:generateContent",
            "/v1beta/models/m:streamGenerateContent",
        ] {
            assert_eq!(read(path).unwrap_err().kind(), ErrorKind::InvalidRequest, "{path}");
        }
    }
}
