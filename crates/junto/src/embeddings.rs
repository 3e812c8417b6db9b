//! An embedding model behind an OpenAI-compatible endpoint.

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::HeaderMap;
use junto_core::Fut;
use junto_kernel::Embedder;
use junto_llm::{CallCx, Endpoint, Error, HttpProvider, Passthrough as _};
use serde::Deserialize;
use serde_json::json;

/// The most bytes of an answer: some thousand vectors, written as text.
const LARGEST: usize = 64 << 20;

/// An embedding model behind an OpenAI-compatible endpoint (`POST {base_url}/embeddings`), by which tools are searched
/// for what they mean: see [`Code::meaning`](crate::Code::meaning).
///
/// ```no_run
/// # fn example(code: junto::Code) -> Result<junto::Code, junto::llm::Error> {
/// use junto::kernel::Meaning;
/// use junto::llm::{Endpoint, Wire};
/// use junto::{Code, Embeddings};
///
/// let endpoint = Endpoint::new("local", Wire::Chat, "http://localhost:11434/v1");
/// let meaning = Some(Meaning::new(Embeddings::new(endpoint, "nomic-embed-text")?));
/// # let code =
/// Code { meaning, ..code }
/// # ; Ok(code) }
/// ```
pub struct Embeddings {
    provider: HttpProvider,
    model: String,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    index: usize,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// The model of this name at an endpoint, whose timeouts hold for each request.
    ///
    /// # Errors
    /// If the endpoint makes no sense.
    pub fn new(endpoint: Endpoint, model: impl Into<String>) -> Result<Self, Error> {
        Ok(Self { provider: HttpProvider::new(endpoint)?, model: model.into() })
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let cx = CallCx::new();
        let body = Bytes::from(body.to_string());
        let sent = self.provider.send("/embeddings", HeaderMap::new(), body, &cx);
        let (head, mut pieces) = sent.await.map_err(|error| error.to_string())?.into_parts();
        if !head.status.is_success() {
            // Not with what else it says, which may repeat what was sent.
            return Err(format!("the server answered {}", head.status));
        }
        let mut text = Vec::new();
        while let Some(piece) = pieces.next().await {
            text.extend_from_slice(&piece.map_err(|error| error.to_string())?);
            if text.len() > LARGEST {
                return Err(format!("the answer has more than {LARGEST} bytes"));
            }
        }
        let Answer { mut data } =
            serde_json::from_slice(&text).map_err(|error| format!("the answer makes no sense: {error}"))?;
        data.sort_by_key(|vector| vector.index);
        Ok(data.into_iter().map(|vector| vector.embedding).collect())
    }
}

impl Embedder for Embeddings {
    fn embed<'a>(&'a self, texts: &'a [String]) -> Fut<'a, Result<Vec<Vec<f32>>, String>> {
        Box::pin(self.ask(texts))
    }
}
