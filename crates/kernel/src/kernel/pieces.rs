//! What a kernel publishes, as pieces of output.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::message::Message;
use super::output::Piece;

/// Pictures that are sent in base64.
const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
const SVG: &str = "image/svg+xml";
/// Texts, the best first; the first one only if it says anything.
const TEXTS: &[&str] = &["text/plain", "text/markdown", "text/latex"];

/// The pieces of a message that says something; none of one that does not.
pub(super) fn of(message: &Message) -> Vec<Piece> {
    match message.kind.as_str() {
        "error" => vec![error(message)],
        "stream" | "execute_result" | "display_data" | "update_display_data" if message.unread.is_some() => {
            vec![Piece::Display { text: unread(message) }]
        }
        "stream" => {
            let text = message.text("text").to_owned();
            vec![if message.text("name") == "stderr" { Piece::Stderr(text) } else { Piece::Stdout(text) }]
        }
        "execute_result" => displayed(message, |text| Piece::Result { text }, true),
        "display_data" | "update_display_data" => displayed(message, |text| Piece::Display { text }, false),
        _ => Vec::new(),
    }
}

/// That something was said which cannot be read.
fn unread(message: &Message) -> String {
    let why = message.unread.as_deref().unwrap_or_default();
    format!("[something was said here that cannot be read: {why}]")
}

/// An exception, as it is published and as it is answered.
pub(super) fn error(message: &Message) -> Piece {
    let lines = message.content.get("traceback").and_then(Value::as_array);
    let lines: Vec<&str> = lines.into_iter().flatten().filter_map(Value::as_str).collect();
    if message.unread.is_some() {
        return Piece::Error { name: String::new(), value: String::new(), traceback: unread(message) };
    }
    Piece::Error {
        name: message.text("ename").to_owned(),
        value: message.text("evalue").to_owned(),
        traceback: plain(&lines.join("\n")),
    }
}

/// Something in all its forms. A picture needs no text beside it, unless it is a result.
fn displayed(message: &Message, text: impl Fn(String) -> Piece, is_result: bool) -> Vec<Piece> {
    let Some(data) = message.content.get("data").and_then(Value::as_object) else { return Vec::new() };
    let mut pieces: Vec<Piece> = PICTURES.iter().filter_map(|kind| picture(data, kind, &text)).collect();
    if pieces.is_empty() {
        pieces.extend(
            joined(data, SVG).map(|svg| Piece::Image { media_type: SVG.to_owned(), bytes: svg.into_bytes() }),
        );
    }
    let shown = !pieces.is_empty();
    pieces.extend(joined(data, "text/html").map(Piece::Html));
    pieces.extend(data.get("application/json").cloned().map(Piece::Json));
    if is_result || !shown {
        let mut texts: Vec<String> = TEXTS.iter().filter_map(|kind| joined(data, kind)).collect();
        if texts.len() > 1 && texts.first().is_some_and(|plain| is_bare(plain)) {
            texts.remove(0);
        }
        pieces.extend(texts.into_iter().next().map(text));
    }
    pieces
}

fn picture(data: &Map<String, Value>, kind: &str, text: impl Fn(String) -> Piece) -> Option<Piece> {
    let encoded: String = joined(data, kind)?.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Some(match STANDARD.decode(encoded) {
        Ok(bytes) => Piece::Image { media_type: kind.to_owned(), bytes },
        Err(error) => text(format!("[an image that cannot be read: {kind}, which is no base64: {error}]")),
    })
}

/// A text, which may be given as lines.
fn joined(data: &Map<String, Value>, kind: &str) -> Option<String> {
    match data.get(kind)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Whether a text is what Python says of an object that has no words for itself: `<package.Class object at 0x7f…>`.
pub(crate) fn is_bare(text: &str) -> bool {
    let inside = text.trim().strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    inside.is_some_and(|text| {
        let (class, rest) = text.split_once(' ').unwrap_or((text, ""));
        let is_class = !class.is_empty() && class.chars().all(|c| c.is_alphanumeric() || "._".contains(c));
        let address = rest.strip_prefix("object").unwrap_or(rest).trim_start();
        is_class && !rest.is_empty() && (address.is_empty() || is_address(address))
    })
}

/// Whether this is `at 0x7f…`.
fn is_address(text: &str) -> bool {
    let digits = text.strip_prefix("at 0x");
    digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()))
}

/// A text without the sequences that colour it.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let end = after.find(|c: char| ('@'..='~').contains(&c));
        rest = end.and_then(|end| after.get(end + 1..)).unwrap_or_default();
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(kind: &str, content: Value) -> Vec<Piece> {
        of(&Message { kind: kind.to_owned(), parent: String::new(), content, unread: None })
    }

    #[test]
    fn every_kind_of_output() {
        let text = |text: &str| text.to_owned();
        let png = || Piece::Image { media_type: text("image/png"), bytes: vec![1, 2, 3] };
        let cases = [
            ("stream", json!({"name": "stdout", "text": "a"}), vec![Piece::Stdout(text("a"))]),
            ("stream", json!({"name": "stderr", "text": "a"}), vec![Piece::Stderr(text("a"))]),
            ("status", json!({"execution_state": "busy"}), vec![]),
            (
                "execute_result",
                json!({"data": {"text/plain": "1", "text/html": "<b>1</b>"}}),
                vec![Piece::Html(text("<b>1</b>")), Piece::Result { text: text("1") }],
            ),
            ("display_data", json!({"data": {"text/plain": "<Figure>", "image/png": "AQ\nID"}}), vec![png()]),
            (
                "display_data",
                json!({"data": {"image/svg+xml": ["<svg", "/>"]}}),
                vec![Piece::Image { media_type: text("image/svg+xml"), bytes: b"<svg/>".to_vec() }],
            ),
            (
                "display_data",
                json!({"data": {"application/json": [1], "text/plain": "<JSON>"}}),
                vec![Piece::Json(json!([1])), Piece::Display { text: text("<JSON>") }],
            ),
            (
                "display_data",
                json!({"data": {"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": "**b**"}}),
                vec![Piece::Display { text: text("**b**") }],
            ),
            (
                "display_data",
                json!({"data": {"text/plain": "told", "text/markdown": "**b**"}}),
                vec![Piece::Display { text: text("told") }],
            ),
            (
                "error",
                json!({"ename": "E", "evalue": "v", "traceback": ["\u{1b}[31mE\u{1b}[0m", "\u{1b}[0;31mv"]}),
                vec![Piece::Error { name: text("E"), value: text("v"), traceback: text("E\nv") }],
            ),
            ("error", json!({}), vec![Piece::Error { name: text(""), value: text(""), traceback: text("") }]),
        ];
        for (kind, content, expected) in cases {
            assert_eq!(said(kind, content.clone()), expected, "{kind} {content}");
        }
        let broken = said("display_data", json!({"data": {"image/png": "not base64!"}}));
        assert!(
            matches!(broken.as_slice(), [Piece::Display { text }] if text.contains("no base64")),
            "{broken:?}"
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_in_its_place() {
        let said = |kind: &str| {
            let unread = Some("recursion limit exceeded".to_owned());
            of(&Message { kind: kind.to_owned(), parent: String::new(), content: Value::Null, unread })
        };
        let told = |text: &str| text.contains("cannot be read: recursion limit");
        for kind in ["stream", "execute_result", "display_data"] {
            let pieces = said(kind);
            assert!(matches!(pieces.as_slice(), [Piece::Display { text }] if told(text)), "{pieces:?}");
        }
        let pieces = said("error");
        assert!(
            matches!(pieces.as_slice(), [Piece::Error { traceback, .. }] if told(traceback)),
            "{pieces:?}"
        );
        assert_eq!(said("status"), []);
    }
}
