//! `junto profile capture`: what an installed agent tells its model, saved as a profile.

use std::fs;
use std::io;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use junto::agent::profile::{Dialect, Profile, ProfileFile, ProfileHead, ToolEntry};
use junto::env::{ErrorKind, ExecutionEnvironment as _, Exit as Ending, HeadTail, LocalEnvironment, Process};
use junto::twin::{Checks, Options, Play, Twin};
use tokio::time::{Instant, sleep_until};

use super::recipe::{Place, Recipe};
use super::seen::{self, Seen};
use crate::args::CaptureArgs;
use crate::config::duration_text;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// How the name of the folder begins in which an agent runs.
const FOLDER: &str = "junto-capture-";
/// How long an agent has to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(2);
/// How much is kept of each end of what it says, in case nothing comes of it.
const KEPT: usize = 2 << 10;

/// Runs the command.
pub(super) async fn run(
    args: &CaptureArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let name = args.agent.name();
    let recipe = Recipe::of(args.agent)?;
    let out = match &args.out {
        Some(out) => environment.directory().join(out),
        None => super::folder(environment).ok_or_else(no_place)?.join(format!("{}.toml", recipe.id)),
    };
    output.status(&format!("waiting for {name} to ask its model …"));
    let seen = watch(args, &recipe, environment).await?;
    let text = profile(name, &recipe, &seen).map_err(|what| strange(name, &what))?;
    let made = Profile::from_toml(&text).map_err(|error| strange(name, &error.to_string()))?;
    save(&out, &text).map_err(|error| {
        let message = format!("cannot save {}: {error}", out.display());
        Failure::new(Exit::Failed, message, "name another place with --out")
    })?;
    output.data(&format!("{}\n", out.display()))?;
    output.note(&format!(
        "{}: {} characters of instructions and {} tools, of which {} can be run here{}.\n\
         Use it with: junto run --profile {} \"…\"\n\
         The text is its vendor's: it is for your own use.",
        seen.client.as_deref().unwrap_or(name),
        seen.system.chars().count(),
        seen.tools.len(),
        made.tools.names().count(),
        if made.left_out.is_empty() { String::new() } else { format!(" (not {})", made.left_out.join(", ")) },
        out.display(),
    ));
    let gone: Vec<String> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.contains(FOLDER))
        .map(|(number, _)| number.to_string())
        .collect();
    if !gone.is_empty() {
        let lines = gone.join(", ");
        output.warning(&format!(
            "it names the folder in which it ran, which is gone; change that (line {lines})"
        ));
    }
    Ok(Exit::Done)
}

/// Starts the agent against a server of ours, and waits for its request. The agent, and whatever it
/// started, has ended when this returns.
async fn watch(args: &CaptureArgs, recipe: &Recipe, environment: &Environment) -> Result<Seen, Failure> {
    let name = args.agent.name();
    let folder = tempfile::Builder::new().prefix(FOLDER).tempdir().map_err(|e| no_folder(&e))?;
    let (home, work) = (folder.path().join("home"), folder.path().join("work"));
    prepare(recipe, &home, &work).map_err(|e| no_folder(&e))?;
    // The checks are for clients of ours: an agent may send what its vendor takes and we do not know of.
    let options = Options { checks: Checks::Lenient, ..Options::default() };
    // The play without steps also answers what an agent asks beside, such as which model to take.
    let twin = Twin::start(Play::default(), options).map_err(|error| {
        let message = format!("cannot listen for {name}: {error}");
        Failure::new(Exit::Failed, message, "check that programs may listen on 127.0.0.1")
    })?;
    let local = LocalEnvironment::builder(&work).variables(environment.all()).build();
    let local = local.map_err(|error| no_folder(&io::Error::other(error)))?;
    let place = Place { url: &twin.base_url(recipe.wire), key: twin.key(), home: &home };
    let process = local.spawn(recipe.command(args.model.as_deref(), &place)).await;
    let process = process.map_err(|error| not_started(name, recipe, &error))?;
    let seen = Watch { twin: &twin, recipe, name, limit: args.timeout }.run(process).await;
    twin.close().await;
    folder.close().map_err(|e| no_folder(&e))?;
    seen
}

/// Makes the two folders, and the agent's files.
fn prepare(recipe: &Recipe, home: &Path, work: &Path) -> io::Result<()> {
    fs::create_dir(home)?;
    fs::create_dir(work)?;
    for (below, text) in &recipe.files {
        let path = home.join(below);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// Waits for one request of a running agent.
struct Watch<'a> {
    twin: &'a Twin,
    recipe: &'a Recipe,
    name: &'a str,
    limit: Duration,
}

impl Watch<'_> {
    async fn run(&self, mut process: Process) -> Result<Seen, Failure> {
        let deadline = Instant::now() + self.limit;
        let mut said = HeadTail::new(KEPT, KEPT);
        let mut asked = 0;
        let found = loop {
            tokio::select! {
                biased;
                () = self.twin.wait_for_requests(asked + 1) => {
                    asked += 1;
                    if let Some(seen) = self.found() {
                        break Ok(seen);
                    }
                }
                () = sleep_until(deadline) => break Err(self.nothing(Some(self.limit), &said, None)),
                piece = process.output() => {
                    let Ok(Some(piece)) = piece else {
                        // It said its last, and whatever it asked was noted before it was answered.
                        let exit = process.wait().await.ok();
                        break self.found().ok_or_else(|| self.nothing(None, &said, exit));
                    };
                    said.push(&piece.bytes);
                }
            }
        };
        // What cannot be ended was killed.
        let _ = process.close(GRACE).await;
        found
    }

    fn found(&self) -> Option<Seen> {
        self.twin.requests().iter().find_map(|request| seen::read(request, self.recipe.wire).ok())
    }

    /// Why nothing could be saved.
    fn nothing(&self, waited: Option<Duration>, said: &HeadTail, exit: Option<Ending>) -> Failure {
        let name = self.name;
        let requests = self.twin.requests();
        if let Some(last) = requests.last() {
            let why = match seen::read(last, self.recipe.wire) {
                Ok(_) => "it came too late".to_owned(),
                Err(why) => why,
            };
            return strange(name, &format!("{} {}: {why}", last.method, last.path));
        }
        let said = said.text(|omitted| format!("\n[… {omitted} bytes left out …]\n"));
        let said = said.trim();
        let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
        let what = match (waited, exit) {
            (Some(limit), _) => format!("{name} asked nothing within {}{said}", duration_text(limit)),
            (None, Some(exit)) => format!("{name} ended ({exit}) without asking its model anything{said}"),
            (None, None) => format!("{name} ended without asking its model anything{said}"),
        };
        Failure::new(
            Exit::Failed,
            what,
            format!("check that `{name}` runs by itself; --timeout waits longer"),
        )
    }
}

/// The profile's file.
fn profile(name: &str, recipe: &Recipe, seen: &Seen) -> Result<String, String> {
    let head = ProfileHead {
        id: recipe.id.clone(),
        extends: Some(recipe.family),
        dialect: Some(Dialect::Native),
        base: Some(seen.system.clone()),
        ..ProfileHead::default()
    };
    let tool = seen.tools.iter().map(|spec| ToolEntry::of(spec, None)).collect();
    let text = ProfileFile { profile: head, tool }.to_toml().map_err(|error| error.to_string())?;
    let client = seen.client.as_deref().unwrap_or(name).replace(char::is_control, " ");
    Ok(format!(
        "# {client}\n# What it tells its model, saved by `junto profile capture {name}`.\n\
         # The text is its vendor's: it is for your own use.\n\n{text}"
    ))
}

/// Writes the file whole or not at all.
fn save(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn not_started(name: &str, recipe: &Recipe, error: &junto::env::Error) -> Failure {
    if error.kind() == ErrorKind::NotFound {
        let hint = format!("`{}` installs it; it must be in the PATH", recipe.install);
        return Failure::usage(format!("{name} is not installed"), hint);
    }
    Failure::new(Exit::Failed, format!("cannot start {name}: {error}"), format!("check that `{name}` runs"))
}

fn strange(name: &str, what: &str) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("what {name} sent cannot be read as a profile: {what}"),
        "this version may be newer than junto knows; --model chooses a model for which it may send another",
    )
}

fn no_folder(error: &io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("cannot use a temporary folder: {error}"),
        "check TMPDIR, and whether the disk is full",
    )
}

fn no_place() -> Failure {
    Failure::usage("there is no home folder to save the profile in", "name a place with --out")
}
