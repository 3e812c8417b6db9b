//! Proxies that forward bytes and look at none of them: what any process in between costs.

use std::convert::Infallible;

use axum::body::Body;
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};

use super::Outcome;

/// Each connection becomes one to the other side, and what comes in goes out.
pub(crate) async fn bytes(listener: TcpListener, to: String) -> Outcome {
    loop {
        let (mut near, _) = listener.accept().await.map_err(|e| e.to_string())?;
        let to = to.clone();
        tokio::spawn(async move {
            let mut far = TcpStream::connect(to).await?;
            near.set_nodelay(true)?;
            far.set_nodelay(true)?;
            tokio::io::copy_bidirectional(&mut near, &mut far).await
        });
    }
}

/// Each request is sent on over a pool of connections, as the gateway must do it; heads and bodies go through as they
/// are.
pub(crate) async fn http(listener: TcpListener, to: String) -> Outcome {
    let authority: Authority = to.parse().map_err(|_| format!("{to} is no address"))?;
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<HttpConnector, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    loop {
        let (stream, _) = listener.accept().await.map_err(|e| e.to_string())?;
        let _ = stream.set_nodelay(true);
        let (client, authority) = (client.clone(), authority.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| forward(client.clone(), authority.clone(), request));
            let builder = Builder::new(TokioExecutor::new());
            // How a connection ends is the client's business.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn forward(
    client: Client<HttpConnector, Incoming>,
    to: Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    (parts.scheme, parts.authority) = (Some(Scheme::HTTP), Some(to));
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
    let answer = client.request(request).await.map(|response| response.map(Body::new));
    Ok(answer.unwrap_or_else(|_| {
        let mut failed = Response::new(Body::empty());
        *failed.status_mut() = StatusCode::BAD_GATEWAY;
        failed
    }))
}
