//! The environment that is made and kept.
//!
//! It is in a folder named by what is in it, and has a seal once it is whole: a file that lists what must be
//! there. Who finds no seal, or not all that it lists, makes the folder anew, under a lock between processes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use junto_env::{CommandSpec, ExecutionEnvironment, exec};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{Maker, Python, Standing, probe};
use crate::{Error, ErrorKind, hex};

/// What is installed.
const LOCK: &str = include_str!("../../python/requirements.lock");
/// The oldest Python that takes these.
const OLDEST: (u32, u32) = (3, 11);
/// Names under which there may be one, those that say least first.
const NAMES: &[&str] = &["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
/// The program that makes it fastest.
const UV: &str = "uv";
/// How long a step of the making may take, on a slow line.
const PATIENCE: Duration = Duration::from_mins(15);
/// What those say who reach no index of packages.
const NO_NETWORK: &[&str] = &[
    "name resolution",
    "new connection",
    "network is unreachable",
    "connection refused",
    "dns error",
    "error sending request",
    "failed to fetch",
    "connecttimeout",
    "no matching distribution",
];

/// What says that an environment is whole.
#[derive(Serialize, Deserialize)]
struct Seal {
    version: (u32, u32),
    /// Where the packages are, below the environment.
    packages: PathBuf,
    /// What is there.
    entries: BTreeSet<String>,
}

/// Where everything is.
struct Places {
    environment: PathBuf,
    requirements: PathBuf,
    seal: PathBuf,
    lock: PathBuf,
}

impl Places {
    fn new(home: &Path) -> Self {
        let digest = Sha256::digest(LOCK.as_bytes());
        let digest = hex::digits(digest.get(..8).unwrap_or_default());
        let environment = home.join("python").join(&digest);
        Self {
            requirements: environment.join("requirements.txt"),
            seal: environment.join("junto.json"),
            lock: home.join("python").join(format!("{digest}.lock")),
            environment,
        }
    }

    fn program(&self) -> PathBuf {
        self.environment.join("bin/python")
    }

    /// The interpreter, if all of it is there.
    fn whole(&self) -> Option<Python> {
        let seal: Seal = serde_json::from_slice(&fs::read(&self.seal).ok()?).ok()?;
        let packages = self.environment.join(&seal.packages);
        let whole = self.program().is_file() && seal.entries.iter().all(|name| packages.join(name).exists());
        whole.then(|| Python {
            program: self.program(),
            version: seal.version,
            seal: Some(self.seal.clone()),
        })
    }
}

/// The environment below `home`, if it is there and whole.
pub(super) fn made(home: &Path) -> Option<Python> {
    Places::new(home).whole()
}

/// How the environment below `home` stands.
pub(super) fn standing(home: &Path) -> (PathBuf, Standing) {
    let places = Places::new(home);
    let standing = match places.whole() {
        Some(python) => Standing::Whole(python),
        None if places.environment.exists() => Standing::Broken,
        None => Standing::NotMade,
    };
    (places.environment, standing)
}

/// What an environment is made with.
pub(super) async fn maker(env: &dyn ExecutionEnvironment) -> Result<Maker, Error> {
    if let Ok(said) = (Step { env }).run(&[UV, "--version"]).await {
        let version = said.split_whitespace().nth(1).unwrap_or_default().to_owned();
        return Ok(Maker { program: UV.to_owned(), version });
    }
    base(env).await
}

/// The environment below `home`, made if it is not there.
pub(super) async fn kept(
    home: &Path,
    env: &dyn ExecutionEnvironment,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Python, Error> {
    let places = Places::new(home);
    if let Some(python) = places.whole() {
        return Ok(python);
    }
    let _lock = lock(&places.lock, tell).await.map_err(|e| no_place(&places.lock, &e))?;
    // Somebody else may have made it meanwhile.
    if let Some(python) = places.whole() {
        return Ok(python);
    }
    let made = make(&places, env, tell).await;
    if made.is_err() {
        // Half of one is of use to nobody; what cannot be removed is removed by whoever makes the next.
        let _ = fs::remove_dir_all(&places.environment);
    }
    made
}

/// Waits for the lock, which ends with the file.
async fn lock(path: &Path, tell: &(dyn Fn(&str) + Send + Sync)) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    if file.try_lock().is_ok() {
        return Ok(file);
    }
    tell("another process prepares Python; waiting for it");
    let waited = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
    waited.map_err(io::Error::other)?
}

async fn make(
    places: &Places,
    env: &dyn ExecutionEnvironment,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Python, Error> {
    match fs::remove_dir_all(&places.environment) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(no_place(&places.environment, &e)),
        _ => {}
    }
    let target = places.environment.to_string_lossy().into_owned();
    let program = places.program().to_string_lossy().into_owned();
    let requirements = places.requirements.to_string_lossy().into_owned();
    let step = Step { env };
    let maker = maker(env).await?;
    let has_uv = maker.program == UV;
    tell("preparing Python for code actions, once");
    if has_uv {
        step.run(&[UV, "venv", "--quiet", "--no-project", "--python", ">=3.11", &target]).await?;
    } else {
        step.run(&[&maker.program, "-m", "venv", &target]).await?;
    }
    fs::write(&places.requirements, LOCK).map_err(|e| no_place(&places.requirements, &e))?;
    tell("installing ipykernel");
    if has_uv {
        let install = [
            UV,
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--python",
            &program,
            "--only-binary",
            ":all:",
            "-r",
            &requirements,
        ];
        step.run(&install).await?;
    } else {
        let install = [
            &program,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--no-input",
            "-r",
            &requirements,
        ];
        step.run(&install).await?;
    }
    let found = probe::probe(&places.program(), env).await?;
    let version = found.for_kernels(&places.program())?;
    seal(places, version).map_err(|e| no_place(&places.seal, &e))?;
    places.whole().ok_or_else(|| {
        let message = format!("the Python environment in `{target}` is not whole although it was just made");
        Error::new(ErrorKind::Python, message)
    })
}

/// A Python on the path that is new enough.
async fn base(env: &dyn ExecutionEnvironment) -> Result<Maker, Error> {
    let mut old = None;
    for name in NAMES {
        let Ok(found) = probe::probe(Path::new(name), env).await else { continue };
        match found.at_least(OLDEST, name) {
            Ok(()) => {
                let (major, minor) = found.version;
                return Ok(Maker { program: (*name).to_owned(), version: format!("{major}.{minor}") });
            }
            Err(e) => old = old.or(Some(e)),
        }
    }
    Err(old.unwrap_or_else(|| {
        let message = "there is no Python on the path, and no `uv`: install Python 3.11 or later (on Debian: \
                       `apt install python3 python3-venv`), or `uv`, or name (`code.python`) a Python that has \
                       `ipykernel`";
        Error::new(ErrorKind::Python, message)
    }))
}

fn seal(places: &Places, version: (u32, u32)) -> io::Result<()> {
    let packages = PathBuf::from(format!("lib/python{}.{}/site-packages", version.0, version.1));
    let mut entries = BTreeSet::new();
    for entry in fs::read_dir(places.environment.join(&packages))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "__pycache__" {
            entries.insert(name);
        }
    }
    let text = serde_json::to_vec(&Seal { version, packages, entries })?;
    let draft = places.seal.with_extension("draft");
    fs::write(&draft, text)?;
    fs::rename(draft, &places.seal)
}

/// Runs commands that must succeed.
struct Step<'a> {
    env: &'a dyn ExecutionEnvironment,
}

impl Step<'_> {
    /// Gives what the command said.
    async fn run(&self, argv: &[&str]) -> Result<String, Error> {
        let line = argv.join(" ");
        let command = CommandSpec::argv(argv.iter().copied());
        let never = CancellationToken::new();
        let ran = exec(self.env, command, PATIENCE, &never, &mut |_| {}).await;
        let ran = ran.map_err(|e| Error::new(ErrorKind::Python, format!("`{line}` does not run: {e}")))?;
        let said = ran.both.text(|_| "\n…\n".to_owned());
        if ran.exit.success() {
            return Ok(said);
        }
        let last: Vec<&str> = said.trim().lines().rev().take(8).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        let message = format!("{}; `{line}` ended with {}:\n{}", remedy(&said), ran.exit, last.join("\n"));
        Err(Error::new(ErrorKind::Python, message))
    }
}

/// What to do, by what a command said as it failed.
fn remedy(said: &str) -> &'static str {
    let said = said.to_lowercase();
    if said.contains("ensurepip")
        || said.contains("no module named venv")
        || said.contains("no module named pip")
    {
        return "this Python cannot make environments: install its `venv` (on Debian: `apt install \
                python3-venv`), or `uv`";
    }
    if NO_NETWORK.iter().any(|sign| said.contains(sign)) {
        return "the packages of the kernel cannot be fetched: connect to the network for the first start (they are \
                kept then), or name (`code.python`) a Python that has `ipykernel`";
    }
    if said.contains("no space left") {
        return "there is no room for the packages of the kernel: free about 200 MB";
    }
    "the Python environment for the kernel cannot be made: name (`code.python`) a Python that has `ipykernel`"
}

fn no_place(path: &Path, error: &io::Error) -> Error {
    let message = format!("`{}` cannot be used for Python: {error}; make it writable", path.display());
    Error::new(ErrorKind::Python, message)
}
