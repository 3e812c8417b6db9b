//! The limits that the configuration sets, seen by clients.

use junto::llm::{ErrorKind, Wire};
use junto::twin::{Play, Step};

use crate::stage::{SETUPS, Stage};
use crate::t1_gateway::Gateway;

/// A stage whose gateway is configured so.
fn stage(gateway: &str) -> Stage {
    let stage = Stage::new(&SETUPS[3], Play::of([Step::text("Here.")]));
    let config = stage.machine.path(".config/junto/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}[gateway]\n{gateway}")).unwrap();
    stage
}

/// What a client of Anthropic's that names its session is told: the status and the rest.
fn ask_in_session(gateway: &Gateway, model: &str) -> (String, String) {
    let body = format!(
        "{{\"model\": \"{model}\", \"max_tokens\": 9, \"messages\": [{{\"role\": \"user\", \"content\": \"Hello.\"}}]}}"
    );
    let answer = gateway.send(&format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-claude-code-session-id: s-1\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    ));
    (answer.split(' ').nth(1).unwrap().to_owned(), answer)
}

#[test]
fn a_session_has_a_budget_that_outlives_the_gateway() {
    let stage = stage("max_tokens = 1\n");
    let gateway = Gateway::start(&stage.machine, &[]);
    let (status, answer) = ask_in_session(&gateway, "m-1");
    assert_eq!(status, "200", "the call that uses it up is the last: {answer}");
    let (status, answer) = ask_in_session(&gateway, "m-1");
    assert!(status.starts_with('4') && answer.contains("\"type\":\"error\""), "{answer}");
    assert_eq!(gateway.end().0, Some(0));
    let gateway = Gateway::start(&stage.machine, &[]);
    let (status, answer) = ask_in_session(&gateway, "m-1");
    assert!(status.starts_with('4'), "what was used is remembered: {answer}");
    assert_eq!(gateway.end().0, Some(0));
    assert_eq!(stage.requests().len(), 1);
}

/// Each answer under way takes two, and what a process may have at first is usually 1024.
#[cfg(target_os = "linux")]
#[test]
fn as_many_files_may_be_open_as_the_system_allows() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum }).unwrap();
    let gateway = Gateway::start(&stage("").machine, &[]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", gateway.id())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let files: Vec<&str> = files.split_whitespace().collect();
    assert!(files[0] == files[1] && files[0] != "256", "{files:?}");
}

#[test]
fn a_council_has_so_many_turns() {
    let stage = stage("max_turns = 1\ncouncil = [\"local/a-1\", \"local/b-1\"]\n");
    let gateway = Gateway::start(&stage.machine, &[]);
    let (status, answer) = ask_in_session(&gateway, "junto-council");
    assert!(status == "200" && answer.contains("Here."), "{answer}");
    let asked = stage.requests().len();
    let (status, answer) = ask_in_session(&gateway, "junto-council");
    assert!(status == "200" && !answer.contains("Here."), "an answer says that there are no more: {answer}");
    assert!(answer.contains("\"id\":\"msg_"), "{answer}");
    assert_eq!(stage.requests().len(), asked);
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" · nobody was asked: the session has had all its turns\n"), "{said}");
}

#[test]
fn one_client_may_ask_so_often() {
    let stage = stage("client_rate = 1\n");
    let gateway = Gateway::start(&stage.machine, &[]);
    // Asked for whole, it answers; asked for a stream within the same minute, it does not.
    let refused = gateway.ask(Wire::Anthropic, "m-1").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::RateLimit, "{refused}");
    assert_eq!(stage.requests().len(), 1);
    assert_eq!(gateway.end().0, Some(0));
}

#[test]
fn web_pages_and_other_names_are_let_in_by_name() {
    let strange = |gateway: &Gateway, header: &str| {
        let answer =
            gateway.send(&format!("GET /v1/models HTTP/1.1\r\nconnection: close\r\n{header}\r\n\r\n"));
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    let page = |gateway: &Gateway| {
        let host = format!("127.0.0.1:{}", gateway.port());
        strange(gateway, &format!("host: {host}\r\norigin: https://app.example"))
    };
    let closed = stage("");
    let gateway = Gateway::start(&closed.machine, &[]);
    assert_eq!((page(&gateway).as_str(), strange(&gateway, "host: gateway.lan").as_str()), ("403", "403"));
    assert_eq!(gateway.end().0, Some(0));
    let open = stage("hosts = [\"gateway.lan\"]\norigins = [\"https://app.example\"]\n");
    let gateway = Gateway::start(&open.machine, &[]);
    assert_eq!((page(&gateway).as_str(), strange(&gateway, "host: gateway.lan").as_str()), ("200", "200"));
    assert_eq!(gateway.end().0, Some(0));
}

#[test]
fn what_it_does_can_be_looked_at() {
    let stage = stage("");
    let gateway = Gateway::start(&stage.machine, &[]);
    gateway.ask(Wire::Anthropic, "m-1").unwrap();
    for (path, part) in [("/metrics", "junto_"), ("/status", "<html"), ("/openapi.json", "\"openapi\"")] {
        let answer = gateway.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(part), "{path}: {answer}");
    }
    assert_eq!(gateway.end().0, Some(0));
}
