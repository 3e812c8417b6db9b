//! How far a journal goes, without reading it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use super::apply::Head;
use super::note::micros;

/// How much of a journal's end is read first.
const END: u64 = 16 * 1024;

#[derive(Deserialize)]
struct Line {
    e: Position,
}

#[derive(Deserialize)]
struct Position {
    seq: u64,
    at: Timestamp,
}

/// The last event that stands whole at the end of this journal. None if it is not clear at once: then the
/// journal has to be read.
pub(super) fn tail(journal: &Path) -> Option<Head> {
    let mut file = File::open(journal).ok()?;
    let length = file.metadata().ok()?.len();
    let mut take = END;
    loop {
        file.seek(SeekFrom::Start(length.saturating_sub(take))).ok()?;
        let mut bytes = Vec::new();
        file.by_ref().take(take.min(length)).read_to_end(&mut bytes).ok()?;
        let mut lines = bytes.strip_suffix(b"\n")?.rsplitn(2, |byte| *byte == b'\n');
        let last = lines.next()?;
        // Whether the line begins here is known if another ends before it.
        if lines.next().is_some() {
            let Line { e: Position { seq, at } } = serde_json::from_slice(last).ok()?;
            return Some(Head { seq, at: micros(at) });
        }
        if take >= length {
            return None;
        }
        take = take.saturating_mul(8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64, text: &str) -> String {
        format!(
            "{{\"c\":\"00000000\",\"e\":{{\"v\":1,\"seq\":{seq},\"at\":\"1970-01-01T00:00:01Z\",\"text\":\"{text}\"}}}}\n"
        )
    }

    fn check(content: &str, expected: Option<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        std::fs::write(&path, content).unwrap();
        let expected = expected.map(|seq| Head { seq, at: 1_000_000 });
        assert_eq!(tail(&path), expected, "{content:.200}");
    }

    #[test]
    fn the_last_whole_line_tells() {
        let header = "{\"c\":\"00000000\",\"h\":{}}\n";
        check(&format!("{header}{}{}", line(1, ""), line(2, "x")), Some(2));
        check(&format!("{header}{}", line(7, &"x".repeat(300_000))), Some(7));
        check(&format!("{header}{}{}", line(1, ""), &line(2, "x")[..20]), None);
        check(&format!("{header}{}no line\n", line(1, "")), None);
        check(header, None);
        check("", None);
        assert_eq!(tail(Path::new("/nowhere")), None);
    }
}
