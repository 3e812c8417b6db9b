//! Making a path real.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use crate::{Error, ErrorKind, RealPath, Result};

/// How many symbolic links may be followed; the kernel's own limit.
const LINKS: usize = 40;

/// Resolves `~`, relative paths, `..` and symbolic links. What does not exist (yet) is kept as it is
/// written; `..` after it takes it away again.
pub(super) fn resolve(path: &str, cwd: &Path, home: Option<&Path>) -> Result<RealPath> {
    if path.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, "(empty path)", "a path is needed"));
    }
    let mut pending = Vec::new();
    queue(&mut pending, &cwd.join(expand_home(path, home)?));
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = pending.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(part);
        match fs::symlink_metadata(&real) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > LINKS {
                    return Err(Error::new(ErrorKind::Io, path, "too many levels of symbolic links"));
                }
                let target = fs::read_link(&real).map_err(|e| Error::io(path, e))?;
                real.pop();
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                queue(&mut pending, &target);
            }
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Error::io(path, e)),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(RealPath::resolved(real))
}

/// Where an absolute path leads on this machine: without `..` and through links. What does not exist is kept as it is
/// written. None if it cannot be known: a folder that may not be read, links in a circle.
pub fn follow_links(path: &Path) -> Option<PathBuf> {
    resolve(path.to_str()?, Path::new("/"), None).ok().map(|real| real.as_path().to_owned())
}

/// What is in a directory, and of which kind each is; nothing, if it cannot be read.
pub fn entries(directory: &Path) -> Vec<(OsString, fs::FileType)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?))).collect()
}

fn expand_home(path: &str, home: Option<&Path>) -> Result<PathBuf> {
    let Some(rest) = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
        return Ok(PathBuf::from(path));
    };
    let home = home.ok_or_else(|| Error::new(ErrorKind::Unsupported, path, "no home directory is known"))?;
    Ok(home.join(rest.trim_start_matches('/')))
}

/// Puts the parts of a path on a stack, the first on top. A `..` is itself; roots and `.` are nothing.
fn queue(pending: &mut Vec<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(_) | Component::ParentDir => pending.push(component.as_os_str().to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with `dir/file`, `home/`, and links of all sorts; paths in the cases are below it.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for dir in ["dir/sub", "home", "other"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::write(root.join("dir/file"), "x").unwrap();
        for (target, link) in [
            ("dir", "to_dir"),
            ("dir/file", "to_file"),
            ("to_file", "to_link"),
            ("dir/new", "dangling"),
            ("loop_b", "loop_a"),
            ("loop_a", "loop_b"),
            ("../other", "dir/up"),
            (".", "dir/self"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("other"), root.join("absolute")).unwrap();
        (temp, root)
    }

    fn check(path: &str, expected: std::result::Result<&str, ErrorKind>) {
        let (_temp, root) = place();
        let path = path.replace("ROOT", root.to_str().unwrap());
        let found = resolve(&path, &root, Some(&root.join("home")));
        let expected = expected.map(|below| root.join(below));
        assert_eq!(found.map(|real| real.as_path().to_owned()).map_err(|e| e.kind()), expected, "{path}");
    }

    #[test]
    fn plain_paths() {
        for (path, expected) in [
            (".", ""),
            ("dir/file", "dir/file"),
            ("./dir//file", "dir/file"),
            ("dir/sub/../file", "dir/file"),
            ("dir/", "dir"),
            ("ROOT/dir/file", "dir/file"),
            ("~", "home"),
            ("~/x/y", "home/x/y"),
            ("~//x", "home/x"),
            ("~other", "~other"),
            ("dir/~", "dir/~"),
            ("日本/ü 🦀", "日本/ü 🦀"),
        ] {
            check(path, Ok(expected));
        }
    }

    #[test]
    fn links() {
        for (path, expected) in [
            ("to_file", "dir/file"),
            ("to_link", "dir/file"),
            ("to_dir/file", "dir/file"),
            ("to_dir/up/x", "other/x"),
            ("dir/up/..", ""),
            ("dir/self/self/file", "dir/file"),
            ("absolute/x", "other/x"),
            ("dangling", "dir/new"),
        ] {
            check(path, Ok(expected));
        }
    }

    #[test]
    fn what_does_not_exist_is_kept() {
        for (path, expected) in
            [("a/b/c", "a/b/c"), ("a/../dir/file", "dir/file"), ("to_dir/a/../file", "dir/file")]
        {
            check(path, Ok(expected));
        }
    }

    #[test]
    fn what_cannot_be_resolved() {
        check("", Err(ErrorKind::NotFound));
        check("loop_a", Err(ErrorKind::Io));
        check("loop_a/x", Err(ErrorKind::Io));
        check("dir/file/x", Err(ErrorKind::WrongKind));
        check("a\0b", Err(ErrorKind::Io));
        check(&"x".repeat(300), Err(ErrorKind::Io));
    }

    #[test]
    fn what_is_in_a_directory() {
        let (_temp, root) = place();
        let mut found: Vec<_> = entries(&root.join("dir"))
            .into_iter()
            .map(|(name, kind)| (name.into_string().unwrap(), kind.is_symlink(), kind.is_dir()))
            .collect();
        found.sort();
        let found: Vec<_> = found.iter().map(|(name, link, dir)| (name.as_str(), *link, *dir)).collect();
        assert_eq!(
            found,
            [("file", false, false), ("self", true, false), ("sub", false, true), ("up", true, false)]
        );
        assert!(entries(&root.join("dir/file")).is_empty() && entries(&root.join("none")).is_empty());
    }

    #[test]
    fn the_root_is_above_everything() {
        assert_eq!(resolve("/../..", Path::new("/"), None).unwrap().as_path(), Path::new("/"));
    }

    #[test]
    fn without_a_home_there_is_no_tilde() {
        assert_eq!(resolve("~/x", Path::new("/"), None).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
