//! What a cell says, shown and kept as it comes.

use junto_core::{Fut, Media, Spool, ToolCx, ToolOutcome};

use super::host::Running;
use super::images::{self, Images, Look};
use super::{IMAGE_MARK, NO_OUTPUT};
use crate::kernel::is_bare;
use crate::{CellEnd, Output, Piece, Ran};

/// What stands before what earlier cells have said.
const STRAYS: &str = "[said since the cell before by what it left running:]";
/// How a cell ended that was ended.
const TOO_LONG: &str = "[the cell took too long and was ended; what it said until then is above]";
const INTERRUPTED: &str = "[interrupted; what it said until then is above]";

/// How the words begin in which a session says it that stopped waiting, or was cut off, and a cell that found no kernel.
const CUT_OFF: [&str; 3] = [
    "interrupted before it was done",
    "interrupted, may have run",
    "interrupted before the kernel was there",
];

/// Whether the output of a cell that failed says that it did not come to its end.
pub(super) fn was_cut_short(output: &str) -> bool {
    let own = output.rsplit_once(STRAYS).map_or(output, |(own, _)| own);
    let last = own.trim_end().lines().last().unwrap_or_default();
    let plain = last.trim_start_matches('[');
    last == TOO_LONG || last == INTERRUPTED || CUT_OFF.iter().any(|words| plain.starts_with(words))
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
        if bytes.is_empty() {
            return self.line(&format!("[an image with nothing in it, said to be {media_type}]")).await;
        }
        let Look { media_type, shown } = Look::at(&media_type, &bytes);
        match &shown {
            Ok(()) if self.shown.len() < images::MOST_SHOWN => {
                self.shown
                    .push(Media { media_type: Some(media_type.clone()), ..Media::bytes(bytes.clone()) });
            }
            Ok(()) | Err(None) => {}
            Err(Some(why)) => self.line(&format!("[the next image is saved and not shown: {why}]")).await,
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

/// How a cell ended, in words; none if it went well, or the traceback tells.
fn words(end: &CellEnd) -> Option<String> {
    Some(match end {
        CellEnd::Done | CellEnd::Failed => return None,
        CellEnd::TimedOut { .. } => TOO_LONG.to_owned(),
        CellEnd::Interrupted { .. } => INTERRUPTED.to_owned(),
        CellEnd::Died { status, why } => {
            let known = status.code.is_some() || status.signal.is_some();
            let how = if known { format!(" ({status})") } else { String::new() };
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            format!("[the kernel died{how}{why}]")
        }
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

    #[test]
    fn how_a_kernel_died_is_told_as_far_as_it_is_known() {
        let check = |code: Option<i32>, signal: Option<i32>, why: &str, expected: &str| {
            let end = CellEnd::Died { status: junto_env::Exit { code, signal }, why: why.to_owned() };
            assert_eq!(words(&end).as_deref(), Some(expected));
        };
        check(Some(7), None, "", "[the kernel died (exit 7)]");
        check(None, Some(11), "Segmentation fault", "[the kernel died (signal 11): Segmentation fault]");
        check(None, None, "it has hung up", "[the kernel died: it has hung up]");
        check(None, None, "", "[the kernel died]");
    }

    #[tokio::test]
    async fn an_image_that_no_model_can_be_shown_is_told() {
        let image = |bytes: &[u8]| Piece::Image { media_type: "image/png".to_owned(), bytes: bytes.to_vec() };
        assert_eq!(heard(&[image(b"")]).await, "[an image with nothing in it, said to be image/png]\n");
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
