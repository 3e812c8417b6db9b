//! The images that a cell made, found in what it said.

use std::path::{Path, PathBuf};

use junto_core::{EventLog, JournalError, Payload};

use super::IMAGE_MARK;

/// How much of an output is looked at at once.
const PART: usize = 64 * 1024;
/// The longest line that names an image.
const LONGEST: usize = 8 * 1024;
/// How many are told of.
const MOST: usize = 100;

/// The files of the images in an output, in order. Lines that name files elsewhere are the cell's own words.
pub(super) async fn images_in(
    log: &EventLog,
    output: &Payload,
    folder: &Path,
) -> Result<Vec<PathBuf>, JournalError> {
    let mut found = Found { folder, line: Vec::new(), is_long: false, images: Vec::new() };
    let mut at = 0;
    loop {
        let part = log.read_part(output, at, PART).await?;
        if part.is_empty() || found.images.len() == MOST {
            found.end_line();
            return Ok(found.images);
        }
        at += part.len() as u64;
        found.take(&part);
    }
}

struct Found<'a> {
    folder: &'a Path,
    /// The line so far.
    line: Vec<u8>,
    /// Whether it is too long to be looked at.
    is_long: bool,
    images: Vec<PathBuf>,
}

impl Found<'_> {
    fn take(&mut self, part: &[u8]) {
        for piece in part.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            if self.line.len() + text.len() > LONGEST {
                self.is_long = true;
            } else {
                self.line.extend_from_slice(text);
            }
            if text.len() < piece.len() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !std::mem::take(&mut self.is_long) && self.images.len() < MOST {
            let line = String::from_utf8(line).unwrap_or_default();
            let path =
                line.strip_prefix(IMAGE_MARK).and_then(|rest| rest.strip_suffix(']')).map(PathBuf::from);
            self.images.extend(path.filter(|path| path.parent() == Some(self.folder)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn images_are_found_in_what_a_cell_said() {
        let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
        let check = async |said: String, expected: &[&str]| {
            let found = images_in(&log, &Payload::from(said.clone()), Path::new("/images")).await.unwrap();
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{said:.200}");
        };
        check(String::new(), &[]).await;
        check("one\n[image: /images/a.png]\ntwo".to_owned(), &["/images/a.png"]).await;
        check(
            "[image: /images/a.png]\n[image: /images/b.png]".to_owned(),
            &["/images/a.png", "/images/b.png"],
        )
        .await;
        check("[image: /etc/passwd]\n[image: /images/../etc/x]\nx [image: /images/a]\n".to_owned(), &[])
            .await;
        let far = format!("{}\n[image: /images/a.png]\n", "x".repeat(3 * PART));
        check(far, &["/images/a.png"]).await;
        let across = format!("{}\n[image: /images/a.png]\n", "x".repeat(PART - 10));
        check(across, &["/images/a.png"]).await;
    }
}
