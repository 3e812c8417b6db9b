//! `junto gateway install`, `uninstall` and `status`, with a stand-in for the system's own program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use junto::twin::Play;
use serde_json::Value;

use crate::stage::{SETUPS, Stage};
use crate::t1_gateway::Gateway;
use crate::{Machine, text, usual_path};

const KEY: &str = "sk-test-provider-key-91";

const SERVICE: &str = ".config/systemd/user/junto-gateway.service";

const KEYS: &str = ".config/junto/gateway.env";

/// With a `systemctl` that writes down how it is called, and ends so.
fn machine(code: u8) -> Machine {
    let machine = Machine::new();
    machine.program("bin/systemctl", &format!("#!/bin/sh\necho \"$@\" >> \"$HOME/called\"\nexit {code}\n"));
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    machine.with("PATH", &path)
}

fn called(machine: &Machine) -> String {
    fs::read_to_string(machine.path("called")).unwrap_or_default()
}

fn mode(machine: &Machine, below: &str) -> u32 {
    fs::metadata(machine.path(below)).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_service_is_installed_and_nothing_is_started_unasked() {
    let machine = machine(0).with("OPENAI_API_KEY", KEY).with("JUNTO_GATEWAY_TOKEN", "client-key");
    let run = machine.run(&["gateway", "install"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    for part in
        ["systemctl --user enable junto-gateway.service", "has no key of a provider yet", "--with-keys"]
    {
        assert!(run.err.contains(part), "no {part:?} in {run:#?}");
    }
    assert_eq!(called(&machine), "");
    let service = fs::read_to_string(machine.path(SERVICE)).unwrap();
    assert!(service.contains("/junto\" gateway\n"), "{service}");
    assert!(service.contains(&format!("EnvironmentFile=-{}\n", text(&machine.path(KEYS)))), "{service}");
    let keys = fs::read_to_string(machine.path(KEYS)).unwrap();
    for secret in [KEY, "client-key"] {
        assert!(!service.contains(secret) && !keys.contains(secret) && !run.err.contains(secret));
    }
    assert_eq!(mode(&machine, KEYS), 0o600);
}

#[test]
fn keys_are_copied_when_that_is_asked_for() {
    let machine = machine(0).with("OPENAI_API_KEY", KEY).with("JUNTO_GATEWAY_TOKEN", "client-key");
    let keys = machine.write(KEYS, "# mine\nOPENAI_API_KEY=old\nOTHER=1\n");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o644)).unwrap();
    let run = machine.run(&["gateway", "install", "--with-keys"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(!run.err.contains("no key of a provider") && !run.err.contains(KEY), "{run:#?}");
    let kept = fs::read_to_string(&keys).unwrap();
    assert_eq!(kept, format!("# mine\nOPENAI_API_KEY='{KEY}'\nOTHER=1\nJUNTO_GATEWAY_TOKEN='client-key'\n"));
    assert_eq!(mode(&machine, KEYS), 0o600);
    assert!(!fs::read_to_string(machine.path(SERVICE)).unwrap().contains(KEY));
    // Whoever has only the file knows the key.
    let later = Machine { variables: Vec::new(), ..machine };
    assert_eq!(later.run(&["gateway", "token"]).ok(), "client-key\n");
}

#[test]
fn it_is_started_when_that_is_asked_for_and_removed_again() {
    let machine = machine(0);
    machine.run(&["gateway", "install", "--now"]).ok();
    let unit = "junto-gateway.service";
    let started = format!("--user daemon-reload\n--user enable {unit}\n--user restart {unit}\n");
    assert_eq!(called(&machine), started);
    machine.run(&["gateway", "install", "--now"]).ok();
    let run = machine.run(&["gateway", "uninstall"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(called(&machine).ends_with(&format!("--user disable --now {unit}\n")), "{}", called(&machine));
    assert!(!machine.path(SERVICE).exists() && machine.path(KEYS).exists(), "{run:#?}");
    assert!(run.err.contains("the keys stay in"), "{run:#?}");
    let run = machine.run(&["gateway", "uninstall"]);
    assert!(run.code == Some(0) && run.err.contains("there is no service"), "{run:#?}");
}

#[test]
fn a_system_that_does_not_start_it_is_told() {
    let machine = machine(1);
    machine.run(&["gateway", "install", "--now"]).fails(1, &["systemctl --user daemon-reload failed"]);
    assert!(machine.path(SERVICE).exists());
    let run = machine.run(&["gateway", "uninstall"]);
    assert_eq!(run.code, Some(0), "what does not run can be removed: {run:#?}");
    assert!(!machine.path(SERVICE).exists());
}

#[test]
fn what_somebody_else_wrote_is_left_alone() {
    let machine = machine(0);
    machine.write(SERVICE, "[Service]\nExecStart=/bin/true\n");
    for command in ["install", "uninstall"] {
        machine.run(&["gateway", command]).fails(2, &["was not written by junto"]);
    }
    assert!(fs::read_to_string(machine.path(SERVICE)).unwrap().contains("/bin/true"));
    assert_eq!(called(&machine), "");
}

#[test]
fn the_status_tells_what_is_there() {
    let mut stage = Stage::new(&SETUPS[3], Play::text("Here."));
    let gateway = Gateway::start(&stage.machine, &[]);
    let port = gateway.port().to_string();
    stage.machine.variables.push(("JUNTO_GATEWAY_PORT".to_owned(), port.clone()));
    stage.machine.run(&["gateway", "setup", "codex", "--write"]).ok();
    let status = |machine: &Machine| -> (Option<i32>, Value) {
        let run = machine.run(&["gateway", "status", "--json"]);
        (run.code, serde_json::from_str(&run.out).unwrap())
    };
    let (code, found) = status(&stage.machine);
    assert_eq!(code, Some(0), "{found}");
    assert_eq!((&found["answers"], &found["service"]["installed"]), (&true.into(), &false.into()), "{found}");
    assert_eq!(found["url"], format!("http://127.0.0.1:{port}"));
    assert_eq!(found["clients"]["codex"], text(&stage.machine.path(".codex/config.toml")));
    assert_eq!(found["clients"]["claude"], Value::Null);
    let shown = stage.machine.run(&["gateway", "status"]).ok();
    assert!(shown.contains("(answers)") && shown.contains("(not installed)"), "{shown}");
    assert!(shown.contains("junto gateway setup claude --write"), "{shown}");
    assert_eq!(gateway.end().0, Some(0));
    let (code, found) = status(&stage.machine);
    assert_eq!((code, &found["answers"]), (Some(1), &false.into()), "{found}");
}

#[test]
fn the_status_asks_the_system_about_a_service() {
    for (code, said) in [(0, "(installed, running)"), (3, "(installed, not running)")] {
        let machine = machine(code).with("JUNTO_GATEWAY_PORT", "1");
        machine.run(&["gateway", "install"]);
        let run = machine.run(&["gateway", "status"]);
        assert_eq!(run.code, Some(1), "nobody answers there");
        assert!(run.out.contains(said), "{run:#?}");
    }
}
