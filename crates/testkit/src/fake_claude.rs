//! A stand-in for `claude -p --output-format stream-json --verbose`.
//!
//! Like the real one it reads its prompt from standard input until the end (or, as `stream-json`, for as long as
//! it works), prints one JSON object a line, ends an interrupted turn with a result of its own and status 0, and ends at once with
//! status 143 when it is terminated. It takes the options of the real one that are used here and no
//! others. What it prints and how it misbehaves is a [`Behaviour`], handed over in the variable
//! [`Behaviour::VARIABLE`].

mod arguments;
mod behaviour;
mod dialogue;
mod escape;
mod script;
mod signals;

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use self::arguments::Arguments;
pub use self::behaviour::{Behaviour, Fault, Ignored};
use self::dialogue::Dialogue;

/// The whole program.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(done) = escape::play_part(&arguments) {
        return done;
    }
    match run(&arguments) {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            // The reader may be gone; the status says it all.
            let _ = writeln!(io::stderr(), "Error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(argv: &[String]) -> Result<u8, String> {
    let behaviour = Behaviour::from_environment()?;
    let arguments = Arguments::parse(argv)?;
    let session = arguments.resume.clone().unwrap_or_else(|| script::SESSION.to_owned());
    if behaviour.escape {
        // First, because a child inherits which signals are held back.
        escape::leave_behind().map_err(|e| format!("cannot leave a process behind: {e}"))?;
    }
    let (end, told) = (script::interrupted(&session), behaviour.told());
    signals::handle(behaviour.ignore.clone(), end, told)?;

    let dialogue =
        arguments.json_input.then(|| Dialogue::listen(script::interrupted(&session), behaviour.told()));
    let prompt = read_prompt(dialogue.as_ref())?;
    if let Some(path) = &behaviour.record {
        record(path, argv, &prompt).map_err(|e| format!("cannot record the run: {e}"))?;
    }
    let replay = if arguments.resume.is_some() { behaviour.resumed.as_deref() } else { None };
    let (lines, recorded) = match replay.or(behaviour.replay.as_deref()) {
        Some(path) => replayed(path)?,
        None if arguments.text => (vec![script::words(&prompt)], 0),
        None => (script::answer(&session, &prompt, arguments.partial), 0),
    };
    perform(&behaviour, &lines, dialogue.as_ref()).map_err(|e| format!("cannot write: {e}"))?;
    if let Some(dialogue) = dialogue {
        dialogue.wait();
    }
    Ok(behaviour.exit.unwrap_or(recorded))
}

/// The prompt: standard input to its end, or the first message of a dialogue.
fn read_prompt(dialogue: Option<&Dialogue>) -> Result<String, String> {
    let prompt = if let Some(dialogue) = dialogue {
        dialogue.next().unwrap_or_default()
    } else {
        let mut input = String::new();
        io::stdin().read_to_string(&mut input).map_err(|e| format!("cannot read the prompt: {e}"))?;
        input
    };
    if prompt.trim().is_empty() {
        return Err("Input must be provided through stdin".to_owned());
    }
    Ok(prompt)
}

/// Adds a line to the file in which a test looks up what the program was given.
fn record(path: &Path, argv: &[String], prompt: &str) -> io::Result<()> {
    let run = json!({
        "argv": argv,
        "prompt": prompt,
        "cwd": std::env::current_dir()?,
        "variables": variable_names(),
        "depth": variable("JUNTO_DEPTH"),
    });
    append_line(path, &run.to_string())
}

/// Adds a line with a single write: several programs add to one file at once, and their lines must not mix.
fn append_line(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(format!("{line}\n").as_bytes())
}

/// Keeps a result that is about to be told, so that a test can look up what the program says it used.
fn note(told: Option<&Path>, line: &str) -> io::Result<()> {
    let is_result = |line| serde_json::from_str::<Value>(line).is_ok_and(|value| value["type"] == "result");
    match told {
        Some(path) if is_result(line) => append_line(path, line),
        _ => Ok(()),
    }
}

/// The lines of a recording, and the status that was kept beside it.
fn replayed(path: &Path) -> Result<(Vec<String>, u8), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let status = fs::read_to_string(path.with_extension("exit")).unwrap_or_default();
    let status = status.split_whitespace().next().and_then(|status| status.parse().ok());
    Ok((text.lines().map(str::to_owned).collect(), status.unwrap_or(0)))
}

fn perform(behaviour: &Behaviour, lines: &[String], dialogue: Option<&Dialogue>) -> io::Result<()> {
    let mut flood = behaviour.stderr_bytes;
    while flood > 0 {
        let piece = vec![b'!'; flood.min(64 << 10)];
        io::stderr().write_all(&piece)?;
        flood -= piece.len();
    }
    if behaviour.garbage {
        say(script::GARBAGE)?;
    }
    for (index, line) in lines.iter().enumerate() {
        if behaviour.after == index {
            commit(behaviour.fault.as_ref(), line)?;
        }
        if behaviour.await_steering
            && index + 1 == lines.len()
            && let Some(message) = dialogue.and_then(Dialogue::next)
        {
            say_line(&script::steered(&message))?;
        }
        note(behaviour.told().as_deref(), line)?;
        say_line(line)?;
    }
    if behaviour.after >= lines.len() {
        commit(behaviour.fault.as_ref(), "")?;
    }
    Ok(())
}

/// Does what the test asked for at this point; `line` is what would have come next.
fn commit(fault: Option<&Fault>, line: &str) -> io::Result<()> {
    match fault {
        None => Ok(()),
        // Opening a named pipe waits for somebody who writes to it.
        Some(Fault::Hold(pipe)) => fs::read(pipe).map(drop),
        Some(Fault::Hang) => loop {
            std::thread::park();
        },
        Some(Fault::Crash) => {
            say(&line.as_bytes()[..line.len() / 2])?;
            signals::die()
        }
        Some(Fault::Exit(status)) => std::process::exit(*status),
    }
}

/// Says a line in one piece: others may speak, too.
fn say_line(line: &str) -> io::Result<()> {
    say(format!("{line}\n").as_bytes())
}

fn say(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

#[expect(clippy::disallowed_methods, reason = "this is a program, and the variable is how it is told")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[expect(clippy::disallowed_methods, reason = "a test asks which variables the program was given")]
fn variable_names() -> Vec<String> {
    std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
}
