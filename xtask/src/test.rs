//! `cargo xtask test`: set up, build, cut off the network, run the tiers, compare, sum up.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::command::{self, root};
use crate::conformance;
use crate::isolate;
use crate::junit::{self, Ran};
use crate::peers::Peers;
use crate::setup::{self, Tools};
use crate::support;
use crate::tiers::{self, Inventory, TestId, Tier};

/// The variable that says where the random cases of property tests begin.
const SEED: &str = "PROPTEST_RNG_SEED";
/// The same code gets the same verdict. Whoever looks for new cases gives another seed.
const FIXED_SEED: &str = "20261115";

/// The variable by which tests find the `bwrap` for their sandboxes.
pub(crate) const BWRAP: &str = "JUNTO_PEER_BWRAP";
/// The variable by which tests find the Python that can be a kernel.
pub(crate) const KERNEL: &str = "JUNTO_PEER_KERNEL";

/// What the user asked for.
pub(crate) struct Selection {
    tiers: Vec<Tier>,
    filter: Option<String>,
}

impl Selection {
    /// These tiers, or all if none is named; in their order.
    pub(crate) fn new(mut tiers: Vec<Tier>, filter: Option<String>) -> Self {
        if tiers.is_empty() {
            tiers.extend(Tier::ALL);
        }
        tiers.sort_unstable();
        tiers.dedup();
        Self { tiers, filter }
    }

    fn wants(&self, id: &TestId) -> bool {
        self.filter.as_ref().is_none_or(|filter| id.to_string().contains(filter.as_str()))
    }
}

/// How a tier went.
struct Report {
    tier: Tier,
    ran: Vec<Ran>,
    /// What is wrong beside failed tests: each counts as a failure.
    complaints: Vec<String>,
    time: Duration,
}

impl Report {
    fn passed(&self) -> usize {
        self.ran.iter().filter(|ran| ran.passed).count()
    }

    fn complain(&mut self, complaint: Option<String>) {
        if let Some(complaint) = complaint {
            eprintln!("error: {complaint}");
            self.complaints.push(complaint);
        }
    }

    fn failed(&self) -> usize {
        self.ran.len() - self.passed() + self.complaints.len()
    }
}

/// Runs the tests. The last line on the standard output is `N passed, N failed`.
pub(crate) fn run(selection: &Selection) -> ExitCode {
    let (passed, failed) = match run_tiers(selection) {
        Ok(reports) => {
            print_table(&reports);
            (reports.iter().map(Report::passed).sum(), reports.iter().map(Report::failed).sum())
        }
        Err(message) => {
            eprintln!("error: {message}");
            (0, 1)
        }
    };
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_tiers(selection: &Selection) -> Outcome<Vec<Report>> {
    // Asked for first: the build below may put a new file in its place.
    let program = env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let tools = setup::ensure()?;
    if isolate::inside() {
        isolate::loopback_up(&tools.python)?;
    } else {
        command::run(tools.cargo().args(["nextest", "run", "--workspace", "--no-run"]))?;
        isolate::enter(&program)?;
    }
    let inventory = Inventory::take(&tools)?;
    let mut reports = Vec::new();
    for &tier in &selection.tiers {
        let present = inventory.of(tier);
        if selection.filter.is_none() || present.iter().any(|id| selection.wants(id)) {
            let mut report = run_tier(tier, &tools, selection)?;
            if tier == Tier::T0 && selection.filter.is_none() {
                report.complain(conformance::complaint(&inventory));
                report.complain(support::complaint(&inventory));
            }
            reports.push(report);
        }
    }
    if reports.iter().all(|report| report.ran.is_empty()) {
        return Err(
            "no test was asked for\nhint: `cargo nextest list --workspace` shows their names".to_owned()
        );
    }
    Ok(reports)
}

fn run_tier(tier: Tier, tools: &Tools, selection: &Selection) -> Outcome<Report> {
    eprintln!("\n{tier}");
    let start = Instant::now();
    let peers = if tier == Tier::T2 { Some(Peers::start(tools)?) } else { None };
    let mut complaints = Vec::new();
    let mut ran = Vec::new();
    let mut take = |result: Outcome<Vec<Ran>>| match result {
        Ok(more) => ran.extend(more),
        Err(message) => complaints.push(message),
    };
    take(run_nextest(tier, tools, selection, peers.as_ref()));
    if tier == Tier::T0 {
        take(run_doc_tests(tools, selection));
    }
    if let Some(peers) = peers {
        complaints.extend(peers.stop());
    }
    if selection.filter.is_none() {
        let ids: BTreeSet<TestId> = ran.iter().map(|ran| ran.id.clone()).collect();
        complaints.extend(tiers::difference(tier, &tier.checked_in()?, &ids));
    }
    for complaint in &complaints {
        eprintln!("error: {complaint}");
    }
    Ok(Report { tier, ran, complaints, time: start.elapsed() })
}

fn run_nextest(tier: Tier, tools: &Tools, selection: &Selection, peers: Option<&Peers>) -> Outcome<Vec<Ran>> {
    let report = root().join("target/nextest/default/junit.xml");
    if report.exists() {
        // Else a run that dies early would be judged by the one before.
        fs::remove_file(&report).map_err(|e| format!("cannot remove {}: {e}", report.display()))?;
    }
    let mut nextest = offline(tools);
    nextest.args(["nextest", "run", "--workspace", "--no-tests", "pass", "-E", tier.filterset()]);
    nextest.args(&selection.filter);
    if let Some(peers) = peers {
        nextest.envs(peers.environment());
    }
    if env::var_os(SEED).is_none() {
        nextest.env(SEED, FIXED_SEED);
    }
    let content = command::succeeds(&mut nextest)?;
    let ran = fs::read_to_string(&report).map(|text| junit::parse(&text)).unwrap_or_default();
    if !content && ran.iter().all(|ran| ran.passed) {
        return Err(format!("nextest did not finish {tier}"));
    }
    Ok(ran)
}

fn run_doc_tests(tools: &Tools, selection: &Selection) -> Outcome<Vec<Ran>> {
    let mut docs = offline(tools);
    docs.args(["test", "--quiet", "--workspace", "--doc", "--no-fail-fast", "--"]);
    docs.args(&selection.filter).args(["--format", "pretty"]);
    let output = docs
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("could not start the documentation tests: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let ran = parse_doc_tests(&text);
    if !output.status.success() {
        eprintln!("{text}");
        if ran.iter().all(|ran| ran.passed) {
            return Err("the documentation tests did not finish".to_owned());
        }
    }
    Ok(ran)
}

/// Reads lines such as `test src/a.rs - a::B (line 7) ... ok`.
fn parse_doc_tests(output: &str) -> Vec<Ran> {
    let (names, verdicts): (Vec<&str>, Vec<&str>) = output
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.rsplit_once(" ... "))
        .filter(|(_, verdict)| !verdict.starts_with("ignored"))
        .unzip();
    let passed = verdicts.into_iter().map(|verdict| verdict == "ok");
    TestId::docs(names).into_iter().zip(passed).map(|(id, passed)| Ran { id, passed }).collect()
}

/// Cargo as the tests get it: nothing to download, nothing of the user's.
fn offline(tools: &Tools) -> Command {
    let mut cargo = tools.cargo();
    isolate::seal(&mut cargo)
        .env("CARGO_NET_OFFLINE", "true")
        .env(BWRAP, &tools.bwrap)
        .env(KERNEL, &tools.kernel);
    cargo
}

fn print_table(reports: &[Report]) {
    println!("\ntier  passed  failed  minutes");
    for report in reports {
        let minutes = report.time.as_secs_f64() / 60.0;
        println!("{:<4} {:>7} {:>7} {minutes:>8.1}", report.tier, report.passed(), report.failed());
    }
    let minutes = reports.iter().map(|r| r.time.as_secs_f64()).sum::<f64>() / 60.0;
    println!("all{minutes:>25.1}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_test_output_is_read() {
        let output = "\nrunning 3 tests\n\
            test crates/a/src/b.rs - b::C (line 24) ... ok\n\
            test crates/a/src/b.rs - b::D (line 30) ... FAILED\n\
            test crates/a/src/b.rs - b::E (line 40) ... ignored\n\n\
            test result: FAILED. 1 passed; 1 failed; 1 ignored\n";
        let seen: Vec<_> =
            parse_doc_tests(output).iter().map(|ran| (ran.id.to_string(), ran.passed)).collect();
        let expected = [("doc crates/a/src/b.rs - b::C", true), ("doc crates/a/src/b.rs - b::D", false)];
        assert_eq!(seen, expected.map(|(id, passed)| (id.to_owned(), passed)));
    }

    #[test]
    fn no_tier_means_all_and_order_is_fixed() {
        assert_eq!(Selection::new(vec![], None).tiers, Tier::ALL);
        assert_eq!(Selection::new(vec![Tier::T3, Tier::T0, Tier::T3], None).tiers, [Tier::T0, Tier::T3]);
    }
}
