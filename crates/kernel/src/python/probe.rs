//! What an interpreter is, by asking it.

use std::path::Path;
use std::time::Duration;

use junto_env::{CommandSpec, ExecutionEnvironment, exec};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{Error, ErrorKind};

/// The oldest that can be a kernel.
pub(super) const OLDEST: (u32, u32) = (3, 10);
/// The oldest `ipykernel` that speaks as we do.
const OLDEST_KERNEL: u32 = 6;
/// How long an interpreter may take to answer: cold, it reads hundreds of files.
const PATIENCE: Duration = Duration::from_mins(2);
/// Whatever it prints besides, and whatever lies in the working directory under the name of a module.
const QUESTION: &str = "
import sys
sys.path[:1] = []
import json
said = {'version': sys.version_info[:2], 'kernel': None, 'why': None}
try:
    import ipykernel.kernelapp, IPython, zmq
    said['kernel'] = str(ipykernel.__version__)
except BaseException as error:
    said['why'] = f'{type(error).__name__}: {error}'
print('\\n' + sys.argv[1] + json.dumps(said), flush=True)
";

/// What an interpreter says of itself.
#[derive(Debug, Deserialize)]
pub(super) struct Found {
    pub(super) version: (u32, u32),
    /// The version of its `ipykernel`.
    pub(super) kernel: Option<String>,
    /// Why it has none.
    pub(super) why: Option<String>,
}

impl Found {
    /// The version, if it can be a kernel.
    pub(super) fn for_kernels(&self, program: &Path) -> Result<(u32, u32), Error> {
        let program = program.display();
        self.at_least(OLDEST, &program.to_string())?;
        let remedy = format!(
            "run `{program} -m pip install ipykernel`, or name none (`code.python`) and junto makes one of its own"
        );
        let Some(kernel) = &self.kernel else {
            let why = self.why.as_deref().unwrap_or("it is not there");
            return Err(Error::new(
                ErrorKind::Python,
                format!("`{program}` has no `ipykernel` that works ({why}): {remedy}"),
            ));
        };
        let major = kernel.split('.').next().and_then(|number| number.parse::<u32>().ok());
        if major.is_none_or(|major| major < OLDEST_KERNEL) {
            let message = format!("`{program}` has ipykernel {kernel}, which is too old: {remedy}");
            return Err(Error::new(ErrorKind::Python, message));
        }
        Ok(self.version)
    }

    pub(super) fn at_least(&self, oldest: (u32, u32), program: &str) -> Result<(), Error> {
        let ((major, minor), (least, least_minor)) = (self.version, oldest);
        if self.version >= oldest {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Python,
            format!(
                "`{program}` is Python {major}.{minor}; a kernel needs {least}.{least_minor} or later: install one, \
                 or name (`code.python`) one that is there"
            ),
        ))
    }
}

/// Asks an interpreter.
pub(super) async fn probe(program: &Path, env: &dyn ExecutionEnvironment) -> Result<Found, Error> {
    let word = Uuid::new_v4().simple().to_string();
    let name = program.to_string_lossy().into_owned();
    let command = CommandSpec::argv([name.clone(), "-c".to_owned(), QUESTION.to_owned(), word.clone()]);
    let refuse = |why: String| {
        let message = format!(
            "`{name}` is no Python that works: {why}; install Python {}.{} or later, or name one (`code.python`)",
            OLDEST.0, OLDEST.1
        );
        Error::new(ErrorKind::Python, message)
    };
    let never = CancellationToken::new();
    let ran = exec(env, command, PATIENCE, &never, &mut |_| {}).await.map_err(|e| refuse(e.to_string()))?;
    let said = ran.both.text(|_| "\n…\n".to_owned());
    let answer = said.lines().find_map(|line| line.strip_prefix(word.as_str()));
    answer.and_then(|answer| serde_json::from_str(answer).ok()).ok_or_else(|| {
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        refuse(format!("{} and said: {}", ran.exit, last.join("\n")))
    })
}
