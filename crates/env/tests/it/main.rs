//! Behaviour tests through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(target_os = "linux")]

mod cage;
mod memory;
mod search_trees;
mod support;
mod t0_wrappers;
mod t1_background;
mod t1_bare_repository;
mod t1_exec;
mod t1_local;
mod t1_plain;
mod t1_pty;
mod t1_sandbox;
mod t1_sandbox_held;
mod t1_sandbox_life;
mod t1_sandbox_repositories;
mod t1_sandbox_walls;
mod t1_sandbox_ways;
mod t1_search;
mod t1_suite;
mod t1_text;
mod t2_search;
mod t3_commands;
mod t3_files;
mod t3_processes;
