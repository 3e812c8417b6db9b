//! What environments around environments do differently.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use junto_env::wrappers::{self, Logging, ReadOnly, Scoped};
use junto_env::{
    ByteRange, CommandSpec, EnvFacts, ErrorKind, ExecutionEnvironment, Exit, Expect, Fut, Offered, Output,
    Process, RawProcess, RealPath, Result, Search, TerminalSize,
};
use tokio_util::sync::CancellationToken;

use crate::memory::Memory;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// A map of files, with commands that say nothing and end at once, where they are told to.
struct Fake {
    memory: Memory,
    facts: EnvFacts,
    /// Where commands were started.
    started: Arc<Mutex<Vec<Option<RealPath>>>>,
}

impl Fake {
    fn new() -> Self {
        let memory = Memory::new();
        let facts = memory.facts().clone();
        Self { memory, facts, started: Arc::default() }
    }
}

impl wrappers::Layer for Fake {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.memory
    }

    fn facts(&self) -> &EnvFacts {
        &self.facts
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        self.started.lock().unwrap().push(command.cwd);
        Box::pin(async { Ok(Process::new(Ended)) })
    }
}

/// A process that ended with 3.
struct Ended;

const THREE: Exit = Exit { code: Some(3), signal: None };

impl RawProcess for Ended {
    fn id(&self) -> u32 {
        1
    }
    fn output(&mut self) -> Fut<'_, Result<Option<Output>>> {
        Box::pin(async { Ok(None) })
    }
    fn offer<'a>(&'a mut self, data: &'a [u8]) -> Fut<'a, Result<Offered>> {
        Box::pin(async { Ok(Offered::Took(data.len())) })
    }
    fn close_stdin(&mut self) -> Fut<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }
    fn wait(&mut self) -> Fut<'_, Result<Exit>> {
        Box::pin(async { Ok(THREE) })
    }
    fn close(&mut self, _: std::time::Duration) -> Fut<'_, Result<Exit>> {
        Box::pin(async { Ok(THREE) })
    }
    fn interrupt(&mut self) -> Result<()> {
        Ok(())
    }
    fn resize(&mut self, _: TerminalSize) -> Result<()> {
        Ok(())
    }
    fn kill(&mut self) {}
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|e| e.kind())
}

#[test]
fn what_is_read_only_is_not_changed() {
    block_on(async {
        let memory = Memory::new();
        let path = memory.resolve("f").await.unwrap();
        memory.write(&path, b"old", Expect::Any).await.unwrap();
        let env = ReadOnly::new(memory);
        let other = env.resolve("other").await.unwrap();
        for found in [
            kind(env.write(&path, b"new", Expect::Any).await),
            kind(env.write(&other, b"new", Expect::Absent).await),
            kind(env.remove(&path).await),
            kind(env.rename(&path, &other).await),
        ] {
            assert_eq!(found, Some(ErrorKind::Denied));
        }
        assert_eq!(env.stamp(&path).await.unwrap().unwrap().size, 3);
        assert!(env.open(&path, ByteRange::ALL).await.is_ok());
        assert_eq!(env.list(&env.facts().cwd, 1).await.unwrap().len(), 1);
    });
}

#[test]
fn read_only_commands_run_only_where_they_are_kept_from_writing() {
    block_on(async {
        for (enforced, expected) in [(true, None), (false, Some(ErrorKind::Denied))] {
            let mut fake = Fake::new();
            fake.facts.enforces.read_only = enforced;
            let started = Arc::clone(&fake.started);
            let env = ReadOnly::new(fake);
            assert_eq!(kind(env.spawn(CommandSpec::shell("ls")).await), expected);
            assert_eq!(started.lock().unwrap().len(), usize::from(enforced));
        }
    });
}

#[test]
fn what_is_outside_the_scope_is_denied() {
    block_on(async {
        let memory = Memory::new();
        let secret = memory.resolve("secret").await.unwrap();
        memory.write(&secret, b"x", Expect::Any).await.unwrap();
        let env = Scoped::new(memory, "scope").await.unwrap();
        assert_eq!(env.facts().cwd.to_string(), "/project/scope");
        for (path, expected) in [
            ("a/b", Ok("/project/scope/a/b")),
            (".", Ok("/project/scope")),
            ("../scope/a", Ok("/project/scope/a")),
            ("/project/scope/a", Ok("/project/scope/a")),
            ("~a", Ok("/project/scope/~a")),
            ("..", Err(ErrorKind::Denied)),
            ("../secret", Err(ErrorKind::Denied)),
            ("/project/scoped", Err(ErrorKind::Denied)),
            ("/project/scope/../secret", Err(ErrorKind::Denied)),
            ("/etc/passwd", Err(ErrorKind::Denied)),
            ("", Err(ErrorKind::NotFound)),
        ] {
            let found = env.resolve(path).await.map(|real| real.to_string()).map_err(|e| e.kind());
            assert_eq!(found.as_deref().map_err(|kind| *kind), expected, "{path}");
        }
        // Nor is it of use to have a path from elsewhere.
        let own = env.resolve("f").await.unwrap();
        env.write(&own, b"x", Expect::Any).await.unwrap();
        let mut elsewhere = CommandSpec::shell("ls");
        elsewhere.cwd = Some(RealPath::resolved("/project"));
        for found in [
            kind(env.stamp(&secret).await),
            kind(env.open(&secret, ByteRange::ALL).await),
            kind(env.write(&secret, b"y", Expect::Any).await),
            kind(env.list(&RealPath::resolved("/project"), 1).await),
            kind(env.remove(&secret).await),
            kind(env.rename(&secret, &own).await),
            kind(env.rename(&own, &secret).await),
            kind(env.search(Search::files(RealPath::resolved("/project")), &CancellationToken::new()).await),
            kind(env.spawn(elsewhere).await),
        ] {
            assert_eq!(found, Some(ErrorKind::Denied));
        }
    });
}

#[test]
fn scoped_commands_start_in_the_scope() {
    block_on(async {
        let fake = Fake::new();
        let started = Arc::clone(&fake.started);
        let env = Scoped::new(fake, "scope").await.unwrap();
        // Only of the outer directory is it known that commands stay in it.
        assert!(!env.facts().enforces.scope);
        let mut deeper = CommandSpec::shell("ls");
        deeper.cwd = Some(env.resolve("deeper").await.unwrap());
        env.spawn(deeper).await.unwrap();
        env.spawn(CommandSpec::shell("ls")).await.unwrap();
        let started = started.lock().unwrap();
        let started: Vec<String> = started.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(started, ["/project/scope/deeper", "/project/scope"]);
    });
}

#[test]
fn everything_that_happens_is_told() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let env = Logging::new(Fake::new(), move |event| log.lock().unwrap().push(event.to_string()));
    block_on(async {
        tokio::time::pause();
        let (path, to) = (env.resolve("f").await.unwrap(), env.resolve("g").await.unwrap());
        env.write(&path, b"secret", Expect::Any).await.unwrap();
        assert!(env.write(&path, b"x", Expect::Absent).await.is_err());
        env.open(&path, ByteRange::ALL).await.unwrap();
        env.rename(&path, &to).await.unwrap();
        env.remove(&to).await.unwrap();
        assert!(env.list(&to, 1).await.is_err());
        assert!(env.search(Search::files(to.clone()), &CancellationToken::new()).await.is_err());
        let mut command = CommandSpec::shell("make all");
        command.stdin = junto_env::Stdin::Bytes(Bytes::from_static(b"secret"));
        let mut process = env.spawn(command).await.unwrap();
        tokio::time::advance(std::time::Duration::from_millis(40)).await;
        // Told once, however often it is asked.
        process.wait().await.unwrap();
        process.wait().await.unwrap();
        drop(process);
        drop(env.spawn(CommandSpec::argv(["git", "status"])).await.unwrap());
    });
    assert_eq!(
        *lines.lock().unwrap(),
        [
            "write 6 bytes to /project/f",
            "write 1 bytes to /project/f: failed: /project/f: it is there",
            "read /project/f",
            "rename /project/f to /project/g",
            "remove /project/g",
            "list /project/g: failed: /project/g: it is not there",
            "search /project/g: failed: /project/g: it cannot be searched",
            "start make all",
            "exit 3 after 40 ms: make all",
            "start git status",
            "killed after 0 ms: git status",
        ]
    );
}

#[test]
fn layers_go_around_each_other_and_around_what_is_shared() {
    block_on(async {
        let shared: Arc<dyn ExecutionEnvironment> = Arc::new(Memory::new());
        let path = shared.resolve("scope/f").await.unwrap();
        shared.write(&path, b"x", Expect::Any).await.unwrap();
        let scoped = Scoped::new(Arc::clone(&shared), "scope").await.unwrap();
        let env = Logging::tracing(ReadOnly::new(scoped));
        assert_eq!(env.resolve("f").await.unwrap(), path);
        assert!(env.stamp(&path).await.unwrap().is_some());
        assert_eq!(kind(env.remove(&path).await), Some(ErrorKind::Denied));
        assert_eq!(kind(env.resolve("..").await), Some(ErrorKind::Denied));
    });
}
