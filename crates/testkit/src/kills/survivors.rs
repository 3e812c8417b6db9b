//! Processes that a killed one leaves behind: they lose it, and end by themselves.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a command of a scenario may live on at most. A guard against hanging, and far beyond what one takes.
const LONGEST: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(2);

/// A process that works below a folder.
#[derive(Clone, Debug)]
pub(super) struct Process {
    id: i32,
    /// The program and its arguments.
    pub(super) line: String,
}

/// The processes that work below a folder.
pub(super) fn below(folder: &Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.filter_map(Result::ok).filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        fs::read_link(entry.path().join("cwd")).ok().filter(|cwd| cwd.starts_with(folder))?;
        let line = fs::read_to_string(entry.path().join("cmdline")).ok()?.replace('\0', " ");
        (!line.is_empty()).then_some(Process { id, line })
    });
    processes.collect()
}

/// Waits until no process works below a folder any more. What does not end is ended, and told.
pub(super) fn wait(folder: &Path) -> Vec<String> {
    let mut waited = Duration::ZERO;
    loop {
        let left = below(folder);
        if left.is_empty() {
            return Vec::new();
        }
        if waited >= LONGEST {
            for process in &left {
                // It may have ended just now.
                let _ = kill(Pid::from_raw(process.id), Signal::SIGKILL);
            }
            return left.into_iter().map(|process| process.line).collect();
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}
