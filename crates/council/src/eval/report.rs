//! What runs say, put side by side.

use junto_llm::Usd;
use serde::Serialize;

use super::keep::Runs;
use super::plan::Plan;
use super::run::{Deliberations, Run, Verdict};
use super::stats::{Difference, Pairs, Rate, Shown, any_of, mean, median};

/// The contenders of an evaluation beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The version of this form.
    pub v: u32,
    /// How often each task was to be done by each.
    pub repeat: u32,
    /// How many runs that makes.
    pub wanted: usize,
    /// How many there are.
    pub done: usize,
    /// Everybody, in the order in which they were named.
    pub contenders: Vec<Row>,
    /// Each council against the best of its members.
    pub lifts: Vec<Lift>,
    /// Task by task.
    pub tasks: Vec<TaskRow>,
    /// Tasks that were left out, and why.
    pub skipped: Vec<Skipped>,
}

/// One contender.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub contender: String,
    /// Who sits in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// How often it passed; none if it has not run.
    pub pass: Option<Rate>,
    /// How many of its runs did not end by themselves: they failed on the way or ran into a limit.
    pub troubled: usize,
    /// The costs that are known, together, in dollars.
    pub usd: f64,
    /// How many runs have a cost that is not known.
    pub unknown_costs: usize,
    /// What a run costs; none if not all are known.
    pub usd_per_run: Option<f64>,
    /// What a run that passes costs, with those that do not paid for; none if that is not known.
    pub usd_per_pass: Option<f64>,
    /// How long it worked, in the middle.
    pub seconds_median: Option<f64>,
    /// And on average.
    pub seconds_mean: Option<f64>,
    /// How many tokens a run takes, in and out.
    pub tokens_per_run: Option<f64>,
    /// What its councils decided.
    #[serde(skip_serializing_if = "Deliberations::is_empty")]
    pub deliberations: Deliberations,
}

/// What a council gains or loses against the best that it could be compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lift {
    /// The council.
    pub council: String,
    /// Whom it is compared with: the member that passed most often, or where none of them ran alone, whoever did.
    pub against: String,
    /// The difference of their rates, in the runs that both have.
    pub difference: Difference,
    /// What it shows.
    pub shown: Shown,
    /// How often one of the members alone would have passed.
    pub possible: Option<Possible>,
    /// How many times as much it costs; none if that is not known.
    pub times_cost: Option<f64>,
    /// How many times as long it takes.
    pub times_time: Option<f64>,
}

/// The rate of somebody who always picks the right one of what the members give: the most that choosing can reach,
/// and what a council reaches whose oracle is the task's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Possible {
    /// From 0 to 1.
    pub rate: f64,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    /// Its name.
    pub task: String,
    /// In which language.
    pub language: Option<String>,
    /// How often each contender passed, in the order of the contenders: passed, and of how many.
    pub passed: Vec<(u64, u64)>,
}

/// A task that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its name.
    pub task: String,
    /// Why.
    pub why: String,
}

impl Report {
    /// Counts the runs of a plan that are kept.
    pub fn new(plan: &Plan, runs: &Runs, skipped: Vec<Skipped>) -> Self {
        let all: Vec<&Run> = runs.of_plan(plan).collect();
        let contenders: Vec<Row> = plan
            .contenders
            .iter()
            .map(|contender| row(contender.name(), contender.members(), &of(&all, contender.name())))
            .collect();
        let lifts = contenders.iter().filter(|row| !row.members.is_empty());
        let lifts = lifts.filter_map(|council| lift(council, &contenders, plan, &all)).collect();
        let tasks = plan.tasks.iter().map(|task| TaskRow {
            task: task.name.clone(),
            language: task.language.clone(),
            passed: contenders.iter().map(|row| passed(&all, &task.name, &row.contender)).collect(),
        });
        Self {
            v: 1,
            repeat: plan.repeat,
            wanted: plan.len(),
            done: all.len(),
            lifts,
            tasks: tasks.collect(),
            contenders,
            skipped,
        }
    }

    /// The row of a contender.
    pub fn row(&self, contender: &str) -> Option<&Row> {
        self.contenders.iter().find(|row| row.contender == contender)
    }

    /// The lift of a council.
    pub fn lift(&self, council: &str) -> Option<&Lift> {
        self.lifts.iter().find(|lift| lift.council == council)
    }
}

fn of<'a>(runs: &[&'a Run], contender: &str) -> Vec<&'a Run> {
    runs.iter().copied().filter(|run| run.contender == contender).collect()
}

fn has_passed(run: &Run) -> bool {
    run.verdict == Verdict::Passed
}

fn count(runs: usize) -> u64 {
    u64::try_from(runs).unwrap_or(u64::MAX)
}

fn row(name: &str, members: Vec<String>, runs: &[&Run]) -> Row {
    let passes = count(runs.iter().filter(|run| has_passed(run)).count());
    let known: Vec<f64> = runs.iter().filter_map(|run| run.cost.amount()).map(Usd::dollars).collect();
    let usd: f64 = known.iter().sum();
    let unknown_costs = runs.len() - known.len();
    let usd_per_run = mean(&known).filter(|_| unknown_costs == 0);
    let pass = Rate::new(passes, count(runs.len()));
    let seconds: Vec<f64> =
        runs.iter().map(|run| std::time::Duration::from_millis(run.millis).as_secs_f64()).collect();
    let tokens: Vec<f64> = runs.iter().map(|run| number(run.tokens.input + run.tokens.output)).collect();
    let mut deliberations = Deliberations::default();
    for run in runs {
        deliberations += run.deliberations;
    }
    Row {
        contender: name.to_owned(),
        members,
        pass,
        troubled: runs.iter().filter(|run| run.trouble.is_some()).count(),
        usd,
        unknown_costs,
        usd_per_run,
        usd_per_pass: usd_per_run.zip(pass).filter(|_| passes > 0).map(|(usd, pass)| usd / pass.rate),
        seconds_median: median(&seconds),
        seconds_mean: mean(&seconds),
        tokens_per_run: mean(&tokens),
        deliberations,
    }
}

/// The council against the best of its members.
fn lift(council: &Row, rows: &[Row], plan: &Plan, runs: &[&Run]) -> Option<Lift> {
    let rate = |row: &Row| row.pass.map(|pass| pass.rate);
    let sits = |row: &&Row| council.members.contains(&row.contender) && row.pass.is_some();
    let alone = |row: &&Row| row.members.is_empty() && row.pass.is_some();
    let best = |rows: Vec<&'_ Row>| -> Option<Row> {
        // Of equals the first, whatever comes after.
        rows.into_iter()
            .rev()
            .max_by(|a, b| rate(a).partial_cmp(&rate(b)).unwrap_or(std::cmp::Ordering::Equal))
            .cloned()
    };
    let against =
        best(rows.iter().filter(sits).collect()).or_else(|| best(rows.iter().filter(alone).collect()))?;
    let theirs = of(runs, &against.contender);
    let pairs = of(runs, &council.contender).into_iter().filter_map(|ours| {
        let same = |run: &&&Run| run.task == ours.task && run.repetition == ours.repetition;
        theirs.iter().find(same).map(|other| (has_passed(ours), has_passed(other)))
    });
    let difference = Difference::of(Pairs::count(pairs))?;
    let times = |ours: Option<f64>, theirs: Option<f64>| {
        ours.zip(theirs).filter(|(_, theirs)| *theirs > 0.0).map(|(ours, theirs)| ours / theirs)
    };
    Some(Lift {
        council: council.contender.clone(),
        against: against.contender.clone(),
        shown: difference.shown(),
        difference,
        possible: possible(council, plan, runs),
        times_cost: times(council.usd_per_run, against.usd_per_run),
        times_time: times(council.seconds_median, against.seconds_median),
    })
}

/// The mean over the tasks of the chance that one of the members passes; none if a member has not run.
fn possible(council: &Row, plan: &Plan, runs: &[&Run]) -> Option<Possible> {
    let mut seats: Vec<(&str, u64)> = Vec::new();
    for member in &council.members {
        match seats.iter_mut().find(|(name, _)| name == member) {
            Some((_, times)) => *times += 1,
            None => seats.push((member, 1)),
        }
    }
    let rates: Option<Vec<f64>> = plan
        .tasks
        .iter()
        .map(|task| {
            let mut none = 1.0;
            for (member, times) in &seats {
                let (passes, all) = passed(runs, &task.name, member);
                none *= 1.0 - any_of(*times, passes, all)?;
            }
            Some(1.0 - none)
        })
        .collect();
    Some(Possible { rate: mean(&rates?)? })
}

fn passed(runs: &[&Run], task: &str, contender: &str) -> (u64, u64) {
    let theirs = runs.iter().filter(|run| run.task == task && run.contender == contender);
    let (passes, all) =
        theirs.fold((0, 0), |(passes, all), run| (passes + usize::from(has_passed(run)), all + 1));
    (count(passes), count(all))
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn number(count: u64) -> f64 {
    count as f64
}
