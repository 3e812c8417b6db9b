//! The heads of requests and answers.

use std::mem::MaybeUninit;

use axum::body::Body;
use bytes::BytesMut;
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, Version, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::translate::now;

/// How many bytes of a request, and how many lines of its head, are usual.
const LARGEST: usize = 64 * 1024;
const MOST_LINES: usize = 64;

/// What there is of a request.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made, and kept nowhere")]
pub(super) enum Seen {
    /// Its beginning, perhaps.
    Part,
    /// All of it, which was taken.
    Whole(Request<Body>),
    /// Something else than is usual; nothing was taken.
    Unusual,
}

/// Takes a request from what has come, if it is whole and usual.
pub(super) fn take(come: &mut BytesMut) -> Seen {
    if come.is_empty() {
        return Seen::Part;
    }
    let mut lines = [const { MaybeUninit::uninit() }; MOST_LINES];
    let mut parsed = httparse::Request::new(&mut []);
    let length = match parsed.parse_with_uninit_headers(come, &mut lines) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if come.len() < LARGEST && may_be_usual(come) => return Seen::Part,
        // Who sends nonsense is told so by whoever knows how.
        Ok(httparse::Status::Partial) | Err(_) => return Seen::Unusual,
    };
    if parsed.method != Some("POST") || parsed.version != Some(1) {
        return Seen::Unusual;
    }
    let Some(body) = usual_length(parsed.headers) else { return Seen::Unusual };
    let whole = length.saturating_add(body);
    if whole > LARGEST {
        return Seen::Unusual;
    }
    if come.len() < whole {
        return Seen::Part;
    }
    // Where its parts are: the bytes are shared from here on.
    let start = come.as_ptr().addr();
    let at = |part: &[u8]| {
        let from = part.as_ptr().addr() - start;
        from..from + part.len()
    };
    let path = at(parsed.path.unwrap_or_default().as_bytes());
    let lines: Vec<_> = parsed
        .headers
        .iter()
        .map(|line| (HeaderName::from_bytes(line.name.as_bytes()), at(line.value)))
        .collect();
    let all = std::mem::take(come).freeze();
    let request = || {
        let mut headers = HeaderMap::with_capacity(lines.len());
        for (name, value) in lines {
            headers.append(name.ok()?, HeaderValue::from_maybe_shared(all.slice(value)).ok()?);
        }
        let mut request = Request::new(Body::from(all.slice(length..whole)));
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = Uri::from_maybe_shared(all.slice(path)).ok()?;
        *request.headers_mut() = headers;
        Some(request)
    };
    if let Some(request) = request() {
        // The beginning of the next one: most clients wait for their answer first.
        come.extend_from_slice(&all[whole..]);
        Seen::Whole(request)
    } else {
        *come = BytesMut::from(all);
        Seen::Unusual
    }
}

/// Whether this begins as a usual request does.
fn may_be_usual(come: &[u8]) -> bool {
    const POST: &[u8] = b"POST ";
    come.iter().zip(POST).all(|(come, post)| come == post)
}

/// How long the body is, if nothing else is said of it or of the connection than is usual.
fn usual_length(lines: &[httparse::Header<'_>]) -> Option<usize> {
    let mut length = None;
    for line in lines {
        let is = |name: &str| line.name.eq_ignore_ascii_case(name);
        match line.name.len() {
            6 if is("expect") => return None,
            7 if is("upgrade") => return None,
            10 if is("connection") && !line.value.eq_ignore_ascii_case(b"keep-alive") => return None,
            14 if is("content-length") => {
                if length.is_some() || !line.value.iter().all(u8::is_ascii_digit) {
                    return None;
                }
                length = Some(std::str::from_utf8(line.value).ok()?.parse().ok()?);
            }
            17 if is("transfer-encoding") => return None,
            _ => {}
        }
    }
    length
}

/// How a client knows where the body of its answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes.
    Counted(u64),
    /// It comes in chunks, each with its length.
    Chunked,
}

/// The head of an answer whose body has this length, where that is known.
pub(super) fn write(
    head: &Parts,
    length: Option<u64>,
    is_last: bool,
    clock: &mut Clock,
) -> (Vec<u8>, Framing) {
    let mut text = Vec::with_capacity(1024);
    let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| text.extend_from_slice(part));
    let reason = head.status.canonical_reason().unwrap_or("<none>");
    put(&[b"HTTP/1.1 ", head.status.as_str().as_bytes(), b" ", reason.as_bytes(), b"\r\n"]);
    let mut said = None;
    for (name, value) in &head.headers {
        if *name == header::CONTENT_LENGTH {
            said = value.to_str().ok().and_then(|said| said.parse().ok()).or(said);
        } else if *name != header::TRANSFER_ENCODING && *name != header::CONNECTION {
            put(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        }
    }
    let has_none = matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let framing = match said.or(length) {
        _ if has_none => Framing::Counted(0),
        Some(length) => {
            put(&[b"content-length: ", length.to_string().as_bytes(), b"\r\n"]);
            Framing::Counted(length)
        }
        None => {
            put(&[b"transfer-encoding: chunked\r\n"]);
            Framing::Chunked
        }
    };
    if !head.headers.contains_key(header::DATE) {
        put(&[b"date: ", clock.now().as_bytes(), b"\r\n"]);
    }
    if is_last {
        put(&[b"connection: close\r\n"]);
    }
    put(&[b"\r\n"]);
    (text, framing)
}

/// Tells the time as HTTP says it, and writes it anew when it is another.
#[derive(Default)]
pub(super) struct Clock {
    second: u64,
    text: String,
}

impl Clock {
    fn now(&mut self) -> &str {
        let second = now();
        if self.second != second {
            let at = i64::try_from(second).ok().and_then(|second| Timestamp::from_second(second).ok());
            let printer = DateTimePrinter::new();
            self.text = printer.timestamp_to_rfc9110_string(&at.unwrap_or_default()).unwrap_or_default();
            self.second = second;
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use proptest::prelude::*;

    const WHOLE: &str = "POST /v1/messages?beta=true HTTP/1.1\r\nHost: h\r\nx-a: 1\r\nX-A:  two \r\ncontent-length: 3\r\n\r\nabc";

    #[tokio::test]
    async fn a_request_is_taken_when_it_is_whole() {
        for cut in 0..WHOLE.len() {
            let mut come = BytesMut::from(&WHOLE[..cut]);
            assert!(matches!(take(&mut come), Seen::Part), "{cut}");
            assert_eq!(come, &WHOLE[..cut], "nothing was taken");
        }
        let mut come = BytesMut::from(format!("{WHOLE}POST /next").as_str());
        let Seen::Whole(request) = take(&mut come) else { panic!("it is usual") };
        assert_eq!(come, "POST /next");
        let (head, body) = request.into_parts();
        assert_eq!((head.method, head.version), (Method::POST, Version::HTTP_11));
        assert_eq!(head.uri, "/v1/messages?beta=true");
        let values: Vec<_> = head.headers.get_all("x-a").iter().collect();
        assert_eq!(values, ["1", "two"]);
        assert_eq!(head.headers["host"], "h");
        assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
    }

    #[track_caller]
    fn check_unusual(said: &str) {
        let mut come = BytesMut::from(said);
        assert!(matches!(take(&mut come), Seen::Unusual), "{said:?}");
        assert_eq!(come, said, "nothing was taken");
    }

    #[test]
    fn whatever_else_there_is_in_http_is_left_as_it_came() {
        let with = |lines: &str| format!("POST / HTTP/1.1\r\n{lines}\r\nabc");
        check_unusual("GET /healthz HTTP/1.1\r\n\r\n");
        check_unusual("PRI");
        check_unusual("POST / HTTP/1.0\r\ncontent-length: 0\r\n\r\n");
        check_unusual("POST http:// HTTP/1.1\r\ncontent-length: 0\r\n\r\n");
        check_unusual(&with(""));
        for length in ["", "+3", "-3", "3, 3", "0x3", "99999999999999999999", "65536"] {
            check_unusual(&with(&format!("content-length: {length}\r\n")));
        }
        for also in [
            "content-length: 3",
            "Transfer-Encoding: chunked",
            "expect: 100-continue",
            "Upgrade: h2c",
            "connection: close",
            "connection: keep-alive, te",
            "no colon",
            "a b: c",
        ] {
            check_unusual(&with(&format!("content-length: 3\r\n{also}\r\n")));
        }
        check_unusual(&with(&format!("{}content-length: 3\r\n", "a: b\r\n".repeat(MOST_LINES))));
        check_unusual(&format!("POST / HTTP/1.1\r\na: {}", "b".repeat(LARGEST)));
    }

    #[test]
    fn an_answer_says_where_it_ends_once() {
        let check = |status: u16, headers: &[(&str, &str)], length, is_last, expected: &str, framing| {
            let answer = http::Response::builder().status(status).header("date", "D");
            let answer = headers.iter().fold(answer, |answer, (name, value)| answer.header(*name, *value));
            let head = answer.body(()).unwrap().into_parts().0;
            let (text, found) = write(&head, length, is_last, &mut Clock::default());
            assert_eq!((String::from_utf8(text).unwrap().as_str(), found), (expected, framing));
        };
        check(
            200,
            &[("content-length", "7"), ("a", "b"), ("connection", "x"), ("transfer-encoding", "gzip")],
            Some(9),
            false,
            "HTTP/1.1 200 OK\r\ndate: D\r\na: b\r\ncontent-length: 7\r\n\r\n",
            Framing::Counted(7),
        );
        check(
            529,
            &[],
            Some(9),
            true,
            "HTTP/1.1 529 <none>\r\ndate: D\r\ncontent-length: 9\r\nconnection: close\r\n\r\n",
            Framing::Counted(9),
        );
        check(
            200,
            &[],
            None,
            false,
            "HTTP/1.1 200 OK\r\ndate: D\r\ntransfer-encoding: chunked\r\n\r\n",
            Framing::Chunked,
        );
        check(204, &[], None, false, "HTTP/1.1 204 No Content\r\ndate: D\r\n\r\n", Framing::Counted(0));
    }

    #[test]
    fn the_time_is_said_as_http_says_it() {
        let mut clock = Clock::default();
        let said = clock.now().to_owned();
        assert!(said.len() == 29 && said.ends_with(" GMT"), "{said}");
        clock.second = 0;
        assert_ne!(clock.text, "");
        assert!(clock.now().ends_with(" GMT"));
    }

    proptest! {
        #[test]
        fn what_is_not_taken_is_not_changed(
            before in r"(POST / HTTP/1\.1\r\n)?",
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n'), Just(b':')], 0..60),
        ) {
            let said = [before.as_bytes(), &bytes].concat();
            let mut come = BytesMut::from(&said[..]);
            if !matches!(take(&mut come), Seen::Whole(_)) {
                prop_assert_eq!(&come[..], &said[..]);
            }
        }
    }
}
