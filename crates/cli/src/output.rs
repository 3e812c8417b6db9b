//! The one place that prints. Standard output is for data, standard error for people.

pub(crate) mod markdown;
pub(crate) mod paint;
mod picture;
mod streams;
mod terminal;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use paint::{Color, Paint, Painted, Style, folded, harmless};
use picture::Protocol;
use streams::{Stream, Streams};

/// How long a reader may take nothing once nobody waits for it any more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Whether notes for people are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Notes, progress, warnings and the closing line.
    Normal,
    /// Errors only.
    Quiet,
}

/// What one of the streams can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether somebody sees it as it comes.
    pub(crate) terminal: bool,
    /// Whether lines can be taken back.
    pub(crate) live: bool,
    /// Whether styles are written.
    pub(crate) paint: Paint,
}

impl Look {
    fn of(terminal: bool, color: Color, environment: &Environment) -> Self {
        let able = terminal && environment.get("TERM").is_some_and(|term| term != "dumb");
        let styles = match color {
            Color::Always => true,
            Color::Auto => able && environment.get("NO_COLOR").is_none(),
            Color::Never => false,
        };
        Self { terminal, live: able, paint: if styles { Paint::Styles } else { Paint::Text } }
    }
}

/// The two standard streams. Clones share them.
#[derive(Clone)]
pub(crate) struct Output {
    talk: Talk,
    out: Look,
    err: Look,
    /// How standard error shows pictures, if it can.
    pictures: Option<Protocol>,
    screen: Arc<Mutex<Screen>>,
}

/// What stands on the terminal's last line, and what leads there.
#[derive(Default)]
struct Screen {
    streams: Streams,
    /// How many lines of passing status stand there and must be wiped before anything else.
    status: usize,
    /// These lines.
    drawn: String,
    line: LastLine,
    /// Whether the line of an answer was broken by something else.
    broken: bool,
}

#[derive(Default)]
enum LastLine {
    /// Nothing, or a status.
    #[default]
    Empty,
    /// An answer whose line has not ended.
    Answer,
    /// A question; what is typed stands behind it.
    Prompt(Painted),
}

impl Output {
    /// The streams of this process.
    pub(crate) fn of_process(talk: Talk, color: Color, environment: &Environment) -> Self {
        let out = Look::of(io::stdout().is_terminal(), color, environment);
        let err = Look::of(io::stderr().is_terminal(), color, environment);
        let streams = Streams::new(out.terminal && err.terminal);
        let screen = Arc::new(Mutex::new(Screen { streams, ..Screen::default() }));
        Self { talk, out, err, pictures: Protocol::of(environment).filter(|_| err.terminal), screen }
    }

    /// The same streams for a thread of its own, which may wait for their reader as long as that takes: nobody else waits
    /// with it, as long as the others are [patient](Self::be_patient).
    pub(crate) fn apart(&self) -> Self {
        Self { screen: Arc::default(), ..self.clone() }
    }

    /// Streams that nobody looks at.
    #[cfg(test)]
    pub(crate) fn unseen() -> Self {
        let look = Look { terminal: false, live: false, paint: Paint::Text };
        Self { talk: Talk::Quiet, out: look, err: look, pictures: None, screen: Arc::default() }
    }

    /// What standard output can show.
    pub(crate) fn out(&self) -> Look {
        self.out
    }

    /// What standard error can show.
    pub(crate) fn err(&self) -> Look {
        self.err
    }

    /// How many columns the terminal has; a usual number where there is none.
    pub(crate) fn width() -> usize {
        terminal::width()
    }

    /// Writes text for people to standard output at once, without control characters: also what is piped
    /// is looked at on a terminal in the end.
    ///
    /// # Errors
    /// A silent end if the reader has gone; a failure if the disk is full or the like.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        self.write_out(&harmless(text))
    }

    /// Writes data for programs, such as JSON, as it is; only a terminal gets it without control
    /// characters. Otherwise as [`Self::data`].
    pub(crate) fn exact(&self, text: &str) -> Result<(), Failure> {
        if self.out.terminal { self.write_out(&harmless(text)) } else { self.write_out(text) }
    }

    /// Writes text that was made for a terminal to standard output; otherwise as [`Self::data`].
    pub(crate) fn painted(&self, text: &Painted) -> Result<(), Failure> {
        self.write_out(text.as_str())
    }

    fn write_out(&self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let mut screen = self.screen();
        if screen.status > 0 {
            let erased = erase(std::mem::take(&mut screen.status));
            screen.put(&erased);
        }
        if self.out.terminal && self.err.terminal {
            screen.line = if text.ends_with('\n') { LastLine::Empty } else { LastLine::Answer };
        }
        screen.streams.put(Stream::Out, text).map_err(|error| lost(&error))
    }

    /// From now on nobody waits for those who read: what they do not take at once waits here, and whoever says
    /// more has an eye on [`Self::is_full`].
    pub(crate) fn be_patient(&self) {
        self.screen().streams.is_patient = true;
    }

    /// From now on everybody waits again. For when nothing waits here.
    pub(crate) fn insist(&self) {
        self.screen().streams.is_patient = false;
    }

    /// Whether something waits to be taken.
    pub(crate) fn waits(&self) -> bool {
        self.screen().streams.wait()
    }

    /// Whether so much waits that nothing should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.screen().streams.are_full()
    }

    /// Waits until some of what waits was taken; for ever if nothing does. Nothing is lost if it is dropped.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub(crate) async fn taken(&self) -> Result<(), Failure> {
        let room = self.screen().streams.room();
        room.await;
        self.screen().streams.write_some().map_err(|error| lost(&error))
    }

    /// Forgets what waits: nobody takes it.
    pub(crate) fn forget(&self) {
        self.screen().streams.forget();
    }

    /// The last: what still waits is written, unless nobody takes it.
    pub(crate) fn finish(&self) {
        self.screen().streams.finish(PATIENCE);
    }

    /// Whether something else ended the line of the answer since this was last asked.
    pub(crate) fn was_broken(&self) -> bool {
        std::mem::take(&mut self.screen().broken)
    }

    /// Something a person may want to know.
    pub(crate) fn note(&self, text: &str) {
        self.say(&Painted::new(self.err.paint).plain(text));
    }

    /// The same, painted.
    pub(crate) fn say(&self, text: &Painted) {
        if self.talk == Talk::Normal {
            self.line(text);
        }
    }

    /// Shows the picture in a file, where the terminal can.
    pub(crate) fn picture(&self, file: &Path) {
        if self.talk == Talk::Normal
            && let Some(sequence) = self.pictures.and_then(|protocol| protocol.sequence(file))
        {
            let mut screen = self.screen();
            let erased = erase(std::mem::take(&mut screen.status));
            screen.put(&erased);
            screen.put(&sequence);
        }
    }

    /// Something a person should know.
    pub(crate) fn warning(&self, text: &str) {
        self.say(&Painted::new(self.err.paint).styled(Style::YELLOW, "warning:").plain(" ").plain(text));
    }

    /// A passing status that the next output replaces.
    pub(crate) fn status(&self, text: &str) {
        self.under_way(&[Painted::new(self.err.paint).styled(Style::DIM, text)]);
    }

    /// Lines of passing status that the next output replaces. Only where lines can be taken back, and
    /// not in the midst of an answer or a question.
    pub(crate) fn under_way(&self, lines: &[Painted]) {
        if self.talk == Talk::Quiet || !self.err.live {
            return;
        }
        let mut screen = self.screen();
        // What passes is not worth waiting for.
        if !matches!(screen.line, LastLine::Empty) || screen.streams.wait() {
            return;
        }
        let text = lines.iter().map(Painted::as_str).collect::<Vec<_>>().join("\n");
        if screen.status == lines.len() && screen.drawn == text {
            return;
        }
        let drawn = format!("{}{text}", erase(screen.status));
        screen.put(&drawn);
        (screen.status, screen.drawn) = (lines.len(), text);
    }

    /// What went wrong and what to do. Never silenced.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.withdraw();
        let line = |style, word: &str, text: &str| {
            self.line(&Painted::new(self.err.paint).styled(style, word).plain(" ").plain(text));
        };
        for error in &failure.errors {
            line(Style::RED.and(Style::BOLD), "error:", error);
        }
        if let Some(hint) = &failure.hint {
            line(Style::CODE, "hint:", hint);
        }
    }

    /// A question to a person, whose answer stands on the line of the prompt. Never silenced. What was
    /// typed before it does not count.
    pub(crate) fn question(&self, text: &str, prompt: &str) {
        terminal::forget_typed();
        let text =
            if self.err.terminal { Cow::Owned(folded(text, Self::width())) } else { Cow::Borrowed(text) };
        self.line(&Painted::new(self.err.paint).styled(Style::BOLD, &text));
        let prompt = Painted::new(self.err.paint).styled(Style::YELLOW, prompt);
        let mut screen = self.screen();
        screen.put(prompt.as_str());
        screen.line = LastLine::Prompt(prompt);
    }

    /// The line of the prompt has ended, because something was typed.
    pub(crate) fn answered(&self) {
        let mut screen = self.screen();
        if matches!(screen.line, LastLine::Prompt(_)) {
            screen.line = LastLine::Empty;
        }
    }

    /// Nobody need answer any more.
    pub(crate) fn withdraw(&self) {
        let mut screen = self.screen();
        if matches!(screen.line, LastLine::Prompt(_)) {
            screen.line = LastLine::Empty;
            screen.put("\n");
        }
    }

    /// A line on standard error. If nobody can read it there is nobody to tell.
    fn line(&self, text: &Painted) {
        let mut screen = self.screen();
        let mut all = erase(std::mem::take(&mut screen.status));
        let mut again = String::new();
        match &screen.line {
            LastLine::Empty => {}
            LastLine::Answer => {
                all.push('\n');
                screen.line = LastLine::Empty;
                screen.broken = true;
            }
            LastLine::Prompt(prompt) => {
                all.push('\n');
                prompt.as_str().clone_into(&mut again);
            }
        }
        let _ = write!(all, "{}\n{again}", text.as_str());
        screen.put(&all);
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What it means that standard output cannot be written to.
pub(crate) fn unwritten(error: &io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("cannot write to standard output: {error}"),
        "check where the output is redirected to, and whether the disk is full",
    )
}

/// Takes so many lines back, of which the last has no end.
fn erase(lines: usize) -> String {
    match lines {
        0 => String::new(),
        1 => "\r\u{1b}[J".to_owned(),
        more => format!("\r\u{1b}[{}A\u{1b}[J", more - 1),
    }
}

/// What it means that standard output takes nothing more.
fn lost(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::silent(Exit::Done),
        _ => unwritten(error),
    }
}

impl Screen {
    /// Writes to standard error, in one piece so that nothing flickers. If standard output fails at what waited
    /// before it, whoever writes there learns of it.
    fn put(&mut self, text: &str) {
        let _ = self.streams.put(Stream::Err, text);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn colours_are_for_terminals_that_have_them() {
        let check = |terminal, color, variables: &[(&str, &str)], live, paint| {
            let look = Look::of(terminal, color, &Environment::of(Path::new("/"), variables));
            assert_eq!(look, Look { terminal, live, paint }, "{terminal} {color:?} {variables:?}");
        };
        let xterm = ("TERM", "xterm-256color");
        check(true, Color::Auto, &[xterm], true, Paint::Styles);
        check(true, Color::Auto, &[xterm, ("NO_COLOR", "1")], true, Paint::Text);
        check(true, Color::Auto, &[xterm, ("NO_COLOR", "")], true, Paint::Styles);
        check(true, Color::Auto, &[("TERM", "dumb")], false, Paint::Text);
        check(true, Color::Auto, &[], false, Paint::Text);
        check(true, Color::Never, &[xterm], true, Paint::Text);
        check(false, Color::Auto, &[xterm], false, Paint::Text);
        check(false, Color::Always, &[xterm, ("NO_COLOR", "1")], false, Paint::Styles);
    }
}
