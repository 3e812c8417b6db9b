//! A place to act in, and the checks that end every test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use junto_env::{
    CommandSpec, ExecutionEnvironment, LocalBuilder, LocalEnvironment, Output, OutputStream, Process,
    RealPath, survivors,
};

/// No test waits longer for anything. It is no measure of speed.
pub(crate) const HANG: Duration = Duration::from_mins(1);

/// An environment in a directory of its own.
pub(crate) struct Place {
    pub(crate) env: LocalEnvironment,
    dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(describe: impl FnOnce(LocalBuilder) -> LocalBuilder) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let builder =
            LocalEnvironment::builder(dir.path()).variables([("PATH", "/usr/local/bin:/usr/bin:/bin")]);
        Self { env: describe(builder).build().unwrap(), dir }
    }

    /// A path in the directory.
    pub(crate) fn at(&self, below: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(below)
    }

    pub(crate) async fn resolve(&self, path: &str) -> RealPath {
        self.env.resolve(path).await.unwrap()
    }

    pub(crate) async fn shell(&self, line: &str) -> Process {
        self.env.spawn(CommandSpec::shell(line)).await.unwrap()
    }

    /// The names in the directory, to see that nothing was left.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// That nothing the environment started lives.
    #[track_caller]
    pub(crate) fn assert_no_survivors(&self) {
        assert_eq!(survivors::after(&self.env, HANG), []);
    }
}

/// Runs a test in a place of its own, on a runtime of its own, and ends it with the survivor check.
pub(crate) fn check(test: impl AsyncFnOnce(&Place)) {
    check_in(Place::new(), test);
}

pub(crate) fn check_in(place: Place, test: impl AsyncFnOnce(&Place)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(HANG, test(&place)).await.expect("the test hangs") });
    drop(runtime);
    place.assert_no_survivors();
}

/// Output up to the first line's end.
pub(crate) async fn line(process: &mut Process) -> String {
    let mut text = Vec::new();
    while !text.contains(&b'\n') {
        text.extend_from_slice(&process.output().await.unwrap().expect("a line").bytes);
    }
    String::from_utf8(text).unwrap().lines().next().unwrap().to_owned()
}

/// All output, both streams by themselves.
pub(crate) async fn everything(process: &mut Process) -> (String, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    while let Some(Output { stream, bytes }) = process.output().await.unwrap() {
        match stream {
            OutputStream::Stdout => stdout.extend_from_slice(&bytes),
            OutputStream::Stderr => stderr.extend_from_slice(&bytes),
        }
    }
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Whether a process is there and not dead.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z') && !rest.starts_with('X'))
}

/// Waits until something holds that nobody tells us.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let pause = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    while !holds() {
        assert!(waited < HANG, "never: {what}");
        std::thread::sleep(pause);
        waited += pause;
    }
}

/// The largest amount of memory this process has had, in bytes.
pub(crate) fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
