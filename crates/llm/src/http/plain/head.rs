//! The heads of requests and answers.

use std::io;
use std::mem::MaybeUninit;

use bytes::{Buf as _, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};

use super::framing::Framing;
use super::nonsense;

/// How large the head of an answer may be, and of how many lines.
const LARGEST: usize = 256 * 1024;
const MOST_LINES: usize = 128;

/// What a request begins with.
pub(super) fn write(path: &Uri, headers: &HeaderMap, length: usize) -> Vec<u8> {
    let mut head = Vec::with_capacity(1024);
    let path = path.path_and_query().map_or("/", |path| path.as_str());
    let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| head.extend_from_slice(part));
    put(&[b"POST ", path.as_bytes(), b" HTTP/1.1\r\n"]);
    for (name, value) in headers {
        // How the body is sent is said below.
        if *name != header::CONTENT_LENGTH && *name != header::TRANSFER_ENCODING {
            put(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        }
    }
    put(&[b"content-length: ", length.to_string().as_bytes(), b"\r\n\r\n"]);
    head
}

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    /// Whether the connection can be used again.
    pub(super) stays: bool,
}

/// Takes a head from what has come; none if it is not whole. One that only tells that the answer is under way is left out.
///
/// # Errors
/// If that is no head.
pub(super) fn read(come: &mut BytesMut) -> io::Result<Option<Head>> {
    loop {
        let mut fields = [const { MaybeUninit::uninit() }; MOST_LINES];
        let mut parsed = httparse::Response::new(&mut []);
        let strict = httparse::ParserConfig::default();
        let status = strict.parse_response_with_uninit_headers(&mut parsed, come, &mut fields);
        let status = status.map_err(|error| nonsense(&error.to_string()))?;
        let httparse::Status::Complete(length) = status else {
            return if come.len() <= LARGEST { Ok(None) } else { Err(nonsense("its head is too large")) };
        };
        let status = parsed.code.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.ok_or_else(|| nonsense("its status"))?;
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(nonsense("it switches to another protocol"));
        }
        if status.is_informational() {
            come.advance(length);
            continue;
        }
        let is_newer = parsed.version == Some(1);
        let mut headers = HeaderMap::with_capacity(parsed.headers.len());
        for field in parsed.headers.iter() {
            let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| nonsense("a header"))?;
            let value = HeaderValue::from_bytes(field.value).map_err(|_| nonsense("a header"))?;
            headers.append(name, value);
        }
        come.advance(length);
        let framing = Framing::of(status, &headers)?;
        // Whoever says two lengths may mean another than we do, and what follows would be taken for the next answer. The one
        // that does not count is taken off, or whoever gets the answer would end it there.
        let is_clear = !(headers.contains_key(header::TRANSFER_ENCODING)
            && headers.remove(header::CONTENT_LENGTH).is_some());
        let stays = is_clear && framing != Framing::Open && keeps(&headers, is_newer);
        return Ok(Some(Head { status, headers, framing, stays }));
    }
}

/// Whether a connection is kept, by what is said of it.
fn keeps(headers: &HeaderMap, is_newer: bool) -> bool {
    let said = |word: &[u8]| {
        let mut words =
            headers.get_all(header::CONNECTION).iter().flat_map(|said| said.as_bytes().split(|b| *b == b','));
        words.any(|said| said.trim_ascii().eq_ignore_ascii_case(word))
    };
    !said(b"close") && (is_newer || said(b"keep-alive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_where_it_goes_and_how_long_it_is() {
        let headers =
            [("host", "h:1"), ("content-length", "99"), ("transfer-encoding", "chunked"), ("a", "b")];
        let headers =
            headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let head = write(&Uri::from_static("/v1/m?x=1"), &headers.into_iter().collect(), 7);
        let expected = "POST /v1/m?x=1 HTTP/1.1\r\nhost: h:1\r\na: b\r\ncontent-length: 7\r\n\r\n";
        assert_eq!(String::from_utf8(head).unwrap(), expected);
    }

    #[test]
    fn a_head_is_taken_when_it_is_whole() {
        let whole =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\na: 2\r\nContent-Length: 3\r\n\r\nabc";
        let end = whole.len() - 3;
        for cut in 0..=whole.len() {
            let mut come = BytesMut::from(&whole[..cut]);
            let head = read(&mut come).unwrap();
            assert_eq!(head.is_some(), cut >= end, "{cut}");
            if let Some(head) = head {
                let values: Vec<_> = head.headers.get_all("a").iter().collect();
                assert_eq!(
                    (head.status.as_u16(), values.as_slice()),
                    (200, &[&"1", &"2"].map(|v| HeaderValue::from_static(v)).each_ref()[..])
                );
                assert_eq!((head.framing, head.stays), (Framing::Counted(3), true));
                assert_eq!(come, &whole[end..cut]);
            }
        }
    }

    #[test]
    fn a_connection_stays_if_nothing_speaks_against_it() {
        let check = |version: &str, headers: &str, expected: bool| {
            let head = format!("HTTP/{version} 200 OK\r\n{headers}\r\n");
            let head = read(&mut BytesMut::from(head.as_str())).unwrap().unwrap();
            assert_eq!(head.stays, expected, "{version} {headers:?}");
        };
        check("1.1", "content-length: 1\r\n", true);
        check("1.1", "transfer-encoding: chunked\r\n", true);
        check("1.1", "transfer-encoding: chunked\r\ncontent-length: 1\r\n", false);
        check("1.1", "content-length: 1\r\nconnection: x, Close\r\n", false);
        check("1.1", "", false);
        check("1.0", "content-length: 1\r\n", false);
        check("1.0", "content-length: 1\r\nconnection: Keep-Alive\r\n", true);
    }

    #[test]
    fn of_two_lengths_the_one_that_does_not_count_is_taken_off() {
        let check = |headers: &str, expected: Option<&str>| {
            let head = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
            let head = read(&mut BytesMut::from(head.as_str())).unwrap().unwrap();
            let length = head.headers.get(header::CONTENT_LENGTH).map(|length| length.to_str().unwrap());
            assert_eq!(length, expected, "{headers:?}");
        };
        check("content-length: 5\r\n", Some("5"));
        check("content-length: 5\r\ntransfer-encoding: chunked\r\n", None);
        check("transfer-encoding: gzip\r\ncontent-length: 5\r\n", None);
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for nonsense in
            ["<html>", "HTTP/1.1 abc\r\n", "HTTP/1.1 101 Now\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"]
        {
            read(&mut BytesMut::from(nonsense)).expect_err(nonsense);
        }
        let endless = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(LARGEST));
        read(&mut BytesMut::from(endless.as_str())).expect_err("too large");
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MOST_LINES + 1));
        read(&mut BytesMut::from(many.as_str())).expect_err("too many");
    }
}
