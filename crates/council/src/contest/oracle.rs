//! Who judges candidates: commands that end well or do not.

mod detect;

use std::time::Duration;

use junto_env::{CommandSpec, ExecutionEnvironment, exec};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

pub use self::detect::detect;
use super::record::{Proof, Verdict};

/// How much of the end of a step's output is kept.
const TAIL: usize = 4000;
/// How a shell says that it could not start what it was told to.
const NOT_STARTED: [i32; 2] = [126, 127];

/// Commands that judge a candidate: all of them must end well, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oracle {
    /// What it was found by, or `given`.
    pub source: String,
    /// What is run.
    pub steps: Vec<Step>,
    /// The files that it is run by: names, or paths from the top with a `/`; `*` stands for anything in a name.
    /// A candidate that changes one is marked.
    pub files: Vec<String>,
    /// Ignored folders that it needs, such as installed dependencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// One command of an oracle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `build`, `lint`, `test`.
    pub name: String,
    /// A line for the shell.
    pub command: String,
}

impl Step {
    fn new(name: &str, command: impl Into<String>) -> Self {
        Self { name: name.to_owned(), command: command.into() }
    }
}

impl Oracle {
    /// One line for the shell. The files that it names are the oracle's, and a candidate that changes one of
    /// them is marked; so are those of what the line is a call of, as far as that is known.
    ///
    /// ```
    /// # use junto_council::contest::Oracle;
    /// let oracle = Oracle::given("sh checks/all.sh");
    /// assert!(oracle.files.contains(&"checks/all.sh".to_owned()));
    /// ```
    pub fn given(command: impl Into<String>) -> Self {
        let command = command.into();
        let words = command.split(|c: char| c.is_whitespace() || ";&|()\"'".contains(c));
        let named = words.filter(|word| word.contains(['/', '.'])).map(|word| word.trim_start_matches("./"));
        let named = named.filter(|word| !word.is_empty() && !word.starts_with(['/', '-']));
        let known = detect::files_of(&command);
        let files = named.map(str::to_owned).chain(known).collect();
        Self { source: "given".to_owned(), steps: vec![Step::new("test", command)], files, needs: Vec::new() }
    }

    /// In one line, for people.
    pub fn words(&self) -> String {
        self.steps.iter().map(|step| step.command.as_str()).collect::<Vec<_>>().join(" && ")
    }

    /// Judges what is in the environment's working directory. Each step runs with the variables that the
    /// environment lets through and nothing to read; with its end, or when its time is up, everything that it
    /// started is ended.
    pub(super) async fn judge(
        &self,
        env: &dyn ExecutionEnvironment,
        each: Duration,
        cancel: &CancellationToken,
    ) -> Verdict {
        let mut verdict =
            Verdict { proof: Proof::Passed, step: String::new(), seconds: 0.0, tail: String::new() };
        for step in &self.steps {
            verdict.step.clone_from(&step.name);
            let mut command = CommandSpec::shell(&step.command);
            // What watches for changes, or asks, does not end.
            command.variables.insert("CI".to_owned(), "true".to_owned());
            let result = match exec(env, command, each, cancel, &mut |_| {}).await {
                Ok(result) => result,
                Err(error) => {
                    verdict.proof = Proof::NotRun { why: error.to_string() };
                    return verdict;
                }
            };
            verdict.seconds += result.duration.as_secs_f64();
            verdict.tail = tail(&result.both.text(|left| format!("\n… {left} bytes …\n")));
            verdict.proof = if result.cancelled {
                Proof::NotRun { why: "it was interrupted".to_owned() }
            } else if result.timed_out {
                Proof::TimedOut
            } else if result.exit.success() {
                continue;
            } else {
                Proof::Failed { exit: result.exit.to_string() }
            };
            return verdict;
        }
        verdict
    }
}

impl Verdict {
    /// Whether a step could not be started at all, as the shell says it.
    pub(super) fn is_no_command(&self) -> bool {
        let Proof::Failed { exit } = &self.proof else { return matches!(self.proof, Proof::NotRun { .. }) };
        NOT_STARTED.iter().any(|code| *exit == format!("exit {code}"))
    }
}

fn tail(text: &str) -> String {
    let from = text.len().saturating_sub(TAIL);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.get(from..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_line_names_its_files() {
        let check = |line: &str, named: &[&str]| {
            let files = Oracle::given(line).files;
            for name in named {
                assert!(files.iter().any(|file| file == name), "{line}: {files:?}");
            }
        };
        check("./check.sh", &["check.sh"]);
        check("python3 tools/check.py --fast && make test", &["tools/check.py", "Makefile"]);
        check("cargo test", &["build.rs"]);
        assert!(Oracle::given("true").files.is_empty());
        assert!(Oracle::given("/usr/bin/true -x/y").files.is_empty());
    }

    #[test]
    fn the_end_of_the_output_is_whole_characters() {
        assert_eq!(tail("short"), "short");
        let long = format!("x{}", "é".repeat(TAIL));
        assert!(tail(&long).len() <= TAIL && tail(&long).starts_with('é'));
    }
}
