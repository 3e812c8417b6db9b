//! A session that is gone on with: what it was, and how it was set up.

use std::path::{Path, PathBuf};

use junto::Kept;
use junto::core::{Body, Change};
use junto::llm::catalog::Catalog;
use junto::llm::{Allowance, SessionId, Spending, Usd};
use junto::store::Store;

use super::contest;
use super::flags::Flags;
use crate::args::{AgentKind, WorkArgs};
use crate::config::{Config, FlagValue};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::{connect, runners, saved};

/// A session that is gone on with. Nobody else can go on with it meanwhile.
pub(super) struct Past {
    store: Store,
    kept: Kept,
    kind: AgentKind,
    flags: Flags,
    provider: Option<String>,
    model: Option<String>,
    workdir: Option<PathBuf>,
}

impl Past {
    /// Opens the session that is meant, and says what is wrong with its journal if something is. What is meant may
    /// stand alone, without a prompt.
    ///
    /// # Errors
    /// If there is none, somebody else works with it, or it cannot be gone on with.
    pub(super) fn open(
        wanted: &str,
        alone: bool,
        environment: &Environment,
        output: &Output,
    ) -> Result<Self, Failure> {
        let config = Config::load(environment, &[])?;
        let store = saved::open(&config, environment)?;
        let id = saved::find(&store, wanted, environment)
            .map_err(|failure| if alone { saved::or_prompt(failure, wanted) } else { failure })?;
        let kept = Kept::reopen(&store, &id).map_err(|error| saved::failure(&error))?;
        if let Some(fault) = saved::faults(&id, kept.recovery()) {
            output.warning(&fault);
        }
        Self::of(store, kept, &config)
    }

    fn of(store: Store, kept: Kept, config: &Config) -> Result<Self, Failure> {
        let past = &kept.past;
        let kind = match past.events().first().map(|event| &event.body) {
            Some(Body::SessionStart { kind, .. }) if contest::is_kind(kind) => {
                Err("a council of agents has no conversation".to_owned())
            }
            Some(Body::SessionStart { kind, .. }) => AgentKind::named(kind, &config.runner_names())
                .ok_or_else(|| format!("its agent is of the kind {kind}, which this junto does not know")),
            _ => Err("its beginning is lost".to_owned()),
        };
        let kind = kind.map_err(|why| {
            let id = saved::short(kept.session());
            let message = format!("cannot go on with session {id}: {why}");
            Failure::new(Exit::Failed, message, format!("what there is of it: junto export {id}"))
        })?;
        let mut flags = Flags::in_events(past.branch().into_iter());
        if let AgentKind::Cli(name) = &kind {
            // Earlier versions kept them although they refused them.
            flags.forget(&runners::unkept_limits(name, config));
        }
        let (provider, model, workdir) = (past.provider(), past.model(), past.workdir());
        Ok(Self { store, kept, kind, flags, provider, model, workdir })
    }

    /// Where it is kept.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn id(&self) -> &SessionId {
        self.kept.session()
    }

    /// The kind of its agent.
    pub(super) fn kind(&self) -> AgentKind {
        self.kind.clone()
    }

    /// The model it asked last.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Where it works.
    pub(super) fn workdir(&self) -> Option<&Path> {
        self.workdir.as_deref()
    }

    /// Whether it stopped in the midst of an input that can go on.
    pub(super) fn is_cut_off(&self) -> bool {
        self.kind == AgentKind::Native && self.kept.past.open_input().is_some()
    }

    /// What each of its model calls is booked as.
    pub(super) fn bill(&self, catalog: &Catalog) -> Vec<Spending> {
        self.kept.past.bill(catalog)
    }

    /// The same of those that were cut off with their process.
    pub(super) fn bill_of_lost(&self, catalog: &Catalog) -> Vec<Spending> {
        self.kept.past.bill_of_lost(catalog, |events| Flags::in_events(events.iter()).limit())
    }

    /// The flags that it remembers.
    pub(super) fn flags(&self) -> &Flags {
        &self.flags
    }

    /// How it was set up, as a layer of configuration under the flags: the model it asked, unless another
    /// is asked now, and what it remembers of its first flags.
    pub(super) fn values(&self, args: &WorkArgs) -> Vec<FlagValue> {
        let mut values = self.flags.values();
        let mut add = |key, text: String| values.push(FlagValue { key, flag: "--resume", text });
        if !names_model(args) {
            match (&self.provider, &self.model) {
                (Some(provider), Some(model)) => add("model", format!("{provider}/{model}")),
                (Some(provider), None) => add("provider", provider.clone()),
                (None, Some(model)) => add("model", model.clone()),
                (None, None) => {}
            }
        }
        values
    }

    /// Checks that the provider it asked can still be asked, if it is to be.
    ///
    /// # Errors
    /// If the provider is gone from the configuration, or has no key.
    pub(super) fn check(
        &self,
        args: &WorkArgs,
        config: &Config,
        environment: &Environment,
    ) -> Result<(), Failure> {
        match &self.provider {
            Some(provider) if !names_model(args) => connect::check_provider(provider, config, environment)
                .map_err(|mut failure| {
                    let id = saved::short(self.id());
                    failure.errors.push(format!("session {id} asked it; --model names another model"));
                    failure
                }),
            _ => Ok(()),
        }
    }

    /// The folder that it is moved to, if it is to work in this one and did not.
    pub(super) fn moves_to(&self, directory: &Path) -> Option<PathBuf> {
        // Events have paths as texts.
        let directory = PathBuf::from(directory.to_string_lossy().into_owned());
        self.workdir.as_ref().filter(|workdir| **workdir != directory).map(|_| directory)
    }

    /// What brings it back, with what the flags of now change. `asked` is whom they name, and `moved` the folder that it
    /// is moved to.
    pub(super) fn into_kept(self, args: &WorkArgs, asked: Asked, moved: Option<PathBuf>) -> Kept {
        let asked = if names_model(args) { asked } else { Asked::default() };
        let change = Change {
            model: asked.model.filter(|model| Some(model) != self.model.as_ref()),
            provider: asked.provider.filter(|provider| Some(provider) != self.provider.as_ref()),
            effort: args.model.effort.clone(),
            max_turns: args.max_turns,
            max_tool_rounds: args.max_rounds,
            workdir: moved,
        };
        let mut kept = self.kept;
        kept.past = kept.past.change(change);
        kept
    }
}

/// Whom a native agent asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

/// Whether the flags say who is asked.
fn names_model(args: &WorkArgs) -> bool {
    args.model.model.is_some() || args.model.provider.is_some()
}

/// What is said of calls that were cut off with their process, if some were, where this much may be spent: what is
/// counted for them, and how there is more for others.
pub(super) fn told_of_lost(lost: &[Spending], limit: Allowance) -> Option<String> {
    let calls = match lost.len() {
        0 => return None,
        1 => "a model call was".to_owned(),
        many => format!("{many} model calls were"),
    };
    let tokens = lost.iter().fold(0_u64, |sum, call| sum.saturating_add(call.tokens));
    // What has no price hides nothing of what has one.
    let usd: Vec<Usd> = lost.iter().filter_map(|call| call.cost.amount()).collect();
    let unpriced = lost.iter().filter(|call| call.tokens > 0 && call.cost.amount().is_none()).count();
    let councils = lost.iter().filter(|call| call.tokens == 0 && call.cost.amount().is_none()).count();
    let mut says = Vec::new();
    if councils < lost.len() {
        let money =
            if usd.is_empty() { String::new() } else { format!("{} and ", usd.iter().copied().sum::<Usd>()) };
        says.push(format!("the budget counts the most it could have taken, {money}{tokens} tokens"));
    }
    if unpriced > 0 && !usd.is_empty() {
        says.push("part of that has no price".to_owned());
    }
    if councils > 0 {
        says.push("what a council took then is not counted".to_owned());
    }
    let flags = [limit.usd.map(|_| "--max-usd N"), limit.tokens.map(|_| "--max-tokens N")];
    let flags: Vec<&str> = flags.into_iter().flatten().collect();
    if councils < lost.len() {
        says.push(format!(
            "if too little is left for the rest, raise the limit with {}",
            flags.join(" and ")
        ));
    }
    let says = says.join("; ");
    Some(format!(
        "{calls} under way when the session was cut off, and nobody knows what became of that: {says}"
    ))
}

#[cfg(test)]
mod tests {
    use junto::llm::Cost;

    use super::*;

    #[test]
    fn what_is_said_of_lost_calls_is_what_is_counted() {
        let priced = Spending { cost: Cost::Estimated(Usd::from_dollars(2.0)), tokens: 7 };
        let unpriced = Spending { cost: Cost::Unknown, tokens: 5 };
        let council = Spending { cost: Cost::Unknown, tokens: 0 };
        let check = |lost: &[Spending], expected: &str| {
            let told = told_of_lost(lost, Allowance::tokens(9)).unwrap();
            assert!(told.contains(&format!(": {expected}")), "{told}");
            assert_eq!(told.ends_with("raise the limit with --max-tokens N"), lost != [council], "{told}");
        };
        assert_eq!(told_of_lost(&[], Allowance::tokens(9)), None);
        let most = "the budget counts the most it could have taken";
        check(&[priced], &format!("{most}, $2.00 and 7 tokens"));
        check(&[unpriced], &format!("{most}, 5 tokens"));
        check(&[council], "what a council took then is not counted");
        check(&[priced, unpriced], &format!("{most}, $2.00 and 12 tokens; part of that has no price"));
        check(
            &[priced, council],
            &format!("{most}, $2.00 and 7 tokens; what a council took then is not counted"),
        );
    }
}
