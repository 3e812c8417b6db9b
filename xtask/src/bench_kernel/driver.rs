//! A program that is told what to do by lines, and answers each with one of JSON.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::Outcome;

/// The program. It ends when its input closes, and is killed on drop.
pub(super) struct Driver {
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// What else it said.
    log: PathBuf,
}

impl Driver {
    /// Starts it, and waits for the line that says that it listens.
    pub(super) fn start(name: &'static str, command: &mut Command, scratch: &Path) -> Outcome<Self> {
        let log = scratch.join(format!("{name}.log"));
        let file = File::create(&log).map_err(|e| format!("cannot write {}: {e}", log.display()))?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(|e| format!("could not start {name}: {e}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let answers = BufReader::new(output.ok_or("there is no pipe")?);
        let mut driver = Self { name, child, input, answers, log };
        driver.answer()?;
        Ok(driver)
    }

    /// Tells it to do something, and waits for its answer.
    pub(super) fn ask(&mut self, line: &str) -> Outcome<Value> {
        let written = self.input.as_mut().map(|input| writeln!(input, "{line}").and_then(|()| input.flush()));
        match written {
            Some(Ok(())) => self.answer(),
            _ => Err(self.gone()),
        }
    }

    /// As [`Driver::ask`], where the answer is a time.
    pub(super) fn seconds(&mut self, line: &str) -> Outcome<f64> {
        number(&self.ask(line)?, "seconds")
    }

    /// Lets it end by itself.
    pub(super) fn end(mut self) -> Outcome {
        drop(self.input.take());
        let status = self.child.wait().map_err(|e| format!("{} cannot be waited for: {e}", self.name))?;
        if status.success() { Ok(()) } else { Err(self.gone()) }
    }

    fn answer(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => serde_json::from_str(&line).map_err(|e| format!("{} said {line:?}: {e}", self.name)),
            _ => Err(self.gone()),
        }
    }

    fn gone(&self) -> String {
        format!("{} failed; see {}", self.name, self.log.display())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.input.take());
        // It has ended already unless something went wrong, and then that was told.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number of an answer.
pub(super) fn number(answer: &Value, field: &str) -> Outcome<f64> {
    answer[field].as_f64().ok_or_else(|| format!("no `{field}` in {answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Outcome<Driver> {
        Driver::start("it", Command::new("sh").args(["-c", script]), &std::env::temp_dir())
    }

    #[test]
    fn lines_are_answered_until_the_input_closes() {
        let mut echo = sh(r#"echo {}; while read -r word; do echo "{\"seconds\": $word}"; done"#).unwrap();
        assert_eq!(echo.seconds("2.5"), Ok(2.5));
        assert!(number(&echo.ask("1").unwrap(), "other").unwrap_err().contains("no `other`"));
        assert_eq!(echo.end(), Ok(()));
    }

    #[test]
    fn one_that_fails_is_named_with_its_log() {
        assert!(sh("exit 3").err().is_some_and(|e| e.contains("it failed; see ")));
        let mut short = sh("echo {}; read -r word; exit 3").unwrap();
        assert!(short.ask("start").unwrap_err().contains("it.log"));
    }
}
