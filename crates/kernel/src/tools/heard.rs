//! What a cell says, shown and kept as it comes.

use junto_core::{Fut, Media, Spool, ToolCx, ToolOutcome};

use super::host::Running;
use super::images::{self, Images};
use super::{IMAGE_MARK, NO_OUTPUT};
use crate::{CellEnd, Output, Piece, Ran};

/// What stands before what earlier cells have said.
const STRAYS: &str = "[said since the cell before by what it left running:]";
/// How a cell ended that was ended.
const TOO_LONG: &str = "[the cell took too long and was ended; what it said until then is above]";
const INTERRUPTED: &str = "[interrupted; what it said until then is above]";

/// Whether the output of a cell that failed says that it did not come to its end. A session that stopped waiting for it,
/// or was cut off, says so in words of its own, which begin like ours.
pub(super) fn was_cut_short(output: &str) -> bool {
    let own = output.rsplit_once(STRAYS).map_or(output, |(own, _)| own);
    let last = own.trim_end().lines().last().unwrap_or_default();
    last == TOO_LONG || last.trim_start_matches('[').starts_with("interrupted")
}

/// What a cell says, in the order in which it came.
pub(super) struct Heard<'a> {
    cx: &'a ToolCx,
    /// The cell's call, and that it is under way.
    call: &'a str,
    running: Running,
    folder: &'a Images,
    spool: Spool,
    ends_line: bool,
    shown: Vec<Media>,
    /// How many images came.
    images: usize,
    /// HTML for which no text has come: that comes after it, if there is one.
    html: Option<String>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(cx: &'a ToolCx, folder: &'a Images, call: &'a str, running: Running) -> Self {
        let spool = cx.caller.spool();
        let (ends_line, shown, images, html) = (true, Vec::new(), 0, None);
        Self { cx, call, running, folder, spool, ends_line, shown, images, html }
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

    async fn said(&mut self, piece: Piece) {
        match piece {
            Piece::Stdout(text) | Piece::Stderr(text) => self.say(&text).await,
            Piece::Result { text } | Piece::Display { text } => self.line(&text).await,
            Piece::Html(html) => self.html = Some(html),
            Piece::Json(value) => self.line(&value.to_string()).await,
            Piece::Image { media_type, bytes } => self.image(media_type, bytes).await,
            Piece::Error { traceback, .. } => self.line(&traceback).await,
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
        match self.folder.save(&media_type, &bytes).await {
            Ok(path) => self.line(&format!("{IMAGE_MARK}{}]", path.display())).await,
            Err(error) => {
                let folder = self.folder.folder().display();
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
            self.line(STRAYS).await;
            self.line(&ran.strays).await;
        }
        if ran.state_lost {
            self.line(super::STATE_LOST).await;
        }
        if self.spool.bytes() == 0 {
            self.say(NO_OUTPUT).await;
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
            let html = self.html.take();
            match (piece, html) {
                // What has both forms is read as text, unless the text says nothing.
                (Piece::Result { text } | Piece::Display { text }, Some(html)) => {
                    self.line(if is_bare(&text) { &html } else { &text }).await;
                }
                (piece, html) => {
                    if let Some(html) = html {
                        self.line(&html).await;
                    }
                    self.said(piece).await;
                }
            }
        })
    }
}

/// Whether a text is what Python says of an object that has no words for itself: `<package.Class object at 0x7f…>`.
fn is_bare(text: &str) -> bool {
    let inside = text.trim().strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    inside.is_some_and(|text| {
        let (class, rest) = text.split_once(' ').unwrap_or((text, ""));
        let is_class = !class.is_empty() && class.chars().all(|c| c.is_alphanumeric() || "._".contains(c));
        let address = rest.strip_prefix("object").unwrap_or(rest).trim_start();
        is_class && !rest.is_empty() && (address.is_empty() || is_address(address))
    })
}

/// Whether this is `at 0x7f…`.
fn is_address(text: &str) -> bool {
    let digits = text.strip_prefix("at 0x");
    digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()))
}

/// How a cell ended, in words; none if it went well, or the traceback tells.
fn words(end: &CellEnd) -> Option<String> {
    Some(match end {
        CellEnd::Done | CellEnd::Failed => return None,
        CellEnd::TimedOut { .. } => TOO_LONG.to_owned(),
        CellEnd::Interrupted { .. } => INTERRUPTED.to_owned(),
        CellEnd::Died { why, .. } if why.is_empty() => "[the kernel died]".to_owned(),
        CellEnd::Died { why, .. } => format!("[the kernel died: {why}]"),
        CellEnd::OutOfMemory => "[the cell wanted more memory than it may have]".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use junto_env::LocalEnvironment;

    use super::super::host::Cells;
    use super::*;

    /// What a model reads of a cell that said this.
    async fn heard(pieces: &[Piece]) -> String {
        let cx = ToolCx::alone(Arc::new(LocalEnvironment::new(".").unwrap()));
        let images = Images::at(Path::new("images"), &*cx.env).await;
        let mut heard = Heard::new(&cx, &images, "1", Cells::default().begin());
        for piece in pieces {
            heard.piece(piece.clone()).await;
        }
        let ran = Ran { end: CellEnd::Done, state_lost: false, strays: String::new(), took: Duration::ZERO };
        let outcome = heard.finish(&ran).await;
        outcome.output.text(u64::MAX).await.unwrap()
    }

    #[tokio::test]
    async fn what_has_no_words_for_itself_is_read_as_html() {
        let table = || Piece::Html("<table>1</table>".to_owned());
        let shown = |text: &str| Piece::Display { text: text.to_owned() };
        let result = |text: &str| Piece::Result { text: text.to_owned() };
        for bare in [
            "<IPython.core.display.HTML object>",
            "<pandas.io.formats.style.Styler at 0x7f01ab>",
            "<__main__.C object at 0x7f01ab>",
        ] {
            assert_eq!(heard(&[table(), shown(bare)]).await, "<table>1</table>\n", "{bare}");
            assert_eq!(heard(&[table(), result(bare)]).await, "<table>1</table>\n", "{bare}");
            assert_eq!(heard(&[shown(bare)]).await, format!("{bare}\n"));
        }
        for telling in ["   a\n0  1", "<b>", "<C: 3 object>", "<x>\n<y object>", "< object>", "<C at 0xno>"] {
            assert_eq!(heard(&[table(), result(telling)]).await, format!("{telling}\n"), "{telling}");
        }
    }

    #[tokio::test]
    async fn html_without_a_text_is_said_in_its_place() {
        let html = |text: &str| Piece::Html(text.to_owned());
        let shown = |text: &str| Piece::Display { text: text.to_owned() };
        assert_eq!(heard(&[html("<i/>")]).await, "<i/>\n");
        assert_eq!(heard(&[html("<i/>"), html("<b/>")]).await, "<i/>\n<b/>\n");
        assert_eq!(heard(&[html("<i/>"), Piece::Stdout("after".to_owned())]).await, "<i/>\nafter");
        // A text of what was shown before it is not its own.
        assert_eq!(heard(&[html("<t/>"), shown("t"), html("<i/>")]).await, "t\n<i/>\n");
        assert_eq!(heard(&[]).await, NO_OUTPUT);
    }
}
