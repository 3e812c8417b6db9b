//! What the gateway does with memory that it no longer needs.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::Machine;
use crate::t1_gateway::Gateway;

/// Calls at a time.
const CALLS: usize = 400;
const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}"#;

/// The resident memory of a process, in KiB.
fn resident(id: u32) -> u64 {
    size(id, "VmRSS:")
}

/// The most that it ever was.
fn peak(id: u32) -> u64 {
    size(id, "VmHWM:")
}

fn size(id: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Waits until there is so little, or fails when nobody would wait any longer.
fn wait_for(id: u32, most: u64) {
    let begun = Instant::now();
    while resident(id) > most {
        assert!(begun.elapsed() < Duration::from_mins(1), "{} KiB, and not {most}", resident(id));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn machine(provider: &TcpListener) -> Machine {
    Machine::configured("model = \"anthropic/claude-opus-5-5\"\n")
        .with("ANTHROPIC_BASE_URL", &format!("http://{}", provider.local_addr().unwrap()))
        .with("ANTHROPIC_API_KEY", "k")
}

/// Asks with this content, which is JSON.
fn ask(gateway: &Gateway, content: &str) -> TcpStream {
    let body = format!(
        r#"{{"model":"claude-opus-5-5","max_tokens":9,"messages":[{{"role":"user","content":{content}}}]}}"#
    );
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\nx-api-key: k\r\n\
         anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        gateway.port(),
        body.len()
    );
    let mut client = TcpStream::connect(("127.0.0.1", gateway.port())).unwrap();
    client.write_all(head.as_bytes()).and_then(|()| client.write_all(body.as_bytes())).unwrap();
    client
}

/// The provider's side.
fn answer(mut asked: TcpStream) {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        ANSWER.len()
    );
    asked.write_all(answer.as_bytes()).and_then(|()| asked.write_all(ANSWER.as_bytes())).unwrap();
    // Else what was not read would break the answer off.
    asked.shutdown(std::net::Shutdown::Write).unwrap();
    let _ = asked.read_to_end(&mut Vec::new());
}

/// The client's side.
fn check(mut client: TcpStream) {
    let mut said = String::new();
    client.read_to_string(&mut said).unwrap();
    assert!(said.ends_with(ANSWER), "{said}");
}

/// One request that is read takes many times its own room.
#[cfg(target_env = "gnu")]
#[test]
fn what_a_large_request_needed_is_given_back() {
    const BLOCKS: usize = 100_000;
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let machine = machine(&provider);
    let accept = std::thread::spawn(move || {
        let (mut asked, _) = provider.accept().unwrap();
        let (mut seen, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
        while !seen.ends_with(b"}]}]}") {
            let read = asked.read(&mut piece).unwrap();
            assert_ne!(read, 0);
            seen.extend_from_slice(&piece[..read]);
        }
        answer(asked);
    });
    let gateway = Gateway::start(&machine, &[]);
    let (id, before) = (gateway.id(), resident(gateway.id()));
    let blocks: Vec<String> =
        (0..BLOCKS).map(|block| format!(r#"{{"type":"text","text":"hello {block}"}}"#)).collect();
    check(ask(&gateway, &format!("[{}]", blocks.join(","))));
    accept.join().unwrap();
    wait_for(id, before + peak(id).saturating_sub(before) / 4);
    assert_eq!(gateway.end().0, Some(0));
}

#[cfg(target_env = "gnu")]
#[test]
fn what_a_rush_needed_is_given_back() {
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let machine = machine(&provider);
    // More than would wait for somebody who accepts them.
    let accept = std::thread::spawn(move || -> Vec<TcpStream> {
        (0..CALLS).map(|_| provider.accept().unwrap().0).collect()
    });
    let gateway = Gateway::start(&machine, &[]);
    let (id, before) = (gateway.id(), resident(gateway.id()));
    let question = "?".repeat(20_000);
    let clients: Vec<TcpStream> = (0..CALLS).map(|_| ask(&gateway, &format!("{question:?}"))).collect();
    let asked = accept.join().unwrap();
    let full = resident(id);
    asked.into_iter().for_each(answer);
    clients.into_iter().for_each(check);
    wait_for(id, before.midpoint(full));
    assert_eq!(gateway.end().0, Some(0));
}
