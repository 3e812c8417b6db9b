//! Behaviour tests through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(target_os = "linux")]

mod checkout;
mod hand;
mod ledger;
#[path = "../../../env/tests/it/memory.rs"]
mod memory;
mod nursery;
mod place;
mod revival;
mod scene;
mod script;
mod site;
mod stand;
mod t0_cells;
mod t0_compact;
mod t0_configure;
mod t0_file_tools;
mod t0_file_tools_change;
mod t0_life;
mod t0_loops;
mod t0_native_alias;
mod t0_notebook;
mod t0_other_tools;
mod t0_prompt;
mod t0_resume;
mod t0_states;
mod t0_tool_contract;
mod t0_tools;
mod t1_approval;
mod t1_budget;
mod t1_child;
mod t1_children;
mod t1_compact;
mod t1_dod;
mod t1_failure;
mod t1_file_tools;
mod t1_leave;
mod t1_native;
mod t1_other_tools;
mod t1_profiles;
mod t1_prompt_cache;
mod t1_prompt_documents;
mod t1_prompt_git;
mod t1_prompt_session;
mod t1_resume;
mod t1_session;
mod t1_session_errors;
mod t1_shown;
mod t1_steer;
mod t1_stop;
mod t1_turns;
mod t1_web;
mod t3_flood;
mod t3_schedule;
