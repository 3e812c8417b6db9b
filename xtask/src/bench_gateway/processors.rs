//! Which processors the parts of the benchmark may use.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Outcome;

/// Which processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processors {
    All,
    /// The first that this process may use.
    One,
}

impl Processors {
    /// A program that stays on them.
    pub(super) fn command(self, program: &Path) -> Outcome<Command> {
        match self {
            Self::All => Ok(Command::new(program)),
            Self::One => {
                let status = fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
                let processor = first(&status).ok_or("it is not known which processors can be used")?;
                let mut command = Command::new("taskset");
                command.args(["-c", processor]).arg(program);
                Ok(command)
            }
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::All => "all processors",
            Self::One => "one processor",
        }
    }
}

/// The first processor in a list such as `2-5,8`, as the kernel tells it of a process.
fn first(status: &str) -> Option<&str> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    list.split(['-', ',']).next().filter(|number| !number.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_list() {
        let status = |list: &str| format!("Name:\tx\nCpus_allowed_list:\t{list}\nThreads:\t1\n");
        for (list, expected) in [("0-1", "0"), ("3", "3"), ("2,5-7", "2")] {
            assert_eq!(first(&status(list)), Some(expected));
        }
        assert_eq!(first("Name:\tx\n"), None);
    }
}
