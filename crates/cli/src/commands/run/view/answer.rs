//! The agent's answers on their way to standard output.

use junto::core::{Body, Delta, Event, EventLog, Payload, Seq};

use super::journal;
use crate::failure::Failure;
use crate::output::Output;
use crate::output::markdown::Markdown;
use crate::output::paint::Paint;

/// Prints answers as they come: as they are, or rendered where there are styles to render them with.
pub(super) struct Answer {
    output: Output,
    log: EventLog,
    /// Where the answer under way began, and what was printed of it.
    open: Option<(Seq, String)>,
    markdown: Option<Markdown>,
}

impl Answer {
    pub(super) fn new(output: Output, log: EventLog) -> Self {
        Self { output, log, open: None, markdown: None }
    }

    /// More of the answer.
    ///
    /// # Errors
    /// If standard output fails.
    pub(super) fn piece(&mut self, delta: &Delta) -> Result<(), Failure> {
        let Delta::AssistantTextDelta { of, text } = delta else { return Ok(()) };
        match &mut self.open {
            Some((start, printed)) if start == of => printed.push_str(text),
            _ => return Ok(()),
        }
        self.print(text)
    }

    /// The beginning or the end of an answer.
    ///
    /// # Errors
    /// If standard output or the journal fails.
    pub(super) async fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match &event.body {
            Body::AssistantTextStart {} => {
                self.open = Some((event.seq, String::new()));
                let styled = self.output.out().paint == Paint::Styles;
                self.markdown = styled.then(|| Markdown::new(Paint::Styles, Output::width()));
                Ok(())
            }
            Body::AssistantTextEnd { text, .. } => self.finish(text).await,
            _ => Ok(()),
        }
    }

    /// The rest of an answer, and its last line's end. An agent need not write in pieces, and a slow
    /// reader of them may have missed some: then the answer is printed again, whole.
    async fn finish(&mut self, whole: &Payload) -> Result<(), Failure> {
        let Some((_, printed)) = self.open.take() else { return Ok(()) };
        let whole = self.log.read(whole).await.map_err(|error| journal(&error))?;
        if let Some(rest) = whole.strip_prefix(printed.as_str()) {
            self.print(rest)?;
        } else {
            self.output.warning("parts of this answer were missed; it follows once more, whole");
            self.end()?;
            self.markdown = self.markdown.take().map(|_| Markdown::new(Paint::Styles, Output::width()));
            self.print(&format!("\n{whole}"))?;
        }
        if self.markdown.is_some() || whole.is_empty() || whole.ends_with('\n') {
            return self.end();
        }
        self.output.data("\n")
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        match &mut self.markdown {
            Some(markdown) => {
                if self.output.was_broken() {
                    markdown.broken();
                }
                self.output.painted(&markdown.push(text))
            }
            None => self.output.data(text),
        }
    }

    /// What is still held back.
    fn end(&mut self) -> Result<(), Failure> {
        match &mut self.markdown {
            Some(markdown) => self.output.painted(&markdown.finish()),
            None => Ok(()),
        }
    }
}
