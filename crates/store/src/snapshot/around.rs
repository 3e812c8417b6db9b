//! What the repository around a workspace ignores.
//!
//! The ignore files within a workspace are read by git. Those above it, and the one in the repository that nobody else has,
//! are read here, and said again as seen from the workspace.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use junto_env::sandbox::is_stand_in;

/// The most that is read of a file, in bytes.
const LONGEST: u64 = 1 << 20;
/// A pattern with more `**` is nobody's, and could take long.
const MOST_GAPS: usize = 3;

/// The patterns that hold for a workspace from outside, a line each; what comes later counts more.
pub(super) fn ignored(workspace: &Path) -> Vec<u8> {
    let has_one = |folder: &&Path| {
        let git = folder.join(".git");
        git.symlink_metadata().is_ok() && !is_stand_in(&git)
    };
    let Some(top) = workspace.ancestors().find(has_one) else { return Vec::new() };
    let inner = workspace.strip_prefix(top).unwrap_or(Path::new(""));
    let names: Vec<&[u8]> = inner.iter().map(OsStrExt::as_bytes).collect();
    let mut patterns = Vec::new();
    if let Some(own) = repository(&top.join(".git")).and_then(|git| read(&git.join("info/exclude"))) {
        say_again(&own, &names, &mut patterns);
    }
    let mut folder = top.to_owned();
    for (depth, name) in inner.iter().enumerate() {
        if let Some(file) = read(&folder.join(".gitignore")) {
            say_again(&file, names.get(depth..).unwrap_or_default(), &mut patterns);
        }
        folder.push(name);
    }
    patterns
}

/// The repository that a `.git` is or names: that of all its working trees.
fn repository(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let named = |path: &Path, label: &str| {
        let text = String::from_utf8(read(path)?).ok()?;
        let named = text.strip_prefix(label)?.trim_end();
        Some(path.parent()?.join(named))
    };
    let own = named(git, "gitdir: ")?;
    Some(named(&own.join("commondir"), "").unwrap_or(own))
}

/// What is in a file; none if it is none, or a link, which git does not follow either.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    fs::File::open(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Says the patterns of a file again for a folder that these names lead to from its own.
fn say_again(file: &[u8], names: &[&[u8]], patterns: &mut Vec<u8>) {
    for line in file.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (not, pattern) = match line.strip_prefix(b"!") {
            Some(pattern) => (&b"!"[..], pattern),
            None => (&b""[..], line),
        };
        let body = pattern.strip_suffix(b"/").unwrap_or(pattern);
        if line.starts_with(b"#") || body.is_empty() {
            continue;
        }
        if names.is_empty() || !body.contains(&b'/') {
            patterns.extend([line, b"\n"].concat());
            continue;
        }
        let slash = if body.len() < pattern.len() { &b"/"[..] } else { b"" };
        let parts: Vec<&[u8]> = body.strip_prefix(b"/").unwrap_or(body).split(|byte| *byte == b'/').collect();
        if parts.iter().filter(|part| **part == b"**").count() > MOST_GAPS {
            continue;
        }
        for rest in seen_from(&parts, names) {
            patterns.extend([not, &rest, slash, b"\n"].concat());
        }
    }
}

/// A pattern as seen from a folder in which these names lead: nothing if it is about something else, or the folder as a
/// whole, which is worked in all the same.
fn seen_from(parts: &[&[u8]], names: &[&[u8]]) -> Vec<Vec<u8>> {
    let Some((name, more_names)) = names.split_first() else {
        let whole = parts.iter().flat_map(|part| [&b"/"[..], *part].concat()).collect();
        return if parts.is_empty() { Vec::new() } else { vec![whole] };
    };
    match parts.split_first() {
        // It stands for any number of folders: those on the way, or some of them.
        Some((&b"**", rest)) => {
            let mut seen = seen_from(parts, more_names);
            seen.extend(seen_from(rest, names));
            seen
        }
        Some((part, rest)) if fits(part, name) => seen_from(rest, more_names),
        Some(_) | None => Vec::new(),
    }
}

/// Whether a part of a pattern stands for a name. Sets of characters stand for none: so the pattern does not count here.
fn fits(part: &[u8], name: &[u8]) -> bool {
    let (mut part, mut name) = (part, name);
    // What comes after the last star, and where that was looked for.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        (part, name) = match (part, name) {
            ([], []) => return true,
            ([b'[', ..], _) => return false,
            ([b'*', rest @ ..], _) => {
                star = Some((rest, name));
                (rest, name)
            }
            ([b'?', rest @ ..], [_, more @ ..]) => (rest, more),
            ([b'\\', meant, rest @ ..] | [meant, rest @ ..], [first, more @ ..]) if meant == first => {
                (rest, more)
            }
            _ => {
                let Some((rest, [_, more @ ..])) = star else { return false };
                star = Some((rest, more));
                (rest, more)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(file: &str, names: &[&str]) -> String {
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let mut patterns = Vec::new();
        say_again(file.as_bytes(), &names, &mut patterns);
        String::from_utf8(patterns).unwrap()
    }

    #[test]
    fn patterns_are_said_again() {
        for (pattern, expected) in [
            (".env", ".env\n"),
            ("data/\r", "data/\n"),
            ("!*.log", "!*.log\n"),
            ("# pkg/x", ""),
            ("", ""),
            ("/", ""),
            ("/pkg/sub/data", "/data\n"),
            ("pkg/sub/data/", "/data/\n"),
            ("!/pkg/sub/a/b", "!/a/b\n"),
            ("/p*g/s?b/x", "/x\n"),
            (r"/\pkg/sub/x", "/x\n"),
            ("/other/sub/x", ""),
            ("/.env", ""),
            ("/pkg/", ""),
            ("pkg/sub", ""),
            ("pkg/sub/*", "/*\n"),
            ("**/x", "/**/x\n"),
            ("**/sub/x", "/**/sub/x\n/x\n"),
            ("pkg/**/x", "/**/x\n"),
            ("[p]kg/sub/x", ""),
            ("*k*/s*u*b*/x", "/x\n"),
            ("*k*/s*u*c/x", ""),
            ("**/**/**/**/x", ""),
        ] {
            assert_eq!(again(pattern, &["pkg", "sub"]), expected, "{pattern}");
        }
        assert_eq!(again("/a\nb/c\n", &[]), "/a\nb/c\n");
    }

    #[test]
    fn files_are_found_from_the_top_down() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["repo/.git/info", "repo/.git/worktrees/w", "repo/pkg/sub", "tree/pkg"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        assert_eq!(ignored(&at("nothing")), b"");
        for (file, text) in [
            ("repo/.git/info/exclude", "mine\n"),
            ("repo/.gitignore", "top\n"),
            ("repo/pkg/.gitignore", "/sub/x"),
            ("repo/pkg/sub/.gitignore", "git reads it\n"),
            ("repo/.git/worktrees/w/commondir", "../..\n"),
            ("tree/.git", "gitdir: ../repo/.git/worktrees/w\n"),
        ] {
            fs::write(at(file), text).unwrap();
        }
        for (workspace, expected) in [
            ("repo", "mine\n"),
            ("repo/pkg/sub", "mine\ntop\n/x\n"),
            ("tree", "mine\n"),
            ("tree/pkg", "mine\n"),
        ] {
            assert_eq!(String::from_utf8(ignored(&at(workspace))).unwrap(), expected, "{workspace}");
        }
    }
}
