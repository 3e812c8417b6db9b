//! A server with streamable HTTP that does wrong what such a server can do wrong; which of it, the name of the tool says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use junto_mcp::config::ServerConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// More than anybody should take of one answer.
const ENDLESS: u64 = 256 << 20;
const TOOLS: [&str; 8] =
    ["echo", "huge_json", "huge_event", "huge_error", "huge_refusal", "flood", "rename", "strange"];

/// The server. It ends when it is dropped.
pub(crate) struct Web {
    address: String,
    state: Arc<State>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct State {
    /// How many bytes were taken of answers without end.
    taken: AtomicU64,
    /// Whether the tools are not listed any more.
    is_mute: AtomicBool,
    /// How often they were to be listed since.
    asked: AtomicU64,
}

impl Web {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        let state = Arc::<State>::default();
        let served = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&served);
                tokio::spawn(async move { drop(serve(stream, &state).await) });
            }
        });
        Self { address, state, _task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn config(&self) -> ServerConfig {
        ServerConfig::http("web", &self.address)
    }

    /// How many bytes were taken of answers without end.
    pub(crate) fn taken(&self) -> u64 {
        self.state.taken.load(Ordering::SeqCst)
    }

    /// How often the tools were to be listed since it lists them no more.
    pub(crate) fn asked(&self) -> u64 {
        self.state.asked.load(Ordering::SeqCst)
    }
}

async fn serve(stream: TcpStream, state: &State) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut length, mut is_post) = (String::new(), 0, false);
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            is_post |= line.starts_with("POST");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        if !is_post {
            stream.write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n").await?;
            continue;
        }
        let message: Value = serde_json::from_slice(&body).unwrap();
        answer(&mut stream, &message, state).await?;
    }
}

async fn answer(stream: &mut BufReader<TcpStream>, message: &Value, state: &State) -> std::io::Result<()> {
    let id = &message["id"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        "tools/list" if state.is_mute.load(Ordering::SeqCst) => {
            state.asked.fetch_add(1, Ordering::SeqCst);
            return std::future::pending().await;
        }
        "tools/list" => {
            let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"tools": TOOLS.iter().map(tool).collect::<Vec<_>>()})
        }
        "tools/call" => {
            let name = message["params"]["name"].as_str().unwrap();
            let text =
                format!("{name} says: {}", message["params"]["arguments"]["text"].as_str().unwrap_or(""));
            let result = json!({"content": [{"type": "text", "text": text}]});
            let head = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\""
            );
            let events = "200 OK\r\ncontent-type: text/event-stream";
            match name {
                "huge_json" => {
                    return endless(stream, "200 OK\r\ncontent-type: application/json", &head, "x", state)
                        .await;
                }
                "huge_event" => return endless(stream, events, &format!("data: {head}"), "x", state).await,
                "huge_error" => {
                    return endless(stream, "500 No\r\ncontent-type: application/json", &head, "x", state)
                        .await;
                }
                "huge_refusal" => {
                    return endless(stream, "400 No\r\ncontent-type: text/plain", "I will not. ", "x", state)
                        .await;
                }
                "flood" => {
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
                    return endless(stream, events, "", &format!("data: {note}\n\n"), state).await;
                }
                "rename" => {
                    state.is_mute.store(true, Ordering::SeqCst);
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                    let said = json!({"jsonrpc": "2.0", "id": id, "result": result});
                    let text = format!("data: {note}\n\ndata: {said}\n\n");
                    return whole(stream, events, &text).await;
                }
                "strange" => {
                    let said = json!({"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "not so"}});
                    return whole(stream, "400 No\r\ncontent-type: application/json", &said.to_string())
                        .await;
                }
                _ => result,
            }
        }
        _ => return whole(stream, "202 Accepted", "").await,
    };
    let said = json!({"jsonrpc": "2.0", "id": id, "result": result});
    whole(stream, "200 OK\r\ncontent-type: application/json", &said.to_string()).await
}

async fn whole(stream: &mut BufReader<TcpStream>, head: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    stream.write_all(format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes()).await
}

/// An answer that goes on until nobody takes more of it.
async fn endless(
    stream: &mut BufReader<TcpStream>,
    head: &str,
    start: &str,
    again: &str,
    state: &State,
) -> std::io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{start}").as_bytes()).await?;
    let piece = again.repeat((64 << 10) / again.len());
    while state.taken.load(Ordering::SeqCst) < ENDLESS {
        stream.write_all(piece.as_bytes()).await?;
        state.taken.fetch_add(piece.len() as u64, Ordering::SeqCst);
    }
    stream.shutdown().await
}
