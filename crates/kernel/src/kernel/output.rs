//! What a cell says.

use junto_core::Fut;
use serde_json::Value;

/// Takes what a cell says, in its order, and may take its time: the cell waits meanwhile.
pub trait Output {
    /// The cell has its turn: what comes from here on is its doing.
    fn begin(&mut self) {}

    /// Takes a piece.
    fn piece(&mut self, piece: Piece) -> Fut<'_, ()>;
}

/// A piece of what a cell says.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Text to the standard output: of Python, of its threads, of the processes it started.
    Stdout(String),
    /// Text to the standard error.
    Stderr(String),
    /// The value of the cell's last expression.
    Result {
        /// As `repr` gives it.
        text: String,
    },
    /// Something that was displayed and has no richer form than text.
    Display {
        /// The text.
        text: String,
    },
    /// A picture: PNG, JPEG, or SVG.
    Image {
        /// `image/png` and the like.
        media_type: String,
        /// The file.
        bytes: Vec<u8>,
    },
    /// HTML, for whoever shows it; a text for everybody else comes beside it if there is one.
    Html(String),
    /// JSON.
    Json(Value),
    /// The exception that ended the cell.
    Error {
        /// Its class.
        name: String,
        /// Its message.
        value: String,
        /// All of it as Python prints it, without colours.
        traceback: String,
    },
}

/// Takes everything and keeps it: for what is known to be little.
impl Output for Vec<Piece> {
    fn piece(&mut self, piece: Piece) -> Fut<'_, ()> {
        self.push(piece);
        Box::pin(std::future::ready(()))
    }
}
