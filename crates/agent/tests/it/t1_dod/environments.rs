//! 9.4: where tools act.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use junto_agent::SessionConfig;
use junto_agent::profile::{Family, Profile};
use junto_agent::tools::Timeouts;
use junto_core::EndReason;
use junto_env::variables::Inherit;
use junto_env::{
    ByteRange, CommandSpec, DirEntry, EnvFacts, ExecutionEnvironment, Expect, Fut, GRACE, LocalEnvironment,
    Process, Reader, RealPath, Result, Search, Stamp, plain,
};
use junto_twin::{Call, Step};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::model::{create, last, on_each_profile, read, shell, stand, stand_with};

#[tokio::test]
async fn dod_the_local_environment_has_every_operation() {
    let dir = tempfile::tempdir().unwrap();
    let env = LocalEnvironment::new(dir.path()).unwrap();
    plain::write_file(&env, "a/b.txt", "one\ntwo\n").await.unwrap();
    assert_eq!(plain::read_file(&env, "a/b.txt", 2, 1).await.unwrap(), "two\n");
    let exists = async |path| plain::file_exists(&env, path).await.unwrap();
    assert!(exists("a/b.txt").await && !exists("a/c.txt").await);
    let listed = plain::list_directory(&env, ".", 2).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|e| (e.path.to_str().unwrap(), e.is_dir, e.size)).collect();
    assert_eq!(listed, [("a", true, None), ("a/b.txt", false, Some(8))]);
    let ran =
        plain::exec_command(&env, "cat a/b.txt; echo no >&2; exit 3", Duration::from_mins(1)).await.unwrap();
    assert_eq!((ran.exit.code, ran.timed_out), (Some(3), false));
    let (root, cancel) = (env.facts().cwd.clone(), CancellationToken::new());
    for query in [Search::grep("^two$", root.clone()), Search::glob("**/*.txt", root.clone())] {
        assert!(!env.search(query, &cancel).await.unwrap().found.is_empty());
    }
    let (from, to) = (env.resolve("a/b.txt").await.unwrap(), env.resolve("c.txt").await.unwrap());
    env.rename(&from, &to).await.unwrap();
    env.remove(&to).await.unwrap();
    assert!(env.stamp(&to).await.unwrap().is_none());
    let EnvFacts { cwd, platform, os_version, .. } = env.facts();
    assert_eq!((cwd.as_path(), platform.as_str()), (dir.path().canonicalize().unwrap().as_path(), "linux"));
    assert!(!os_version.is_empty());
}

#[tokio::test]
async fn dod_a_command_has_ten_seconds() {
    assert_eq!(Timeouts::default().default, Duration::from_secs(10));
    assert_eq!(Timeouts::default().max, Duration::from_mins(10));
    // The agent that Anthropic's models know gives them two minutes.
    for (family, seconds) in [(Family::OpenAi, 10), (Family::Anthropic, 120), (Family::Gemini, 10)] {
        let profile = Profile::of(family);
        assert_eq!(profile.shell_timeout(), Duration::from_secs(seconds), "{family:?}");
        let told = profile.tools.get("shell").unwrap().spec().parameters().unwrap().to_string();
        assert!(told.contains(&format!("{}", seconds * 1000)), "{family:?}: {told}");
    }
}

#[tokio::test]
async fn dod_a_call_can_say_how_long() {
    on_each_profile(async |family| {
        let call = |command: &str, ms: u32| Call::new("shell", json!({"command": command, "timeout_ms": ms}));
        let bare = Call::new("shell", json!({"command": "sleep 600"}));
        let steps = [
            Step::calls([
                call("sleep 600", 300),
                call("mkfifo p; read x < p & sleep 1.5; echo long", 60_000),
                bare,
            ]),
            Step::text("I see."),
        ];
        let mut stand = stand_with(family, steps, |config| {
            let profile = Profile::of(family).with_shell_timeout(Duration::from_secs(1));
            SessionConfig { profile: Some(profile), ..config }
        })
        .await;
        assert_eq!(stand.scene.ask("Run").await, (EndReason::Done, "I see.".into()), "{family:?}");
        let told = last(&stand).results;
        assert!(told[0].contains("timed out after 300ms"), "{family:?}: {told:?}");
        assert!(told[1].starts_with("long\n"), "{family:?}: {told:?}");
        assert!(told[2].contains("timed out after 1000ms"), "{family:?}: {told:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn dod_time_up_is_asked_for_and_then_enforced() {
    assert_eq!(GRACE, Duration::from_secs(2));
    on_each_profile(async |family| {
        // It hears that it shall end and goes on; so does what it started in a session of its own.
        let deaf =
            "trap 'touch asked' TERM; (trap '' TERM; exec setsid sleep 600) & echo up; while :; do wait; done";
        let call = Call::new("shell", json!({"command": deaf, "timeout_ms": 2000}));
        let mut stand = stand(family, [Step::calls([call]), Step::text("I see.")]).await;
        let before = tokio::time::Instant::now();
        assert_eq!(stand.scene.ask("Run").await, (EndReason::Done, "I see.".into()), "{family:?}");
        assert!(before.elapsed() >= Duration::from_secs(2) + GRACE, "{family:?}: it had its grace");
        let told = &last(&stand).results[0];
        assert!(
            told.starts_with("up\n") && told.contains("timed out after 2000ms"),
            "{family:?}: {told}"
        );
        assert!(stand.scene.path("asked").exists(), "{family:?}: it was asked first");
        assert_eq!(stand.scene.env.survivors(), [], "{family:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn dod_secrets_do_not_reach_commands() {
    let variables = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("OPENAI_API_KEY", "hidden"),
        ("my_secret", "hidden"),
        ("GITHUB_TOKEN", "hidden"),
        ("Db_Password", "hidden"),
        ("CLOUD_CREDENTIAL", "hidden"),
    ];
    for inherit in [Inherit::default(), Inherit::All] {
        let mut stand =
            stand_with(Family::OpenAi, [Step::calls([shell("env")]), Step::text("I see.")], |config| {
                let cwd = config.env.facts().cwd.as_path().to_owned();
                let env =
                    LocalEnvironment::builder(cwd).variables(variables).inherit(inherit).build().unwrap();
                SessionConfig { env: Arc::new(env), ..config }
            })
            .await;
        assert_eq!(stand.scene.ask("Look").await.0, EndReason::Done);
        let told = &last(&stand).results[0];
        assert!(told.contains("LANG=C.UTF-8") && !told.contains("hidden"), "{told}");
        stand.end(&[]).await;
    }
}

/// An environment that a consumer might write: every operation of another one, counted.
struct Counting {
    inner: Arc<dyn ExecutionEnvironment>,
    operations: Arc<AtomicUsize>,
}

impl Counting {
    fn count(&self) -> &dyn ExecutionEnvironment {
        self.operations.fetch_add(1, Ordering::Relaxed);
        &*self.inner
    }
}

impl ExecutionEnvironment for Counting {
    fn facts(&self) -> &EnvFacts {
        self.inner.facts()
    }
    fn resolve<'a>(&'a self, path: &'a str) -> Fut<'a, Result<RealPath>> {
        self.count().resolve(path)
    }
    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>> {
        self.count().stamp(path)
    }
    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        self.count().open(path, range)
    }
    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        self.count().write(path, data, expect)
    }
    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        self.count().list(path, depth)
    }
    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        self.count().remove(path)
    }
    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        self.count().rename(from, to)
    }
    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        self.count().spawn(command)
    }
}

#[tokio::test]
async fn dod_an_environment_of_ones_own() {
    on_each_profile(async |family| {
        let operations = Arc::new(AtomicUsize::new(0));
        let steps = [
            Step::calls([create(family, "a.txt", "needle\n")]),
            // Searching is provided: it lists and reads.
            Step::calls([read("a.txt"), shell("cat a.txt"), Call::new("grep", json!({"pattern": "needle"}))]),
            Step::text("Done."),
        ];
        let mut stand = stand_with(family, steps, |config| {
            let (inner, operations) = (Arc::clone(&config.env), Arc::clone(&operations));
            SessionConfig { env: Arc::new(Counting { inner, operations }), ..config }
        })
        .await;
        assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{family:?}");
        assert!(last(&stand).results[1..].iter().all(|told| told.contains("needle")), "{family:?}");
        assert!(operations.load(Ordering::Relaxed) >= 4, "{family:?}: {operations:?}");
        stand.end(&[]).await;
    })
    .await;
}
