//! Questions to a person before there is an agent that could ask.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use crate::output::Output;

/// The longest answer that is read.
const LONGEST: u64 = 4096;

/// Whether there is a person who sees questions and can answer.
pub(crate) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks until the answer is a yes or a no. The end of the input is a no. A read cannot be interrupted, so
/// this runs on a thread of its own, for which the process does not wait in the end.
pub(crate) async fn yes(output: &Output, text: &str, question: &str) -> bool {
    let prompt = format!("{question} [y/n] ");
    output.question(text, &prompt);
    loop {
        let line = tokio::task::spawn_blocking(read_line).await.ok().flatten();
        output.answered();
        match line.as_deref().map(str::trim) {
            Some("y" | "Y" | "yes") => return true,
            Some("n" | "N" | "no") | None => return false,
            Some(_) => output.question("Please answer y or n.", &prompt),
        }
    }
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().take(LONGEST).read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}
