//! `junto council`: several agents work on a task, and the tests decide.

mod board;

use std::sync::Arc;

use junto::council::contest::{self, Candidate, Phase, Record};

use self::board::Board;
use super::clock::Clock;
use super::contest::{UNNAMED, Wanted, runs};
use super::{From, Performed, Save, Wish, perform};
use crate::args::{AgentKind, CouncilArgs, WorkArgs};
use crate::commands::apply;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;

/// Runs `junto council`.
pub(crate) async fn council(
    args: CouncilArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let CouncilArgs { task, contest, apply, work } = args;
    let board = Arc::new(Board::new(output.clone()));
    let shown = Arc::clone(&board);
    let report = Arc::new(move |record: &Record| shown.show(record));
    let is_json = work.json;
    let directory = work.cwd.clone();
    let kind = contest.name.as_ref().map_or_else(|| UNNAMED.to_owned(), |name| format!("council:{name}"));
    let wish = Wish {
        task,
        from: From::Nothing { kind: AgentKind::Contest(kind), save: Save::Configured },
        args: WorkArgs { json: false, ..work },
        council: Wanted { args: contest, report: Some(report) },
        purse: None,
    };
    let mut interrupts = Interrupts::listen()?;
    let Performed { exit, .. } =
        Box::pin(perform(&wish, Clock::start(), environment, output, &mut interrupts)).await?;
    // One that broke off before anybody worked is not kept.
    let is_kept = |record: &Record| matches!(record.phase, Phase::Done | Phase::Failed);
    let Some(record) = board.record().filter(is_kept) else { return exit };
    if is_json {
        let line = serde_json::to_string(&record)
            .map_err(|error| Failure::new(Exit::Failed, error.to_string(), "run it again"))?;
        output.exact(&format!("{line}\n"))?;
    } else {
        output.data(&record.words())?;
    }
    let ended = exit?;
    if apply {
        put_on_branch(&record, directory.as_deref(), environment, output).await?;
    }
    Ok(ended)
}

/// Applies the winner, unless it has to be looked at first.
async fn put_on_branch(
    record: &Record,
    directory: Option<&std::path::Path>,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let run = &record.run;
    match record.winning() {
        Some(winner) if winner.is_marked() => {
            let marks: Vec<String> = winner.marks.iter().map(contest::Mark::words).collect();
            Err(Failure::new(
                Exit::Failed,
                format!("candidate {} is not applied by itself: it {}", winner.number, marks.join("; ")),
                format!("look at it with `junto apply {run} --show`, then `junto apply {run}`"),
            ))
        }
        Some(Candidate { number, .. }) => {
            let runs = runs(environment)?;
            apply::put(&runs, run, Some(*number), directory, environment, output).await
        }
        None => Err(Failure::new(
            Exit::Failed,
            "nothing is applied: nobody won",
            format!("`junto apply {run} NUMBER` takes one all the same"),
        )),
    }
}
