//! Files that must be as they were.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// A file that a server runs, as it was when somebody agreed to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Where it is.
    pub path: PathBuf,
    /// What it is told by.
    pub digest: String,
}

impl Pin {
    /// A file as it is now. Reads all of it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), digest: digest(path)? })
    }

    /// Whether the file is still like that. Reads all of it.
    pub fn holds(&self) -> bool {
        digest(&self.path).is_ok_and(|digest| digest == self.digest)
    }
}

fn digest(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut piece) = (File::open(path)?, Sha256::new(), vec![0; 64 * 1024]);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hash.update(piece.get(..read).unwrap_or_default());
    }
    let mut hex = String::from("sha256:");
    for byte in hash.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let pin = Pin::of(file.path()).unwrap();
        assert!(pin.holds() && pin.digest.starts_with("sha256:ba7816bf"), "{pin:?}");
        std::fs::write(file.path(), "abd").unwrap();
        assert!(!pin.holds());
        drop(file);
        assert!(!pin.holds() && Pin::of(&pin.path).is_err());
    }
}
