//! The record of a run: what it printed on both streams, in the order it was read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The most that is kept of one run.
const LIMIT: usize = 16 << 20;

/// How the names of records end.
const EXTENSION: &str = "log";

/// How many records a folder has. The oldest are removed.
const KEPT: usize = 500;

/// A file to which lines are added, up to a limit. What cannot be written is left out: a run does not fail
/// because a disk is full.
pub(super) struct Record {
    /// Absent once the limit is reached, or something could not be written.
    file: Option<BufWriter<File>>,
    left: usize,
}

impl Record {
    /// Begins the record `name` in a folder, which is made if it is not there. Only its owner can read it.
    pub(super) fn begin(folder: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        prune(folder, KEPT - 1)?;
        let path = folder.join(format!("{name}.{EXTENSION}"));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        Ok(Self { file: Some(BufWriter::new(file)), left: LIMIT })
    }

    /// Adds a line, from which the secrets were taken.
    pub(super) fn line(&mut self, line: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let written = if line.len() < self.left {
            self.left -= line.len() + 1;
            file.write_all(line).and_then(|()| file.write_all(b"\n"))
        } else {
            self.left = 0;
            file.write_all(b"[... the rest is left out ...]\n").and_then(|()| file.flush())
        };
        if written.is_err() || self.left == 0 {
            self.file = None;
        }
    }
}

/// Removes the oldest records of a folder, so that at most so many are left. Their names end with ids that sort by
/// time.
fn prune(folder: &Path, most: usize) -> io::Result<()> {
    let id = |path: &PathBuf| {
        let name = path.file_stem()?.to_str()?;
        let (_, id) = name.rsplit_once('-')?;
        path.extension().is_some_and(|extension| extension == EXTENSION).then(|| id.to_owned())
    };
    let paths = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let mut records: Vec<(String, PathBuf)> = paths.filter_map(|path| Some((id(&path)?, path))).collect();
    records.sort_unstable();
    let surplus = records.len().saturating_sub(most);
    for (_, path) in records.into_iter().take(surplus) {
        // Another host may have removed it just now.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_the_latest_records() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["claude-3.log", "codex-1.log", "claude-2.log", "codex-4.log", "notes.log", "x-0.txt"];
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        prune(folder.path(), 2).unwrap();
        let left = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
        let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["claude-3.log", "codex-4.log", "notes.log", "x-0.txt"]);
    }

    #[test]
    fn a_record_has_its_lines_and_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deep/logs");
        let mut record = Record::begin(&place, "one").unwrap();
        record.line(b"first");
        for _ in 0..40 {
            record.line(&vec![b'x'; LIMIT / 20]);
        }
        record.line(b"never");
        drop(record);
        let text = fs::read_to_string(place.join("one.log")).unwrap();
        assert!(text.starts_with("first\nxxx"));
        assert!(text.ends_with("x\n[... the rest is left out ...]\n"));
        assert!(text.len() <= LIMIT + 100, "{}", text.len());
    }
}
