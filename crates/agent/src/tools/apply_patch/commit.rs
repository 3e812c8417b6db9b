//! Several changes to files, done one after another, and undone if one of them fails.

use std::fmt::Write as _;
use std::sync::Arc;

use junto_env::{Error, ErrorKind, ExecutionEnvironment, Expect, RealPath, Result, Stamp};

/// A change to one file. A stamp is what the file was like when the change was worked out.
pub(super) enum Step {
    /// Makes a file that is not there.
    Create { path: RealPath, new: Vec<u8> },
    /// Replaces what is in a file.
    Write { path: RealPath, old: Vec<u8>, new: Vec<u8>, stamp: Stamp },
    /// Gives a file a name that no file has, and then maybe another content: the old, and the new.
    Move { from: RealPath, to: RealPath, stamp: Stamp, content: Option<(Vec<u8>, Vec<u8>)> },
    /// Removes a file.
    Remove { path: RealPath, stamp: Stamp },
}

/// How a change is undone.
enum Undo {
    /// By removing what was made.
    Remove { path: RealPath, made: Stamp },
    /// By writing what was there.
    Write { path: RealPath, old: Vec<u8>, made: Stamp },
    /// By giving it its name back.
    Rename { from: RealPath, to: RealPath },
}

/// What came of steps that were all taken.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// What else there is to say.
    pub(super) note: String,
    /// The files that were written, and what they are like now.
    pub(super) written: Vec<(RealPath, Stamp)>,
}

/// Does all steps, or none.
///
/// # Errors
/// Which step failed, and whether all is as it was before.
pub(super) async fn commit(
    env: Arc<dyn ExecutionEnvironment>,
    steps: Vec<Step>,
) -> std::result::Result<Done, String> {
    let env = &*env;
    let mut undo = Vec::new();
    let mut aside = Vec::new();
    for step in steps {
        if let Err(error) = take(env, step, &mut undo, &mut aside).await {
            let lost = put_back(env, undo).await;
            return Err(if lost.is_empty() {
                format!("{error}\nThe patch was not applied, and all files are as they were.")
            } else {
                format!("{error}\nThe patch was applied in part, because of more errors: {}", lost.join("; "))
            });
        }
    }
    // From here on the patch is applied: what was removed has lost its name already.
    let mut note = String::new();
    for path in aside {
        if let Err(error) = env.remove(&path).await {
            let _ = writeln!(note, "[a removed file is still there under another name: {error}]");
        }
    }
    let written = undo.into_iter().filter_map(|undo| match undo {
        Undo::Remove { path, made } | Undo::Write { path, made, .. } => Some((path, made)),
        Undo::Rename { .. } => None,
    });
    Ok(Done { note, written: written.collect() })
}

async fn take(
    env: &dyn ExecutionEnvironment,
    step: Step,
    undo: &mut Vec<Undo>,
    aside: &mut Vec<RealPath>,
) -> Result<()> {
    match step {
        Step::Create { path, new } => {
            let made = env.write(&path, &new, Expect::Absent).await?;
            undo.push(Undo::Remove { path, made });
        }
        Step::Write { path, old, new, stamp } => {
            let made = env.write(&path, &new, Expect::Unchanged(stamp)).await?;
            undo.push(Undo::Write { path, old, made });
        }
        Step::Move { from, to, stamp, content } => {
            expect(env, &from, Some(stamp)).await?;
            expect(env, &to, None).await?;
            env.rename(&from, &to).await?;
            undo.push(Undo::Rename { from: to.clone(), to: from });
            if let Some((old, new)) = content {
                // Where there are no digests, a file that was renamed is not what it was.
                let gone = || Error::new(ErrorKind::Changed, &to, "it was removed just now");
                let now = env.stamp(&to).await?.ok_or_else(gone)?;
                let made = env.write(&to, &new, Expect::Unchanged(now)).await?;
                undo.push(Undo::Write { path: to, old, made });
            }
        }
        Step::Remove { path, stamp } => {
            // Set aside at first: a file that is removed and written again would not be the same.
            expect(env, &path, Some(stamp)).await?;
            let other = free_name(env, &path).await?;
            env.rename(&path, &other).await?;
            undo.push(Undo::Rename { from: other.clone(), to: path });
            aside.push(other);
        }
    }
    Ok(())
}

/// Refuses if a file is not like this any more.
async fn expect(env: &dyn ExecutionEnvironment, path: &RealPath, stamp: Option<Stamp>) -> Result<()> {
    match (stamp, env.stamp(path).await?) {
        (None, None) => Ok(()),
        (Some(then), Some(now)) if now.same_content(&then) => Ok(()),
        (None, Some(_)) => Err(Error::new(ErrorKind::Exists, path, "it is there by now")),
        (Some(_), _) => {
            Err(Error::new(ErrorKind::Changed, path, "it changed while the patch was worked out"))
        }
    }
}

/// A name in the same directory that no file has.
async fn free_name(env: &dyn ExecutionEnvironment, path: &RealPath) -> Result<RealPath> {
    let name = path.as_path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 0..100 {
        let other = RealPath::resolved(path.as_path().with_file_name(format!(".{name}.removed-{number}")));
        if env.stamp(&other).await.is_ok_and(|found| found.is_none()) {
            return Ok(other);
        }
    }
    Err(Error::new(ErrorKind::Exists, path, "there is no free name to set it aside"))
}

/// Undoes the last step first. Gives what could not be undone.
async fn put_back(env: &dyn ExecutionEnvironment, undo: Vec<Undo>) -> Vec<String> {
    let mut lost = Vec::new();
    for step in undo.into_iter().rev() {
        let undone = match &step {
            Undo::Remove { path, made } => match expect(env, path, Some(*made)).await {
                Ok(()) => env.remove(path).await,
                Err(error) => Err(error),
            },
            // What somebody else wrote meanwhile is not overwritten.
            Undo::Write { path, old, made } => env.write(path, old, Expect::Unchanged(*made)).await.map(drop),
            Undo::Rename { from, to } => match expect(env, to, None).await {
                Ok(()) => env.rename(from, to).await,
                Err(error) => Err(error),
            },
        };
        lost.extend(undone.err().map(|error| error.to_string()));
    }
    lost
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use junto_env::LocalEnvironment;

    use super::*;

    struct Files {
        dir: tempfile::TempDir,
        env: Arc<LocalEnvironment>,
    }

    impl Files {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (name, content) in files {
                fs::write(dir.path().join(name), content).unwrap();
            }
            let env = Arc::new(LocalEnvironment::new(dir.path()).unwrap());
            Self { dir, env }
        }

        async fn path(&self, name: &str) -> RealPath {
            self.env.resolve(name).await.unwrap()
        }

        async fn stamp(&self, name: &str) -> Stamp {
            self.env.stamp(&self.path(name).await).await.unwrap().unwrap()
        }

        async fn create(&self, name: &str) -> Step {
            Step::Create { path: self.path(name).await, new: b"new".to_vec() }
        }

        async fn write(&self, name: &str) -> Step {
            let (path, stamp) = (self.path(name).await, self.stamp(name).await);
            let old = fs::read(path.as_path()).unwrap();
            Step::Write { path, old, new: b"new".to_vec(), stamp }
        }

        async fn rename(&self, from: &str, to: &str) -> Step {
            let content = Some((fs::read(self.dir.path().join(from)).unwrap(), b"new".to_vec()));
            let stamp = self.stamp(from).await;
            Step::Move { from: self.path(from).await, to: self.path(to).await, stamp, content }
        }

        async fn remove(&self, name: &str) -> Step {
            Step::Remove { path: self.path(name).await, stamp: self.stamp(name).await }
        }

        async fn commit(&self, steps: Vec<Step>) -> std::result::Result<String, String> {
            commit(Arc::clone(&self.env) as _, steps).await.map(|done| done.note)
        }

        fn all(&self) -> Vec<(String, String, u32)> {
            let mut all: Vec<_> = fs::read_dir(self.dir.path())
                .unwrap()
                .map(|entry| {
                    let entry = entry.unwrap();
                    let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                    let content = fs::read_to_string(entry.path()).unwrap();
                    (entry.file_name().to_string_lossy().into_owned(), content, mode)
                })
                .collect();
            all.sort();
            all
        }
    }

    const FOUR: [(&str, &str); 4] = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")];

    async fn four(files: &Files) -> Vec<Step> {
        vec![
            files.create("new").await,
            files.write("a").await,
            files.rename("b", "e").await,
            files.remove("c").await,
            files.remove("d").await,
        ]
    }

    #[tokio::test]
    async fn all_steps_are_taken() {
        let files = Files::new(&FOUR);
        let steps = four(&files).await;
        assert_eq!(files.commit(steps).await, Ok(String::new()));
        let names: Vec<_> = files.all().into_iter().map(|(name, content, _)| (name, content)).collect();
        let expected = [("a", "new"), ("e", "new"), ("new", "new")];
        assert_eq!(names, expected.map(|(name, content)| (name.to_owned(), content.to_owned())));
    }

    #[tokio::test]
    async fn a_step_that_fails_undoes_those_before_it() {
        // What somebody else changes while the patch is worked out; each breaks another step.
        for name in ["new", "a", "e", "c", "d"] {
            let files = Files::new(&FOUR);
            for (name, _) in FOUR {
                fs::set_permissions(files.dir.path().join(name), fs::Permissions::from_mode(0o750)).unwrap();
            }
            let steps = four(&files).await;
            fs::write(files.dir.path().join(name), "x").unwrap();
            let before = files.all();
            let error = files.commit(steps).await.unwrap_err();
            assert!(error.contains(&format!("/{name}: ")), "{name}: {error}");
            assert!(error.ends_with("all files are as they were."), "{name}: {error}");
            assert_eq!(files.all(), before, "{name}");
        }
    }

    #[tokio::test]
    async fn a_file_set_aside_takes_nobodys_name() {
        let files = Files::new(&[("a", "1"), (".a.removed-0", "mine")]);
        let steps = vec![files.remove("a").await];
        assert_eq!(files.commit(steps).await, Ok(String::new()));
        assert_eq!(files.all().len(), 1);
        assert_eq!(files.all()[0].1, "mine");
    }
}
