//! What is shown of an agent's events.

use std::collections::HashMap;
use std::time::Duration;

use junto::core::{
    AgentId, Body, Delta, Event, EventLog, Item, JournalError, Payload, Seq, StepStatus, VERSION,
};
use junto::llm::{SessionId, ToolCall};
use serde::Serialize;

use crate::commands::ask::closing_line;
use crate::config::duration_text;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// The longest line about a tool call.
const WIDTH: usize = 100;
/// How many lines are shown of what a tool says.
const RESULT_LINES: usize = 2;

/// How events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The answers on standard output; everything else in words on standard error.
    Text,
    /// Every event and delta as a line of JSON on standard output.
    Json,
}

/// Shows an agent's events as they come.
pub(crate) struct View {
    form: Form,
    output: Output,
    log: EventLog,
    /// Who writes each text, reasoning and tool output that is under way.
    writers: HashMap<Seq, AgentId>,
    /// What was printed of the answer under way.
    answer: Option<(Seq, String)>,
    /// Who answered the last model call.
    who: Option<String>,
    /// The last limit that was reached.
    limit: Option<String>,
}

/// A delta as a line. It has no position of its own: only events are kept.
#[derive(Serialize)]
struct DeltaLine<'a> {
    v: u8,
    session: &'a SessionId,
    agent: &'a AgentId,
    #[serde(flatten)]
    delta: &'a Delta,
}

impl View {
    /// A view of the agent that writes to this log, and of its children.
    pub(crate) fn new(form: Form, output: Output, log: EventLog) -> Self {
        Self { form, output, log, writers: HashMap::new(), answer: None, who: None, limit: None }
    }

    /// The last limit that was reached, in words.
    pub(crate) fn limit(&self) -> Option<&str> {
        self.limit.as_deref()
    }

    /// Shows an event or a delta.
    ///
    /// # Errors
    /// If standard output or the journal fails.
    pub(crate) async fn show(&mut self, item: &Item) -> Result<(), Failure> {
        if let Item::Event(event) = item {
            self.note(event);
        }
        match (self.form, item) {
            (Form::Json, Item::Event(event)) => self.line(event),
            (Form::Json, Item::Delta(delta)) => {
                let agent = self.writers.get(&delta.of()).unwrap_or_else(|| self.log.agent());
                self.line(&DeltaLine { v: VERSION, session: self.log.session(), agent, delta })
            }
            (Form::Text, Item::Delta(delta)) => self.piece(delta),
            (Form::Text, Item::Event(event)) => self.tell(event).await,
        }
    }

    /// The line that closes a session.
    pub(crate) fn close(&self, event: &Event, took: Duration) {
        if let Body::SessionEnd { usage, cost, .. } = &event.body {
            let who = self.who.as_deref().unwrap_or("no model was asked");
            self.output.note(&closing_line(who, usage, *cost, took));
        }
    }

    /// Keeps what later events are understood by.
    fn note(&mut self, event: &Event) {
        match &event.body {
            Body::AssistantTextStart {} | Body::ReasoningStart {} | Body::ToolCallStart { .. } => {
                self.writers.insert(event.seq, event.agent.clone());
            }
            Body::AssistantTextEnd { of, .. }
            | Body::ReasoningEnd { of, .. }
            | Body::ToolCallEnd { of: Some(of), .. } => {
                self.writers.remove(of);
            }
            Body::Call { provider, model, .. } if self.is_own(event) => {
                self.who = Some(format!("{provider}/{model}"));
            }
            Body::TurnLimit { limit, .. } if self.is_own(event) => self.limit = Some(limit.clone()),
            _ => {}
        }
    }

    /// Whether the agent itself did it, and no child.
    fn is_own(&self, event: &Event) -> bool {
        event.agent == *self.log.agent()
    }

    fn line(&self, value: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(value).map_err(|error| broken(&error.to_string()))?;
        self.output.data(&format!("{line}\n"))
    }

    /// More of the answer.
    fn piece(&mut self, delta: &Delta) -> Result<(), Failure> {
        let Delta::AssistantTextDelta { of, text } = delta else { return Ok(()) };
        match &mut self.answer {
            Some((start, printed)) if start == of => {
                printed.push_str(text);
                self.output.data(text)
            }
            _ => Ok(()),
        }
    }

    /// The rest of an answer, and its last line's end. An agent need not write in pieces, and a slow
    /// reader of them may have missed some: then the answer is printed again, whole.
    async fn finish(&mut self, whole: &Payload) -> Result<(), Failure> {
        let Some((_, printed)) = self.answer.take() else { return Ok(()) };
        let whole = self.log.read(whole).await.map_err(|error| journal(&error))?;
        if let Some(rest) = whole.strip_prefix(printed.as_str()) {
            self.output.data(rest)?;
        } else {
            self.output.warning("parts of this answer were missed; it follows once more, whole");
            self.output.data(&format!("\n{whole}"))?;
        }
        if whole.is_empty() || whole.ends_with('\n') { Ok(()) } else { self.output.data("\n") }
    }

    async fn tell(&mut self, event: &Event) -> Result<(), Failure> {
        let own = self.is_own(event);
        let mark = if own { "" } else { "  child: " };
        match &event.body {
            Body::AssistantTextStart {} if own => self.answer = Some((event.seq, String::new())),
            Body::AssistantTextEnd { text, .. } if own => return self.finish(text).await,
            Body::ReasoningStart {} if own => self.output.status("thinking …"),
            Body::ToolCallStart { call } => self.output.note(&format!("{mark}> {}", describe(call))),
            Body::ToolCallEnd { name, output, is_error, .. } => {
                let word = if *is_error { "failed" } else { "ok" };
                self.output.note(&format!("{mark}  {name} {word}"));
                for line in last_lines(&output.preview()) {
                    self.output.note(&format!("{mark}    {line}"));
                }
            }
            Body::SteeringInjected { input } => {
                self.output.note(&format!("{mark}told: {}", first_line(&input.text)));
            }
            Body::Progress { text } => self.output.note(&format!("{mark}{text}")),
            Body::Retry { attempt, delay_ms, error } => self.output.note(&format!(
                "{mark}{}; trying again in {} (retry {attempt})",
                error.message,
                duration_text(Duration::from_millis(*delay_ms))
            )),
            Body::LoopDetection { message } | Body::Warning { message, .. } => {
                self.output.warning(&format!("{mark}{message}"));
            }
            Body::Plan { plan } => {
                for step in &plan.steps {
                    let sign = match step.status {
                        StepStatus::Pending => "[ ]",
                        StepStatus::InProgress => "[>]",
                        StepStatus::Completed => "[x]",
                    };
                    self.output.note(&format!("{mark}{sign} {}", first_line(&step.step)));
                }
            }
            Body::Child { kind, task, .. } => {
                self.output.note(&format!("{mark}> {kind}: {}", first_line(task)));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A tool call in one line.
fn describe(call: &ToolCall) -> String {
    let main = ["command", "file_path", "task"].iter().find_map(|name| call.arguments.get(name)?.as_str());
    let arguments = main.map_or_else(|| call.arguments.to_string(), str::to_owned);
    format!("{} {}", call.name, first_line(&arguments))
}

/// The first line that says something, cut at the screen's edge, and how many more there are.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let cut = cut(lines.next().unwrap_or_default().trim());
    match lines.count() {
        0 => cut,
        1 => format!("{cut} (and 1 more line)"),
        more => format!("{cut} (and {more} more lines)"),
    }
}

/// The last lines that say something: of what a tool says, the end tells most.
fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(RESULT_LINES);
    lines.into_iter().skip(from).map(|line| cut(line.trim_end())).collect()
}

/// A line, cut at the screen's edge.
fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}

/// The journal failed: nothing more can be known of the agent.
pub(super) fn journal(error: &JournalError) -> Failure {
    broken(&error.to_string())
}

fn broken(what: &str) -> Failure {
    Failure::new(Exit::Failed, format!("cannot follow the agent: {what}"), "run it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_become_one_line() {
        let check = |text: &str, expected: &str| assert_eq!(first_line(text), expected);
        check("", "");
        check("\n  one\n", "one");
        check("one\n\ntwo", "one (and 1 more line)");
        check("one\ntwo\nthree", "one (and 2 more lines)");
        check(&"é".repeat(WIDTH), &"é".repeat(WIDTH));
        check(&"é".repeat(WIDTH + 1), &format!("{}…", "é".repeat(WIDTH)));
        assert_eq!(last_lines("a\nb\n\n c\n"), ["b", " c"]);
        assert!(last_lines("").is_empty());
    }
}
