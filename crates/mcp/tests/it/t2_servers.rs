//! Servers that others wrote, as they are.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use junto_mcp::Standing;
use junto_mcp::config::ServerConfig;
use serde_json::json;

use crate::bench::{Bench, launch};

fn peer(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

fn of_npm(name: &str, variable: &str, args: &[&str]) -> ServerConfig {
    let script = peer(variable);
    ServerConfig::program(name, "node", [script.as_str()].iter().chain(args).copied())
}

/// What a server that shows everything there is has, wherever it is reached.
async fn everything_is_there(bench: &Bench) {
    let statuses = bench.hub.statuses();
    assert_eq!(statuses[0].standing, Standing::Up, "{statuses:?}");
    let tools: Vec<&str> = statuses[0].tools.iter().map(|(name, _)| name.as_str()).collect();
    assert!(tools.contains(&"everything__echo") && tools.contains(&"everything__read_resource"), "{tools:?}");
    let said = bench.text("everything__echo", json!({"message": "over there"})).await;
    assert!(said.contains("over there"), "{said}");
    let said = bench.text("everything__get-sum", json!({"a": 19, "b": 23})).await;
    assert!(said.contains("42"), "{said}");
    let picture = bench.call("everything__get-tiny-image", json!({})).await;
    assert_eq!((picture.is_error, picture.images.len()), (false, 1), "{}", picture.output.preview());
    let data = bench.call("everything__get-structured-content", json!({"location": "New York"})).await;
    assert!(data.output.preview().contains("temperature"), "{data:?}");
    assert!(data.data.as_ref().is_some_and(|data| data["temperature"].is_number()), "{data:?}");
    let long = json!({"duration": 1, "steps": 3});
    let said = bench.text("everything__trigger-long-running-operation", long).await;
    assert!(said.contains("completed"), "{said}");
    assert!(bench.shown.lock().unwrap().contains("3 of 3"), "{:?}", bench.shown);
    let wrong = bench.fails("everything__get-sum", json!({"a": "x"})).await;
    assert!(!wrong.is_empty());

    let listed = bench.text("everything__read_resource", json!({})).await;
    let uri = listed.lines().find_map(|line| line.split_once(": ")).map(|(uri, _)| uri.to_owned());
    let uri = uri.unwrap_or_else(|| panic!("{listed}"));
    let read = bench.text("everything__read_resource", json!({"uri": uri})).await;
    assert!(read.contains(&uri) && read.len() > uri.len() + 3, "{read}");
    let listed = bench.text("everything__get_prompt", json!({})).await;
    assert!(listed.contains("simple-prompt()"), "{listed}");
    let prompt = bench.text("everything__get_prompt", json!({"name": "simple-prompt"})).await;
    assert!(prompt.contains("[user]"), "{prompt}");
    let arguments = json!({"name": "args-prompt", "arguments": {"city": "Ulm", "state": "BW"}});
    let prompt = bench.text("everything__get_prompt", arguments).await;
    assert!(prompt.contains("Ulm"), "{prompt}");
}

#[tokio::test]
async fn everything_over_its_standard_streams() {
    let bench = Bench::ready(vec![of_npm("everything", "JUNTO_PEER_MCP_EVERYTHING", &["stdio"])]).await;
    everything_is_there(&bench).await;
    bench.close().await;
}

/// A server that listens until this is dropped.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn everything_over_streamable_http() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = Command::new("node")
        .args([&peer("JUNTO_PEER_MCP_EVERYTHING"), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let _listening = Listening(child);
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("listening")), "it does not listen");
    // Whoever does not read it makes it wait.
    std::thread::spawn(move || lines.for_each(drop));
    let bench =
        Bench::ready(vec![ServerConfig::http("everything", format!("http://127.0.0.1:{port}/mcp"))]).await;
    everything_is_there(&bench).await;
    bench.close().await;
}

#[tokio::test]
async fn files_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::write(folder.join("notes.txt"), "remember\n").unwrap();
    let args = [folder.to_str().unwrap()];
    let bench = Bench::ready(vec![of_npm("files", "JUNTO_PEER_MCP_FILESYSTEM", &args)]).await;
    let notes = folder.join("notes.txt");
    let read = bench.text("files__read_text_file", json!({"path": notes})).await;
    assert!(read.contains("remember"), "{read}");
    let new = folder.join("new.txt");
    bench.text("files__write_file", json!({"path": new, "content": "fresh"})).await;
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "fresh");
    let refused = bench.fails("files__read_text_file", json!({"path": "/etc/passwd"})).await;
    assert!(refused.contains("denied"), "{refused}");
    bench.close().await;
}

#[tokio::test]
async fn the_time_by_a_server_in_python() {
    let mut server = ServerConfig::program("time", peer("JUNTO_PEER_PYTHON"), ["-m", "mcp_server_time"]);
    launch(&mut server).args.extend(["--local-timezone".to_owned(), "Europe/Berlin".to_owned()]);
    let bench = Bench::ready(vec![server]).await;
    let now = bench.text("time__get_current_time", json!({"timezone": "Asia/Tokyo"})).await;
    assert!(now.contains("Asia/Tokyo") && now.contains("+09:00"), "{now}");
    let arguments =
        json!({"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Kolkata"});
    let converted = bench.text("time__convert_time", arguments).await;
    assert!(converted.contains("Asia/Kolkata"), "{converted}");
    let wrong = bench.fails("time__get_current_time", json!({"timezone": "Nowhere/Here"})).await;
    assert!(wrong.contains("Nowhere/Here") || wrong.contains("timezone"), "{wrong}");
    bench.close().await;
}
