//! How a session was set when its events stopped.

use std::path::PathBuf;

use junto_core::{Body, Change, Limits};
use junto_llm::Effort;

use crate::state::WORKDIR_NOTE;

/// A session's settings, as its events tell them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PastSettings {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<Effort>,
    pub(crate) limits: Limits,
    /// Where it works.
    pub(crate) workdir: Option<PathBuf>,
    /// Whether it was moved there and the model was not told yet.
    pub(crate) untold: bool,
}

impl PastSettings {
    /// Takes note of an event of the session itself.
    pub(crate) fn take(&mut self, body: &Body) {
        match body {
            Body::SessionStart { model, workdir, setup, .. } => {
                self.model.clone_from(model);
                self.workdir = workdir.as_ref().map(PathBuf::from);
                if let Some(setup) = setup {
                    self.provider.clone_from(&setup.provider);
                    self.effort = setup.effort.clone().map(Effort::from);
                    self.limits = setup.limits;
                }
            }
            Body::Configured { change } => self.change(change),
            Body::SteeringInjected { input, .. } if input.text.starts_with(WORKDIR_NOTE) => {
                self.untold = false;
            }
            _ => {}
        }
    }

    fn change(&mut self, change: &Change) {
        let Change { model, provider, effort, max_turns, max_tool_rounds, workdir } = change;
        self.model = model.clone().or_else(|| self.model.take());
        self.provider = provider.clone().or_else(|| self.provider.take());
        if let Some(effort) = effort {
            self.effort = (!effort.is_empty()).then(|| Effort::from(effort.clone()));
        }
        self.limits.max_turns = max_turns.unwrap_or(self.limits.max_turns);
        self.limits.max_tool_rounds = max_tool_rounds.unwrap_or(self.limits.max_tool_rounds);
        if let Some(workdir) = workdir {
            self.workdir = Some(self.workdir.take().unwrap_or_default().join(workdir));
            self.untold = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use junto_core::Input;

    use super::*;

    fn changed(changes: &[Change]) -> PastSettings {
        let mut settings = PastSettings { workdir: Some("/a".into()), ..PastSettings::default() };
        for change in changes {
            settings.take(&Body::Configured { change: change.clone() });
        }
        settings
    }

    #[test]
    fn later_changes_win_and_what_they_do_not_name_stays() {
        let (one, two) = (Some("one".to_owned()), Some("two".to_owned()));
        let both = changed(&[
            Change { model: one.clone(), effort: one.clone(), max_turns: Some(3), ..Change::default() },
            Change { model: two.clone(), max_tool_rounds: Some(4), ..Change::default() },
        ]);
        assert_eq!((both.model, both.effort), (two, Some(Effort::from("one".to_owned()))));
        assert_eq!(both.limits, Limits { max_turns: 3, max_tool_rounds: 4 });
        let none = changed(&[
            Change { effort: one, ..Change::default() },
            Change { effort: Some(String::new()), max_turns: Some(0), ..Change::default() },
        ]);
        assert_eq!((none.effort, none.limits), (None, Limits::default()));
    }

    #[test]
    fn a_move_is_told_once() {
        let to = |workdir: &str| Change { workdir: Some(workdir.into()), ..Change::default() };
        let mut moved = changed(&[to("b"), to("../c")]);
        assert_eq!((moved.workdir.clone(), moved.untold), (Some("/a/b/../c".into()), true));
        let note = Input::text(format!("{WORKDIR_NOTE} /a/c."));
        moved.take(&Body::SteeringInjected { input: Input::text("Faster."), pictures: None });
        assert!(moved.untold);
        moved.take(&Body::SteeringInjected { input: note, pictures: None });
        assert!(!moved.untold);
        assert_eq!(changed(&[to("/x")]).workdir, Some("/x".into()));
    }
}
