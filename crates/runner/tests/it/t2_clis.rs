//! Our own loop and the real programs play the same scenarios, and tell the same story.

use junto_testkit::cast::Who;

use crate::real::table;

macro_rules! played_by_all {
    ($($scenario:ident),* $(,)?) => {
        played_by!(native, Native, $($scenario),*);
        played_by!(claude, Claude, $($scenario),*);
        played_by!(codex, Codex, $($scenario),*);
        played_by!(gemini, Gemini, $($scenario),*);
    };
}

macro_rules! played_by {
    ($module:ident, $who:ident, $($scenario:ident),*) => {
        mod $module {
            use super::{Who, table};

            $(#[tokio::test]
            async fn $scenario() {
                table::$scenario(Who::$who).await;
            })*
        }
    };
}

played_by_all! {
    plain_answer,
    tool_rounds_change_files,
    three_runs_are_one_conversation,
    instructions_reach_the_model,
    read_only_refuses_to_write,
    money_runs_out,
    a_wrong_key_is_said_to_be_wrong,
    too_many_requests_and_then_an_answer,
    a_storm_of_errors_ends,
    a_server_that_is_not_there,
    an_answer_breaks_off,
    a_silent_model_is_left,
    interrupted_while_the_model_thinks,
    interrupted_while_a_command_runs,
    a_prompt_of_600_kilobytes,
    a_prompt_that_looks_like_an_option,
    beyond_ascii,
    two_side_by_side,
}
