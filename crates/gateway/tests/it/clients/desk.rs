//! A home, a folder to work in and a client that was pointed at a gateway; and what must hold of all that is done
//! there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use junto_env::{CommandSpec, Exit, LocalEnvironment, OutputStream, Stdin, exec, survivors};
use junto_gateway::{CallEnd, CallReport, Gateway, Via};
use junto_llm::Wire;
use junto_testkit::cast::Who;
use junto_twin::{Options, Play, Received, Step, Twin};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::client::{self, Said};
use crate::support::{House, Reports, model, target};

/// A hang guard: longer than anything healthy takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_mins(2);

/// What clients show the gateway. The twin takes another, so that one that was handed on is seen.
pub(crate) const CLIENT_KEY: &str = "key-of-the-gateway";

/// Where a client works, and what is behind it.
pub(crate) struct Desk {
    pub(crate) who: Who,
    upstream: Wire,
    folder: TempDir,
    pub(crate) env: Arc<LocalEnvironment>,
    pub(crate) twin: Twin,
    house: House,
    reports: Reports,
}

/// What came of it all.
pub(crate) struct Done {
    /// What the model was asked.
    pub(crate) requests: Vec<Received>,
    /// What the gateway told of its calls.
    pub(crate) reports: Vec<CallReport>,
}

impl Desk {
    /// A desk whose gateway asks a twin on this wire: by bytes if it is the client's own.
    pub(crate) async fn open(who: Who, upstream: Wire, steps: impl FnOnce(&Path) -> Vec<Step>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, work) = (root.join("home"), root.join("work"));
        std::fs::create_dir(&work).unwrap();
        let twin = Twin::start(Play::of(steps(&work)), Options::default()).unwrap();
        let target = target(&twin, upstream);
        let target = if who.wire() == upstream { target } else { target.model(model(upstream)) };
        let reports = Reports::default();
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
        Self { who, upstream, folder, env, twin, house, reports }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// A path beside the home and the folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The text of a file in the folder.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join("work").join(name)).ok()
    }

    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        client::variables(self.who, &self.house.url, CLIENT_KEY, &self.root().join("home"))
    }

    /// Gives the client a prompt and waits for its answer.
    pub(crate) async fn tell(&self, prompt: &str) -> Said {
        self.run(None, prompt).await
    }

    /// The same, in a conversation that was begun.
    pub(crate) async fn go_on(&self, session: &str, prompt: &str) -> Said {
        self.run(Some(session), prompt).await
    }

    async fn run(&self, session: Option<&str>, prompt: &str) -> Said {
        let ran = run(&self.env, client::command(self.who, session), self.variables(), prompt).await;
        let said = client::read(self.who, &ran.output).filter(|_| ran.exit.success());
        said.unwrap_or_else(|| {
            let (asked, told) = (summary(&self.twin.requests()), self.reports.all());
            panic!("{:?}, {prompt:?}: {ran:#?}\n{asked:#?}\n{told:#?}", self.who)
        })
    }

    /// Clears the desk, and checks what must hold whatever was done: nothing survives, every call took the way that
    /// it should, and the gateway has booked what the model told.
    pub(crate) async fn close(self) -> Done {
        let env = Arc::clone(&self.env);
        let left = tokio::task::spawn_blocking(move || survivors::after(&env, LONG)).await.unwrap();
        assert_eq!(left, [], "nothing survives");
        self.twin.wait_until_idle().await;
        self.house.close().await;
        let (requests, reports) = (self.twin.requests(), self.reports.all());
        let told = self.twin.usage_told();
        self.twin.close().await;
        let way = if self.who.wire() == self.upstream { Via::Passthrough } else { Via::Translation };
        for report in reports.iter().filter(|report| report.provider.is_some()) {
            assert_eq!(report.via, Some(way), "{report:?}");
            assert!(!matches!(report.end, CallEnd::Unread | CallEnd::BrokenOff), "{report:?}");
        }
        let booked = reports
            .iter()
            .fold((0, 0), |sum, report| (sum.0 + report.usage.input, sum.1 + report.usage.output));
        assert_eq!(booked, (told.input, told.output), "booked, and told by the model");
        Done { requests, reports }
    }
}

impl Done {
    /// Checks that the model was asked so often, and refused nothing.
    #[track_caller]
    pub(crate) fn asked(self, count: usize) -> Self {
        let refused: Vec<_> = self.requests.iter().filter(|request| request.status != 200).cloned().collect();
        assert!(refused.is_empty(), "{:#?}", summary(&refused));
        assert_eq!(self.requests.len(), count, "{:#?}", summary(&self.requests));
        self
    }

    /// The last request, as text.
    #[track_caller]
    pub(crate) fn last(&self) -> String {
        self.requests.last().expect("a request").body.to_string()
    }
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) output: String,
    #[expect(dead_code, reason = "it is shown when a test fails")]
    errors: String,
}

/// Runs a command with these variables to its end.
pub(crate) async fn run(
    env: &LocalEnvironment,
    command: Vec<String>,
    variables: BTreeMap<String, String>,
    input: &str,
) -> Ran {
    let command = CommandSpec {
        variables,
        inherits: false,
        stdin: Stdin::Bytes(Bytes::copy_from_slice(input.as_bytes())),
        ..CommandSpec::argv(command)
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut keep = |piece: &junto_env::Output| match piece.stream {
        OutputStream::Stdout => output.extend_from_slice(&piece.bytes),
        OutputStream::Stderr => errors.extend_from_slice(&piece.bytes),
    };
    let ran = exec(env, command, LONG, &CancellationToken::new(), &mut keep).await.unwrap();
    let [output, errors] = [output, errors].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ran { exit: ran.exit, output, errors }
}

/// What was asked, for a message.
fn summary(requests: &[Received]) -> Vec<String> {
    let line = |request: &Received| {
        let body = request.body.to_string();
        let end: String = body.chars().skip(body.chars().count().saturating_sub(600)).collect();
        format!("{} {} -> {} …{end}", request.method, request.path, request.status)
    };
    requests.iter().map(line).collect()
}
