//! How a council tells what it is doing.

use tokio::sync::mpsc;

use crate::view::cut;

/// How many lines may wait for a reader; then the work waits too.
const WAITING: usize = 32;
/// The most bytes of a line.
const LINE: usize = 500;

/// Takes lines of narration, for whoever listens.
#[derive(Clone)]
pub(crate) struct Narrator(Option<mpsc::Sender<String>>);

impl Narrator {
    /// One to whom nobody listens.
    pub(crate) fn silent() -> Self {
        Self(None)
    }

    /// One, and what it says.
    pub(crate) fn heard() -> (Self, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(Some(sender)), receiver)
    }

    pub(crate) async fn say(&self, line: impl AsRef<str>) {
        if let Some(sender) = &self.0 {
            // A listener that has gone is no reason to stop working.
            let _ = sender.send(cut(line.as_ref(), LINE)).await;
        }
    }
}
