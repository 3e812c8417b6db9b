//! Images that cells make: saved for people, passed on to models that see.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::AsyncWriteExt as _;
use uuid::Uuid;

/// What a model is shown at most, of one cell.
pub(super) const MOST_SHOWN: usize = 8;
/// The largest image that a model is shown.
pub(super) const LARGEST_SHOWN: usize = 4 * 1024 * 1024;
/// How many images of one cell are saved.
pub(super) const MOST_SAVED: usize = 100;

/// The kinds of images, how their files end, and whether models see them.
const KINDS: &[(&str, &str, bool)] = &[
    ("image/png", "png", true),
    ("image/jpeg", "jpg", true),
    ("image/gif", "gif", true),
    ("image/webp", "webp", true),
    ("image/svg+xml", "svg", false),
];

/// How a file with such an image ends, and whether models see it.
pub(super) fn kind(media_type: &str) -> (&'static str, bool) {
    let known = KINDS.iter().find(|(known, ..)| *known == media_type);
    known.map_or(("bin", false), |(_, ending, seen)| (ending, *seen))
}

/// Saves an image under a name of its own, and gives the path.
///
/// # Errors
/// If the folder or the file cannot be written.
pub(super) async fn save(folder: &Path, media_type: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let (ending, _) = kind(media_type);
    let name = Uuid::new_v4().simple().to_string();
    let path = folder.join(format!("{}.{ending}", name.get(..8).unwrap_or(&name)));
    write_private(&path, bytes).await?;
    Ok(path)
}

/// Writes a new file that only its owner reads, and makes its folder if that is not there.
///
/// # Errors
/// If the folder or the file cannot be written, or the file is there.
pub(super) async fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await?;
    }
    let mut file = tokio::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).await?;
    file.write_all(bytes).await?;
    file.flush().await
}
