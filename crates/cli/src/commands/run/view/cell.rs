//! Cells of code as blocks: the code, what it said, and the images it made.

use std::path::PathBuf;

use junto::kernel::{EXECUTE_CODE, IMAGE_MARK};
use junto::llm::ToolCall;

/// How many lines of a cell are shown.
const MOST_CODE: usize = 40;
/// How many lines of its output.
const MOST_OUTPUT: usize = 20;

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

/// The output as lines: its end tells most, and no image is left out.
pub(super) fn lines_of_output(output: &str) -> Vec<Line> {
    let image = |line: &str| {
        let path = line.strip_prefix(IMAGE_MARK)?.strip_suffix(']')?;
        Some(PathBuf::from(path))
    };
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
