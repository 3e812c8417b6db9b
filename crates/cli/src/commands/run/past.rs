//! A session that is gone on with: what it was, and how it was set up.

use std::path::{Path, PathBuf};

use junto::Kept;
use junto::core::{Body, Event};
use junto::llm::SessionId;
use junto::store::Store;

use super::flags::Flags;
use crate::args::{AgentKind, WorkArgs};
use crate::config::{Config, FlagValue};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::saved;

/// A session that is gone on with. Nobody else can go on with it meanwhile.
pub(super) struct Past {
    kept: Kept,
    kind: AgentKind,
    flags: Flags,
    settings: Settings,
}

/// How it was set up when it stopped.
#[derive(Debug, Default, PartialEq, Eq)]
struct Settings {
    kind: String,
    provider: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    workdir: Option<PathBuf>,
}

impl Past {
    /// Opens the session that is meant, and says what is wrong with its journal if something is.
    ///
    /// # Errors
    /// If there is none, somebody else works with it, or it cannot be gone on with.
    pub(super) fn open(wanted: &str, environment: &Environment, output: &Output) -> Result<Self, Failure> {
        let config = Config::load(environment, &[])?;
        let store = saved::open(&config, environment)?;
        let id = saved::find(&store, wanted, &real(environment.directory()))?;
        Self::reopen(&store, &id, output)
    }

    fn reopen(store: &Store, id: &SessionId, output: &Output) -> Result<Self, Failure> {
        let kept = Kept::reopen(store, id).map_err(|error| saved::failure(&error))?;
        if let Some(fault) = saved::faults(id, kept.recovery()) {
            output.warning(&fault);
        }
        let settings = settings(kept.events());
        let kind = AgentKind::named(&settings.kind).ok_or_else(|| {
            let short = saved::short(id);
            let what = if settings.kind.is_empty() {
                "it has no beginning".to_owned()
            } else {
                format!("its agent is of the kind {}, which this junto does not know", settings.kind)
            };
            let message = format!("cannot go on with session {short}: {what}");
            Failure::new(Exit::Failed, message, format!("what there is of it: junto export {short}"))
        })?;
        let flags = Flags::in_events(kept.events());
        Ok(Self { kept, kind, flags, settings })
    }

    pub(super) fn id(&self) -> &SessionId {
        self.kept.session()
    }

    /// The kind of its agent.
    pub(super) fn kind(&self) -> AgentKind {
        self.kind
    }

    /// Where it works.
    pub(super) fn workdir(&self) -> Option<&Path> {
        self.settings.workdir.as_deref()
    }

    /// Whether it stopped in the midst of an input.
    pub(super) fn is_cut_off(&self) -> bool {
        self.kept.is_cut_off()
    }

    /// The flags that it remembers.
    pub(super) fn flags(&self) -> &Flags {
        &self.flags
    }

    /// How it was set up, as a layer of configuration under the flags: the model it asked, unless another
    /// is asked now, and what it remembers of its first flags.
    pub(super) fn values(&self, args: &WorkArgs) -> Vec<FlagValue> {
        let Settings { provider, model, effort, .. } = &self.settings;
        let mut values = self.flags.values();
        let mut add = |key, text: String| values.push(FlagValue { key, flag: "--resume", text });
        let same_mind = args.model.model.is_none()
            && args.model.provider.as_ref().is_none_or(|wanted| Some(wanted) == provider.as_ref());
        if same_mind {
            match (provider, model) {
                (Some(provider), Some(model)) => add("model", format!("{provider}/{model}")),
                (Some(provider), None) => add("provider", provider.clone()),
                (None, Some(model)) => add("model", model.clone()),
                (None, None) => {}
            }
            if let Some(effort) = effort.as_ref().filter(|effort| !effort.is_empty()) {
                add("effort", effort.clone());
            }
        }
        values
    }

    /// What brings it back.
    pub(super) fn into_kept(self) -> Kept {
        self.kept
    }
}

/// The real path of a folder, as sessions note it.
pub(super) fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// How the session's own agent was set up in the end.
fn settings(events: &[Event]) -> Settings {
    let mut settings = Settings::default();
    let own = events.first().map(|event| &event.agent);
    for event in events.iter().filter(|event| Some(&event.agent) == own) {
        match &event.body {
            Body::SessionStart { kind, model, workdir, setup, .. } => {
                settings.kind.clone_from(kind);
                settings.model.clone_from(model);
                settings.workdir = workdir.as_ref().map(PathBuf::from);
                if let Some(setup) = setup {
                    settings.provider.clone_from(&setup.provider);
                    settings.effort.clone_from(&setup.effort);
                }
            }
            Body::Configured { change } => {
                let set = |field: &mut Option<String>, change: &Option<String>| {
                    if change.is_some() {
                        field.clone_from(change);
                    }
                };
                set(&mut settings.provider, &change.provider);
                set(&mut settings.model, &change.model);
                set(&mut settings.effort, &change.effort);
                if let Some(moved) = &change.workdir {
                    settings.workdir = Some(settings.workdir.unwrap_or_default().join(moved));
                }
            }
            _ => {}
        }
    }
    settings
}
