//! What members are told.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::Oracle;

/// How much of the other diffs a synthesis is shown, in bytes.
const MOST: u64 = 60_000;

/// What a member is told: the task, and who judges what it makes of it.
pub(super) fn task(task: &str, oracle: Option<&Oracle>) -> String {
    match oracle {
        Some(oracle) => format!(
            "{task}\n\n---\nYou work in a checkout of your own. What counts are the files you leave in it; you \
             need not commit. They are checked with `{}`, in a fresh checkout. Change no tests and nothing that \
             these checks are run by, unless the task asks for that, and change no more than the task needs.",
            oracle.words()
        ),
        None => task.to_owned(),
    }
}

/// What the one is told that makes one of several: it begins with the first of them.
pub(super) fn merge(task: &str, oracle: &Oracle, first: u32, others: &[(u32, &Path)]) -> String {
    let mut text = format!(
        "{}\n\nSeveral solutions of this task pass the checks. Your checkout has candidate {first}, the smallest \
         of them, applied. Below are the others, as diffs against the same base. Where one of them is more \
         correct or more complete, take that part over; do not pile them up, and leave the checkout as it is \
         where nothing is better.\n",
        self::task(task, Some(oracle))
    );
    let mut left = MOST;
    for (number, path) in others {
        let mut diff = Vec::new();
        let read = File::open(path).and_then(|file| file.take(left + 1).read_to_end(&mut diff));
        let size = diff.len() as u64;
        if read.is_err() || size > left {
            let _ = writeln!(text, "\nCandidate {number} is too large to be shown.");
            continue;
        }
        left -= size;
        let _ = writeln!(text, "\nCandidate {number}:\n{}", String::from_utf8_lossy(&diff));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_shown_as_far_as_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let [small, large] = ["small", "large"].map(|name| folder.path().join(name));
        std::fs::write(&small, "+one line\n").unwrap();
        std::fs::write(&large, "x".repeat(100_000)).unwrap();
        let text = merge("Do it.", &Oracle::given("make test"), 1, &[(2, &large), (3, &small)]);
        assert!(text.starts_with("Do it.\n") && text.contains("make test"));
        assert!(text.contains("Candidate 2 is too large") && text.contains("Candidate 3:\n+one line"));
        assert!(text.len() < 2000);
    }
}
