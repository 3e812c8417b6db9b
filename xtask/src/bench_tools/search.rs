//! Grep and glob beside `rg`, over a large tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Row;
use crate::Outcome;
use crate::command::{capture, cargo, root, run};
use crate::setup;

/// 20,000 files of 10 KiB on average, 50 in each directory.
const FILES: usize = 20_000;
const PER_DIRECTORY: usize = 50;
const SMALLEST: usize = 2 << 10;
const LARGEST: usize = 18 << 10;

/// What grep may take, in times of `rg`.
const LINES: Option<f64> = Some(1.2);
/// What glob may take.
const NAMES: Option<f64> = Some(1.5);

/// Is in one line of every hundredth file, and nowhere else.
const RARE: &str = "unobtainium";
/// Is in about every tenth line.
const FREQUENT: &str = r"\bfn \w+_value\(";

pub(super) fn rows(scratch: &Path) -> Outcome<Vec<Row>> {
    run(cargo().args(["build", "--release", "--workspace", "--example", "search"]))?;
    let ours = root().join("target/release/examples/search");
    let rg = setup::ripgrep()?;
    let tree = tree(scratch)?;
    let command = |program: &Path, args: &[&'static str]| -> Box<dyn Fn() -> Command> {
        let (program, tree, args) = (program.to_owned(), tree.clone(), args.to_vec());
        Box::new(move || {
            let mut command = Command::new(&program);
            command.args(&args).current_dir(&tree);
            command
        })
    };
    let row = |name, bound, our_args: &[&'static str], rg_args: &[&'static str]| -> Outcome<Row> {
        let row =
            Row { name, ours: command(&ours, our_args), peer: "rg", theirs: command(&rg, rg_args), bound };
        // A comparison of speed is worth something only if the work is the same.
        let (mine, other) = (lines(&row.ours)?, lines(&row.theirs)?);
        if mine == other && mine > 0 {
            Ok(row)
        } else {
            Err(format!("{name}: {mine} lines, and {other} of rg"))
        }
    };
    // rg reads no settings of the user, and prints what we give: numbered lines without a terminal.
    let none = "--no-config";
    Ok(vec![
        row("grep, a rare word, lines", LINES, &["lines", RARE], &[none, "-n", RARE])?,
        row("grep, a frequent pattern, counts", LINES, &["counts", FREQUENT], &[none, "-c", FREQUENT])?,
        row("grep, a frequent pattern, files", LINES, &["matching", FREQUENT], &[none, "-l", FREQUENT])?,
        row("grep, any case, lines", LINES, &["lines", "(?i)UNOBTAINIUM"], &[none, "-n", "(?i)UNOBTAINIUM"])?,
        row("glob, one kind by time", NAMES, &["glob", "**/*.rs"], &[none, "--files", "-g", "**/*.rs"])?,
        row("glob, all files by path", NAMES, &["files", "**"], &[none, "--files", "-g", "**"])?,
        // To look at the time of each is more work than to list it. What it costs beside a peer that does not
        // do it is told; beside one that does it is judged.
        row("glob, all files by time, bare list", None, &["glob", "**"], &[none, "--files", "-g", "**"])?,
        row(
            "glob, all files by time",
            NAMES,
            &["glob", "**"],
            &[none, "--files", "--sortr=modified", "-g", "**"],
        )?,
    ])
}

fn lines(command: &dyn Fn() -> Command) -> Outcome<usize> {
    Ok(capture(&mut command())?.lines().count())
}

/// The tree, the same on every machine; made once.
fn tree(scratch: &Path) -> Outcome<PathBuf> {
    let ready = scratch.join("tree");
    if ready.is_dir() {
        return Ok(ready);
    }
    let making = scratch.join("tree-in-the-making");
    let cannot = |e: std::io::Error| format!("cannot make the tree to search: {e}");
    let _ = fs::remove_dir_all(&making);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for file in 0..FILES {
        let directory = file / PER_DIRECTORY;
        let dir = making.join(format!("part{}/unit{directory}", directory % 20));
        if file % PER_DIRECTORY == 0 {
            fs::create_dir_all(&dir).map_err(cannot)?;
        }
        let kind = ["rs", "ts", "py", "md"][file % 4];
        fs::write(dir.join(format!("file{file}.{kind}")), content(file, &mut random)).map_err(cannot)?;
    }
    // So that ignoring has something to do: one directory in twenty, and one kind of file.
    fs::create_dir_all(making.join(".git")).map_err(cannot)?;
    fs::write(making.join(".gitignore"), "part7/\n*.log\n/build\n!keep.log\n").map_err(cannot)?;
    fs::rename(&making, &ready).map_err(cannot)?;
    Ok(ready)
}

fn content(file: usize, random: &mut Random) -> String {
    const WORDS: [&str; 16] = [
        "let", "value", "return", "if", "self", "config", "state", "index", "result", "for", "match",
        "error", "path", "String", "u64", "+",
    ];
    let size = SMALLEST + random.below(LARGEST - SMALLEST);
    let rare = if file.is_multiple_of(100) { size / 2 } else { usize::MAX };
    let mut text = String::with_capacity(size + 100);
    while text.len() < size {
        if text.len() >= rare && !text.contains(RARE) {
            text.push_str("    // made of unobtainium\n");
        }
        match random.below(10) {
            0 => text.extend(["    fn item", &random.below(1000).to_string(), "_value(&self) {\n"]),
            1 => text.push('\n'),
            _ => {
                text.push_str("        ");
                for _ in 0..3 + random.below(9) {
                    text.push_str(WORDS[random.below(WORDS.len())]);
                    text.push(' ');
                }
                text.push('\n');
            }
        }
    }
    text
}

/// Numbers that look random and are always the same (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_is_always_the_same_and_rare_is_rare() {
        let make = |file| content(file, &mut Random(7));
        assert_eq!(make(100), make(100));
        assert_eq!(make(100).matches(RARE).count(), 1);
        assert_eq!(make(101).matches(RARE).count(), 0);
        assert!((SMALLEST..LARGEST + 200).contains(&make(1).len()));
        assert!(make(1).contains("_value("));
    }
}
