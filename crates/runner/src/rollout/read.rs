//! The last turn from a rollout, in bounded memory.

use std::io::{self, Read};

use junto_env::{ByteRange, ExecutionEnvironment, RealPath};
use ruzstd::decoding::StreamingDecoder;
use tokio::io::AsyncReadExt;

use super::RecordedTurn;
use super::find::is_compressed;
use super::turn::Reading;
use crate::{Line, Lines};

/// How much is read from the end at first, and at most; each time four times as much.
const FIRST: u64 = 256 << 10;
const MOST: u64 = 8 << 20;

/// The longest line that is looked at. Those that count are of some hundred bytes.
const LINE: usize = 1 << 20;

/// How much of a compressed rollout is read, and how much may be in it.
const COMPRESSED: u64 = 16 << 20;
const UNPACKED: u64 = 1 << 30;

/// How far back a compressed rollout may refer, which is held in memory.
const WINDOW: u64 = 32 << 20;

/// The last turn of a rollout.
pub(super) async fn last_turn(env: &dyn ExecutionEnvironment, file: &RealPath) -> Option<RecordedTurn> {
    let size = env.stamp(file).await.ok()??.size;
    if is_compressed(file.as_path()) {
        if size > COMPRESSED {
            return None;
        }
        let packed = bytes(env, file, 0, size).await?;
        return tokio::task::spawn_blocking(move || unpacked(&packed)).await.ok()?;
    }
    let mut length = FIRST;
    loop {
        let start = size.saturating_sub(length);
        let tail = bytes(env, file, start, length).await?;
        // Unless it is the first of the file, the first line is only the rest of one.
        let rest =
            if start == 0 { 0 } else { tail.iter().position(|byte| *byte == b'\n').unwrap_or(tail.len()) };
        let mut reading = Reading::default();
        let mut lines = Lines::new(LINE);
        lines.push(tail.get(rest..)?, |line| take(&mut reading, line));
        lines.finish(|line| take(&mut reading, line));
        if reading.is_settled() || start == 0 || length >= MOST {
            return reading.turn();
        }
        length = length.saturating_mul(4).min(MOST);
    }
}

fn take(reading: &mut Reading, line: Line<'_>) {
    if let Line::Whole(line) = line {
        reading.line(line);
    }
}

/// A part of a file.
pub(super) async fn bytes(
    env: &dyn ExecutionEnvironment,
    file: &RealPath,
    start: u64,
    length: u64,
) -> Option<Vec<u8>> {
    let range = ByteRange { start, length: Some(length) };
    let mut bytes = Vec::new();
    // It may grow while it is read.
    env.open(file, range).await.ok()?.take(length).read_to_end(&mut bytes).await.ok()?;
    Some(bytes)
}

/// The last turn of a compressed rollout, which can only be read from its beginning.
fn unpacked(mut packed: &[u8]) -> Option<RecordedTurn> {
    let mut reading = Reading::default();
    let mut lines = Lines::new(LINE);
    let mut left = UNPACKED;
    // Each time something is added to it, it may be in a frame of its own.
    while !packed.is_empty() {
        let mut frame = StreamingDecoder::new_with_max_window_size(&mut packed, WINDOW).ok()?;
        let mut piece = vec![0; 64 << 10];
        loop {
            let read = match frame.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            left = left.checked_sub(u64::try_from(read).ok()?)?;
            lines.push(piece.get(..read)?, |line| take(&mut reading, line));
        }
    }
    lines.finish(|line| take(&mut reading, line));
    reading.turn()
}
