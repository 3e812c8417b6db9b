//! The loop.

use junto_core::{Body, EndReason, JournalError};

use crate::call::Ended;
use crate::loops::Circle;
use crate::round::{Calls, round};
use crate::said::Said;
use crate::state::State;

/// How the loop is entered.
pub(crate) enum Entry {
    /// With an input that was just said.
    Input(Said),
    /// With the one that was under way when the session was cut off: the state has how far it is.
    GoOn,
}

/// Works on one input until the model answers without calling tools, a limit is reached, somebody
/// stops it, or it fails. Says why it ended.
///
/// # Errors
/// If the journal cannot be written: then nothing more may happen in this session.
pub(crate) async fn turn(state: &mut State, entry: &Entry) -> Result<EndReason, JournalError> {
    if let Entry::Input(input) = entry {
        state.begin_input(input);
    }
    loop {
        // A step is one model call and its tools. The token of the step is cancelled by a message that
        // cannot wait, and by whatever ends the input or the session.
        let step = state.desk.begin_step();

        let calls = if let Some(left) = state.left.take() {
            state.await_tools(&left, &step).await?;
            left
        } else {
            if state.desk.is_stopped() {
                return Ok(EndReason::Interrupted);
            }

            state.settle().await?;
            // What was said before the input, or while the last step went on.
            for said in state.desk.take_steering() {
                state.log.emit(said.injected()).await?;
                state.history.say(&said);
            }
            if let Some(limit) = state.limit_reached() {
                state.log.emit(limit).await?;
                return Ok(EndReason::Limit);
            }

            let answer = state.ask(&step).await?;
            match answer.end {
                Ended::Whole => {}
                Ended::Interrupted => continue,
                // What was too long is asked again once it is shorter; every other failure stands.
                Ended::Failed(error) => match state.make_room(error, &step).await? {
                    Ok(()) => continue,
                    Err(error) => return state.failed(&error).await,
                },
            }
            state.check_context().await?;

            let calls: Vec<_> = answer.response.tool_calls().cloned().collect();
            if calls.is_empty() {
                // Something said during the last answer is still an order for this input.
                if answer.is_paused() || state.desk.has_steering() || state.is_kept_going(&step).await? {
                    continue;
                }
                return Ok(state.done());
            }
            Calls::new(calls)
        };

        // Whatever becomes of the calls, each has a result, and the conversation can go on.
        let round = round(&state.toolbox, calls, state.order(), state.on_reject, &step).await?;
        state.history.results(round.results);
        state.rounds += 1;
        if round.ends_turn || state.hooks.have_ended_turn() {
            return Ok(EndReason::Rejected);
        }

        match state.loops.note(state.history.last_round()) {
            None => {}
            Some(Circle::Warn(message)) => {
                state.log.emit(Body::LoopDetection { message: message.clone(), stops: false }).await?;
                state.history.say(&Said::note(message));
            }
            Some(Circle::Stop(message)) => {
                state.log.emit(Body::LoopDetection { message, stops: true }).await?;
                return Ok(EndReason::Limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_loop_can_be_read_on_two_screens() {
        let source = include_str!("turn.rs");
        let (_, from) = source.split_once("pub(crate) async fn turn(").expect("the loop");
        let (body, _) = from.split_once("\n}\n").expect("its end");
        assert!(body.lines().count() <= 120, "{} lines", body.lines().count());
    }
}
