//! One writer for each session.

use std::path::Path;
use std::sync::Arc;

use junto_llm::SessionId;

use crate::files::{File, Files, How};
use crate::{Error, ErrorKind, Result};

/// The file that is locked.
pub(crate) const FILE: &str = "lock";

/// The right to write a session, until it is dropped or the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Arc<dyn File>,
}

impl Lock {
    /// Takes the lock of the session in this folder.
    ///
    /// # Errors
    /// If somebody has it.
    pub(crate) fn take(files: &Arc<dyn Files>, folder: &Path, session: &SessionId) -> Result<Self> {
        let path = folder.join(FILE);
        let failed = |error| Error::io(&path, error);
        let file = files.open(&path, How::Create).map_err(failed)?;
        if !file.try_lock().map_err(failed)? {
            let message = match holder(&*file) {
                Some(pid) => format!("process {pid} writes this session"),
                None => "another process writes this session".to_owned(),
            };
            return Err(Error::new(ErrorKind::Locked, session, message));
        }
        // Only for the message above: where it cannot be written, that is a little poorer.
        let _ = file.resize(0).and_then(|()| {
            let pid = format!("{}\n", std::process::id());
            file.write_all_at(pid.as_bytes(), 0)
        });
        Ok(Self { _file: file })
    }
}

fn holder(file: &dyn File) -> Option<u32> {
    let mut text = [0; 16];
    let read = file.read_full_at(&mut text, 0).ok()?;
    std::str::from_utf8(text.get(..read)?).ok()?.trim().parse().ok()
}
