//! Who sees a turn through, whether anybody looks at it or not.

use std::sync::Arc;

use junto_agent::Session;
use junto_core::{Agent, AgentError, Change, Command, Input, Item, Seq, SessionState, Subscription};
use tokio::sync::{oneshot, watch};

use super::turns::{Ticket, Turns};
use super::view::input_end;

/// Sees a turn through from its beginning to its end, also if nobody looks at it any more: then it is cancelled.
pub(super) async fn supervise(
    session: Session,
    turns: Arc<Turns>,
    ticket: Ticket,
    (input, max_turns): (Input, Option<u32>),
    began: oneshot::Sender<Result<(), AgentError>>,
) {
    let mut events = session.log().subscribe(session.log().last().next());
    let submitted = submit(&session, &turns, input, max_turns).await;
    let works = submitted.is_ok();
    // Nobody hears of it if the turn was left: then it is cancelled below.
    let _ = began.send(submitted);
    // The next turn begins after this one, also if nobody has looked at its end.
    if works && let Some(end) = through(&session, &mut events, &ticket).await {
        turns.saw(end);
    }
    ticket.over.cancel();
}

async fn submit(
    session: &Session,
    turns: &Turns,
    input: Input,
    max_turns: Option<u32>,
) -> Result<(), AgentError> {
    let limit = max_turns.unwrap_or(0);
    if turns.limit() != Some(limit) {
        let change = Change { max_tool_rounds: Some(limit), ..Change::default() };
        session.send(Command::Configure { change }).await?;
        turns.has_limit(limit);
    }
    session.send(Command::Submit { input }).await.map(drop)
}

/// Waits for the end of the turn, which is asked for once it is left; where that is in the log.
async fn through(session: &Session, events: &mut Subscription, ticket: &Ticket) -> Option<Seq> {
    let mut state = session.watch_state();
    let mut is_left = false;
    loop {
        tokio::select! {
            biased;
            item = events.next() => match item {
                Ok(item) => {
                    if let (Some(_), Item::Event(event)) = (input_end(session, &item), &item) {
                        return Some(event.seq);
                    }
                }
                Err(_) => return None,
            },
            () = ticket.left.cancelled(), if !is_left => {
                is_left = true;
                // If there is nothing to interrupt any more, its end is on its way.
                let _ = session.send(Command::Interrupt).await;
            }
            () = closed(&mut state) => {
                // Also one whose journal cannot be written any more.
                let rest = events.rest().await.unwrap_or_default();
                let mut items = rest.into_iter().map(|event| (event.seq, Item::Event(Arc::new(event))));
                return items.find(|(_, item)| input_end(session, item).is_some()).map(|(seq, _)| seq);
            }
        }
    }
}

async fn closed(state: &mut watch::Receiver<SessionState>) {
    // A session that is gone is closed, too.
    let _ = state.wait_for(|state| *state == SessionState::Closed).await;
}
