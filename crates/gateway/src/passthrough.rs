//! The way of a call whose bytes go through as they are, both ways.

use std::convert::identity;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::poll;
use http::request::Parts;
use http::{Uri, Version};
use hyper::body::Frame;
use junto_llm::{ByteStream, Error, ErrorKind, Wire};
use tokio::task::{JoinError, JoinHandle};

use crate::aside::{Aside, When};
use crate::call::{Call, Held};
use crate::gateway::Gateway;
use crate::glance::Glance;
use crate::guard::Link;
use crate::headers;
use crate::note::{Note, Noted};
use crate::pace::{Beside, Pace};
use crate::reply::Failure;
use crate::route::{ClientKeyUse, Target};
use crate::sealed;
use crate::tee::Tee;

/// Whether a call can go through as it is: its provider speaks the client's wire and knows the
/// model by the client's name for it, and there is nothing of ours in it to be taken out.
pub(crate) fn is_possible(wire: Wire, target: &Target, asked: &str, body: &[u8]) -> bool {
    target.provider.passthrough(wire).is_some()
        && target.model.as_deref().is_none_or(|model| model == asked)
        && !sealed::may_be_in(wire, body)
}

/// How large a request may be that is kept until its answer begins, when note is taken of it: then the client has to wait
/// for nothing but its provider. Of a larger one note is taken as soon as it is on its way.
const MOST_KEPT: usize = 64 * 1024;

/// A call that goes through before anything but its model was read of it.
pub(crate) struct Straight<'a> {
    /// In whose books note is to be taken of it.
    pub(crate) gateway: &'a Gateway,
    /// Whether it was looked through already, and is what it should be.
    pub(crate) is_read: bool,
}

/// Sends the body on and gives the answer as it comes: its status, its headers but for those that concern one connection,
/// and its bytes. If the provider breaks off, so does the answer: nothing is added to it.
///
/// What was not read of a straight call is read while its provider has it: if it is not what it should be, the provider is
/// left, and the client is told. If that takes long it is done beside, so that it keeps neither the request from going out
/// nor its client from leaving.
pub(crate) async fn answer(
    call: Call,
    head: Parts,
    body: Bytes,
    straight: Option<Straight<'_>>,
) -> Result<Response, Failure> {
    let Some(passthrough) = call.target.provider.passthrough(call.wire) else {
        return Err(Failure::new(ErrorKind::Configuration, "the provider takes no bytes any more"));
    };
    let path = path(call.wire, &head.uri, call.target.client_key);
    let headers = headers::to_provider(&head.headers, call.target.client_key);
    let when = when(&head);
    let mut sending = passthrough.send(&path, headers, body.clone(), &call.cx);
    let first = poll!(&mut sending);
    let (mut note, mut beside) = (None, None);
    if let Some(Straight { gateway, is_read }) = straight {
        let Parts { headers, extensions, .. } = head;
        let pace = Pace::of(gateway, &extensions, body.len());
        let is_kept = body.len() <= MOST_KEPT;
        let (gateway, meter) = (gateway.clone(), call.meter.clone());
        let (provider, asked) = (call.target.name.clone(), call.asked.clone());
        let request = Noted { wire: call.wire, headers, bytes: body, provider, asked };
        let check = move || {
            if !is_read && Glance::at(&request.bytes)?.model()? != request.asked {
                return Err(Failure::new(
                    ErrorKind::InvalidRequest,
                    "model: is there twice, and not the same",
                ));
            }
            Ok(Note::new(gateway, meter, request))
        };
        if is_kept {
            note = Some(check()?);
        } else {
            match pace.beside(move || check().map(|note| drop(note.take()))) {
                Beside::Done(checked) => checked?,
                Beside::Under(work) => beside = Some(work),
            }
        }
    }
    let answer = match (first, beside) {
        (Poll::Ready(answer), None) => answer?,
        (Poll::Pending, None) => sending.await?,
        // Boxed, since most have no room for it to spare.
        (first, Some(check)) => Box::pin(checked(sending, first, check)).await?,
    };
    let (answer, bytes) = answer.into_parts();
    let tee = Tee::new(&answer, call.origin(), call.meter.clone());
    let aside = Aside::new(tee, note, &when);
    let relay = Relay { aside, bytes, failed: None, is_over: false, _held: call.held };
    let mut response = Response::new(Body::new(relay));
    *response.status_mut() = answer.status;
    *response.headers_mut() = headers::to_client(&answer.headers);
    Ok(response)
}

/// What a provider answers to a request that is looked through meanwhile. If that is not what it should be, the provider is
/// left at once; and nothing goes to the client before that is known.
async fn checked<T>(
    mut sending: impl Future<Output = Result<T, Error>> + Unpin,
    first: Poll<Result<T, Error>>,
    check: JoinHandle<Result<Result<(), Failure>, JoinError>>,
) -> Result<T, Failure> {
    let mut check = pin!(async {
        let broke = || Failure::new(ErrorKind::Server, "the gateway broke off reading the request");
        check.await.and_then(identity).unwrap_or_else(|_| Err(broke()))
    });
    let answer = match first {
        Poll::Ready(answer) => answer,
        Poll::Pending => tokio::select! {
            biased;
            checked = &mut check => {
                checked?;
                return Ok(sending.await?);
            }
            answer = &mut sending => answer,
        },
    };
    check.await?;
    Ok(answer?)
}

/// The surface's path below the provider's base URL, with the client's query.
fn path(wire: Wire, uri: &Uri, key: ClientKeyUse) -> String {
    // OpenAI's base URLs hold the version, the others' do not. Gemini's path names the model.
    let path = match wire {
        Wire::Anthropic => "/v1/messages",
        Wire::Responses => "/responses",
        Wire::Chat => "/chat/completions",
        Wire::Gemini => uri.path(),
    };
    with_query(path, uri, key)
}

/// A path with the client's query; but a key in it stays here, unless it is for the provider.
pub(crate) fn with_query(path: &str, uri: &Uri, key: ClientKeyUse) -> String {
    let goes = |pair: &&str| !pair.is_empty() && (key == ClientKeyUse::Forward || !pair.starts_with("key="));
    let query: Vec<&str> = uri.query().unwrap_or_default().split('&').filter(goes).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// When the copy of an answer to this request is read. Our own server comes back to it once the bytes are written, where
/// a connection has one request at a time; what other servers do is not known.
fn when(request: &Parts) -> When {
    match request.extensions.get::<Link>() {
        Some(link) if request.version <= Version::HTTP_11 => When::Later(Arc::clone(&link.desk)),
        _ => When::Now,
    }
}

/// An answer on its way through. Dropping it ends the call.
struct Relay {
    /// Before the rest, so that a call that is cut off is still booked as what it was.
    aside: Aside,
    bytes: ByteStream,
    /// What is told after everything that came before it is written.
    failed: Option<Error>,
    is_over: bool,
    _held: Held,
}

impl hyper::body::Body for Relay {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        match ready!(self.bytes.as_mut().poll_next(cx)) {
            Some(Ok(chunk)) => {
                self.aside.chunk(chunk.clone());
                Poll::Ready(Some(Ok(Frame::data(chunk))))
            }
            None => {
                self.is_over = true;
                self.aside.over();
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.is_over = true;
                self.aside.broke(error.clone());
                // The error ends the connection, and with it what is not written yet.
                self.failed = Some(error);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_go_along_but_keys_do_not() {
        let check = |wire, uri: &'static str, expected: &str| {
            assert_eq!(path(wire, &Uri::from_static(uri), ClientKeyUse::Keep), expected);
        };
        check(Wire::Anthropic, "/v1/messages", "/v1/messages");
        check(Wire::Anthropic, "/v1/messages?beta=true", "/v1/messages?beta=true");
        check(Wire::Responses, "/v1/responses?key=secret&a=1&&b", "/responses?a=1&b");
        check(Wire::Responses, "/v1/responses?key=secret", "/responses");
        check(Wire::Chat, "/v1/chat/completions", "/chat/completions");
        let (uri, kept) = ("/v1/models/m:streamGenerateContent?alt=sse&key=secret", "alt=sse");
        check(Wire::Gemini, uri, &format!("/v1/models/m:streamGenerateContent?{kept}"));
        assert_eq!(path(Wire::Gemini, &Uri::from_static(uri), ClientKeyUse::Forward), uri);
    }
}
