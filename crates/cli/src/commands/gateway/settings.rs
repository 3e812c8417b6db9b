//! The gateway's limits and habits, as they are configured.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use junto::gateway::{Progress, Settings};
use junto::llm::{Allowance, Narration, Usd};

use crate::config::Config;
use crate::environment::Environment;

/// Reads them.
pub(super) fn settings(config: &Config, environment: &Environment) -> Settings {
    let usual = Settings::default();
    let number = |key: &str, usual: usize| {
        config.count(key).map_or(usual, |number| usize::try_from(number).unwrap_or(usize::MAX))
    };
    // Zero is no limit.
    let limit = |key: &str| {
        let number = config.count(key)?;
        NonZeroU32::new(u32::try_from(number).unwrap_or(u32::MAX))
    };
    let time = |key: &str, usual: Duration| config.duration(key).unwrap_or(usual);
    let texts = |key: &str| config.texts(key).unwrap_or_default().to_vec();
    Settings {
        running: number("gateway.max_running", usual.running).max(1),
        waiting: number("gateway.max_waiting", usual.waiting),
        body_limit: number("gateway.max_body", usual.body_limit >> 20).saturating_mul(1 << 20),
        keep_alive: time("gateway.keep_alive", usual.keep_alive),
        progress: if config.flag("gateway.progress") { Progress::Shown } else { Progress::Hidden },
        grace: time("gateway.grace", usual.grace),
        narration: match config.text("gateway.progress_detail") {
            Some(("interleaved", _)) => Narration::Interleaved,
            _ => Narration::Telemetry,
        },
        heartbeat: time("gateway.heartbeat", usual.heartbeat),
        hosts: texts("gateway.hosts"),
        origins: texts("gateway.origins"),
        client_rate: limit("gateway.client_rate"),
        client_running: limit("gateway.client_running"),
        session_turns: limit("gateway.max_turns").map(NonZeroU32::get),
        session_budget: Allowance {
            usd: config.number("gateway.max_usd").map(Usd::from_dollars),
            tokens: config.count("gateway.max_tokens"),
        },
        sessions: number("gateway.max_sessions", usual.sessions).max(1),
        workdir_roots: roots(config, environment),
    }
}

/// Below which folders clients may say that they work: the user's home, unless others are configured.
fn roots(config: &Config, environment: &Environment) -> Vec<PathBuf> {
    let home = environment.path("HOME");
    let Some(roots) = config.texts("gateway.roots") else { return home.into_iter().collect() };
    let path = |text: &String| match (text.strip_prefix('~'), &home) {
        (Some(""), Some(home)) => home.clone(),
        (Some(below), Some(home)) if below.starts_with('/') => home.join(below.trim_start_matches('/')),
        _ => environment.directory().join(text),
    };
    roots.iter().map(path).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn load(text: &str) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, text).unwrap();
        let variables = [("JUNTO_CONFIG", path.to_str().unwrap()), ("HOME", "/home/me")];
        let environment = Environment::of(Path::new("/here"), &variables);
        settings(&Config::load(&environment, &[]).unwrap(), &environment)
    }

    #[test]
    fn the_defaults_are_those_of_the_gateway() {
        let usual = Settings { workdir_roots: vec!["/home/me".into()], ..Settings::default() };
        assert_eq!(load(""), usual);
    }

    #[test]
    fn everything_can_be_set() {
        let found = load(
            "[gateway]\nmax_running = 2\nmax_waiting = 0\nmax_body = 1\nkeep_alive = \"1s\"\nprogress = false\n\
             grace = \"0s\"\nprogress_detail = \"interleaved\"\nheartbeat = \"2s\"\nhosts = [\"a\"]\n\
             origins = [\"http://b\"]\nclient_rate = 3\nclient_running = 4\nmax_turns = 5\nmax_usd = 1.5\n\
             max_tokens = 6\nmax_sessions = 7\nroots = [\"~/work\", \"~\", \"/srv\", \"below\"]\n",
        );
        let expected = Settings {
            running: 2,
            waiting: 0,
            body_limit: 1 << 20,
            keep_alive: Duration::from_secs(1),
            progress: Progress::Hidden,
            grace: Duration::ZERO,
            narration: Narration::Interleaved,
            heartbeat: Duration::from_secs(2),
            hosts: vec!["a".to_owned()],
            origins: vec!["http://b".to_owned()],
            client_rate: NonZeroU32::new(3),
            client_running: NonZeroU32::new(4),
            session_turns: Some(5),
            session_budget: Allowance { usd: Some(Usd::from_dollars(1.5)), tokens: Some(6) },
            sessions: 7,
            workdir_roots: ["/home/me/work", "/home/me", "/srv", "/here/below"].map(PathBuf::from).to_vec(),
        };
        assert_eq!(found, expected);
        assert_eq!(load("gateway.max_turns = 0").session_turns, None);
    }
}
