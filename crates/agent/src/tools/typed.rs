//! What is written to a command that runs, and how commands are kept from starting something that reads it.

use junto_core::{Action, ToolCx};
use junto_env::{CommandSpec, JobId, Origin, Program};
use serde_json::json;

/// Variables that keep pagers from being started, and those that are from starting anything else.
const QUIET: [(&str, &str); 3] = [("GIT_PAGER", "cat"), ("LESSSECURE", "1"), ("PAGER", "cat")];

/// Shells that do what they read.
const SHELLS: [&str; 4] = ["ash", "bash", "dash", "sh"];
/// Options with which they still do that, and nothing else.
const INTERACTIVE: [&str; 5] = ["-i", "-l", "-s", "--noprofile", "--norc"];

/// The command without pagers.
pub(crate) fn quiet(mut command: CommandSpec) -> CommandSpec {
    for (name, value) in QUIET {
        command.variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    command
}

/// What writing a text to a job does. A shell does what it reads, and where it is by now and what it has been told
/// before is not known; of other programs nothing is known. One that runs without the sandbox, although there is
/// one, is not held by it: that is judged by the tool's name.
pub(crate) fn typed(cx: &ToolCx, tool: &str, job: Option<JobId>, text: String) -> Vec<Action> {
    let origin = job.and_then(|job| cx.jobs.origin(job));
    let is_free = |origin: &Origin| !origin.is_confined && cx.env.unconfined().is_some();
    if origin.as_ref().is_some_and(is_free) {
        return vec![Action::Tool { name: tool.to_owned(), args: json!({ "text": text }) }];
    }
    let code = Action::Code { code: text.clone() };
    match origin {
        Some(origin) if !is_shell(&origin.program) => vec![code],
        _ => vec![Action::Shell { line: text, cwd: cx.env.facts().cwd.clone() }, code],
    }
}

fn is_shell(program: &Program) -> bool {
    let mut words = match program {
        Program::Shell(line) => line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        Program::Argv(words) => words.clone(),
    }
    .into_iter();
    let name = words.next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    SHELLS.contains(&name) && words.all(|word| INTERACTIVE.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_are_known_by_their_words() {
        for (line, expected) in [
            ("bash", true),
            ("/bin/sh -i", true),
            ("bash --norc -l", true),
            ("bash -c less", false),
            ("bash script", false),
            ("less f", false),
            ("env bash", false),
            ("bash; less f", false),
            ("", false),
        ] {
            assert_eq!(is_shell(&Program::Shell(line.to_owned())), expected, "{line}");
        }
    }
}
