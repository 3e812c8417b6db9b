//! Code actions for the native sessions of a workshop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto_agent::{Past, SessionConfig};
use junto_core::{AgentError, AgentErrorKind, Companion};
use junto_env::ExecutionEnvironment;
use junto_kernel::{
    CodeRoom, CodeSetup, Course, Interpreter, Meaning, Resumption, RunFolder, SecretIn, earlier_cells,
};

use crate::workshop::MakeRoom;

/// The file in a session's folder that has the variables of its kernel.
const SNAPSHOT: &str = "kernel.json";
/// The folder in a session's folder that has the images of its cells.
const IMAGES: &str = "images";
/// The folder for images of sessions that are not kept.
const LOOSE_IMAGES: &str = "junto-images";

/// What becomes of a kernel's state when its session is resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelState {
    /// It is gone, and the model is told.
    #[default]
    Fresh,
    /// The cells are run again, each judged anew, before the next one. They do again what they did.
    Replay,
    /// Variables that can be pickled are kept at the end of each input, and brought back before the next cell.
    Snapshot,
}

/// Code actions: native sessions get the tools `execute_code` and `reset_kernel` and a Python kernel of their own,
/// children included. It starts with the first cell, in the sandbox if the guard has one, and ends with the session.
///
/// ```no_run
/// # fn workshop(builder: junto::WorkshopBuilder) -> junto::Workshop {
/// use junto::Code;
/// use junto::kernel::Interpreter;
///
/// let code = Code::new(Interpreter::Kept("/home/me/.cache/junto/python".into()), "/tmp");
/// builder.code(code).build()
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Code {
    /// By which Python.
    pub interpreter: Interpreter,
    /// An existing folder with a short path, such as `/tmp`: below it each kernel has one of its own for sockets.
    pub run_dir: PathBuf,
    /// Variables of the kernel's environment beside those that commands inherit.
    pub variables: BTreeMap<String, String>,
    /// How long a cell may take, without the time in which somebody is asked; absent: for ever.
    pub within: Option<Duration>,
    /// How much memory a kernel may take, in bytes.
    pub memory: Option<u64>,
    /// Where images are saved; absent: beside the session if it is kept, else in `junto-images` below `run_dir`.
    pub images: Option<PathBuf>,
    /// The user's own tools, as packages `<category>/<tool>`.
    pub gentools: Option<PathBuf>,
    /// Ranks tools by what they mean when they are searched, beside the ranking by words
    /// ([`Embeddings`](crate::Embeddings)); absent: by words alone.
    pub meaning: Option<Meaning>,
    /// What becomes of the state when a session is resumed.
    pub state: KernelState,
}

impl Code {
    /// Cells may take five minutes; the state of a session that is resumed is fresh.
    pub fn new(interpreter: Interpreter, run_dir: impl Into<PathBuf>) -> Self {
        Self {
            interpreter,
            run_dir: run_dir.into(),
            variables: BTreeMap::new(),
            within: Some(Duration::from_mins(5)),
            memory: None,
            images: None,
            gentools: None,
            meaning: None,
            state: KernelState::default(),
        }
    }

    /// A session with a room for code.
    ///
    /// # Errors
    /// `unsupported` if kernels are to be in a sandbox that cannot be had.
    pub(crate) fn furnish(
        &self,
        mut config: SessionConfig,
        place: Place<'_>,
    ) -> Result<SessionConfig, AgentError> {
        let unusable = |error: &dyn std::fmt::Display| {
            let message = format!("there is no place for a kernel: {error}");
            AgentError::new(AgentErrorKind::Unsupported, message)
        };
        let run_dir = RunFolder::below(&self.run_dir).map_err(|error| unusable(&error))?;
        let env = match place.make_room {
            Some(make) => make(&config.env, run_dir.path()).map_err(|error| {
                unusable(&error)
                    .with_hint("`junto doctor` says what is missing; --sandbox off goes on without")
            })?,
            None => Arc::clone(&config.env),
        };
        let room = CodeRoom::new(self.setup(env, run_dir, &place));
        config.tools.extend(room.tools());
        for tool in room.tools_behind() {
            config.tools.put_behind(tool);
        }
        config.companions.push(room as Arc<dyn Companion>);
        Ok(config)
    }

    /// Where the images of a session are saved that is kept in this folder, or is not kept.
    pub(crate) fn images_dir(&self, folder: Option<&Path>) -> PathBuf {
        let own = || folder.map_or_else(|| self.run_dir.join(LOOSE_IMAGES), |folder| folder.join(IMAGES));
        self.images.clone().unwrap_or_else(own)
    }

    fn setup(&self, env: Arc<dyn ExecutionEnvironment>, run_dir: RunFolder, place: &Place<'_>) -> CodeSetup {
        let folder = place.folder.as_ref();
        // Children are not brought back, so nothing of theirs is kept.
        let file = folder.filter(|_| place.depth == 0).map(|folder| folder.join(SNAPSHOT));
        let cells =
            place.past.map(|past| earlier_cells(past.events(), past.rewinds_to())).unwrap_or_default();
        let had_cells = !cells.is_empty();
        let resumption = match (self.state, &file) {
            (KernelState::Replay, _) => Resumption::Replay { cells },
            (KernelState::Snapshot, Some(file)) if had_cells => {
                let course = place.past.map(|past| Course::of(past.events(), past.rewinds_to()));
                Resumption::Snapshot { file: file.clone(), course: course.unwrap_or_default() }
            }
            _ => Resumption::Fresh { had_cells },
        };
        CodeSetup {
            variables: self.variables.clone(),
            within: self.within,
            memory: self.memory,
            gentools: self.gentools.clone(),
            meaning: self.meaning.clone(),
            resumption,
            snapshot: file.filter(|_| self.state == KernelState::Snapshot),
            secret: place.secret.clone(),
            ..CodeSetup::new(
                self.interpreter.clone(),
                env,
                run_dir,
                self.images_dir(folder.map(PathBuf::as_path)),
            )
        }
    }
}

/// Whose room it is, and where.
pub(crate) struct Place<'a> {
    /// Makes the environment of kernels; absent: they run where commands do.
    pub(crate) make_room: Option<&'a MakeRoom>,
    /// The session's folder, if it is kept.
    pub(crate) folder: Option<PathBuf>,
    /// Finds secrets that are not kept beside it.
    pub(crate) secret: Option<Arc<SecretIn>>,
    /// How many agents are above it.
    pub(crate) depth: u8,
    /// What was before, if it is brought back.
    pub(crate) past: Option<&'a Past>,
}
