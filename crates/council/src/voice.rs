//! How a council is heard while it works: its narration, and an answer that is handed on as it comes.

use junto_llm::{Narration, StreamEvent};
use tokio::sync::mpsc;

use crate::view::cut;

/// How many events may wait for a reader; then the work waits too.
const WAITING: usize = 32;
/// The most bytes of a line.
const LINE: usize = 500;

/// Takes lines of narration and pieces of the answer, for whoever listens.
pub(crate) struct Voice {
    out: Option<mpsc::Sender<StreamEvent>>,
    narration: Narration,
}

impl Voice {
    /// One to whom nobody listens.
    pub(crate) fn unheard() -> Self {
        Self { out: None, narration: Narration::Silent }
    }

    /// One that narrates this much, and what it says.
    pub(crate) fn heard(narration: Narration) -> (Self, mpsc::Receiver<StreamEvent>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self { out: Some(sender), narration }, receiver)
    }

    /// Whether somebody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.out.is_some()
    }

    /// How much it narrates.
    pub(crate) fn narration(&self) -> Narration {
        self.narration
    }

    /// A line of narration.
    pub(crate) async fn say(&self, line: impl AsRef<str>) {
        if self.narration != Narration::Silent {
            self.utter(StreamEvent::Progress { text: cut(line.as_ref(), LINE) }).await;
        }
    }

    /// A piece of the answer.
    pub(crate) async fn utter(&self, event: StreamEvent) {
        if let Some(out) = &self.out {
            // A listener that has gone is no reason to stop working.
            let _ = out.send(event).await;
        }
    }
}

/// What a member writes, line by line, for a listener who wants to hear it while it is written.
pub(crate) struct Murmur<'a> {
    voice: &'a Voice,
    name: &'a str,
    line: String,
}

impl<'a> Murmur<'a> {
    /// Of this member.
    pub(crate) fn new(voice: &'a Voice, name: &'a str) -> Self {
        Self { voice, name, line: String::new() }
    }

    /// More of what it writes.
    pub(crate) async fn more(&mut self, text: &str) {
        if self.voice.narration() != Narration::Interleaved {
            return;
        }
        for piece in text.split_inclusive('\n') {
            // A line is shown cut, so no more of it than that is kept.
            let room = LINE.saturating_sub(self.line.len());
            self.line.push_str(piece.get(..piece.floor_char_boundary(room)).unwrap_or_default());
            if piece.ends_with('\n') {
                self.flush().await;
            }
        }
    }

    /// The last line, which nothing ended.
    pub(crate) async fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.voice.say(format!("[{}] {}", self.name, line.trim_end())).await;
        }
    }
}
