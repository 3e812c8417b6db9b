//! What an answer holds, as text.

use encoding_rs::{Encoding, UTF_8};
use reqwest::Url;

use super::html;

/// Where a page may say how it is encoded.
const PROLOGUE: usize = 1024;

/// What kind of thing an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
}

/// The text of an answer, and its title if it has one. `limit` is in bytes.
///
/// # Errors
/// If the content is not text; names what it is.
pub(super) fn text(
    body: &[u8],
    content_type: Option<&str>,
    url: &Url,
    limit: usize,
) -> Result<html::Page, String> {
    let kind = kind(content_type, body)
        .map_err(|found| format!("it is {found}, not text; only text can be read"))?;
    let text = decoded(body, content_type, kind);
    if text.contains('\0') {
        return Err("it is binary, though it is called text".to_owned());
    }
    Ok(match kind {
        Kind::Html => html::read(&text, url, limit),
        Kind::Text => html::Page { title: None, text: text.into_owned() },
    })
}

/// The media type without its parameters, in lower case.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn kind(content_type: Option<&str>, body: &[u8]) -> Result<Kind, String> {
    let Some(media) = content_type.map(media_type).filter(|media| !media.is_empty()) else {
        let start = String::from_utf8_lossy(body.get(..body.len().min(PROLOGUE)).unwrap_or_default());
        let start = start.trim_start().to_ascii_lowercase();
        let html = start.starts_with("<!doctype html") || start.starts_with("<html");
        return Ok(if html { Kind::Html } else { Kind::Text });
    };
    match media.as_str() {
        "text/html" | "application/xhtml+xml" => Ok(Kind::Html),
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/ecmascript"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/sql"
        | "application/x-sh"
        | "message/rfc822"
        | "image/svg+xml" => Ok(Kind::Text),
        text if text.starts_with("text/") || text.ends_with("+json") || text.ends_with("+xml") => {
            Ok(Kind::Text)
        }
        _ => Err(media),
    }
}

/// The body as text: as its byte order mark says, or the server, or the page itself; else as UTF-8.
/// What cannot be decoded becomes replacement characters.
fn decoded<'a>(body: &'a [u8], content_type: Option<&str>, kind: Kind) -> std::borrow::Cow<'a, str> {
    let said =
        content_type.and_then(|value| charset(value)).and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = said.or_else(|| {
        let start = String::from_utf8_lossy(body.get(..body.len().min(PROLOGUE)).unwrap_or_default());
        let label = (kind == Kind::Html).then(|| charset(&start))??;
        // A page that can be read this far is not in UTF-16, whatever it says.
        Encoding::for_label(label.as_bytes()).map(Encoding::output_encoding)
    });
    encoding.unwrap_or(UTF_8).decode(body).0
}

/// The value of the first `charset=` in a header or in the beginning of a page.
fn charset(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (_, value) = lower.split_once("charset=")?;
    let value = value.trim_start_matches(['"', '\'', ' ']);
    let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')));
    Some(value.get(..end.unwrap_or(value.len()))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8], content_type: &str) -> Result<String, String> {
        let content_type = Some(content_type).filter(|value| !value.is_empty());
        text(body, content_type, &Url::parse("http://example.org").unwrap(), 1000).map(|page| page.text)
    }

    fn check(body: &[u8], content_type: &str, expected: &str) {
        assert_eq!(read(body, content_type).as_deref(), Ok(expected), "{content_type}");
    }

    #[test]
    fn kinds() {
        check(b"<p>a</p>", "text/html", "a");
        check(b"<p>a</p>", "Application/XHTML+xml; x=y", "a");
        check(b"<p>a</p>", "text/plain", "<p>a</p>");
        check(b"{}", "application/json", "{}");
        check(b"{}", "application/problem+json; charset=utf-8", "{}");
        check(b"<a/>", "application/atom+xml", "<a/>");
        check(b" <!DOCTYPE HTML><p>a", "", "a");
        check(b"<p>a", "", "<p>a");
        assert!(read(b"x", "image/png").unwrap_err().contains("image/png"));
        assert!(read(b"x", "application/octet-stream").unwrap_err().contains("octet-stream"));
        assert!(read(b"a\0b", "text/plain").unwrap_err().contains("binary"));
    }

    #[test]
    fn encodings() {
        check(b"caf\xe9", "text/plain; charset=ISO-8859-1", "café");
        check(b"caf\xe9", "text/plain;charset=\"windows-1252\"", "café");
        check("café".as_bytes(), "text/plain; charset=utf-8", "café");
        check("café".as_bytes(), "text/plain", "café");
        check("café".as_bytes(), "text/plain; charset=martian", "café");
        check(b"caf\xe9", "text/plain", "caf\u{fffd}");
        check(b"<meta charset='latin1'>caf\xe9", "text/html", "café");
        check(
            b"<meta http-equiv=Content-Type content='text/html; charset=latin1'>caf\xe9",
            "text/html",
            "café",
        );
        check(b"<meta charset=latin1>caf\xc3\xa9", "text/html; charset=utf-8", "café");
        check(b"<meta charset=utf-16>caf\xc3\xa9", "text/html", "café");
        check(b"\xef\xbb\xbfcaf\xc3\xa9", "text/plain; charset=latin1", "café");
        check(b"\xff\xfea\0b\0", "text/plain", "ab");
        check(b"\x82\xa0", "text/plain; charset=shift_jis", "あ");
    }
}
