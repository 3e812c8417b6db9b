//! Searching in files: the fewer matches there are, the more is shown around them.

use std::fmt::Write as _;

use junto_env::{Case, FileLines, Found, Hits, Line, RealPath, Search, Show};
use serde_json::Value;

use super::super::arguments::{flag, number, required, text};
use crate::tools::below;

/// How many matches are given if nobody says.
const MATCHES: u64 = 100;
/// How many matches are given at most.
const MOST_MATCHES: u64 = 10_000;
/// How many lines are shown around a match at most.
const MOST_CONTEXT: u64 = 100;
/// How many lines are shown around matches of which there are few, so that the file need not be read.
const AROUND: &[(usize, u32)] = &[(1, 50), (3, 15)];

pub(super) fn grep_search(args: &Value, root: RealPath) -> Result<Search, String> {
    if args.get("exclude_pattern").is_some_and(|pattern| !pattern.is_null()) {
        return Err("lines cannot be excluded by a pattern here; narrow the pattern instead".to_owned());
    }
    let around = |key| number(args, key).or(number(args, "context")).unwrap_or(0).min(MOST_CONTEXT);
    // Lines around few matches are cut to what is wanted when it is known how many there are.
    let usual = AROUND.first().map_or(0, |(_, lines)| *lines);
    let lines = |key| u32::try_from(around(key)).unwrap_or(0).max(if is_plain(args) { usual } else { 0 });
    let show = if flag(args, "names_only") {
        Show::Files
    } else {
        Show::Lines { before: lines("before"), after: lines("after") }
    };
    let case = if flag(args, "case_sensitive") { Case::Sensitive } else { Case::Insensitive };
    let most = number(args, "total_max_matches").unwrap_or(MATCHES).clamp(1, MOST_MATCHES);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut search = Search::grep(required(args, "pattern")?, root).case(case).show(show).limit(most);
    if let Some(glob) = text(args, "include_pattern") {
        search = search.only(glob);
    }
    if flag(args, "fixed_strings") {
        search = search.literal();
    }
    Ok(if flag(args, "no_ignore") { search.with_ignored() } else { search })
}

/// Whether nobody says how many lines around a match are wanted.
fn is_plain(args: &Value) -> bool {
    ["context", "before", "after"].iter().all(|key| number(args, key).is_none())
}

pub(super) fn matches(args: &Value, hits: &Hits, cwd: &RealPath) -> String {
    let pattern = text(args, "pattern").unwrap_or_default();
    let mut told = match &hits.found {
        found if found.is_empty() => return format!("No matches found for pattern \"{pattern}\"."),
        Found::Files(files) => {
            let names: Vec<String> = files.iter().map(|file| below(&file.path, cwd)).collect();
            format!(
                "Found {} files with matches for pattern \"{pattern}\":\n{}",
                names.len(),
                names.join("\n")
            )
        }
        Found::Counts(_) => String::new(),
        Found::Lines(files) => {
            let most =
                number(args, "max_matches_per_file").map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(1));
            let of = |file: &FileLines| file.lines.iter().filter(|line| line.matches).count().min(most);
            let count: usize = files.iter().map(of).sum();
            let noun = if count == 1 { "match" } else { "matches" };
            let mut told = format!("Found {count} {noun} for pattern \"{pattern}\":\n---\n");
            let wanted = if is_plain(args) {
                AROUND.iter().find(|(few, _)| count <= *few).map_or(0, |(_, lines)| *lines)
            } else {
                u32::MAX
            };
            for file in files {
                let _ = writeln!(told, "File: {}", below(&file.path, cwd));
                for (number, line, matches) in near(&file.lines, most, u64::from(wanted)) {
                    let mark = if matches { "L" } else { "L-" };
                    let _ = writeln!(told, "{mark}{number}: {line}");
                }
                told.push_str("---\n");
            }
            told.trim_end().to_owned()
        }
    };
    if hits.truncated {
        told.push_str("\n[there are more; narrow the search, or raise total_max_matches]");
    }
    told
}

/// The first matches of a file, and the lines within this distance of one.
fn near(lines: &[Line], most: usize, distance: u64) -> impl Iterator<Item = (u64, &str, bool)> {
    let matches: Vec<u64> =
        lines.iter().filter(|line| line.matches).map(|line| line.number).take(most).collect();
    lines.iter().filter_map(move |line| {
        let counts = matches.contains(&line.number);
        let is_near = matches.iter().any(|number| number.abs_diff(line.number) <= distance);
        (counts || (is_near && !line.matches)).then_some((line.number, line.text.as_str(), counts))
    })
}
