//! Searches the working directory and prints what `rg` would: `search lines|counts|matching PATTERN`,
//! `search glob PATTERN`. The benchmark of the tools runs it beside `rg`.
#![expect(clippy::disallowed_macros, reason = "an example prints")]

use std::io::{self, BufWriter, Write as _};

use junto_env::{ExecutionEnvironment as _, Found, LocalEnvironment, RealPath, Search, Show};
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
    let mut out = BufWriter::new(io::stdout().lock());
    match &hits.found {
        Found::Lines(files) => {
            for file in files {
                for line in &file.lines {
                    print_path(&mut out, &file.path, &here)?;
                    writeln!(out, ":{}:{}", line.number, line.text)?;
                }
            }
        }
        Found::Counts(files) => {
            for file in files {
                print_path(&mut out, &file.path, &here)?;
                writeln!(out, ":{}", file.count)?;
            }
        }
        Found::Files(files) => {
            for file in files {
                print_path(&mut out, &file.path, &here)?;
                writeln!(out)?;
            }
        }
    }
    out.flush()?;
    if hits.truncated {
        eprintln!("there is more");
    }
    Ok(())
}

/// The path below the working directory, byte for byte.
fn print_path(out: &mut impl io::Write, path: &RealPath, here: &RealPath) -> io::Result<()> {
    let (path, here) = [path, here].map(|path| path.as_path().as_os_str().as_encoded_bytes()).into();
    out.write_all(path.get(here.len() + 1..).unwrap_or(path))
}
