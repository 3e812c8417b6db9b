//! Searches the working directory and prints what `rg` would: `search lines|counts|matching PATTERN`,
//! `search glob PATTERN`. The benchmark of the tools runs it beside `rg`.
#![expect(clippy::disallowed_macros, reason = "an example prints")]

use std::io::{self, BufWriter, Write as _};

use junto_env::{ExecutionEnvironment as _, Found, LocalEnvironment, Search, Show};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, pattern] = &arguments[..] else { return Err("usage: search MODE PATTERN".into()) };
    let env = LocalEnvironment::new(".")?;
    let here = env.resolve(".").await?;
    let text = || Search::grep(pattern, here.clone());
    let query = match mode.as_str() {
        "lines" => text(),
        "counts" => text().show(Show::Counts),
        "matching" => text().show(Show::Files),
        "glob" => Search::glob(pattern, here.clone()),
        _ => return Err("MODE is one of lines, counts, matching, glob".into()),
    };
    let hits = env.search(query.limit(100_000), &CancellationToken::new()).await?;
    let shown = |path: &junto_env::RealPath| {
        path.as_path().strip_prefix(&here).unwrap_or(path.as_path()).display().to_string()
    };
    let mut out = BufWriter::new(io::stdout().lock());
    match &hits.found {
        Found::Lines(files) => {
            for file in files {
                let path = shown(&file.path);
                for line in &file.lines {
                    writeln!(out, "{path}:{}:{}", line.number, line.text)?;
                }
            }
        }
        Found::Counts(files) => {
            for file in files {
                writeln!(out, "{}:{}", shown(&file.path), file.count)?;
            }
        }
        Found::Files(files) => {
            for file in files {
                writeln!(out, "{}", shown(&file.path))?;
            }
        }
    }
    out.flush()?;
    if hits.truncated {
        eprintln!("there is more");
    }
    Ok(())
}
