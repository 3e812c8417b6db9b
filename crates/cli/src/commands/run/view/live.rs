//! What is told on a terminal: what is done as lines that stay, what is under way below them.

use std::time::Duration;

use junto::core::{AgentId, Body, Delta, Event, Payload, Plan, Seq, StepStatus};
use junto::llm::ToolCall;
use tokio::time::Instant;

use super::cell::{self, Block, Cells};
use super::diff::{self, Line};
use super::words::{Names, Told, about, first_line, last_lines, last_words, told, took};
use crate::output::Output;
use crate::output::paint::{Paint, Painted, Style};

/// The turns of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How many calls are shown while they are under way.
const MOST_RUNNING: usize = 5;
/// Tools of which other events tell, by the names of all dialects.
const TOLD_ELSEWHERE: &[&str] =
    &["update_plan", "TodoWrite", "write_todos", "ask_user", "AskUserQuestion", "request_user_input"];

/// Tells events on a terminal.
pub(super) struct Live {
    output: Output,
    /// Tool calls under way, the oldest first.
    running: Vec<Running>,
    cells: Cells,
    waiting: Option<Waiting>,
    names: Names,
    turn: usize,
}

/// A tool call under way.
struct Running {
    start: Seq,
    /// The child whose call it is.
    child: Option<AgentId>,
    call: ToolCall,
    since: Instant,
}

/// The model is waited for.
#[derive(Clone, Copy)]
struct Waiting {
    word: &'static str,
    since: Instant,
}

impl Live {
    pub(super) fn new(output: Output) -> Self {
        let (running, cells, names) = (Vec::new(), Cells::default(), Names::default());
        Self { output, running, cells, waiting: None, names, turn: 0 }
    }

    /// Tells of an event; of the agent's own, or of a child's.
    pub(super) fn tell(&mut self, event: &Event, own: bool) {
        self.names.note(event);
        let child = (!own).then(|| event.agent.clone());
        if own {
            self.wait_for_model(&event.body);
        }
        match &event.body {
            Body::ToolCallStart { call, .. } => {
                let since = Instant::now();
                if let Some(code) = cell::code(call) {
                    self.cell_began(event.seq, child.clone(), code);
                }
                self.running.push(Running { start: event.seq, child, call: call.clone(), since });
            }
            Body::ToolCallEnd { of, name, output, is_error, .. } => {
                let at = self.running.iter().position(|running| Some(running.start) == *of);
                let ended = at.map(|at| self.running.remove(at));
                self.call_ended(ended, child.as_ref(), name, output, *is_error);
            }
            Body::Plan { plan } => self.plan(plan, child.as_ref()),
            Body::Child { agent, kind, task, .. } => {
                let line = self.start_line(child.as_ref()).styled(Style::CODE, "↳ ");
                let line =
                    line.styled(Style::DIM, self.names.of(agent)).styled(Style::BOLD, &format!(" {kind} "));
                self.say(line.fitted(Style::PLAIN, &first_line(task), width()));
            }
            _ => match told(event, own) {
                Some(Told::Note(text)) => {
                    let line = self.start_line(child.as_ref());
                    self.say(line.styled(Style::DIM, &text));
                }
                Some(Told::Warning(text)) => {
                    let of = child.as_ref().map(|child| format!("{} ", self.names.of(child)));
                    self.output.warning(&format!("{}{text}", of.unwrap_or_default()));
                }
                None => {}
            },
        }
        self.draw();
    }

    /// Tells what a cell says as it comes.
    pub(super) fn piece(&mut self, delta: &Delta) {
        if let Delta::ToolCallOutputDelta { of, text } = delta
            && let Some(block) = self.cells.piece(*of, text)
        {
            self.block(&block);
        }
    }

    /// Turns the spinner.
    pub(super) fn tick(&mut self) {
        self.turn = (self.turn + 1) % SPINNER.len();
        self.draw();
    }

    /// Nothing is under way any more.
    pub(super) fn end(&mut self) {
        self.running.clear();
        self.waiting = None;
        self.draw();
    }

    /// Sees whether the model is waited for.
    fn wait_for_model(&mut self, body: &Body) {
        let word = match body {
            Body::UserInput { .. }
            | Body::ToolCallEnd { .. }
            | Body::ReasoningEnd { .. }
            | Body::Retry { .. } => "working",
            Body::ReasoningStart {} => "thinking",
            Body::AssistantTextStart {} | Body::InputEnd { .. } | Body::SessionEnd { .. } => {
                self.waiting = None;
                return;
            }
            _ => return,
        };
        let since = match self.waiting {
            Some(waiting) if waiting.word == word => waiting.since,
            _ => Instant::now(),
        };
        self.waiting = Some(Waiting { word, since });
    }

    /// Draws what is under way.
    fn draw(&self) {
        let spinner = SPINNER.get(self.turn).copied().unwrap_or_default();
        let line = |child: Option<&AgentId>| self.start_line(child).styled(Style::YELLOW, spinner).plain(" ");
        // The last column stays free: a terminal may go to the next line when it is filled.
        let width = width() - 1;
        let mut lines: Vec<Painted> = Vec::new();
        for running in self.running.iter().take(MOST_RUNNING) {
            let time = format!(" · {}", whole_seconds(running.since.elapsed()));
            let room = width.saturating_sub(time.len());
            let line = line(running.child.as_ref()).fitted(Style::BOLD, &running.call.name, room).plain(" ");
            // Of a cell the code is above, and what it says now tells more.
            let what = match self.cells.last_words(running.start) {
                Some(words) => words.replace('\t', " "),
                None if self.cells.is_open(running.start) => String::new(),
                None => about(&running.call),
            };
            lines.push(line.fitted(Style::PLAIN, &what, room).fitted(Style::DIM, &time, width));
        }
        if self.running.len() > MOST_RUNNING {
            let more = format!("  and {} more", self.running.len() - MOST_RUNNING);
            lines.push(Painted::new(self.paint()).styled(Style::DIM, &more));
        }
        if let (Some(waiting), true) = (self.waiting, lines.is_empty()) {
            let text = format!("{} · {}", waiting.word, whole_seconds(waiting.since.elapsed()));
            lines.push(line(None).styled(Style::DIM, &text));
        }
        self.output.under_way(&lines);
    }

    /// The line that stays of a call, and below it what it changed, or how it failed.
    fn call_ended(
        &mut self,
        ended: Option<Running>,
        child: Option<&AgentId>,
        name: &str,
        output: &Payload,
        is_error: bool,
    ) {
        let of_cell = ended.as_ref().is_some_and(|running| self.cells.is_open(running.start));
        if let Some(block) = ended.as_ref().and_then(|running| self.cells.end(running.start, output)) {
            self.block(&block);
        }
        let output = &output.preview();
        if TOLD_ELSEWHERE.contains(&name) && !is_error {
            return;
        }
        let (style, mark) = if is_error { (Style::RED, "✗") } else { (Style::GREEN, "✓") };
        let line = self.start_line(child).styled(style, mark).plain(" ").styled(Style::BOLD, name);
        let after = match &ended {
            Some(running) => format!(" · {}", took(running.since.elapsed())),
            None => " · not run".to_owned(),
        };
        let what = ended.as_ref().filter(|_| !of_cell).map(|running| format!(" {}", about(&running.call)));
        let what = what.unwrap_or_default();
        let room = width().saturating_sub(after.chars().count());
        let mut line = line.fitted(Style::PLAIN, &what, room).styled(Style::DIM, &after);
        if !is_error
            && let Some(words) = last_words(output).filter(|_| ended.as_ref().is_some_and(is_command))
        {
            line = line.fitted(Style::DIM, &format!(" · {words}"), width());
        }
        self.say(line);
        if of_cell {
            return;
        }
        let below = || self.start_line(child).plain("    ");
        if is_error {
            for text in last_lines(output) {
                self.say(below().fitted(Style::DIM, &text, width()));
            }
        } else if let Some(running) = ended {
            for line in diff::of_call(&running.call) {
                let (style, text) = match line {
                    Line::Removed(text) => (Style::RED, format!("- {text}")),
                    Line::Added(text) => (Style::GREEN, format!("+ {text}")),
                    Line::Remark(text) | Line::Kept(text) | Line::Place(text) => (Style::DIM, text),
                };
                self.say(below().fitted(style, &text.replace('\t', "    "), width()));
            }
        }
    }

    /// The code of a cell, which stays.
    fn cell_began(&mut self, start: Seq, child: Option<AgentId>, code: &str) {
        let line = self.start_line(child.as_ref()).styled(Style::YELLOW, "▸ ");
        self.say(line.styled(Style::BOLD, junto::kernel::EXECUTE_CODE));
        for line in cell::lines_of_code(code) {
            self.of_cell(self.start_line(child.as_ref()).plain("    "), &line);
        }
        self.cells.begin(start, child, code);
    }

    fn block(&self, block: &Block) {
        let start = || self.start_line(block.child.as_ref()).plain("    ");
        if let Some(title) = &block.title {
            self.say(start().fitted(Style::DIM, title, width()));
        }
        for line in &block.lines {
            self.of_cell(start(), line);
        }
    }

    /// A line of a cell, or of what it said.
    fn of_cell(&self, start: Painted, line: &cell::Line) {
        match line {
            cell::Line::Code(text) => {
                let start = start.styled(Style::DIM, "│ ");
                self.say(start.fitted(Style::CODE, &text.replace('\t', "    "), width()));
            }
            cell::Line::Said(text) => {
                self.say(start.fitted(Style::PLAIN, &text.replace('\t', "    "), width()));
            }
            cell::Line::More(text) => self.say(start.styled(Style::DIM, text)),
            cell::Line::Image(path) => {
                self.say(start.styled(Style::DIM, &format!("image: {}", path.display())));
                self.output.picture(path);
            }
        }
    }

    fn plan(&self, plan: &Plan, child: Option<&AgentId>) {
        for step in &plan.steps {
            let (mark_style, mark, style) = match step.status {
                StepStatus::Pending => (Style::DIM, "☐ ", Style::PLAIN),
                StepStatus::InProgress => (Style::YELLOW, "▸ ", Style::BOLD),
                StepStatus::Completed => (Style::GREEN, "☑ ", Style::DIM),
            };
            let line = self.start_line(child).styled(mark_style, mark);
            self.say(line.fitted(style, &first_line(&step.step), width()));
        }
    }

    /// The beginning of a line: a child's are set in and have its name.
    fn start_line(&self, child: Option<&AgentId>) -> Painted {
        let line = Painted::new(self.paint());
        match child {
            Some(child) => line.plain("  ").styled(Style::DIM, self.names.of(child)).plain(" "),
            None => line,
        }
    }

    fn say(&self, line: Painted) {
        self.output.say(&line);
    }

    fn paint(&self) -> Paint {
        self.output.err().paint
    }
}

/// Whether a call runs a command, whose last words tell how it went.
fn is_command(running: &Running) -> bool {
    ["command", "cmd"].iter().any(|name| running.call.arguments.get(name).is_some())
}

fn width() -> usize {
    Output::width()
}

/// A time that does not change with each turn of the spinner.
fn whole_seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => took(time),
    }
}
