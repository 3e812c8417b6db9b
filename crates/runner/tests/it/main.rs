//! Commands as agents and providers, over recordings and over the fake `claude`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests stamp their events with the epoch and make pipes")]

mod listing;
mod parsed;
mod real;
mod stage;
mod t0_chats;
mod t0_claude_parser;
mod t0_claude_recordings;
mod t0_codex_parser;
mod t0_fuzz;
mod t0_gemini_parser;
mod t0_golden;
mod t0_pieces;
mod t0_rollout;
mod t1_agent;
mod t1_agent_ends;
mod t1_agent_faults;
mod t1_agent_told;
mod t1_background;
mod t1_codex;
mod t1_provider;
mod t1_records;
mod t1_resume;
mod t1_steering;
mod t1_sweep;
mod t2_background;
mod t2_clis;
mod t2_hostile;
mod t2_own_ways;
mod t2_wishes;
