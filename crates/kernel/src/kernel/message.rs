//! Messages of the Jupyter protocol: what is said to a kernel, and what it says.

use std::io;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::hex;

/// Stands between addresses and message.
const DELIMITER: &[u8] = b"<IDS|MSG>";
const VERSION: &str = "5.3";

/// The key with which both sides sign.
#[derive(Clone)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn new() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    /// For the other side.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// HMAC with SHA-256, in hexadecimal digits.
    fn sign(&self, parts: &[&[u8]]) -> String {
        let padded = |pad: u8| -> Vec<u8> {
            // Shorter than a block, as ours are.
            let key = self.0.bytes().chain(std::iter::repeat(0)).take(64);
            key.map(|byte| byte ^ pad).collect()
        };
        let mut inner = Sha256::new_with_prefix(padded(0x36));
        for part in parts {
            inner.update(part);
        }
        let mut outer = Sha256::new_with_prefix(padded(0x5c));
        outer.update(inner.finalize());
        hex::digits(&outer.finalize())
    }
}

/// Something to be said to a kernel.
pub(super) struct Request {
    pub(super) id: String,
    parts: Vec<Vec<u8>>,
}

impl Request {
    pub(super) fn new(key: &Key, session: &str, kind: &str, content: &Value) -> Self {
        let id = Uuid::new_v4().simple().to_string();
        let header = json!({
            "msg_id": id, "msg_type": kind, "session": session, "username": "junto", "version": VERSION,
        });
        let none = Value::Object(Map::new());
        let said = [&header, &none, &none, content].map(|value| value.to_string().into_bytes());
        let signature = key.sign(&said.each_ref().map(Vec::as_slice)).into_bytes();
        let parts = [DELIMITER.to_vec(), signature].into_iter().chain(said).collect();
        Self { id, parts }
    }

    pub(super) fn parts(&self) -> Vec<&[u8]> {
        self.parts.iter().map(Vec::as_slice).collect()
    }
}

/// Something a kernel has said.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: String,
    /// The request because of which it was said; empty if there is none.
    pub(super) parent: String,
    pub(super) content: Value,
    /// Why the content cannot be read, if it cannot; then there is none.
    pub(super) unread: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    msg_id: String,
    #[serde(default)]
    msg_type: String,
}

impl Message {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none, or somebody else has signed it.
    pub(super) fn read(key: &Key, parts: &[Vec<u8>]) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let start = parts.iter().position(|part| part == DELIMITER);
        let said = start.and_then(|start| parts.get(start + 1..)).unwrap_or_default();
        let [signature, header, parent, metadata, content, ..] = said else {
            return Err(invalid("it sent something that is no message"));
        };
        if key.sign(&[header, parent, metadata, content]).as_bytes() != signature {
            return Err(invalid("it sent a message that somebody else has signed"));
        }
        let broken = |_| invalid("it sent a message that is no JSON");
        let header: Header = serde_json::from_slice(header).map_err(broken)?;
        let parent: Header = serde_json::from_slice(parent).map_err(broken)?;
        // Of something odd that code has said its kernel does not die.
        let lossy = |_| serde_json::from_str(&String::from_utf8_lossy(content));
        let content: Result<Value, _> = serde_json::from_slice(content).or_else(lossy);
        let unread = content.as_ref().err().map(ToString::to_string);
        Ok(Self {
            kind: header.msg_type,
            parent: parent.msg_id,
            content: content.unwrap_or_default(),
            unread,
        })
    }

    /// A text of the content.
    pub(super) fn text(&self, name: &str) -> &str {
        self.content.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_can_be_read_by_whoever_has_the_key() {
        let key = Key("key".to_owned());
        let request = Request::new(&key, "s", "execute_request", &json!({"code": "1"}));
        let mut parts = vec![b"address".to_vec()];
        parts.extend(request.parts().iter().map(|part| part.to_vec()));
        let message = Message::read(&key, &parts).unwrap();
        assert_eq!((message.kind.as_str(), message.text("code")), ("execute_request", "1"));
        assert!(Message::read(&Key::new(), &parts).is_err());
        parts[6].push(b' ');
        assert!(Message::read(&key, &parts).is_err());
        assert!(Message::read(&key, &parts[..3]).is_err());
    }

    #[test]
    fn a_content_that_cannot_be_read_is_no_broken_message() {
        let read = |content: &[u8]| {
            let key = Key("key".to_owned());
            let header = br#"{"msg_type":"stream"}"#.as_slice();
            let signature = key.sign(&[header, b"{}", b"{}", content]).into_bytes();
            let parts = [DELIMITER, &signature, header, b"{}", b"{}", content].map(<[u8]>::to_vec);
            Message::read(&key, &parts).unwrap()
        };
        let message = read(b"{\"text\":\"a\xff\"}");
        assert_eq!((message.text("text"), message.unread.as_deref()), ("a\u{fffd}", None));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let message = read(deep.as_bytes());
        assert_eq!((message.kind.as_str(), message.content), ("stream", Value::Null));
        assert!(message.unread.unwrap().contains("recursion"));
    }

    /// From RFC 4231, the second test.
    #[test]
    fn signatures_are_those_of_others() {
        let signature = Key("Jefe".to_owned()).sign(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(signature, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
