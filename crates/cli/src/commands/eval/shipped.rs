//! The tasks that come with the program, so that it needs no folder beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

macro_rules! file {
    ($path:literal) => {
        ($path, include_bytes!(concat!("../../../../../evals/", $path)) as &[u8])
    };
}

/// Their files, by path.
const FILES: &[(&str, &[u8])] = &[
    file!("answer-leak/repo/pool.py"),
    file!("answer-leak/solution/.answer"),
    file!("answer-leak/task.toml"),
    file!("answer-trace/repo/walk.sh"),
    file!("answer-trace/solution/.answer"),
    file!("answer-trace/task.toml"),
    file!("node-csv/hidden/tests/csv.js"),
    file!("node-csv/repo/csv.js"),
    file!("node-csv/repo/tests/first.js"),
    file!("node-csv/solution/csv.js"),
    file!("node-csv/task.toml"),
    file!("node-versions/hidden/tests/versions.js"),
    file!("node-versions/repo/tests/first.js"),
    file!("node-versions/repo/versions.js"),
    file!("node-versions/solution/versions.js"),
    file!("node-versions/task.toml"),
    file!("python-expiry/hidden/tests/test_store.py"),
    file!("python-expiry/repo/store.py"),
    file!("python-expiry/repo/tests/test_first.py"),
    file!("python-expiry/solution/store.py"),
    file!("python-expiry/task.toml"),
    file!("python-intervals/hidden/tests/test_booking.py"),
    file!("python-intervals/repo/booking.py"),
    file!("python-intervals/repo/tests/test_first.py"),
    file!("python-intervals/solution/booking.py"),
    file!("python-intervals/task.toml"),
    file!("python-slug/hidden/tests/test_slugs.py"),
    file!("python-slug/repo/slugs.py"),
    file!("python-slug/repo/tests/test_first.py"),
    file!("python-slug/solution/slugs.py"),
    file!("python-slug/task.toml"),
    file!("python-units/hidden/data.py"),
    file!("python-units/hidden/tests/test_units.py"),
    file!("python-units/repo/data.py"),
    file!("python-units/repo/plan.py"),
    file!("python-units/repo/report.py"),
    file!("python-units/repo/tests/test_first.py"),
    file!("python-units/repo/units.py"),
    file!("python-units/solution/plan.py"),
    file!("python-units/solution/report.py"),
    file!("python-units/solution/units.py"),
    file!("python-units/task.toml"),
    file!("rust-rle/hidden/tests/packed.rs"),
    file!("rust-rle/repo/.gitignore"),
    file!("rust-rle/repo/Cargo.toml"),
    file!("rust-rle/repo/src/lib.rs"),
    file!("rust-rle/repo/tests/first.rs"),
    file!("rust-rle/solution/src/lib.rs"),
    file!("rust-rle/task.toml"),
    file!("rust-sums/hidden/tests/sums.rs"),
    file!("rust-sums/repo/.gitignore"),
    file!("rust-sums/repo/Cargo.toml"),
    file!("rust-sums/repo/src/lib.rs"),
    file!("rust-sums/repo/tests/first.rs"),
    file!("rust-sums/solution/src/lib.rs"),
    file!("rust-sums/task.toml"),
    file!("sh-rotate/hidden/tests/all.sh"),
    file!("sh-rotate/hidden/tests/first.sh"),
    file!("sh-rotate/repo/rotate.sh"),
    file!("sh-rotate/repo/tests/first.sh"),
    file!("sh-rotate/solution/rotate.sh"),
    file!("sh-rotate/task.toml"),
    file!("sh-topwords/hidden/tests/words.sh"),
    file!("sh-topwords/repo/README"),
    file!("sh-topwords/repo/tests/first.sh"),
    file!("sh-topwords/solution/topwords.sh"),
    file!("sh-topwords/task.toml"),
];

/// Writes the tasks into a folder, and gives the folder back.
///
/// # Errors
/// What the system says.
pub(super) fn write(folder: &Path) -> io::Result<PathBuf> {
    for (path, bytes) in FILES {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, bytes)?;
    }
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(folder: &Path, below: &Path, all: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                list(&path, below, all);
            } else {
                all.push(path.strip_prefix(below).unwrap().to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_tasks_is_here_and_none_that_is_a_program() {
        use std::os::unix::fs::PermissionsExt as _;
        let evals = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals");
        let mut there = Vec::new();
        list(&evals, &evals, &mut there);
        there.sort();
        let here: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(here, there);
        for path in here {
            // What is written has no mode of its own.
            assert_eq!(fs::metadata(evals.join(path)).unwrap().permissions().mode() & 0o111, 0, "{path}");
        }
    }
}
