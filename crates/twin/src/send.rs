//! Sends a body: at its pace, and with what goes wrong with its connection.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use tokio_util::sync::CancellationToken;

use crate::fault::{After, Fault};
use crate::frames::Frames;
use crate::play::Step;
use crate::record::Tape;

/// A body on its way out.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// How long to wait before the first frame and between two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    first: Duration,
    between: Duration,
}

impl Pace {
    pub(crate) fn of(step: &Step) -> Self {
        let milliseconds = Duration::from_millis;
        Self { first: milliseconds(step.delay_ms), between: milliseconds(step.chunk_delay_ms) }
    }
}

/// Where a body breaks off, and how.
#[derive(Clone, Copy, Debug)]
struct Break {
    after: usize,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Drop,
    Stall,
    Reset,
}

impl Break {
    fn of(fault: &Fault) -> Option<Self> {
        let at = |after: Option<After>, how| after.map(|After(after)| Self { after, how });
        at(fault.drop_after_bytes, How::Drop)
            .or(at(fault.stall, How::Stall))
            .or(at(fault.h2_reset, How::Reset))
    }
}

/// How much of a body went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    /// The first frame at least, and not all of them.
    Begun,
    Whole,
}

/// Is told when a body is over, and dropped with it.
pub(crate) trait Watch: Send + 'static {
    fn over(&mut self, sent: Sent);
}

/// The body that sends these frames. `hangup` closes the connection; `tape` takes down what is
/// sent; `watch` is told how it ended.
pub(crate) fn body(
    frames: Frames,
    pace: Pace,
    fault: &Fault,
    tape: Option<Tape>,
    hangup: CancellationToken,
    watch: impl Watch,
) -> Body {
    let sender = Sender {
        frames,
        pace,
        breaks: Break::of(fault),
        sent: 0,
        whole_frames: 0,
        is_cut: false,
        is_first: true,
        over: false,
        tape,
        hangup,
        watch,
    };
    let frames = stream::unfold(sender, |mut sender| async move {
        let next = sender.next().await?;
        Some((next.map(Frame::data), sender))
    });
    StreamBody::new(frames).boxed_unsync()
}

struct Sender<W: Watch> {
    frames: Frames,
    pace: Pace,
    breaks: Option<Break>,
    sent: usize,
    whole_frames: usize,
    /// Whether a frame went out in part.
    is_cut: bool,
    is_first: bool,
    over: bool,
    tape: Option<Tape>,
    hangup: CancellationToken,
    watch: W,
}

impl<W: Watch> Drop for Sender<W> {
    fn drop(&mut self) {
        let sent = match self.whole_frames {
            0 => Sent::Nothing,
            _ if self.is_cut || self.frames.next().is_some() => Sent::Begun,
            _ => Sent::Whole,
        };
        self.watch.over(sent);
    }
}

impl<W: Watch> Sender<W> {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.over {
            return None;
        }
        let left = self.breaks.map(|b| b.after.saturating_sub(self.sent));
        let frame = if left == Some(0) { None } else { self.frames.next() };
        let Some(mut frame) = frame else {
            return match self.breaks {
                Some(Break { how, .. }) => Some(Err(self.break_off(how).await)),
                None => None,
            };
        };
        self.wait().await;
        let length = frame.len();
        frame.truncate(left.unwrap_or(usize::MAX));
        if frame.len() < length {
            self.is_cut = true;
        } else {
            self.whole_frames += 1;
        }
        self.sent += frame.len();
        match self.tape.as_mut().map_or(Ok(()), |tape| tape.write(&frame)) {
            Ok(()) => Some(Ok(frame)),
            Err(error) => {
                self.over = true;
                Some(Err(error))
            }
        }
    }

    async fn wait(&mut self) {
        let pause = if std::mem::take(&mut self.is_first) { self.pace.first } else { self.pace.between };
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }

    /// Breaks the body off. The connection flushes what was sent so far whenever a body has nothing
    /// ready, so that is what happens first.
    async fn break_off(&mut self, how: How) -> io::Error {
        self.over = true;
        tokio::task::yield_now().await;
        match how {
            How::Reset => io::Error::new(io::ErrorKind::ConnectionReset, "the play resets the stream"),
            How::Stall => match std::future::pending::<Infallible>().await {},
            How::Drop => {
                self.hangup.cancel();
                match std::future::pending::<Infallible>().await {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::time::Instant;

    impl Watch for () {
        fn over(&mut self, _sent: Sent) {}
    }

    impl Watch for std::sync::mpsc::SyncSender<Sent> {
        fn over(&mut self, sent: Sent) {
            self.send(sent).unwrap();
        }
    }

    #[tokio::test]
    async fn it_is_known_how_much_went_out() {
        for (read, after, expected) in [
            (0, None, Sent::Nothing),
            (1, None, Sent::Whole),
            (1, Some(4), Sent::Nothing),
            (1, Some(99), Sent::Whole),
        ] {
            let (told, hears) = std::sync::mpsc::sync_channel(1);
            let fault = Fault { h2_reset: after.map(After), ..Fault::default() };
            let frames = Frames::whole(&json!("0123456789"), &fault);
            let mut body = body(frames, Pace::default(), &fault, None, CancellationToken::new(), told);
            for _ in 0..read {
                next(&mut body).await.unwrap().unwrap();
            }
            drop(body);
            assert_eq!(hears.try_recv(), Ok(expected), "{read} frames, broken after {after:?}");
        }
    }

    fn whole(fault: &Fault, pace: Pace, hangup: &CancellationToken) -> Body {
        body(Frames::whole(&json!("0123456789"), fault), pace, fault, None, hangup.clone(), ())
    }

    async fn next(body: &mut Body) -> Option<io::Result<Bytes>> {
        body.frame().await.map(|frame| frame.map(|f| f.into_data().unwrap_or_default()))
    }

    #[tokio::test]
    async fn a_reset_is_an_error_after_so_many_bytes() {
        for (after, bytes) in [(0, ""), (4, "\"012"), (99, "\"0123456789\"")] {
            let fault = Fault { h2_reset: Some(After(after)), ..Fault::default() };
            let mut body = whole(&fault, Pace::default(), &CancellationToken::new());
            if !bytes.is_empty() {
                assert_eq!(next(&mut body).await.unwrap().unwrap(), bytes);
            }
            assert_eq!(next(&mut body).await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        }
    }

    #[tokio::test]
    async fn a_drop_hangs_up() {
        let hangup = CancellationToken::new();
        let fault = Fault { drop_after_bytes: Some(After(4)), ..Fault::default() };
        let mut body = whole(&fault, Pace::default(), &hangup);
        assert_eq!(next(&mut body).await.unwrap().unwrap(), "\"012");
        tokio::select! {
            _ = next(&mut body) => panic!("the body went on"),
            () = hangup.cancelled() => {}
        }
    }

    #[tokio::test]
    async fn a_stall_never_ends() {
        let fault = Fault { stall: Some(After(4)), ..Fault::default() };
        let hangup = CancellationToken::new();
        let mut body = whole(&fault, Pace::default(), &hangup);
        assert_eq!(next(&mut body).await.unwrap().unwrap(), "\"012");
        let many_polls = async {
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = next(&mut body) => panic!("the body went on"),
            () = many_polls => assert!(!hangup.is_cancelled()),
        }
    }

    #[tokio::test]
    async fn the_pace_is_kept() {
        let pace = Pace { first: Duration::from_millis(30), between: Duration::from_millis(20) };
        let fault = Fault { malformed_frame: Some(After(0)), ..Fault::default() };
        let mut body = whole(&fault, pace, &CancellationToken::new());
        let start = Instant::now();
        next(&mut body).await.unwrap().unwrap();
        assert!(start.elapsed() >= pace.first);
        next(&mut body).await.unwrap().unwrap();
        assert!(start.elapsed() >= pace.first + pace.between);
        assert!(next(&mut body).await.is_none());
    }
}
