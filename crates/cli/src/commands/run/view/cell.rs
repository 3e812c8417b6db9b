//! Cells of code as blocks: the code, what it says while it runs, and the images it made.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use junto::core::{AgentId, Payload, Seq};
use junto::kernel::{EXECUTE_CODE, IMAGE_MARK};
use junto::llm::ToolCall;

use super::words::first_line;

/// How many lines of a cell are shown.
const MOST_CODE: usize = 40;
/// How many lines of its output: of its beginning, as they come, and of its end.
const MOST_OUTPUT: usize = 20;
/// The longest line that is waited for, in bytes.
const LONGEST: usize = 16 << 10;

/// A line of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Of the code.
    Code(String),
    /// Of what it said.
    Said(String),
    /// That there is more.
    More(String),
    /// An image in a file.
    Image(PathBuf),
}

/// The code of a call, if it runs some.
pub(super) fn code(call: &ToolCall) -> Option<&str> {
    call.arguments.get("code").filter(|_| call.name == EXECUTE_CODE)?.as_str()
}

/// The code as lines.
pub(super) fn lines_of_code(code: &str) -> Vec<Line> {
    let code = code.trim_end();
    let all = code.lines().count();
    let mut lines: Vec<Line> = code.lines().take(MOST_CODE).map(|line| Line::Code(line.to_owned())).collect();
    if all > MOST_CODE {
        lines.push(Line::More(format!("({} more lines)", all - MOST_CODE)));
    }
    lines
}

/// The cells that run, and what is shown of them.
#[derive(Default)]
pub(super) struct Cells {
    open: HashMap<Seq, Open>,
    /// Whose lines were shown last.
    speaks: Option<Seq>,
}

struct Open {
    child: Option<AgentId>,
    title: String,
    said: Saying,
}

/// Lines of a cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The child whose cell it is.
    pub(super) child: Option<AgentId>,
    /// What the cell is called, where lines of another one came last.
    pub(super) title: Option<String>,
    pub(super) lines: Vec<Line>,
}

impl Cells {
    /// A cell begins; its code was shown.
    pub(super) fn begin(&mut self, start: Seq, child: Option<AgentId>, code: &str) {
        let title = format!("{EXECUTE_CODE} {}", first_line(code));
        self.open.insert(start, Open { child, title, said: Saying::default() });
        self.speaks = Some(start);
    }

    /// More of what one says; nothing if it is none, or there is nothing to be shown yet.
    pub(super) fn piece(&mut self, start: Seq, text: &str) -> Option<Block> {
        let lines = self.open.get_mut(&start)?.said.more(text);
        self.block(start, lines)
    }

    /// The rest of what one said, at its end.
    pub(super) fn end(&mut self, start: Seq, output: &Payload) -> Option<Block> {
        let said = std::mem::take(&mut self.open.get_mut(&start)?.said);
        let lines = said.rest(output);
        let block = self.block(start, lines);
        self.open.remove(&start);
        block
    }

    /// Whether a cell runs that began here.
    pub(super) fn is_open(&self, start: Seq) -> bool {
        self.open.contains_key(&start)
    }

    /// The last words of a cell that have not become a line.
    pub(super) fn last_words(&self, start: Seq) -> Option<&str> {
        let words = self.open.get(&start)?.said.last_words();
        (!words.is_empty()).then_some(words)
    }

    fn block(&mut self, start: Seq, lines: Vec<Line>) -> Option<Block> {
        let open = self.open.get(&start).filter(|_| !lines.is_empty())?;
        let title = (self.speaks != Some(start)).then(|| open.title.clone());
        self.speaks = Some(start);
        Some(Block { child: open.child.clone(), title, lines })
    }
}

/// What a cell says, as it comes. The first lines are shown at once; of a flood the last ones are kept for the end.
#[derive(Default)]
struct Saying {
    bytes: u64,
    /// A line that has not ended.
    partial: String,
    shown: usize,
    held: VecDeque<String>,
    left_out: usize,
}

impl Saying {
    fn more(&mut self, text: &str) -> Vec<Line> {
        self.bytes += text.len() as u64;
        let mut lines = Vec::new();
        for piece in text.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') || self.partial.len() > LONGEST {
                let line = std::mem::take(&mut self.partial);
                lines.extend(self.line(&line));
            }
        }
        lines
    }

    /// What is shown of a line at once.
    fn line(&mut self, line: &str) -> Option<Line> {
        let line = last_written(line);
        if let Some(path) = image(line) {
            return Some(Line::Image(path));
        }
        if line.trim().is_empty() {
            return None;
        }
        if self.shown < MOST_OUTPUT {
            self.shown += 1;
            return Some(Line::Said(line.to_owned()));
        }
        self.held.push_back(line.to_owned());
        if self.held.len() > MOST_OUTPUT {
            self.held.pop_front();
            self.left_out += 1;
        }
        None
    }

    fn last_words(&self) -> &str {
        let partial = last_written(&self.partial);
        if partial.trim().is_empty() { self.held.back().map_or("", String::as_str) } else { partial }
    }

    /// What was not shown of an output that is complete.
    fn rest(mut self, output: &Payload) -> Vec<Line> {
        if self.bytes != output.bytes() {
            // Pieces were missed, or none came.
            return lines_of_output(&output.preview());
        }
        let partial = std::mem::take(&mut self.partial);
        let mut lines: Vec<Line> = self.line(&partial).into_iter().collect();
        if self.left_out > 0 {
            lines.push(Line::More(format!("({} lines left out)", self.left_out)));
        }
        lines.extend(self.held.into_iter().map(Line::Said));
        lines
    }
}

/// What is seen of a line that was written over, as progress bars are.
fn last_written(line: &str) -> &str {
    let line = line.trim_end();
    line.rsplit('\r').next().unwrap_or(line)
}

fn image(line: &str) -> Option<PathBuf> {
    let path = line.strip_prefix(IMAGE_MARK)?.strip_suffix(']')?;
    Some(PathBuf::from(path))
}

/// A whole output as lines: its end tells most, and no image is left out.
fn lines_of_output(output: &str) -> Vec<Line> {
    let all: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let left_out = all.len().saturating_sub(MOST_OUTPUT);
    let mut lines = Vec::new();
    if left_out > 0 {
        lines.push(Line::More(format!("({left_out} lines before)")));
    }
    for (at, line) in all.into_iter().enumerate() {
        match image(line) {
            Some(path) => lines.push(Line::Image(path)),
            None if at >= left_out => lines.push(Line::Said(line.trim_end().to_owned())),
            None => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Line {
        Line::Said(text.to_owned())
    }

    fn begun(cells: &mut Cells, start: u64) -> Seq {
        cells.begin(Seq(start), None, "x = 1\nx");
        Seq(start)
    }

    #[test]
    fn what_a_cell_says_is_shown_line_by_line_and_once() {
        let mut cells = Cells::default();
        let one = begun(&mut cells, 1);
        assert_eq!(cells.piece(one, "hal"), None);
        assert_eq!(cells.last_words(one), Some("hal"));
        let block = cells.piece(one, "f\n10%\r20%\n\n").unwrap();
        assert_eq!((block.title, block.lines), (None, vec![said("half"), said("20%")]));
        cells.piece(one, "end");
        let block = cells.end(one, &"half\n10%\r20%\n\nend".into()).unwrap();
        assert_eq!(block.lines, [said("end")]);
        assert_eq!(cells.piece(one, "late\n"), None);
    }

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_shown() {
        let mut cells = Cells::default();
        let one = begun(&mut cells, 1);
        let all = (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let shown = cells.piece(one, &all).unwrap().lines;
        assert_eq!((shown.len(), shown.last()), (MOST_OUTPUT, Some(&said("19"))));
        let image = format!("{IMAGE_MARK}/a.png]\n");
        assert_eq!(cells.piece(one, &image).unwrap().lines, [Line::Image("/a.png".into())]);
        let rest = cells.end(one, &format!("{all}{image}").into()).unwrap().lines;
        assert_eq!(rest.first(), Some(&Line::More("(960 lines left out)".to_owned())));
        assert_eq!((rest.len(), rest.last()), (MOST_OUTPUT + 1, Some(&said("999"))));
    }

    #[test]
    fn cells_side_by_side_say_which_one_speaks_and_what_was_missed_is_shown_at_the_end() {
        let mut cells = Cells::default();
        let (one, other) = (begun(&mut cells, 1), begun(&mut cells, 2));
        let block = cells.piece(one, "a\n").unwrap();
        assert_eq!(block.title.as_deref(), Some("execute_code x = 1 (and 1 more line)"));
        assert_eq!(cells.piece(one, "b\n").unwrap().title, None);
        let block = cells.end(other, &"missed\nlast\n".into()).unwrap();
        assert_eq!(block.lines, [said("missed"), said("last")]);
        assert_eq!(cells.end(one, &"a\nb\n".into()), None);
    }

    #[test]
    fn cells_become_blocks() {
        let call = ToolCall::function("c", EXECUTE_CODE, r#"{"code":"x = 1\nx\n"}"#);
        assert_eq!(code(&call), Some("x = 1\nx\n"));
        assert_eq!(code(&ToolCall::function("c", "shell", r#"{"code":"x"}"#)), None);
        assert_eq!(lines_of_code("x = 1\nx\n"), [Line::Code("x = 1".to_owned()), Line::Code("x".to_owned())]);
        let long = "y\n".repeat(MOST_CODE + 2);
        assert_eq!(lines_of_code(&long).last(), Some(&Line::More("(2 more lines)".to_owned())));
        let output = format!("{IMAGE_MARK}/a.png]\n{}last\n", "more\n".repeat(MOST_OUTPUT));
        let lines = lines_of_output(&output);
        assert_eq!(lines.first(), Some(&Line::More("(2 lines before)".to_owned())));
        assert_eq!(lines.get(1), Some(&Line::Image("/a.png".into())));
        assert_eq!(lines.last(), Some(&Line::Said("last".to_owned())));
        assert_eq!(lines.len(), MOST_OUTPUT + 2);
    }
}
