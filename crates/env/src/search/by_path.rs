//! The order of paths, made cheap.

use std::cmp::Ordering;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// A path of a walk, which sorts as [`Path`] does: part by part. Paths below one directory begin
/// alike, and this passes over the common beginning in large steps; to sort would be more work than to
/// walk otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByPath(pub(crate) PathBuf);

impl Ord for ByPath {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for ByPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares two paths without `.`, `..` and doubled separators in them.
pub(crate) fn compare(one: &Path, other: &Path) -> Ordering {
    const STEP: usize = 16;
    let (one, other) = (one.as_os_str().as_encoded_bytes(), other.as_os_str().as_encoded_bytes());
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    let common = steps.take_while(|(one, other)| one == other).count() * STEP;
    let rest = |bytes| <[u8]>::iter(bytes).skip(common).copied().map(rank);
    rest(one).cmp(rest(other))
}

/// A separator comes before all else: a part that ends is less than one that goes on.
fn rank(byte: u8) -> u16 {
    if char::from(byte) == MAIN_SEPARATOR { 0 } else { u16::from(byte) + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_paths() {
        let long = "/some/directory/that/is/long/enough";
        let names = [
            "a",
            "a/b",
            "a.b",
            "a b",
            "a-b/c",
            "a/b/c",
            "aa",
            "é",
            "é/x",
            "z",
            "z/0123456789abcdef",
            "A\u{1}",
        ];
        let paths: Vec<PathBuf> =
            ["", "/", long].iter().flat_map(|root| names.map(|name| Path::new(root).join(name))).collect();
        for one in &paths {
            for other in &paths {
                assert_eq!(compare(one, other), one.cmp(other), "{one:?} {other:?}");
            }
        }
    }
}
