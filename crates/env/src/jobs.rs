//! The background commands of one owner, by number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{Background, CommandSpec, Error, ErrorKind, ExecutionEnvironment, Exit, Program, Result};

/// Which job; counted from 1 and never given twice.
pub type JobId = u64;

/// Background commands by number, and no more at once than a limit. Dropping it kills them all.
///
/// A job that has ended keeps its number, and what it said can be read, until it is ended by its owner
/// or another one needs the room.
pub struct Jobs {
    limit: usize,
    jobs: Mutex<Table>,
}

/// Where a job comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// What was started.
    pub program: Program,
    /// Whether the environment in which it was started confines it, and has one that does not.
    pub is_confined: bool,
}

#[derive(Default)]
struct Table {
    last: JobId,
    jobs: BTreeMap<JobId, Arc<Background>>,
    /// Where these come from, and perhaps some that are gone.
    origins: BTreeMap<JobId, Origin>,
    /// How many are about to be started.
    starting: usize,
}

impl Jobs {
    /// Room for so many.
    pub fn new(limit: usize) -> Self {
        Self { limit, jobs: Mutex::default() }
    }

    /// Starts a command in the background.
    ///
    /// # Errors
    /// `TooLarge` if there are as many as may be and all of them run; or if it cannot be started.
    pub async fn start(
        &self,
        env: &dyn ExecutionEnvironment,
        command: CommandSpec,
    ) -> Result<(JobId, Arc<Background>)> {
        let room = self.make_room()?;
        let origin = Origin { program: command.program.clone(), is_confined: env.unconfined().is_some() };
        let job = Arc::new(Background::new(env.spawn(command).await?));
        Ok((room.fill(Arc::clone(&job), origin), job))
    }

    /// Where a job comes from; `None` if there is no such job.
    pub fn origin(&self, id: JobId) -> Option<Origin> {
        let table = self.table();
        table.jobs.get(&id).and_then(|_| table.origins.get(&id)).cloned()
    }

    /// A job by its number.
    pub fn get(&self, id: JobId) -> Option<Arc<Background>> {
        self.table().jobs.get(&id).cloned()
    }

    /// All jobs, the oldest first.
    pub fn list(&self) -> Vec<(JobId, Arc<Background>)> {
        self.table().jobs.iter().map(|(id, job)| (*id, Arc::clone(job))).collect()
    }

    /// Ends a job and forgets it; `None` if there is no such job.
    pub async fn end(&self, id: JobId, grace: Duration) -> Option<Result<Exit>> {
        let job = self.table().jobs.remove(&id)?;
        Some(job.end(grace).await)
    }

    /// Ends all jobs at once and forgets them. Returns when all are gone.
    pub async fn end_all(&self, grace: Duration) {
        let jobs = std::mem::take(&mut self.table().jobs);
        for job in jobs.values() {
            job.ask_to_end(grace);
        }
        for job in jobs.values() {
            // How it ended is nobody's interest any more, and dropping it kills what would not end.
            let _ = job.end(grace).await;
        }
    }

    fn make_room(&self) -> Result<Room<'_>> {
        let mut table = self.table();
        if table.jobs.len() + table.starting >= self.limit {
            let ended = table.jobs.iter().find(|(_, job)| !job.is_running()).map(|(id, _)| *id);
            let Some(ended) = ended else {
                let message = format!("{} run already, and no more may; end one first", self.limit);
                return Err(Error::new(ErrorKind::TooLarge, "background commands", message));
            };
            table.jobs.remove(&ended);
        }
        table.starting += 1;
        Ok(Room(self))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is held for a job that is being started, and given back if it is not.
struct Room<'a>(&'a Jobs);

impl Room<'_> {
    fn fill(self, job: Arc<Background>, origin: Origin) -> JobId {
        let mut table = self.0.table();
        table.last += 1;
        let id = table.last;
        table.jobs.insert(id, job);
        let Table { jobs, origins, .. } = &mut *table;
        origins.retain(|id, _| jobs.contains_key(id));
        origins.insert(id, origin);
        id
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.0.table().starting -= 1;
    }
}
