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
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
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

#[cfg(target_env = "gnu")]
#[test]
fn what_a_rush_needed_is_given_back() {
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let machine = Machine::configured("model = \"anthropic/claude-opus-5-5\"\n")
        .with("ANTHROPIC_BASE_URL", &format!("http://{}", provider.local_addr().unwrap()))
        .with("ANTHROPIC_API_KEY", "k");
    // More than would wait for somebody who accepts them.
    let accept = std::thread::spawn(move || -> Vec<TcpStream> {
        (0..CALLS).map(|_| provider.accept().unwrap().0).collect()
    });
    let gateway = Gateway::start(&machine, &[]);
    let (id, before) = (gateway.id(), resident(gateway.id()));
    let question = "?".repeat(20_000);
    let body = format!(
        r#"{{"model":"claude-opus-5-5","max_tokens":9,"messages":[{{"role":"user","content":"{question}"}}]}}"#
    );
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\nx-api-key: k\r\n\
         anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        gateway.port(),
        body.len()
    );
    let clients: Vec<TcpStream> = (0..CALLS)
        .map(|_| {
            let mut client = TcpStream::connect(("127.0.0.1", gateway.port())).unwrap();
            client.write_all(head.as_bytes()).and_then(|()| client.write_all(body.as_bytes())).unwrap();
            client
        })
        .collect();
    let asked = accept.join().unwrap();
    let full = resident(id);
    for mut asked in asked {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            ANSWER.len()
        );
        asked.write_all(answer.as_bytes()).and_then(|()| asked.write_all(ANSWER.as_bytes())).unwrap();
        // Else what was not read would break the answer off.
        asked.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = asked.read_to_end(&mut Vec::new());
    }
    for mut client in clients {
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        assert!(said.ends_with(ANSWER), "{said}");
    }
    wait_for(id, before.midpoint(full));
    assert_eq!(gateway.end().0, Some(0));
}
