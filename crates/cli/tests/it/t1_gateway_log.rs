//! What becomes of what the gateway says where nobody reads it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use junto::twin::{Play, Step};

use crate::stage::{SETUPS, Stage};
use crate::t1_gateway::Gateway;

/// More than may wait to be written down.
const CALLS: usize = 1200;
/// Enough that what is said of them has no room in the pipe.
const MORE: usize = 60;

/// Asks for a model whose name alone fills half of a page.
fn ask(gateway: &Gateway) {
    let model = format!("local/{}", "m".repeat(2000));
    let body = format!(r#"{{"model": "{model}", "messages": [{{"role": "user", "content": "Hello."}}]}}"#);
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn it_serves_and_ends_and_keeps_its_books_while_nobody_reads_what_it_says() {
    let stage = Stage::new(&SETUPS[3], Play::of([Step::text("Here.")]));
    let mut gateway = Gateway::start(&stage.machine, &[]);
    (0..CALLS).for_each(|_| ask(&gateway));

    // Who comes to reading it later is told of every call, or that there were more.
    let (mut noted, mut left_out) = (0, 0);
    while noted + left_out < CALLS {
        let line = gateway.next_line();
        match line.strip_prefix("warning: ").and_then(|line| line.split_once(" lines are left out here")) {
            Some((lines, _)) => left_out += lines.parse::<usize>().unwrap(),
            None => noted += usize::from(line.starts_with("local/m") && line.contains(" · in ")),
        }
    }
    assert!(noted + left_out == CALLS && left_out > 0, "{noted} and {left_out}");

    (0..MORE).for_each(|_| ask(&gateway));
    assert_eq!(gateway.end_unread(), Some(0));
    let cost: serde_json::Value = serde_json::from_str(&stage.machine.run(&["cost", "--json"]).ok()).unwrap();
    assert_eq!(cost["total"]["calls"], CALLS + MORE, "{cost}");
}
