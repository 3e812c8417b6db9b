//! What browsers want to hear before they let a page of an allowed origin ask.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::{Link, origin};
use crate::gateway::Gateway;

/// How long a browser may remember what it was told.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
/// Asked for and granted where a page of the internet asks a machine at home.
const NETWORK_ASKED: &str = "access-control-request-private-network";
const NETWORK_GRANTED: &str = "access-control-allow-private-network";

/// Answers the question that a browser asks first, and lets allowed pages read the answers. Pages of other
/// origins get nothing from here; what they ask is refused where every request is checked.
pub(crate) async fn cors<F: Future<Output = Response>>(
    gateway: &Gateway,
    request: Request,
    next: impl FnOnce(Request) -> F,
) -> Response {
    let settings = &gateway.0.settings;
    let named = request.headers().get(header::ORIGIN).cloned();
    let named = named.filter(|named| {
        let link = request.extensions().get::<Link>();
        named.to_str().is_ok_and(|named| origin::is_allowed(named, &settings.origins))
            && origin::foreign_host(&request, link, &settings.hosts).is_none()
    });
    let Some(named) = named else { return next(request).await };
    let asks_first = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if asks_first { granted(request.headers()) } else { next(request).await };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, named);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
    response
}

/// Leave to ask whatever the browser says the page will ask.
fn granted(asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, HEAD, POST");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    if asked.contains_key(NETWORK_ASKED) {
        headers.insert(NETWORK_GRANTED, HeaderValue::from_static("true"));
    }
    response
}
