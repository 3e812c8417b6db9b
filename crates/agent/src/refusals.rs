//! What somebody refuses to code that runs for the model.

use std::sync::{Mutex, MutexGuard, PoisonError};

use junto_core::OnReject;
use tokio_util::sync::CancellationToken;

use crate::round::Refusal;

/// What somebody refused to code during a round of tools. The code is told and goes on as it likes, but its caller is
/// the model: the turn ends with the round, whatever the code makes of the refusal.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Option<Round>>);

/// The round under way.
#[derive(Debug)]
struct Round {
    on_reject: OnReject,
    /// Withdraws the calls of the model that have not started.
    asking: CancellationToken,
    refused: Vec<Refusal>,
}

impl Refusals {
    fn round(&self) -> MutexGuard<'_, Option<Round>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A round begins. A refusal that ends the turn cancels the token.
    pub(crate) fn begin_round(&self, on_reject: OnReject, asking: &CancellationToken) {
        *self.round() = Some(Round { on_reject, asking: asking.clone(), refused: Vec::new() });
    }

    /// Code was refused something. While no round is under way there is no turn that this could end.
    pub(crate) fn note(&self, why: Refusal) {
        if let Some(round) = &mut *self.round() {
            if round.on_reject.ends(why.as_deref()) {
                round.asking.cancel();
            }
            round.refused.push(why);
        }
    }

    /// A round ends; what was refused to code meanwhile.
    pub(crate) fn end_round(&self) -> Vec<Refusal> {
        self.round().take().map(|round| round.refused).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_belongs_to_the_round_it_came_in() {
        let refusals = Refusals::default();
        refusals.note(None);
        let asking = CancellationToken::new();
        refusals.begin_round(OnReject::EndUnlessTold, &asking);
        refusals.note(Some("not now".to_owned()));
        assert!(!asking.is_cancelled(), "the model is told this one");
        refusals.note(None);
        assert!(asking.is_cancelled());
        assert_eq!(refusals.end_round(), [Some("not now".to_owned()), None]);
        refusals.note(None);
        assert!(refusals.end_round().is_empty());
    }
}
