//! What a cell says, shown and kept as it comes.

use std::path::PathBuf;

use junto_core::{Fut, Media, Spool, ToolCx, ToolOutcome};

use super::host::Running;
use super::{IMAGE_MARK, images};
use crate::{CellEnd, Output, Piece, Ran};

/// What a cell says, in the order in which it came.
pub(super) struct Heard<'a> {
    cx: &'a ToolCx,
    /// The cell's call, and that it is under way.
    call: &'a str,
    running: Running,
    folder: PathBuf,
    spool: Spool,
    ends_line: bool,
    shown: Vec<Media>,
    /// How many images came.
    images: usize,
    /// Whether the last piece was a text that stands for what HTML would show.
    has_text: bool,
    /// HTML for which no text has come.
    html: Option<String>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(cx: &'a ToolCx, folder: PathBuf, call: &'a str, running: Running) -> Self {
        let spool = cx.caller.spool();
        let (ends_line, shown, images, has_text, html) = (true, Vec::new(), 0, false, None);
        Self { cx, call, running, folder, spool, ends_line, shown, images, has_text, html }
    }

    /// Shows and keeps a text.
    pub(super) async fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.cx.caller.show(text);
            self.ends_line = text.ends_with('\n');
            self.spool.push(text).await;
        }
    }

    /// The same on lines of its own.
    pub(super) async fn line(&mut self, text: &str) {
        if !self.ends_line {
            self.say("\n").await;
        }
        self.say(text).await;
        if !self.ends_line {
            self.say("\n").await;
        }
    }

    async fn image(&mut self, media_type: String, bytes: Vec<u8>) {
        self.images += 1;
        if self.images > images::MOST_SAVED {
            return;
        }
        let (_, seen) = images::kind(&media_type);
        if seen && self.shown.len() < images::MOST_SHOWN && bytes.len() <= images::LARGEST_SHOWN {
            self.shown.push(Media { media_type: Some(media_type.clone()), ..Media::bytes(bytes.clone()) });
        }
        match images::save(&self.folder, &media_type, &bytes).await {
            Ok(path) => self.line(&format!("{IMAGE_MARK}{}]", path.display())).await,
            Err(error) => {
                let folder = self.folder.display();
                self.line(&format!("[an image could not be saved in {folder}: {error}]")).await;
            }
        }
    }

    /// The whole, with how it ended.
    pub(super) async fn finish(mut self, ran: &Ran) -> ToolOutcome {
        if let Some(html) = self.html.take() {
            self.line(&html).await;
        }
        if self.images > images::MOST_SAVED {
            let more = self.images - images::MOST_SAVED;
            self.line(&format!("[{more} more images were not saved]")).await;
        }
        if let Some(words) = words(&ran.end) {
            self.line(&words).await;
        }
        if !ran.strays.is_empty() {
            self.line("[said since the cell before by what it left running:]").await;
            self.line(&ran.strays).await;
        }
        if ran.state_lost {
            self.line(super::STATE_LOST).await;
        }
        if self.spool.bytes() == 0 {
            self.say("[no output]").await;
        }
        let is_error = ran.end != CellEnd::Done;
        ToolOutcome { is_error, images: self.shown, ..ToolOutcome::ok(self.spool.finish().await) }
    }

    /// The whole, of a cell that could not be run.
    pub(super) async fn fail(mut self, error: &crate::Error) -> ToolOutcome {
        self.line(&format!("[{error}]")).await;
        ToolOutcome { images: self.shown, ..ToolOutcome::error(self.spool.finish().await) }
    }
}

impl Output for Heard<'_> {
    fn begin(&mut self) {
        self.running.turn(self.call);
    }

    fn piece(&mut self, piece: Piece) -> Fut<'_, ()> {
        Box::pin(async move {
            let is_text = matches!(piece, Piece::Result { .. } | Piece::Display { .. });
            // What has both forms is read as text.
            let html = self.html.take().filter(|_| !is_text);
            if let Some(html) = html {
                self.line(&html).await;
            }
            let had_text = std::mem::replace(&mut self.has_text, is_text);
            match piece {
                Piece::Stdout(text) | Piece::Stderr(text) => self.say(&text).await,
                Piece::Result { text } | Piece::Display { text } => self.line(&text).await,
                Piece::Html(html) => self.html = Some(html).filter(|_| !had_text),
                Piece::Json(value) => self.line(&value.to_string()).await,
                Piece::Image { media_type, bytes } => self.image(media_type, bytes).await,
                Piece::Error { traceback, .. } => self.line(&traceback).await,
            }
        })
    }
}

/// How a cell ended, in words; none if it went well, or the traceback tells.
fn words(end: &CellEnd) -> Option<String> {
    Some(match end {
        CellEnd::Done | CellEnd::Failed => return None,
        CellEnd::TimedOut { .. } => {
            "[the cell took too long and was ended; what it said until then is above]".to_owned()
        }
        CellEnd::Interrupted { .. } => "[interrupted; what it said until then is above]".to_owned(),
        CellEnd::Died { why, .. } if why.is_empty() => "[the kernel died]".to_owned(),
        CellEnd::Died { why, .. } => format!("[the kernel died: {why}]"),
        CellEnd::OutOfMemory => "[the cell wanted more memory than it may have]".to_owned(),
    })
}
