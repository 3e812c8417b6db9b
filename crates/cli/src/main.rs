//! The `junto` command. This file only starts things: the commands are in [`commands`].
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod args;
mod choice;
mod code;
mod commands;
mod config;
mod connect;
mod consent;
mod council;
mod environment;
mod failure;
mod guard;
mod interrupts;
mod mcp;
mod output;
mod reach;
mod runners;
mod sandbox_file;
mod saved;
mod when;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let environment = environment::Environment::of_process();
    match args::Cli::try_parse() {
        Ok(cli) => commands::run(cli, &environment).into(),
        Err(told) => commands::tell(&told, &environment).into(),
    }
}
