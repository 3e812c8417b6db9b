//! The real peers of tier T2: servers that we did not write, started once and shared by the tests.
//!
//! A peer prints one JSON line with its address when it serves, and serves until its standard input
//! closes. So it ends with this process however this process ends, an interrupt and a kill included;
//! being in a process group of its own, it is not interrupted before.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;
use crate::command::{capture, root};
use crate::isolate::seal;
use crate::setup::Tools;

/// A hang guard for the start, which loads a model or a large Python program.
const START: Duration = Duration::from_mins(3);
/// How long a peer may take to end when its input has closed.
const END: Duration = Duration::from_secs(20);

/// A peer as a table row: what it is called in messages, its program, its variables.
struct Spec {
    name: &'static str,
    script: &'static str,
    /// Which field of the printed line goes to which variable of the tests.
    variables: &'static [(&'static str, &'static str)],
}

const SPECS: [Spec; 2] = [
    Spec { name: "llama", script: "llama_server.py", variables: &[("url", "JUNTO_PEER_LLAMA")] },
    Spec {
        name: "litellm",
        script: "litellm_server.py",
        variables: &[("url", "JUNTO_PEER_LITELLM"), ("key", "JUNTO_PEER_LITELLM_KEY")],
    },
];

/// The running peers. Ended on drop at the latest.
pub(crate) struct Peers {
    python: PathBuf,
    running: Vec<Peer>,
    environment: Vec<(&'static str, String)>,
}

struct Peer {
    name: &'static str,
    child: Child,
    /// Dropping it ends the peer.
    input: Option<ChildStdin>,
    log: PathBuf,
    /// What the peer prints first; closed if it ends before.
    address: mpsc::Receiver<String>,
}

impl Peers {
    /// Starts all side by side and waits until all serve.
    ///
    /// # Errors
    /// When one does not, with the end of its log. A missing peer is never passed over.
    pub(crate) fn start(tools: &Tools) -> Outcome<Self> {
        let python = &tools.python;
        let mut environment = vec![
            ("JUNTO_PEER_PYTHON", python.display().to_string()),
            ("JUNTO_PEER_RG", tools.ripgrep.display().to_string()),
            ("JUNTO_PEER_TMUX", tools.tmux.display().to_string()),
        ];
        environment.extend(tools.clis.environment().map(|(name, path)| (name, path.display().to_string())));
        let mut peers = Self { python: python.to_owned(), running: Vec::new(), environment };
        for spec in &SPECS {
            peers.running.push(Peer::spawn(spec, python)?);
        }
        let deadline = Instant::now() + START;
        for (spec, peer) in SPECS.iter().zip(&peers.running) {
            let address = peer.wait(deadline)?;
            for (field, variable) in spec.variables {
                let value = address[*field]
                    .as_str()
                    .ok_or_else(|| format!("the peer {} printed no `{field}`: {address}", spec.name))?;
                peers.environment.push((variable, value.to_owned()));
            }
        }
        Ok(peers)
    }

    /// Where they are, for the tests.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.environment.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Ends them; complains of those that crashed before, did not end by themselves, or left a
    /// process behind.
    pub(crate) fn stop(mut self) -> Vec<String> {
        self.end()
    }

    fn end(&mut self) -> Vec<String> {
        let mut running = std::mem::take(&mut self.running);
        let mut complaints: Vec<String> = running.iter_mut().filter_map(Peer::close).collect();
        let deadline = Instant::now() + END;
        for peer in &mut running {
            if !peer.ends_before(deadline) {
                complaints.push(format!("the peer {} did not end and was killed", peer.name));
            }
            complaints.extend(peer.sweep(&self.python));
        }
        complaints
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        for complaint in self.end() {
            eprintln!("error: {complaint}");
        }
    }
}

impl Peer {
    fn spawn(spec: &Spec, python: &Path) -> Outcome<Self> {
        eprintln!("test: starting the peer {}", spec.name);
        let dir = root().join("target/peers");
        let log = dir.join(format!("{}.log", spec.name));
        let log_file = fs::create_dir_all(&dir)
            .and_then(|()| File::create(&log))
            .map_err(|e| format!("cannot write {}: {e}", log.display()))?;
        let mut child = seal(&mut Command::new(python))
            .arg(root().join("tests/peers").join(spec.script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .process_group(0)
            .spawn()
            .map_err(|e| format!("could not start the peer {}: {e}", spec.name))?;
        let input = child.stdin.take();
        let (sender, address) = mpsc::sync_channel(1);
        let output = child.stdout.take();
        thread::spawn(move || {
            let mut output = BufReader::new(output?);
            let mut line = String::new();
            output.read_line(&mut line).ok()?;
            if line.ends_with('\n') {
                sender.send(line).ok()?;
            }
            io::copy(&mut output, &mut io::sink()).ok()
        });
        Ok(Self { name: spec.name, child, input, log, address })
    }

    fn wait(&self, deadline: Instant) -> Outcome<Value> {
        let line = self.address.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        line.ok().and_then(|line| serde_json::from_str(&line).ok()).ok_or_else(|| {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(40)..].join("\n");
            format!("the peer {} does not serve; the end of {}:\n{tail}", self.name, self.log.display())
        })
    }

    /// Asks the peer to end; says so if it has ended already.
    fn close(&mut self) -> Option<String> {
        let early = matches!(self.child.try_wait(), Ok(Some(_)));
        drop(self.input.take());
        early.then(|| format!("the peer {} ended too early, see {}", self.name, self.log.display()))
    }

    fn ends_before(&mut self, deadline: Instant) -> bool {
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        // Nobody is left to complain to if these fail: the sweep of the group comes next.
        let _ = self.child.kill();
        let _ = self.child.wait();
        false
    }

    /// Kills what is left of the peer's process group; complains if there was anything.
    fn sweep(&self, python: &Path) -> Option<String> {
        const SWEEP: &str = "
import os, signal, sys
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
    print('survivors')
except ProcessLookupError:
    pass
";
        let group = self.child.id().to_string();
        match capture(Command::new(python).args(["-c", SWEEP, &group])) {
            Ok(said) if said.is_empty() => None,
            Ok(_) => Some(format!("the peer {} left processes behind; they were killed", self.name)),
            Err(message) => Some(message),
        }
    }
}
