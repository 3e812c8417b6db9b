//! A server that is spoken to with streamable HTTP.

use std::collections::HashMap;
use std::sync::Once;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::lines::LONGEST;
use crate::config::Address;

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(20);

/// The transport to an address.
///
/// # Errors
/// If a header is none.
pub(crate) fn http(address: &Address) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Somebody else may have installed one; that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut headers = HashMap::new();
    for (name, value) in &address.headers {
        let wrong = || format!("the header `{name}` is none");
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::try_from(name.as_str()).map_err(|_| wrong())?, value);
    }
    // A server that leads elsewhere would be given the headers, which may be keys.
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| error.to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(LONGEST);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
