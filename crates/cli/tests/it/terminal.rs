//! A terminal on which the command runs, and the screen that a user would see.

use std::collections::BTreeMap;
use std::time::Duration;

use junto::env::{CommandSpec, ExecutionEnvironment as _, LocalEnvironment, Process, Stdin, TerminalSize};
use tokio::runtime::Runtime;

use crate::Machine;

/// A guard against tests that hang; nothing waits for it otherwise.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Terminal {
    process: Process,
    /// Everything that was written to it.
    pub(crate) raw: String,
    screen: Screen,
    /// What came of a character so far.
    pending: Vec<u8>,
    runtime: Runtime,
}

impl Terminal {
    /// Starts the command on a terminal of so many columns.
    pub(crate) fn start(machine: &Machine, columns: u16, args: &[&str]) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut variables: BTreeMap<String, String> = machine.environment().into_iter().collect();
        variables.entry("TERM".to_owned()).or_insert_with(|| "xterm-256color".to_owned());
        let program = [env!("CARGO_BIN_EXE_junto")].iter().chain(args).copied();
        let spec = CommandSpec {
            variables,
            stdin: Stdin::Open,
            terminal: Some(TerminalSize { rows: 40, columns }),
            ..CommandSpec::argv(program)
        };
        let process = runtime.block_on(async {
            let env = LocalEnvironment::new(machine.path("project")).unwrap();
            env.spawn(spec).await.unwrap()
        });
        Self {
            process,
            raw: String::new(),
            screen: Screen::new(columns.into()),
            pending: Vec::new(),
            runtime,
        }
    }

    /// Reads until this stands on the screen.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, said: &str) {
        while !self.screen.text().contains(said) {
            assert!(self.read(), "no {said:?} on\n{}", self.screen.text());
        }
    }

    /// Types keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.runtime.block_on(self.process.write(keys.as_bytes())).unwrap();
    }

    /// The exit code and the screen, once the command has ended.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        while self.read() {}
        let exit = self.runtime.block_on(self.process.wait()).unwrap();
        (exit.code, self.screen.text(), self.raw)
    }

    /// Reads what comes next; false once nothing will.
    fn read(&mut self) -> bool {
        let next = async { tokio::time::timeout(PATIENCE, self.process.output()).await };
        let next = self.runtime.block_on(next);
        let Some(piece) = next.unwrap_or_else(|_| panic!("silence after\n{}", self.screen.text())).unwrap()
        else {
            return false;
        };
        self.pending.extend_from_slice(&piece.bytes);
        let whole = match std::str::from_utf8(&self.pending) {
            Ok(_) => self.pending.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.pending.split_off(whole);
        let said = String::from_utf8(std::mem::replace(&mut self.pending, rest)).unwrap();
        self.screen.show(&said);
        self.raw.push_str(&said);
        true
    }
}

/// What is on the screen, without colours. It never scrolls.
struct Screen {
    columns: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// A sequence that has begun.
    sequence: Option<String>,
}

impl Screen {
    fn new(columns: usize) -> Self {
        Self { columns, lines: vec![Vec::new()], row: 0, column: 0, sequence: None }
    }

    fn text(&self) -> String {
        let lines: Vec<String> =
            self.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect();
        lines.join("\n")
    }

    fn show(&mut self, text: &str) {
        for c in text.chars() {
            match (&mut self.sequence, c) {
                (Some(sequence), _) => {
                    sequence.push(c);
                    if c.is_ascii_alphabetic() {
                        let sequence = self.sequence.take().unwrap();
                        self.control(&sequence);
                    }
                }
                (None, '\u{1b}') => self.sequence = Some(String::new()),
                (None, '\r') => self.column = 0,
                (None, '\n') => self.down(),
                (None, c) => self.put(c),
            }
        }
    }

    fn put(&mut self, c: char) {
        if self.column == self.columns {
            self.down();
            self.column = 0;
        }
        let line = &mut self.lines[self.row];
        line.resize(line.len().max(self.column + 1), ' ');
        line[self.column] = c;
        self.column += 1;
    }

    fn down(&mut self) {
        self.row += 1;
        self.lines.resize(self.lines.len().max(self.row + 1), Vec::new());
    }

    /// Does what a sequence says. Only those that the command may use are known.
    fn control(&mut self, sequence: &str) {
        let body = sequence.strip_prefix('[').unwrap_or_else(|| panic!("ESC {sequence:?}"));
        match body.split_at(body.len() - 1) {
            (_, "m") => {}
            ("", "J") => {
                self.lines.truncate(self.row + 1);
                self.lines[self.row].truncate(self.column);
            }
            (up, "A") => self.row = self.row.checked_sub(up.parse().unwrap()).expect("above the screen"),
            _ => panic!("ESC {sequence:?}"),
        }
    }
}
