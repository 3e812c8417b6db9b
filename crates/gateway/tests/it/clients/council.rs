//! A council of three twins behind the gateway, each on a wire of its own, and a client at work with it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use junto_council::{Council, Deliberation, FanOut, Member, Options, Report, Scope, Served};
use junto_env::{LocalEnvironment, survivors};
use junto_gateway::{CallEnd, Gateway, Target};
use junto_llm::catalog::Catalog;
use junto_llm::{Endpoint, HttpProvider, Wire};
use junto_testkit::cast::Who;
use junto_twin::{Play, Step, Twin};
use tempfile::TempDir;

use super::client::{self, Said};
use super::desk::{CLIENT_KEY, LONG, run};
use crate::support::{House, Reports, model};

/// The wires of the members, in order.
pub(crate) const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Gemini];
/// Their names.
pub(crate) const NAMES: [&str; 3] = ["ada", "ben", "cid"];
/// How long the others may take once one answer is there. Only one who stalls takes it.
const STRAGGLER: Duration = Duration::from_secs(4);

/// How long a member may be silent: longer than a healthy one is on a busy machine.
const SILENCE: Duration = Duration::from_secs(8);

/// Everything that was said of the calls of a council.
pub(crate) type Minutes = Arc<Mutex<Vec<Deliberation>>>;

/// A council of these twins, whose judge is another; every turn asks all of them.
pub(crate) fn seat(members: &[Twin; 3], judge: &Twin, straggler: Duration, minutes: &Minutes) -> Council {
    let member = |name: &str, twin: &Twin, wire: Wire| {
        let endpoint = Endpoint::new(name, wire, twin.base_url(wire)).key(twin.key());
        let member = Member::new(name, Arc::new(HttpProvider::new(endpoint).unwrap())).model(model(wire));
        // Where nobody answers, one who stalls is waited for no longer than this.
        Member { silence: Some(SILENCE), ..member }
    };
    let seats = NAMES.iter().zip(members).zip(WIRES).map(|((name, twin), wire)| member(name, twin, wire));
    let told = Arc::clone(minutes);
    let options = Options {
        name: "junto-council".to_owned(),
        fan_out: FanOut::Always,
        scope: Scope::PerTurn,
        ask: 3,
        straggler,
        report: Some(Report::new(move |deliberation| told.lock().unwrap().push(deliberation.clone()))),
        ..Options::default()
    };
    Council::new(seats.collect(), Some(member("judge", judge, Wire::Chat)), options).unwrap()
}

/// What the three say in one round, in their order, and whom the judge then names by index; none if nobody is left to
/// choose from.
pub(crate) struct Round {
    pub(crate) says: [Step; 3],
    pub(crate) verdict: Option<usize>,
}

/// Where a client works with a council.
pub(crate) struct Bench {
    who: Who,
    folder: TempDir,
    env: Arc<LocalEnvironment>,
    members: [Twin; 3],
    judge: Twin,
    house: House,
    reports: Reports,
    minutes: Minutes,
}

impl Bench {
    /// A bench whose council plays these rounds.
    pub(crate) async fn open(who: Who, rounds: impl FnOnce(&Path) -> Vec<Round>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, work) = (root.join("home"), root.join("work"));
        std::fs::create_dir(&work).unwrap();
        let rounds = rounds(&work);
        let start = |play| Twin::start(play, junto_twin::Options::default()).unwrap();
        // Each is asked once in every round.
        let plays = [0, 1, 2].map(|member| {
            Play::of(rounds.iter().map(|round| round.says[member].clone()).collect::<Vec<_>>())
        });
        let verdicts = rounds.iter().filter_map(|round| round.verdict);
        let verdict = |index: usize| Step::text(format!(r#"{{"index": {index}, "reason": "as I like it"}}"#));
        let judge = start(Play::of(verdicts.map(verdict).collect::<Vec<_>>()));
        let members = plays.map(start);
        let minutes = Minutes::default();
        let council = seat(&members, &judge, STRAGGLER, &minutes);
        let reports = Reports::default();
        let target = Target::new("council", Arc::new(Served::new(council, Catalog::builtin())));
        let gateway = Gateway::builder()
            .route("*", target)
            .client_key(CLIENT_KEY)
            .on_call(reports.sink())
            .build()
            .unwrap();
        let house = House::open(&gateway).await;
        let (name, text) = client::files(who, &house.url, &work);
        let file = home.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        let env = Arc::new(LocalEnvironment::builder(&work).build().unwrap());
        Self { who, folder, env, members, judge, house, reports, minutes }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The text of a file in the folder.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join("work").join(name)).ok()
    }

    /// Gives the client a prompt and waits for its answer.
    pub(crate) async fn tell(&self, prompt: &str) -> Said {
        let variables = client::variables(self.who, &self.house.url, CLIENT_KEY, &self.root().join("home"));
        let ran = run(&self.env, client::command(self.who, None), variables, prompt).await;
        let said = client::read(self.who, &ran.output).filter(|_| ran.exit.success());
        said.unwrap_or_else(|| {
            let (told, minutes) = (self.reports.all(), self.minutes.lock().unwrap());
            panic!("{:?}, {prompt:?}: {ran:#?}\n{told:#?}\n{minutes:#?}", self.who)
        })
    }

    /// Clears the bench: nothing survives, nothing was refused, every call came to its end, and what was booked is what
    /// the twins charged. Gives what was said of the calls.
    pub(crate) async fn close(self) -> Vec<Deliberation> {
        let env = Arc::clone(&self.env);
        let left = tokio::task::spawn_blocking(move || survivors::after(&env, LONG)).await.unwrap();
        assert_eq!(left, [], "nothing survives");
        for twin in self.members.iter().chain([&self.judge]) {
            twin.wait_until_idle().await;
            let refused: Vec<_> =
                twin.requests().into_iter().filter(|r| (400..500).contains(&r.status)).collect();
            assert!(refused.is_empty(), "{refused:#?}");
        }
        self.house.close().await;
        for report in self.reports.all() {
            assert!(matches!(report.end, CallEnd::Complete), "{report:#?}");
        }
        for twin in self.members.into_iter().chain([self.judge]) {
            twin.close().await;
        }
        std::mem::take(&mut self.minutes.lock().unwrap())
    }
}
