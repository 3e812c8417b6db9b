//! A kernel that does what it is told, for `cargo xtask bench kernel`: a line with a word comes in, one of JSON goes
//! out. `tests/peers/ipybox_kernel.py` does the same over ipybox, and says what the words mean; `many N` is ours.
//!
//! `drive PYTHON SERVER...`: the interpreter, and the command of an MCP server that has the tool `echo`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement reads its arguments and the clock, and prints"
)]

mod host;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_kernel::{Cell, CellEnd, Kernel, KernelSetup, Piece, Python, ToolSocket};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use host::Served;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const FIRST: &str = "x = 0";
const CALLS: &str = r#"
import time
begun = time.perf_counter()
from mcptools.peer import echo
echo.run(text="first")
first, begun = time.perf_counter() - begun, time.perf_counter()
for n in range(20):
    echo.run(text=str(n))
print(first, (time.perf_counter() - begun) / 20)
"#;

/// What kernels are made with, and the one there is.
struct Bench {
    setup: KernelSetup,
    kernel: Option<Kernel>,
}

impl Bench {
    async fn start(&mut self) -> Outcome<Value> {
        self.end().await;
        let begun = Instant::now();
        let kernel = Kernel::start(self.setup.clone()).await?;
        run(&kernel, Cell::new(FIRST)).await?;
        self.kernel = Some(kernel);
        Ok(json!({"seconds": begun.elapsed().as_secs_f64()}))
    }

    async fn calls(&self) -> Outcome<Value> {
        let (said, _) = run(self.kernel()?, Cell::new(CALLS)).await?;
        let mut times = said.split_whitespace().map(str::parse::<f64>);
        let (Some(Ok(first)), Some(Ok(later))) = (times.next(), times.next()) else {
            return Err(said.into());
        };
        Ok(json!({"first": first, "seconds": later}))
    }

    /// How long a cell took that must end in this way.
    async fn timed(&self, cell: Cell, fits: fn(&CellEnd) -> bool) -> Outcome<Value> {
        let begun = Instant::now();
        let (said, end) = run(self.kernel()?, cell).await?;
        let seconds = begun.elapsed().as_secs_f64();
        if fits(&end) { Ok(json!({"seconds": seconds})) } else { Err(format!("{end:?}: {said}").into()) }
    }

    /// Kernels side by side, each of which must say what it alone was asked.
    async fn many(&self, count: usize) -> Outcome<Value> {
        let begun = Instant::now();
        let all = (0..count).map(|number| {
            let setup = self.setup.clone();
            tokio::spawn(async move {
                let one = async {
                    let kernel = Kernel::start(setup).await?;
                    for turn in 0..10 {
                        let (said, _) = run(&kernel, Cell::new(format!("print({number}, {turn})"))).await?;
                        if said != format!("{number} {turn}\n") {
                            return Err(format!("kernel {number} said {said:?} in turn {turn}").into());
                        }
                    }
                    kernel.close().await;
                    Outcome::Ok(())
                };
                one.await.map_err(|error| error.to_string())
            })
        });
        for one in all.collect::<Vec<_>>() {
            one.await??;
        }
        Ok(json!({"seconds": begun.elapsed().as_secs_f64()}))
    }

    async fn end(&mut self) {
        if let Some(kernel) = self.kernel.take() {
            kernel.close().await;
        }
    }

    fn kernel(&self) -> Outcome<&Kernel> {
        Ok(self.kernel.as_ref().ok_or("there is no kernel")?)
    }

    async fn told(&mut self, line: &str) -> Outcome<Value> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("start", _) => self.start().await,
            ("cell", _) => self.timed(Cell::new("x += 1"), |end| *end == CellEnd::Done).await,
            ("calls", _) => self.calls().await,
            ("timeout", _) => {
                let sleep = Cell::new("import time; time.sleep(60)").within(Duration::from_secs(1));
                self.timed(sleep, |end| *end == CellEnd::TimedOut { killed: false }).await
            }
            ("die", _) => {
                let exit = Cell::new("import os; os._exit(1)");
                self.timed(exit, |end| matches!(end, CellEnd::Died { .. })).await
            }
            ("many", count) => self.many(count.parse()?).await,
            ("end", _) => {
                self.end().await;
                Ok(json!({}))
            }
            _ => Err(format!("no such word: {line}").into()),
        }
    }
}

/// What a cell printed, and how it ended.
async fn run(kernel: &Kernel, cell: Cell) -> Outcome<(String, CellEnd)> {
    let mut pieces = Vec::new();
    let ran = kernel.run(cell, &mut pieces).await?;
    let said = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Stdout(text) | Piece::Stderr(text) | Piece::Error { traceback: text, .. } => Some(text),
        _ => None,
    });
    Ok((said.collect(), ran.end))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [python, server @ ..] = &arguments[..] else { return Err("drive PYTHON SERVER...".into()) };
    let folder = tempfile::Builder::new().prefix("drive").tempdir()?;
    let given = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
    let env: Arc<dyn ExecutionEnvironment> =
        Arc::new(LocalEnvironment::builder(folder.path()).variables(given).build()?);
    let served = Served::new(server, Arc::clone(&env)).await?;
    let socket = ToolSocket::serve(Arc::clone(&served) as _, folder.path())?;
    let python = Python::at(Path::new(python), &*env).await?;
    let setup = KernelSetup::new(python, env, folder.path(), folder.path()).with_tools(&socket);
    let mut bench = Bench { setup, kernel: None };
    println!("{{}}");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        println!("{}", bench.told(line.trim()).await?);
    }
    bench.end().await;
    socket.close().await;
    served.close().await;
    Ok(())
}
