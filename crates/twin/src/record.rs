//! Records each request and reply to a folder, without the keys.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value, json};

use junto_llm::Wire;

/// What stands in the place of a key.
const REDACTED: &str = "[redacted]";
/// The headers that carry keys.
const SECRET_HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "cookie"];
/// A shorter secret is not looked for in bodies: it would be found everywhere.
const SHORTEST: usize = 6;

/// The keys that came with one request, so that they go no further.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The keys in these headers and this path's query, and the twin's own.
    pub(crate) fn of(headers: &HeaderMap, path_and_query: &str, own: &str) -> Self {
        let in_headers = headers.iter().filter(|(name, _)| is_secret(name)).filter_map(|(_, value)| {
            let value = value.to_str().ok()?;
            Some(value.strip_prefix("Bearer ").unwrap_or(value))
        });
        let query = path_and_query.split_once('?').map_or("", |(_, query)| query);
        let in_query = query.split('&').filter_map(|pair| pair.strip_prefix("key="));
        let all = in_headers.chain(in_query).chain([own]);
        Self(all.filter(|s| s.len() >= SHORTEST).map(str::to_owned).collect())
    }

    /// A text without the keys.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
    }

    /// A path whose query shows no key, however short.
    pub(crate) fn redact_path(&self, path_and_query: &str) -> String {
        let Some((path, query)) = path_and_query.split_once('?') else {
            return self.redact(path_and_query);
        };
        let pairs = query.split('&').map(|pair| match pair.strip_prefix("key=") {
            Some(_) => format!("key={REDACTED}"),
            None => self.redact(pair),
        });
        format!("{}?{}", self.redact(path), pairs.collect::<Vec<_>>().join("&"))
    }

    /// The headers by name, in the order in which they came; keys are not shown.
    pub(crate) fn redact_headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let shown = headers.iter().map(|(name, value)| {
            let value = if is_secret(name) {
                REDACTED.to_owned()
            } else {
                self.redact(&String::from_utf8_lossy(value.as_bytes()))
            };
            (name.as_str().to_owned(), value)
        });
        shown.collect()
    }

    /// A JSON value without the keys.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) if self.0.iter().any(|secret| text.contains(secret.as_str())) => {
                *text = self.redact(text);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.redact_value(item)),
            _ => {}
        }
    }

    fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(bytes) {
            Ok(text) if self.0.iter().any(|secret| text.contains(secret.as_str())) => {
                self.redact(text).into_bytes()
            }
            _ => bytes.to_vec(),
        }
    }
}

fn is_secret(name: &HeaderName) -> bool {
    SECRET_HEADERS.contains(&name.as_str())
}

/// A folder for recordings. The exchange with number 1 becomes `0001-request.json` (wire, method,
/// path, headers, body), `0001-reply.json` (status, headers) and `0001-reply.txt` (the body as it
/// was sent).
#[derive(Debug)]
pub(crate) struct Recorder {
    folder: PathBuf,
}

/// A request as it is recorded: already without keys.
#[derive(Debug)]
pub(crate) struct Recorded<'a> {
    pub(crate) wire: Wire,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a Value,
}

impl Recorder {
    /// Makes the folder if it is not there.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)
            .map_err(|e| io::Error::new(e.kind(), format!("cannot record to {}: {e}", folder.display())))?;
        Ok(Self { folder: folder.to_owned() })
    }

    pub(crate) fn request(&self, number: u64, request: &Recorded<'_>) -> io::Result<()> {
        let Recorded { wire, method, path, headers, body } = request;
        let headers: Map<String, Value> = headers.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        let value = json!({"wire": wire, "method": method, "path": path, "headers": headers, "body": body});
        self.write_json(number, "request", &value)
    }

    /// Notes the head of a reply; its body goes to the tape.
    pub(crate) fn reply(
        &self,
        number: u64,
        status: u16,
        headers: &HeaderMap,
        secrets: Secrets,
    ) -> io::Result<Tape> {
        let headers = secrets.redact_headers(headers);
        let headers: Map<String, Value> = headers.into_iter().map(|(k, v)| (k, json!(v))).collect();
        self.write_json(number, "reply", &json!({"status": status, "headers": headers}))?;
        let file = File::create(self.folder.join(format!("{number:04}-reply.txt")))?;
        Ok(Tape { file, secrets })
    }

    fn write_json(&self, number: u64, what: &str, value: &Value) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)? + "\n";
        fs::write(self.folder.join(format!("{number:04}-{what}.json")), text)
    }
}

/// Takes down the body of one reply.
#[derive(Debug)]
pub(crate) struct Tape {
    file: File,
    secrets: Secrets,
}

impl Tape {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(&self.secrets.redact_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers() -> HeaderMap {
        let pairs = [
            ("authorization", "Bearer sk-wrong-key"),
            ("x-api-key", "abc"),
            ("user-agent", "agent with sk-wrong-key"),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn keys_do_not_reach_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let recorder = Recorder::new(&dir.path().join("tapes")).unwrap();
        let path = "/v1beta/models/m:generateContent?alt=sse&key=in-the-query";
        let secrets = Secrets::of(&headers(), path, "own-key");
        let mut body = json!({"a": ["say sk-wrong-key", {"b": "own-key"}], "c": "in-the-query", "n": 1});
        secrets.redact_value(&mut body);
        let request = Recorded {
            wire: Wire::Gemini,
            method: "POST",
            path: &secrets.redact_path(path),
            headers: &secrets.redact_headers(&headers()),
            body: &body,
        };
        recorder.request(1, &request).unwrap();
        let mut tape = recorder.reply(1, 401, &headers(), secrets).unwrap();
        tape.write(b"{\"bad\":\"sk-wrong-key\"}").unwrap();
        tape.write(b"rest\xff").unwrap();
        let read = |name: &str| fs::read(dir.path().join("tapes").join(name)).unwrap();
        let reply = read("0001-reply.txt");
        assert_eq!(reply, b"{\"bad\":\"[redacted]\"}rest\xff");
        let all = [read("0001-request.json"), read("0001-reply.json"), reply].concat();
        let all = String::from_utf8_lossy(&all);
        for key in ["sk-wrong-key", "abc", "own-key", "in-the-query"] {
            assert!(!all.contains(key), "{key} in {all}");
        }
        let request: Value = serde_json::from_slice(&read("0001-request.json")).unwrap();
        assert_eq!(request["wire"], "gemini");
        assert_eq!(request["path"], "/v1beta/models/m:generateContent?alt=sse&key=[redacted]");
        assert_eq!(request["body"]["n"], 1);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Recorder::new(&file.path().join("below")).unwrap_err().to_string();
        assert!(error.contains("below"), "{error}");
    }
}
