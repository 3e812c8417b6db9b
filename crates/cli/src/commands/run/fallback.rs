//! When a command-line agent cannot work, another takes the same task.

use junto::core::Input;
use junto::named::{RunFacts, choose, suppression};
use junto::store::{Agents, Suppression};

use super::clock::Clock;
use super::{From, Performed, Save, Wish, named::kept, perform};
use crate::args::{AgentKind, InputForm};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::{runners, saved};

/// Lets an agent work. A command-line agent that is left alone, or fails for a reason that would fail any call, gives
/// way to those that the configuration names, in their order, as long as it has said and done nothing.
///
/// # Errors
/// Whatever kept the last of them from its end.
pub(super) async fn work(
    mut wish: Wish,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let (mut interrupts, clock) = (Interrupts::listen()?, Clock::start());
    let wanted = match &wish.from {
        // A program that speaks to it would not notice that it speaks to another.
        From::Nothing { kind: AgentKind::Cli(kind), save } if wish.args.input == InputForm::Text => {
            Wanted::read(kind, *save, environment)?
        }
        _ => return Box::pin(perform(&wish, clock, environment, output, &mut interrupts)).await?.exit,
    };
    let mut tried: Vec<String> = Vec::new();
    let mut failed = None;
    while let Some(provider) = wanted.next(&tried, output)? {
        if !tried.is_empty() {
            output.note(&format!("{provider} takes over"));
        }
        wish = wish.by(&provider, wanted.kind());
        tried.push(provider.clone());
        let performed = Box::pin(perform(&wish, clock, environment, output, &mut interrupts)).await?;
        let Performed { exit, log, task, purse } = performed;
        let facts = RunFacts::of_log(&log, &provider).await.unwrap_or_default();
        if !facts.was_unavailable() {
            return exit;
        }
        if let Some(suppression) = suppression(&provider, &facts, &environment.here()) {
            wanted.suppress(&suppression, output)?;
        }
        // What was said or done cannot be taken back, and would be there twice.
        if !facts.gives_way() {
            return exit;
        }
        failed = Some(exit);
        // All of them have the time and the money of one.
        wish.purse = purse;
        // What was piped in is gone.
        wish.task = task.map(|Input { text, .. }| text);
    }
    failed
        .unwrap_or_else(|| Err(Failure::usage("there is no command-line agent", "`junto doctor` lists them")))
}

impl Wish {
    /// The same of another provider. A model and an effort are those of the one they were named for.
    fn by(mut self, provider: &str, own: &str) -> Self {
        if let From::Nothing { kind, .. } = &mut self.from {
            *kind = AgentKind::Cli(provider.to_owned());
        }
        if provider != own {
            (self.args.model.model, self.args.model.effort) = (None, None);
        }
        self
    }
}

/// Who may do it.
struct Wanted {
    /// In their order, the one that was named first.
    providers: Vec<String>,
    installed: Vec<String>,
    /// Where it is kept who is left alone; absent if nothing is to be kept.
    agents: Option<Agents>,
}

impl Wanted {
    fn read(kind: &str, save: Save, environment: &Environment) -> Result<Self, Failure> {
        let config = Config::load(environment, &[])?;
        let others = config.texts("fallback").unwrap_or_default();
        let agents = if save == Save::Configured && config.flag("store.save") {
            Some(saved::open_for_run(&config, environment)?.agents().map_err(|error| kept(&error))?)
        } else {
            None
        };
        let others = others.iter().filter(|other| *other != kind).cloned();
        let providers = std::iter::once(kind.to_owned()).chain(others).collect();
        Ok(Self { providers, installed: runners::installed(&config, environment).collect(), agents })
    }

    /// The one that was named.
    fn kind(&self) -> &str {
        self.providers.first().map(String::as_str).unwrap_or_default()
    }

    /// Who is next. If nobody can, the one that was named says itself why not.
    fn next(&self, tried: &[String], output: &Output) -> Result<Option<String>, Failure> {
        let suppressed = match &self.agents {
            Some(agents) => agents.suppressed(Environment::now()).map_err(|error| kept(&error))?,
            None => Vec::new(),
        };
        let left: Vec<&str> =
            self.providers.iter().filter(|provider| !tried.contains(provider)).map(String::as_str).collect();
        let is_installed = |provider: &str| self.installed.iter().any(|known| known == provider);
        match choose(&left, &suppressed, &is_installed) {
            Ok((provider, passed)) => {
                for passed in passed {
                    output.note(&passed.to_string());
                }
                Ok(Some(provider.to_owned()))
            }
            Err(_) if tried.is_empty() => Ok(self.providers.first().cloned()),
            Err(_) => Ok(None),
        }
    }

    fn suppress(&self, suppression: &Suppression, output: &Output) -> Result<(), Failure> {
        let Some(agents) = &self.agents else { return Ok(()) };
        agents.suppress(suppression).map_err(|error| kept(&error))?;
        let until = suppression.until.strftime("%Y-%m-%d %H:%M:%S UTC");
        output.warning(&format!(
            "{} is left alone until {until} ({})",
            suppression.provider, suppression.class
        ));
        Ok(())
    }
}
