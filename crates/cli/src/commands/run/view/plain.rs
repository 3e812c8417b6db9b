//! What is told where nothing can be taken back and nothing coloured: a pipe, a file, a dumb terminal.

use junto::core::{AgentId, Body, Delta, Event};

use super::cell::{self, Block, Cells};
use super::words::{Names, Told, about, first_line, last_lines, tick_box, told};
use crate::output::Output;

/// Tells events as lines on standard error.
pub(super) struct Plain {
    output: Output,
    names: Names,
    cells: Cells,
}

impl Plain {
    pub(super) fn new(output: Output) -> Self {
        Self { output, names: Names::default(), cells: Cells::default() }
    }

    /// Tells of an event; of the agent's own, or of a child's.
    pub(super) fn tell(&mut self, event: &Event, own: bool) {
        self.names.note(event);
        let child = (!own).then(|| event.agent.clone());
        let mark = self.mark(child.as_ref());
        match &event.body {
            Body::ToolCallStart { call, .. } if cell::code(call).is_some() => {
                self.output.note(&format!("{mark}> {}", call.name));
                let code = cell::code(call).unwrap_or_default();
                self.lines(&mark, cell::lines_of_code(code));
                self.cells.begin(event.seq, child, code);
            }
            Body::ToolCallStart { call, .. } => {
                self.output.note(&format!("{mark}> {} {}", call.name, about(call)));
            }
            Body::ToolCallEnd { of, name, output, is_error, .. } => {
                let of_cell = of.is_some_and(|of| self.cells.is_open(of));
                if let Some(block) = of.and_then(|of| self.cells.end(of, output)) {
                    self.block(block);
                }
                let word = if *is_error { "failed" } else { "ok" };
                self.output.note(&format!("{mark}  {name} {word}"));
                if of_cell {
                    return;
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
            _ => match told(event, own) {
                Some(Told::Note(text)) => self.output.note(&format!("{mark}{text}")),
                Some(Told::Warning(text)) => self.output.warning(&format!("{mark}{text}")),
                None => {}
            },
        }
    }

    /// Tells what a cell says as it comes.
    pub(super) fn piece(&mut self, delta: &Delta) {
        if let Delta::ToolCallOutputDelta { of, text } = delta
            && let Some(block) = self.cells.piece(*of, text)
        {
            self.block(block);
        }
    }

    /// What a line of a child begins with.
    fn mark(&self, child: Option<&AgentId>) -> String {
        child.map(|child| format!("  {}: ", self.names.of(child))).unwrap_or_default()
    }

    fn block(&self, block: Block) {
        let mark = self.mark(block.child.as_ref());
        if let Some(title) = block.title {
            self.output.note(&format!("{mark}  {title}"));
        }
        self.lines(&mark, block.lines);
    }

    /// Lines of a cell, or of what it said.
    fn lines(&self, mark: &str, lines: Vec<cell::Line>) {
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
