//! An environment that is nothing but a map, written with what everybody can use.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use junto_env::{
    ByteRange, CommandSpec, DirEntry, Enforces, EnvFacts, Error, ErrorKind, ExecutionEnvironment, Expect,
    Fut, Process, Reader, RealPath, Result, Stamp,
};

/// Files by path. Directories are what is above them; there are no links and no commands.
pub(crate) struct Memory {
    facts: EnvFacts,
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    files: BTreeMap<PathBuf, (Bytes, Stamp)>,
    /// Counts writes, and stands for the time.
    writes: u64,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let facts = EnvFacts {
            cwd: RealPath::resolved("/project"),
            platform: "memory".to_owned(),
            os_version: "none".to_owned(),
            home: None,
            enforces: Enforces { read_only: true, scope: true, writes: true, secrets: true, network: true },
        };
        Self { facts, files: Mutex::default() }
    }

    /// Does something with the files, which takes no time.
    fn now<'a, T: Send + 'a>(&self, act: impl FnOnce(&mut Files) -> Result<T>) -> Fut<'a, Result<T>> {
        let done = act(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(std::future::ready(done))
    }
}

impl Files {
    fn is_dir(&self, path: &Path) -> bool {
        path == Path::new("/project") || self.files.keys().any(|file| file != path && file.starts_with(path))
    }

    fn get(&self, path: &RealPath) -> Result<Option<&(Bytes, Stamp)>> {
        if self.is_dir(path.as_path()) {
            return Err(Error::new(ErrorKind::WrongKind, path, "it is a directory"));
        }
        Ok(self.files.get(path.as_path()))
    }

    fn existing(&self, path: &RealPath) -> Result<&(Bytes, Stamp)> {
        self.get(path)?.ok_or_else(|| Error::new(ErrorKind::NotFound, path, "it is not there"))
    }

    fn put(&mut self, path: &RealPath, data: Bytes) -> Result<Stamp> {
        let mut above = path.as_path().ancestors().skip(1);
        if above.any(|path| self.files.contains_key(path)) {
            return Err(Error::new(ErrorKind::WrongKind, path, "it is below a file"));
        }
        self.writes += 1;
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(self.writes);
        let stamp = Stamp { size: data.len() as u64, modified: Some(modified), digest: None };
        self.files.insert(path.as_path().to_owned(), (data, stamp));
        Ok(stamp)
    }

    fn write(&mut self, path: &RealPath, data: &[u8], expect: Expect) -> Result<Stamp> {
        let found = self.get(path)?.map(|(_, stamp)| *stamp);
        match (expect, found) {
            (Expect::Absent, Some(_)) => Err(Error::new(ErrorKind::Exists, path, "it is there")),
            (Expect::Unchanged(then), now) if !now.is_some_and(|now| now.same_content(&then)) => {
                Err(Error::new(ErrorKind::Changed, path, "it changed"))
            }
            _ => self.put(path, Bytes::copy_from_slice(data)),
        }
    }

    fn list(&self, path: &RealPath, depth: usize) -> Result<Vec<DirEntry>> {
        if !self.is_dir(path.as_path()) {
            self.existing(path)?;
            return Err(Error::new(ErrorKind::WrongKind, path, "it is a file"));
        }
        let mut entries = BTreeMap::new();
        for (file, (_, stamp)) in &self.files {
            let Ok(below) = file.strip_prefix(path) else { continue };
            for part in below.ancestors().filter(|part| !part.as_os_str().is_empty()) {
                let size = (part == below).then_some(stamp.size);
                if part.components().count() <= depth {
                    entries.insert(part.to_owned(), size);
                }
            }
        }
        Ok(entries.into_iter().map(|(path, size)| DirEntry { path, is_dir: size.is_none(), size }).collect())
    }
}

impl ExecutionEnvironment for Memory {
    fn facts(&self) -> &EnvFacts {
        &self.facts
    }

    fn resolve<'a>(&'a self, path: &'a str) -> Fut<'a, Result<RealPath>> {
        let mut real = PathBuf::from("/");
        let whole = self.facts.cwd.as_path().join(path);
        for part in whole.components() {
            match part {
                Component::ParentDir => drop(real.pop()),
                Component::Normal(name) => real.push(name),
                _ => {}
            }
        }
        let empty = || Error::new(ErrorKind::NotFound, "(empty path)", "a path is needed");
        let resolved = if path.is_empty() { Err(empty()) } else { Ok(RealPath::resolved(real)) };
        Box::pin(std::future::ready(resolved))
    }

    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>> {
        self.now(|files| Ok(files.get(path)?.map(|(_, stamp)| *stamp)))
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        self.now(|files| {
            let (data, _) = files.existing(path)?;
            let at = |offset: u64| data.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
            let end = range.length.map_or(data.len(), |length| at(range.start.saturating_add(length)));
            Ok(Box::pin(std::io::Cursor::new(data.slice(at(range.start)..end))) as Reader)
        })
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        self.now(|files| files.write(path, data, expect))
    }

    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        self.now(|files| files.list(path, depth as usize))
    }

    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        self.now(|files| {
            files.existing(path)?;
            files.files.remove(path.as_path());
            Ok(())
        })
    }

    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        self.now(|files| {
            let (data, _) = files.existing(from)?.clone();
            files.files.remove(from.as_path());
            files.put(to, data).map(drop)
        })
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        self.now(|_| Err(Error::new(ErrorKind::Unsupported, command.program, "there are no commands")))
    }
}
