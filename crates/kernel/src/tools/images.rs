//! Images that cells make: saved for people, passed on to models that see.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use junto_env::{ExecutionEnvironment, Kind};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use tokio::io::AsyncWriteExt as _;
use uuid::Uuid;

/// What a model is shown at most, of one cell.
pub(super) const MOST_SHOWN: usize = 8;
/// The largest image that a model is shown. Anthropic takes 5 MiB in base64, the others more.
const LARGEST_SHOWN: usize = 5 * 1024 * 1024 / 4 * 3;
/// The longest side of one, in pixels.
const LONGEST_SIDE: u32 = 8000;
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
fn kind(media_type: &str) -> (&'static str, bool) {
    let known = KINDS.iter().find(|(known, ..)| *known == media_type);
    known.map_or(("bin", false), |(_, ending, seen)| (ending, *seen))
}

/// What was displayed as an image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// What it is by its bytes, whatever was said of it.
    pub(super) media_type: String,
    /// Whether a model is shown it; if not, why, unless that is known of its kind. One that a provider refuses would
    /// stay in the conversation, and be refused with every request after it.
    pub(super) shown: Result<(), Option<String>>,
}

impl Look {
    /// Looks at bytes of which it was said that they are of a type.
    pub(super) fn at(said: &str, bytes: &[u8]) -> Self {
        if !kind(said).1 {
            // It is a text, or unknown.
            return Self { media_type: said.to_owned(), shown: Err(None) };
        }
        let not =
            |media_type: &str, why: String| Self { media_type: media_type.to_owned(), shown: Err(Some(why)) };
        let media_type = match Kind::of(bytes) {
            Kind::Image(media_type) if kind(media_type).1 => media_type,
            Kind::Image(media_type) => {
                return not(media_type, format!("it is of a type that is not shown, {media_type}"));
            }
            Kind::Text | Kind::Binary(_) => {
                return not("", format!("it is no image, though it was said to be {said}"));
            }
        };
        if bytes.len() > LARGEST_SHOWN {
            return not(
                media_type,
                format!("it has {} bytes, and {LARGEST_SHOWN} at most are shown", bytes.len()),
            );
        }
        match junto_core::picture_size(bytes) {
            Some((width, height)) if width > 0 && height > 0 && is_whole(media_type, bytes) => {
                if width.max(height) > LONGEST_SIDE {
                    let why = format!(
                        "it has {width} x {height} pixels, and {LONGEST_SIDE} a side at most are shown"
                    );
                    return not(media_type, why);
                }
                Self { media_type: media_type.to_owned(), shown: Ok(()) }
            }
            _ => not(media_type, format!("it begins like one of {media_type}, but is broken")),
        }
    }
}

/// Whether the end of an image is there, as far as its kind says where that is.
fn is_whole(media_type: &str, bytes: &[u8]) -> bool {
    let has = |end: &[u8]| bytes.windows(end.len()).rev().any(|part| part == end);
    match media_type {
        "image/png" => has(b"IEND"),
        "image/jpeg" => has(b"\xff\xd9"),
        _ => true,
    }
}

/// The folder for images, as it was before any code could change it. Cells may write where it is, and what they put in
/// the way to it must not lead us elsewhere.
#[derive(Debug)]
pub(super) struct Images {
    /// As it is told.
    folder: PathBuf,
    /// Where it really is, without links; or why nothing is written there.
    real: Result<PathBuf, String>,
}

impl Images {
    /// That at a path, which need not exist, for the code of an environment.
    pub(super) async fn at(folder: &Path, env: &dyn ExecutionEnvironment) -> Self {
        let cwd = env.facts().cwd.as_path();
        let real = match env.resolve(&folder.to_string_lossy()).await {
            // Also a link that code has put there before this session.
            Ok(real) if is_below(folder, cwd) && !real.as_path().starts_with(cwd) => {
                let real = real.as_path().display();
                Err(format!("a link leads out of the working directory, to `{real}`"))
            }
            Ok(real) => Ok(real.as_path().to_owned()),
            Err(error) => Err(error.to_string()),
        };
        Self { folder: folder.to_owned(), real }
    }

    /// As it is told.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Saves an image under a name of its own, and gives the path.
    ///
    /// # Errors
    /// If the folder or the file cannot be written.
    pub(super) async fn save(&self, media_type: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let real = self.real.clone().map_err(io::Error::other)?;
        let (ending, _) = kind(media_type);
        let name = Uuid::new_v4().simple().to_string();
        let name = format!("{}.{ending}", name.get(..8).unwrap_or(&name));
        let path = self.folder.join(&name);
        let opened = tokio::task::spawn_blocking(move || create(&real, &name)).await;
        let mut file = tokio::fs::File::from_std(opened.map_err(io::Error::other)??);
        file.write_all(bytes).await?;
        file.flush().await?;
        Ok(path)
    }
}

/// Whether a path, as it is spelled, leads through a directory.
fn is_below(path: &Path, directory: &Path) -> bool {
    let mut plain = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain.ancestors().any(|above| above.canonicalize().is_ok_and(|above| above == directory))
}

/// Makes a new file that only its owner reads, and its folder if that is not there. No link is followed.
fn create(folder: &Path, name: &str) -> io::Result<File> {
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = openat(CWD, "/", way, Mode::empty())?;
    for part in folder.components() {
        let Component::Normal(part) = part else { continue };
        dir = match openat(&dir, part, way, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(&dir, part, Mode::RWXU) {
                    // Somebody else was faster.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                openat(&dir, part, way, Mode::empty())?
            }
            opened => opened?,
        };
    }
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&dir, name, new, Mode::RUSR | Mode::WUSR)?.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use junto_env::LocalEnvironment;
    use tempfile::TempDir;

    use super::*;

    /// A folder with a working directory and one outside.
    fn place() -> (TempDir, LocalEnvironment) {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "outside"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let env = LocalEnvironment::new(dir.path().join("work")).unwrap();
        (dir, env)
    }

    /// A JPEG with nothing in it but its size.
    fn jpeg(width: u16) -> Vec<u8> {
        let mut jpeg = b"\xff\xd8\xff\xc0\0\x0b\x08\0\x10".to_vec();
        jpeg.extend(width.to_be_bytes());
        jpeg.extend(b"\x01\x01\x11\0\xff\xd9");
        jpeg
    }

    #[test]
    fn an_image_is_what_its_bytes_say_and_shown_if_no_provider_refuses_it() {
        let check = |said: &str, bytes: &[u8], media_type: &str, why: Option<&str>| {
            let look = Look::at(said, bytes);
            assert_eq!(look.media_type, media_type, "{look:?}");
            match (look.shown, why) {
                (Ok(()), None) => {}
                (Err(told), Some(why)) => assert!(told.unwrap_or_default().contains(why), "{why}"),
                (shown, why) => panic!("{shown:?} and not {why:?}"),
            }
        };
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0 IEND".as_slice();
        check("image/png", png, "image/png", None);
        check("image/png", &jpeg(16), "image/jpeg", None);
        check("image/jpeg", png, "image/png", None);
        check("image/png", b"", "", Some("no image, though it was said to be image/png"));
        check("image/png", b"some text", "", Some("no image"));
        check("image/png", png.strip_suffix(b" IEND").unwrap(), "image/png", Some("broken"));
        check("image/png", png.get(..12).unwrap(), "image/png", Some("broken"));
        check("image/png", &jpeg(8001), "image/jpeg", Some("8001 x 16 pixels"));
        let mut large = png.to_vec();
        large.resize(LARGEST_SHOWN + 1, 0);
        check("image/png", &large, "image/png", Some("bytes"));
        check("image/svg+xml", b"<svg/>", "image/svg+xml", Some(""));
    }

    #[tokio::test]
    async fn images_are_saved_for_their_owner_alone() {
        let (dir, env) = place();
        for folder in ["work/images", "outside/a/b"] {
            let folder = dir.path().join(folder);
            let images = Images::at(&folder, &env).await;
            let path = images.save("image/png", b"x").await.unwrap();
            assert!(
                path.starts_with(&folder) && path.extension().is_some_and(|end| end == "png"),
                "{path:?}"
            );
            assert_eq!(fs::read(&path).unwrap(), b"x");
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(&folder)), (0o600, 0o700));
        }
        // A link of the user's own, on the way to it.
        symlink(dir.path().join("outside"), dir.path().join("own")).unwrap();
        Images::at(&dir.path().join("own/c"), &env).await.save("image/png", b"x").await.unwrap();
        assert_eq!(fs::read_dir(dir.path().join("outside/c")).unwrap().count(), 1);
        Images::at(Path::new("../beside"), &env).await.save("image/png", b"x").await.unwrap();
        assert_eq!(fs::read_dir(dir.path().join("beside")).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_link_that_code_puts_in_the_way_is_not_followed() {
        let (dir, env) = place();
        let (work, outside) = (dir.path().join("work"), dir.path().join("outside"));
        for (folder, link) in [("images", "images"), ("a/images", "a")] {
            // Before the session, and in it.
            let before = Images::at(&work.join(folder), &env).await;
            symlink(&outside, work.join(link)).unwrap();
            let after = Images::at(&work.join(folder), &env).await;
            for images in [before, after] {
                images.save("image/png", b"x").await.unwrap_err();
            }
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
