//! What is told where nothing can be taken back and nothing coloured: a pipe, a file, a dumb terminal.

use junto::core::{Body, Event};
use junto::kernel::EXECUTE_CODE;

use super::cell;
use super::words::{Names, Told, about, first_line, last_lines, tick_box, told};
use crate::output::Output;

/// Tells events as lines on standard error.
pub(super) struct Plain {
    output: Output,
    names: Names,
}

impl Plain {
    pub(super) fn new(output: Output) -> Self {
        Self { output, names: Names::default() }
    }

    /// Tells of an event; of the agent's own, or of a child's.
    pub(super) fn tell(&mut self, event: &Event, own: bool) {
        self.names.note(event);
        let mark = if own { String::new() } else { format!("  {}: ", self.names.of(&event.agent)) };
        match &event.body {
            Body::ToolCallStart { call, .. } if cell::code(call).is_some() => {
                self.output.note(&format!("{mark}> {}", call.name));
                self.block(&mark, cell::code(call).map(cell::lines_of_code).unwrap_or_default());
            }
            Body::ToolCallStart { call, .. } => {
                self.output.note(&format!("{mark}> {} {}", call.name, about(call)));
            }
            Body::ToolCallEnd { name, output, is_error, .. } => {
                let word = if *is_error { "failed" } else { "ok" };
                self.output.note(&format!("{mark}  {name} {word}"));
                if name == EXECUTE_CODE {
                    return self.block(&mark, cell::lines_of_output(&output.preview()));
                }
                for line in last_lines(&output.preview()) {
                    self.output.note(&format!("{mark}    {line}"));
                }
            }
            Body::Plan { plan } => {
                for step in &plan.steps {
                    self.output.note(&format!("{mark}{} {}", tick_box(step.status), first_line(&step.step)));
                }
            }
            Body::Child { agent, kind, task, .. } => {
                self.output.note(&format!("{mark}> {} {kind}: {}", self.names.of(agent), first_line(task)));
            }
            _ => match told(event) {
                Some(Told::Note(text)) => self.output.note(&format!("{mark}{text}")),
                Some(Told::Warning(text)) => self.output.warning(&format!("{mark}{text}")),
                None => {}
            },
        }
    }

    /// A cell, or what it said.
    fn block(&self, mark: &str, lines: Vec<cell::Line>) {
        for line in lines {
            let text = match &line {
                cell::Line::Code(text) => format!("{mark}  | {text}"),
                cell::Line::Said(text) | cell::Line::More(text) => format!("{mark}    {text}"),
                cell::Line::Image(path) => format!("{mark}    image: {}", path.display()),
            };
            self.output.note(&text);
            if let cell::Line::Image(path) = &line {
                self.output.picture(path);
            }
        }
    }
}
