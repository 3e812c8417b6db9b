//! With real sockets, and another side that says what it is told.

use super::*;
use crate::Wire;
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A hang guard.
const LONG: Duration = Duration::from_mins(1);

/// Another side, and who calls it.
async fn stage() -> (TcpListener, Plain) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let endpoint = Endpoint::new("p", Wire::Anthropic, &url);
    let plain = Plain::for_endpoint(&endpoint, &reqwest::Url::parse(&url).unwrap()).unwrap();
    (listener, plain)
}

/// Reads a request whose body ends with these bytes.
async fn hear(far: &mut TcpStream, end: &[u8]) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(end) {
        assert_ne!(far.read_buf(&mut heard).await.unwrap(), 0);
    }
    String::from_utf8(heard).unwrap()
}

/// The status of the answer and its body, as far as it comes.
async fn call(plain: &Plain, body: &[u8]) -> Result<(u16, Result<String, io::Error>), Error> {
    let post = plain.post(Uri::from_static("/v1"), HeaderMap::new(), Bytes::copy_from_slice(body));
    let (head, mut answer) = timeout(LONG, post).await.expect("it does not hang")?.into_parts();
    let mut all = Vec::new();
    while let Some(chunk) = timeout(LONG, poll_fn(|cx| answer.poll_chunk(cx))).await.expect("it ends") {
        match chunk {
            Ok(chunk) => all.extend_from_slice(&chunk),
            Err(error) => return Ok((head.status.as_u16(), Err(error))),
        }
    }
    Ok((head.status.as_u16(), Ok(String::from_utf8(all).unwrap())))
}

/// What becomes of a call to which this is said, after which the connection is closed.
async fn told(said: &'static [u8]) -> Result<(u16, Result<String, io::Error>), Error> {
    let (listener, plain) = stage().await;
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        hear(&mut far, b"{}").await;
        far.write_all(said).await.unwrap();
    };
    tokio::join!(other, call(&plain, b"{}")).1
}

#[tokio::test]
async fn answers_of_every_kind() {
    for (said, expected) in [
        (&b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"[..], (200, "hi")),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", (200, "hi")),
        (b"HTTP/1.0 200 OK\r\n\r\nhi", (200, "hi")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\ncontent-length: 2\r\n\r\nhi", (429, "hi")),
        (b"HTTP/1.1 204 No\r\n\r\n", (204, "")),
    ] {
        let (status, body) = told(said).await.unwrap();
        assert_eq!((status, body.unwrap().as_str()), expected);
    }
}

#[tokio::test]
async fn answers_that_break_off_or_are_none() {
    for said in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi"[..],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\nx\r\n",
    ] {
        let (_, body) = told(said).await.unwrap();
        body.unwrap_err();
    }
    for said in [&b""[..], b"HTTP/1.1 200", b"<html></html>", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"]
    {
        let error = told(said).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again_and_what_was_not_sent_goes_to_the_next() {
    let (listener, plain) = stage().await;
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        for _ in 0..2 {
            let heard = hear(&mut far, b"{}").await;
            assert!(
                heard.starts_with("POST /v1 HTTP/1.1\r\n") && heard.contains("content-length: 2\r\n"),
                "{heard}"
            );
            far.write_all(answer).await.unwrap();
        }
        far
    };
    let calls = async {
        for _ in 0..2 {
            assert_eq!(call(&plain, b"{}").await.unwrap().1.unwrap(), "hi");
        }
    };
    let (far, ()) = tokio::join!(other, calls);
    assert_eq!(plain.pool.unused().links.len(), 1);
    // Closed while nobody uses it, and that is known.
    drop(far);
    let known = poll_fn(|cx| {
        let is_free = plain.pool.unused().links[0].0.is_free(cx);
        if is_free { Poll::Pending } else { Poll::Ready(()) }
    });
    timeout(LONG, known).await.expect("it is noticed");
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        hear(&mut far, b"{}").await;
        far.write_all(answer).await.unwrap();
    };
    assert_eq!(tokio::join!(other, call(&plain, b"{}")).1.unwrap().1.unwrap(), "hi");
}

/// However many they are: a task may do only so much in one turn, and is then told that nothing has happened.
#[tokio::test]
async fn of_a_pool_full_of_closed_connections_none_is_used() {
    let (listener, plain) = stage().await;
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let other = async {
        let mut all = Vec::new();
        for _ in 0..MOST_KEPT {
            all.push(listener.accept().await.unwrap().0);
        }
        for far in &mut all {
            hear(far, b"{}").await;
            far.write_all(answer).await.unwrap();
        }
        all
    };
    let calls = join_all((0..MOST_KEPT).map(|_| call(&plain, b"{}")));
    let (all, answers) = tokio::join!(other, calls);
    assert!(answers.into_iter().all(|answer| answer.unwrap().1.is_ok()));
    assert_eq!(plain.pool.unused().links.len(), MOST_KEPT);
    drop(all);
    for n in 0..MOST_KEPT {
        let known = poll_fn(|cx| {
            let is_free = plain.pool.unused().links[n].0.is_free(cx);
            if is_free { Poll::Pending } else { Poll::Ready(()) }
        });
        timeout(LONG, known).await.expect("it is noticed");
    }
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        hear(&mut far, b"{}").await;
        far.write_all(answer).await.unwrap();
    };
    // Fails here and not in the end: nobody would come to the other side then.
    let ask = async { call(&plain, b"{}").await.expect("another connection is made") };
    assert_eq!(tokio::join!(other, ask).1.1.unwrap(), "hi");
}

#[tokio::test]
async fn a_refusal_before_all_is_sent_is_heard_and_ends_the_connection() {
    let (listener, plain) = stage().await;
    let large = vec![b'x'; 32 << 20];
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        far.write_all(b"HTTP/1.1 413 Too large\r\ncontent-length: 2\r\n\r\nno").await.unwrap();
        far
    };
    let (_far, said) = tokio::join!(other, call(&plain, &large));
    let (status, body) = said.unwrap();
    assert_eq!((status, body.unwrap().as_str()), (413, "no"));
    assert!(plain.pool.unused().links.is_empty());
}

/// Who has begun to answer reads on, and says the rest when it has heard all.
#[tokio::test]
async fn an_answer_that_begins_before_all_is_sent_ends_when_it_is() {
    let (listener, plain) = stage().await;
    let mut large = vec![b'x'; 32 << 20];
    large.extend_from_slice(b"end");
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        far.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nh\r\n").await.unwrap();
        let heard = hear(&mut far, b"end").await;
        assert!(heard.len() > large.len() && heard.starts_with("POST /v1 HTTP/1.1\r\n"), "{}", heard.len());
        far.write_all(b"1\r\ni\r\n0\r\n\r\n").await.unwrap();
        far
    };
    let (mut far, said) = tokio::join!(other, call(&plain, &large));
    let (status, body) = said.unwrap();
    assert_eq!((status, body.unwrap().as_str()), (200, "hi"));
    // All was sent, so the connection is as good as any.
    let again = async {
        hear(&mut far, b"{}").await;
        far.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
    };
    assert_eq!(tokio::join!(again, call(&plain, b"{}")).1.unwrap().1.unwrap(), "hi");
}

#[tokio::test]
async fn who_has_answered_before_all_was_sent_is_asked_nothing_more() {
    let (listener, plain) = stage().await;
    let large = vec![b'x'; 32 << 20];
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        far.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
        far
    };
    let (_far, said) = tokio::join!(other, call(&plain, &large));
    assert_eq!(said.unwrap().1.unwrap(), "hi");
    assert!(plain.pool.unused().links.is_empty());
}

#[tokio::test]
async fn a_connection_that_says_more_than_was_asked_is_not_kept() {
    let (listener, plain) = stage().await;
    let other = async {
        let (mut far, _) = listener.accept().await.unwrap();
        hear(&mut far, b"{}").await;
        far.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n").await.unwrap();
        far
    };
    let (_far, said) = tokio::join!(other, call(&plain, b"{}"));
    assert_eq!(said.unwrap().1.unwrap(), "hi");
    assert!(plain.pool.unused().links.is_empty());
}
