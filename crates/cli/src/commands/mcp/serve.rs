//! `junto mcp` itself: agents as tools of an MCP host, on standard input and output.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use junto::core::{Agent, Fut};
use junto::mcp::server::{Order, Wanted, Workers, serve as serve_host};
use tokio_util::sync::CancellationToken;

use crate::args::WorkArgs;
use crate::commands::{apply, run};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::runners;

/// Serves a host until it goes away.
pub(super) async fn serve(
    args: WorkArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    if std::io::stdin().is_terminal() {
        output.note("this speaks MCP on standard input and output; a host starts it, as with `claude mcp add junto -- junto mcp`");
    }
    let kinds = kinds(environment)?;
    let here = environment.in_directory(environment.directory());
    let workers = Arc::new(Agents { args, environment: here, output: output.clone(), kinds });
    let end = CancellationToken::new();
    let mut interrupts = Interrupts::listen()?;
    let host = serve_host(workers, tokio::io::stdin(), tokio::io::stdout(), end.clone());
    tokio::pin!(host);
    let served = tokio::select! {
        biased;
        () = interrupts.next() => {
            end.cancel();
            // A second interrupt does not wait for the agents' ends.
            tokio::select! {
                biased;
                () = interrupts.next() => return Err(Failure::interrupted()),
                served = &mut host => served,
            }
        }
        served = &mut host => served,
    };
    let hint = "whoever starts this must speak MCP";
    served.map(|()| Exit::Done).map_err(|why| Failure::new(Exit::Failed, why, hint))
}

/// Who can be started: our own, the command-line agents whose programs are there, and councils of agents.
fn kinds(environment: &Environment) -> Result<Vec<(String, String)>, Failure> {
    let config = Config::load(environment, &[])?;
    let own = ("native".to_owned(), "our own loop over a model or a council (the default)".to_owned());
    let others = runners::installed(&config, environment);
    let others = others.map(|name| {
        let about = format!("the command-line agent {name}");
        (name, about)
    });
    let councils = config.contest_names().into_iter().map(|name| {
        let about = "a council of agents: several try, tests decide, `apply` takes what won".to_owned();
        (format!("council:{name}"), about)
    });
    Ok(std::iter::once(own).chain(others).chain(councils).collect())
}

/// Makes agents as `junto run` does, with the flags that the server was started with.
struct Agents {
    args: WorkArgs,
    environment: Environment,
    output: Output,
    kinds: Vec<(String, String)>,
}

impl Workers for Agents {
    fn kinds(&self) -> Vec<(String, String)> {
        self.kinds.clone()
    }

    fn start(&self, order: Order) -> Fut<'_, Result<Arc<dyn Agent>, String>> {
        Box::pin(async move {
            let Order { agent, model, directory } = order;
            let mut args = self.args.clone();
            if let Some(model) = model {
                args.model.model = Some(model);
            }
            if let Some(directory) = directory {
                args.cwd = Some(directory.into());
            }
            let hired = run::hired(agent.as_deref(), args, &self.environment, &self.output);
            let started = Box::pin(hired).await;
            started.map_err(told)
        })
    }

    fn apply(&self, wanted: Wanted) -> Fut<'_, Result<String, String>> {
        Box::pin(async move {
            let Wanted { run, candidate, directory } = wanted;
            let directory = directory.as_deref().map(Path::new);
            apply::onto(run.as_deref(), candidate, directory, &self.environment).await.map_err(told)
        })
    }
}

/// What a host is told of a failure.
fn told(failure: Failure) -> String {
    let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}{hint}", failure.errors.join("; "))
}
