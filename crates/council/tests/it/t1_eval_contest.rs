//! A council of agents in an evaluation: the tests decide, so it is as good as the best of its members each time.

use std::sync::Arc;

use junto_core::{Agent as _, AgentSpec, Command, EventLog, Input};
use junto_council::contest::{Contest, ContestSetup, Crew as _, Member, Oracle, OracleChoice, apply};
use junto_council::eval::{Attempt, Contender, Deliberations, Ended, Fut, Job, Plan, Report};
use junto_llm::Cost;

use crate::eval_stand::{Stand, Twin, passes, terms};
use crate::rivals::{Ground, input_end, nobody};

/// Members by their names and how often they pass: as often as the twins of these names, and in the same runs.
const MEMBERS: [(&str, f64); 3] = [("one", 0.3), ("two", 0.4), ("three", 0.5)];

/// A real contest of agents that do the task or something else.
struct Gated {
    ground: Ground,
}

impl Contender for Gated {
    fn name(&self) -> &'static str {
        "council"
    }

    fn is(&self) -> String {
        "a council of three".to_owned()
    }

    fn members(&self) -> Vec<String> {
        MEMBERS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn work<'a>(&'a self, job: Job<'a>) -> Fut<'a, Attempt> {
        Box::pin(async move {
            let member = |(name, rate): &(&str, f64)| {
                let line = if passes(name, &job, *rate) { "touch done" } else { "touch other" };
                let spec =
                    AgentSpec { kind: "shell".into(), model: Some(line.into()), ..AgentSpec::default() };
                Member { name: (*name).to_owned(), spec }
            };
            let (runs, crew) = (self.ground.runs(), self.ground.crew.clone());
            let members = MEMBERS.iter().map(member).collect();
            let check = job.task.check.clone().unwrap();
            let setup = ContestSetup {
                oracle: OracleChoice::Given(Oracle::given(&check)),
                ..ContestSetup::new(job.directory, runs.clone(), crew.clone(), members)
            };
            let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
            let contest = Contest::start(setup, nobody(), log.clone()).await.unwrap();
            contest.send(Command::Submit { input: Input::text(job.task.prompt.clone()) }).await.unwrap();
            input_end(&log).await;
            let record = contest.record().unwrap();
            contest.close().await;
            if record.winner.is_some() {
                let env = crew.environment(job.directory).unwrap();
                apply(&runs, &record.run, None, env, job.directory).await.unwrap();
            }
            let deliberations = Deliberations { fanned_out: 1, ..Deliberations::default() };
            let costs = record.candidates.iter().map(|candidate| candidate.cost.unwrap_or(Cost::Unknown));
            let cost = costs.reduce(|sum, cost| sum + cost).unwrap();
            Attempt { cost, deliberations, ..Attempt::ended(Ended::Done) }
        })
    }
}

#[tokio::test]
async fn a_council_whose_oracle_decides_reaches_the_best_of_its_members() {
    let stand = Stand::new(&["first", "second"]);
    let mut contenders: Vec<Arc<dyn Contender>> =
        MEMBERS.iter().map(|(name, rate)| Twin::sometimes(name, *rate) as Arc<dyn Contender>).collect();
    contenders.push(Arc::new(Gated { ground: Ground::empty() }));
    let plan = Plan { contenders, ..stand.plan(&[], 10) };
    stand.evaluate(&plan, &terms()).await;
    let runs = stand.runs();
    let report = Report::new(&plan, &runs, Vec::new());
    let pass = report.row("council").unwrap().pass.unwrap();

    // In each run it passes if one of them does, and only then.
    let any = plan.cells().filter(|cell| cell.contender.name() == "council").filter(|cell| {
        let alone = plan.cells().filter(|other| {
            (other.task, other.repetition) == (cell.task, cell.repetition)
                && other.contender.name() != "council"
        });
        alone
            .filter_map(|other| runs.of(&other))
            .any(|run| run.verdict == junto_council::eval::Verdict::Passed)
    });
    assert_eq!(pass.passed, any.count() as u64, "{report:#?}");
    // That is what is to be expected of three that pass so often.
    let none: f64 = MEMBERS.iter().map(|(_, rate)| 1.0 - rate).product();
    assert!(pass.contains(1.0 - none), "{} is not in {pass:?}", 1.0 - none);
    let lift = report.lift("council").unwrap();
    assert!(pass.contains(lift.possible.unwrap().rate), "{lift:?}");
    assert!(lift.difference.difference > 0.0, "{lift:?}");
}
