//! What may have been meant by a path that is not there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use junto_env::{ByteRange, ErrorKind, ExecutionEnvironment, RealPath};

/// How many names are proposed.
const PROPOSED: usize = 3;
/// How many names of a directory are compared.
const COMPARED: usize = 10_000;
/// Names longer than this are not compared: no file system has them, and comparing takes the square.
const LONGEST: usize = 255;

/// Where to look for what was meant: nothing if the path is there. Otherwise the file with the same
/// end below the working directory, if there is one, and the nearest directory above that exists.
/// A tool that misses a file declares that it reads these.
pub(super) async fn places(env: &dyn ExecutionEnvironment, path: &RealPath) -> Vec<RealPath> {
    if !is_missing(env, path).await {
        return Vec::new();
    }
    let mut places = Vec::new();
    for tail in tails(path.as_path()) {
        let below = env.facts().cwd.as_path().join(tail);
        let Some(below) = below.to_str() else { continue };
        let Ok(real) = env.resolve(below).await else { continue };
        if env.open(&real, ByteRange::ALL).await.is_ok() {
            places.push(real);
            break;
        }
    }
    let mut above = path.as_path().parent();
    while let Some(dir) = above {
        // Above a resolved path is a resolved path.
        let dir = RealPath::resolved(dir);
        if !is_missing(env, &dir).await {
            places.push(dir);
            break;
        }
        above = above.and_then(Path::parent);
    }
    places
}

async fn is_missing(env: &dyn ExecutionEnvironment, path: &RealPath) -> bool {
    env.open(path, ByteRange::ALL).await.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The ends of a path, from the longest to the name alone.
fn tails(path: &Path) -> Vec<PathBuf> {
    let parts: Vec<_> = path.components().skip(1).collect();
    (0..parts.len()).map(|skipped| parts.iter().skip(skipped).collect()).collect()
}

/// What to say of a path that is not there, from the places that [`places`] gave.
pub(super) async fn miss(env: &dyn ExecutionEnvironment, path: &RealPath, places: &[RealPath]) -> String {
    let mut said = format!("there is no {path}");
    for place in places {
        match env.list(place, 1).await {
            Ok(entries) => {
                let Some(wanted) = path.as_path().strip_prefix(place).ok().and_then(|p| p.iter().next())
                else {
                    continue;
                };
                let names: Vec<_> =
                    entries.iter().take(COMPARED).map(|entry| entry.path.to_string_lossy()).collect();
                let near = nearest(&wanted.to_string_lossy(), names.iter().map(AsRef::as_ref));
                said += &in_directory(path, place, &near);
            }
            Err(error) if error.kind() == ErrorKind::WrongKind && path.is_within(place) => {
                let _ = write!(said, "; {place} is a file and no directory");
            }
            Err(error) if error.kind() == ErrorKind::WrongKind => {
                let _ = write!(said, "; there is {place}");
            }
            Err(_) => {}
        }
    }
    said
}

fn in_directory(path: &RealPath, place: &RealPath, near: &[&str]) -> String {
    let names = near.join(", ");
    match (path.as_path().parent() == Some(place.as_path()), near) {
        (true, []) => String::new(),
        (true, _) => format!("; near it: {names}"),
        (false, []) => format!("; the nearest directory above it is {place}"),
        (false, _) => format!("; the nearest directory above it is {place}, which has {names}"),
    }
}

/// The names most like the wanted one, the best first.
fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((distance(wanted, name)?, name))).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(PROPOSED).map(|(_, name)| name).collect()
}

/// How far a name is from the wanted one; nothing if it is too far to be meant.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    if wanted == name {
        return Some(0);
    }
    let stem = |name: &str| name.rsplit_once('.').map(|(stem, _)| stem.to_owned()).filter(|s| !s.is_empty());
    let (wanted_stem, name_stem) = (stem(&wanted), stem(&name));
    let same_stem = wanted_stem.as_ref().unwrap_or(&wanted) == name_stem.as_ref().unwrap_or(&name);
    if same_stem {
        return Some(1);
    }
    let (wanted, name): (Vec<char>, Vec<char>) = (wanted.chars().collect(), name.chars().collect());
    let bound = (wanted.len() / 3).max(1);
    if wanted.len() > LONGEST || wanted.len().abs_diff(name.len()) > bound {
        return None;
    }
    Some(edits(&wanted, &name)).filter(|edits| *edits <= bound).map(|edits| edits + 1)
}

/// How many characters must be put in, left out or replaced to make one name of the other.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *cell;
            *cell = replaced.min(diagonal + 1).min(left + 1);
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &str, names: &[&str], expected: &[&str]) {
        assert_eq!(nearest(wanted, names.iter().copied()), expected, "{wanted}");
    }

    #[test]
    fn names_that_may_have_been_meant_come_best_first() {
        check("main.rs", &["mian.rs", "Main.rs", "lib.rs", "main.py"], &["Main.rs", "main.py", "mian.rs"]);
        check("config.yml", &["config.yaml", "confi.yml", "other"], &["config.yaml", "confi.yml"]);
        check("Makefile", &["makefile", "Makefile.am"], &["makefile", "Makefile.am"]);
        check("README", &["README.md", "a"], &["README.md"]);
        check("a", &["b", "ab", "abc"], &["ab", "b"]);
        check("x.rs", &["completely_else.rs"], &[]);
        check("", &["a"], &["a"]);
        check(&"x".repeat(300), &[&"x".repeat(299)], &[]);
        check("ürlaub.txt", &["urlaub.txt"], &["urlaub.txt"]);
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(edits(&chars(a), &chars(b)), expected, "{a} {b}");
            assert_eq!(edits(&chars(b), &chars(a)), expected, "{b} {a}");
        }
    }

    #[test]
    fn the_ends_of_a_path() {
        let tails = tails(Path::new("/a/b/c"));
        assert_eq!(tails, [Path::new("a/b/c"), Path::new("b/c"), Path::new("c")]);
    }
}
