//! Servers: processes that say where they are, and what the kernel knows of them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;

/// A hang guard for the start; Python and Node take seconds.
const START: Duration = Duration::from_mins(1);
/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// The kernel's unit of CPU time, and of memory.
const TICK: Duration = Duration::from_millis(10);
const PAGE: u64 = 4096;

/// A process that serves. Ended when it is dropped.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    address: String,
    pub(crate) key: Option<String>,
}

impl Server {
    /// A server that prints one JSON line with its `address` or `url`, and serves until its input closes.
    pub(crate) fn announced(mut command: Command, log: &Path) -> Outcome<Self> {
        let mut child = spawn(command.stdout(Stdio::piped()).stderr(create(log)?))?;
        let input = child.stdin.take();
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|e| e.to_string())?;
        }
        let said: Value = serde_json::from_str(&line)
            .map_err(|_| format!("a server did not say where it is, see {}", log.display()))?;
        let text = |name: &str| said[name].as_str().map(str::to_owned);
        let address = text("address").or_else(|| text("url")).unwrap_or_default();
        let address = address.trim_start_matches("http://").to_owned();
        Ok(Self { child, input, address, key: text("key") })
    }

    /// One of the parts of the benchmark.
    pub(crate) fn of_load(mut command: Command, args: &[&str], scratch: &Path) -> Outcome<Self> {
        command.args(args);
        Self::announced(command, &scratch.join(format!("{}.log", args.first().unwrap_or(&"load"))))
    }

    /// A server that writes somewhere in its log where it is.
    pub(crate) fn logged(mut command: Command, log: &Path) -> Outcome<Self> {
        let file = create(log)?;
        let other = file.try_clone().map_err(|e| e.to_string())?;
        let mut child = spawn(command.stdout(file).stderr(other))?;
        let input = child.stdin.take();
        let mut server = Self { child, input, address: String::new(), key: None };
        server.wait(log, || find_address(&fs::read_to_string(log).unwrap_or_default()))?;
        Ok(server)
    }

    /// A server of which it is known where it will be.
    pub(crate) fn at(mut command: Command, address: &str, log: &Path) -> Outcome<Self> {
        let file = create(log)?;
        let other = file.try_clone().map_err(|e| e.to_string())?;
        let mut child = spawn(command.stdout(file).stderr(other))?;
        let input = child.stdin.take();
        let mut server = Self { child, input, address: address.to_owned(), key: None };
        server.wait(log, || TcpStream::connect(address).is_ok().then(|| address.to_owned()))?;
        Ok(server)
    }

    /// Waits until it is known where the server is.
    fn wait(&mut self, log: &Path, find: impl Fn() -> Option<String>) -> Outcome {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            if let Some(address) = find() {
                self.address = address;
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        Err(format!("a server does not start, see {}", log.display()))
    }

    /// Our gateway, with this model for everybody, as a user would start it.
    pub(crate) fn gateway(
        mut command: Command,
        upstream: &str,
        model: &str,
        scratch: &Path,
    ) -> Outcome<Self> {
        let home = scratch.join("home");
        let config = home.join(".config/junto");
        let cannot = |e: std::io::Error| format!("cannot make a home for the gateway: {e}");
        fs::create_dir_all(&config).map_err(cannot)?;
        fs::write(config.join("config.toml"), format!("model = \"anthropic/{model}\"\n")).map_err(cannot)?;
        command.args(["gateway", "--port", "0"]).current_dir(&home).env_clear().env("HOME", &home);
        for (vendor, base) in [("ANTHROPIC", ""), ("OPENAI", "/v1")] {
            command.env(format!("{vendor}_BASE_URL"), format!("http://{upstream}{base}"));
            command.env(format!("{vendor}_API_KEY"), "any");
        }
        Self::logged(command, &scratch.join("gateway.log"))
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The CPU time that it and all it has started has used.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let text =
            fs::read_to_string(format!("/proc/{}/stat", self.child.id())).map_err(|e| e.to_string())?;
        cpu_in(&text).ok_or_else(|| format!("no CPU time in {text:?}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        // Some end by themselves now; nobody is told of a bad end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn create(log: &Path) -> Outcome<File> {
    File::create(log).map_err(|e| format!("cannot write {}: {e}", log.display()))
}

fn spawn(command: &mut Command) -> Outcome<Child> {
    let program = Path::new(command.get_program()).display().to_string();
    command.stdin(Stdio::piped()).spawn().map_err(|e| format!("could not start {program}: {e}"))
}

/// The first loopback address with a port.
fn find_address(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("http://127.0.0.1:")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    // The number may still be being written.
    (digits.len() < rest.len() && !digits.is_empty()).then(|| format!("127.0.0.1:{digits}"))
}

/// The sum of the times of a process and of those it has waited for. The name may hold anything but a `)` at its end.
fn cpu_in(stat: &str) -> Option<Duration> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u32>().ok());
    Some(TICK * ticks.sum::<Option<u32>>()?)
}

/// The memory of a process over some time.
pub(crate) struct Memory {
    /// When, and how many bytes.
    looks: Vec<(Duration, u64)>,
}

/// Looks at a process until it is told to end.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    looks: JoinHandle<Vec<(Duration, u64)>>,
}

impl Memory {
    pub(crate) fn watch(server: &Server) -> Outcome<Watch> {
        let path = format!("/proc/{}/statm", server.child.id());
        let look = move || {
            let text = fs::read_to_string(&path).ok()?;
            Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * PAGE)
        };
        look().ok_or("the kernel does not tell of the server's memory")?;
        let over = Arc::new(AtomicBool::new(false));
        let (ended, start) = (Arc::clone(&over), Instant::now());
        let looks = thread::spawn(move || {
            let mut looks = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                looks.extend(look().map(|bytes| (start.elapsed(), bytes)));
                thread::sleep(LOOK);
            }
            looks
        });
        Ok(Watch { over, looks })
    }

    pub(crate) fn of(looks: Vec<(Duration, u64)>) -> Self {
        Self { looks }
    }

    /// Before anything was asked.
    pub(crate) fn idle(&self) -> u64 {
        self.looks.first().map_or(0, |(_, bytes)| *bytes)
    }

    /// The most in the first third and in the last third of what came after a moment.
    pub(crate) fn most_since(&self, moment: Duration) -> (u64, u64) {
        let since: Vec<u64> =
            self.looks.iter().filter(|(at, _)| *at >= moment).map(|(_, bytes)| *bytes).collect();
        let third = since.len().div_ceil(3);
        let most = |looks: &[u64]| looks.iter().copied().max().unwrap_or(0);
        (most(&since[..third]), most(&since[since.len() - third..]))
    }
}

impl Watch {
    pub(crate) fn end(self) -> Memory {
        self.over.store(true, Ordering::Relaxed);
        Memory::of(self.looks.join().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_once_it_is_written() {
        assert_eq!(find_address("listening on http://127.0.0.1:6767; x"), Some("127.0.0.1:6767".to_owned()));
        assert_eq!(find_address("listening on http://127.0.0.1:67"), None);
        assert_eq!(find_address("see http://example.com"), None);
    }

    #[test]
    fn all_four_times_are_counted() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 3 4 10 20 20 0 2 0 100 0";
        assert_eq!(cpu_in(stat), Some(Duration::from_millis(370)));
        assert_eq!(cpu_in("7 (a) S 1"), None);
    }

    #[test]
    fn thirds() {
        let second = Duration::from_secs(1);
        let memory = Memory::of((0..7).map(|n| (second * n, u64::from(n))).collect());
        assert_eq!(memory.idle(), 0);
        assert_eq!(memory.most_since(second), (2, 6));
        assert_eq!(memory.most_since(second * 9), (0, 0));
    }
}
