//! A command that prints its answer as it is.

use crate::{CliEvent, LINE_LIMIT, Parser};

/// Takes everything that is printed for one text, up to the length of the longest line.
#[derive(Default)]
pub(crate) struct TextParser {
    text: Vec<u8>,
}

impl Parser for TextParser {
    fn line(&mut self, line: &[u8], _: &mut Vec<CliEvent>) {
        if self.text.len() + line.len() < LINE_LIMIT {
            self.text.extend_from_slice(line);
            self.text.push(b'\n');
        }
    }

    fn finish(&mut self, events: &mut Vec<CliEvent>) {
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.text)).trim_end().to_owned();
        if !text.is_empty() {
            events.extend([CliEvent::TextStart, CliEvent::TextDelta(text.clone()), CliEvent::TextEnd(text)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&[u8]]) -> Option<String> {
        let (mut parser, mut events) = (TextParser::default(), Vec::new());
        for line in lines {
            parser.line(line, &mut events);
        }
        assert!(events.is_empty());
        parser.finish(&mut events);
        match events.pop() {
            Some(CliEvent::TextEnd(text)) => Some(text),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn everything_is_the_answer() {
        assert_eq!(text(&[]), None);
        assert_eq!(text(&[b""]), None);
        assert_eq!(text(&[b"one", b"", b"{\"two\": 2}", b""]), Some("one\n\n{\"two\": 2}".to_owned()));
        let long = vec![b'x'; LINE_LIMIT / 2];
        assert_eq!(text(&[&long, &long, b"end"]).unwrap().len(), LINE_LIMIT / 2 + 4);
    }
}
