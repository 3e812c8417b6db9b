//! What agents may do, and what the kernel keeps them from: a mode, rules and a sandbox put together.

use std::ffi::OsString;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_core::{Action, Leash, Policy, Rule, Verdict};
use junto_env::sandbox::sweep;
use junto_env::{
    Access, Error, ErrorKind, ExecutionEnvironment, Gap, LocalBuilder, Means, Network, Sandbox,
    SandboxedEnvironment, entries, follow_links,
};
use junto_kernel::sandbox_for_kernels;
use junto_policy::{By, Confined, Entry, Explanation, Finds, Judge, Links, Mode, Place, Rules};

/// The directories for temporary files where nobody says which they are.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// What agents may do, and what the kernel keeps their commands from.
///
/// The modes `read-only` and `workspace` let commands run that nobody has understood, because the kernel
/// holds them. Where it cannot, that is an error and no surprise: whoever wants to go on without says so
/// ([`Enforcement::Off`]), and then commands are judged by what can be read in them.
#[derive(Clone, Debug)]
pub struct Guard {
    /// How much is decided without asking.
    pub mode: Mode,
    /// What is allowed, asked about or denied beside that. Those of a project only if it is trusted.
    pub rules: Vec<Rules>,
    /// Whether the kernel holds what the mode lets happen.
    pub enforcement: Enforcement,
    /// What commands are kept from in the sandbox beside what the mode says: whom they reach, what else they
    /// may change, what they do not read, how much they take. Which files they change, and whether less is
    /// accepted, is the guard's to say.
    pub sandbox: Sandbox,
    /// Whether pages of the web may be fetched without asking, by the tools for that. Rules still hold, and
    /// commands are not meant.
    pub web: bool,
    /// What this machine has to confine commands with, where that is known already; looking takes some
    /// milliseconds.
    pub means: Option<Means>,
}

/// Whether the kernel holds what a mode lets happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// In the modes that need it, as well as this machine can; an error if it cannot keep files and system
    /// calls from commands. What is open beside is in [`Held::gaps`].
    #[default]
    Auto,
    /// In the modes that need it, without any gap; else an error.
    Whole,
    /// Not at all.
    Off,
}

/// An environment, and the judge of what is done in it.
pub struct Held {
    /// Where tools act.
    pub env: Arc<dyn ExecutionEnvironment>,
    /// Judges what they would do.
    pub judge: Arc<Judge>,
    /// What commands can do although the mode says otherwise.
    pub gaps: Vec<Gap>,
    /// Whether commands are in a sandbox.
    pub is_confined: bool,
}

impl Held {
    /// What judges calls: the judge, or one that lets pages of the web be fetched.
    pub(crate) fn policy(&self, guard: &Guard) -> Arc<dyn Policy> {
        let judge = Arc::clone(&self.judge);
        if guard.web { Arc::new(WithWeb(judge)) } else { judge }
    }
}

impl Guard {
    /// A guard with this mode and nothing else.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            rules: Vec::new(),
            enforcement: Enforcement::default(),
            sandbox: Sandbox::default(),
            web: false,
            means: None,
        }
    }

    /// The sandbox that the mode wants; none if it wants none.
    fn sandbox(&self) -> Option<Sandbox> {
        let access = match (self.mode, self.enforcement) {
            (_, Enforcement::Off) | (Mode::Ask | Mode::Full, _) => return None,
            (Mode::ReadOnly, _) => Access::ReadOnly,
            (Mode::Workspace, _) => Access::Workspace,
        };
        Some(self.confined(access))
    }

    /// The sandbox with this access to files, and what rules keep from programs.
    fn confined(&self, access: Access) -> Sandbox {
        let accept_weaker = self.enforcement == Enforcement::Auto;
        let mut unread = self.sandbox.unread.clone();
        // What a program reads nobody sees, so what rules keep from it is not there for it.
        unread.extend(self.rules.iter().flat_map(Rules::unread).map(PathBuf::from));
        Sandbox { access, accept_weaker, unread, ..self.sandbox.clone() }
    }

    /// The environment that a builder describes, held by this guard.
    ///
    /// # Errors
    /// `Unsupported` if this machine cannot hold commands as it is wanted; else what keeps the environment from
    /// being made.
    pub fn hold(&self, local: LocalBuilder) -> Result<Held, Error> {
        let Some(sandbox) = self.sandbox() else {
            let env: Arc<dyn ExecutionEnvironment> = Arc::new(local.build()?);
            sweep(env.facts());
            let judge = Arc::new(self.judge(&*env));
            return Ok(Held { env, judge, gaps: Vec::new(), is_confined: false });
        };
        let means = self.means.clone().unwrap_or_else(|| Means::find(None));
        let gaps = means.gaps(&sandbox);
        let open: Vec<Gap> = match self.enforcement {
            Enforcement::Auto => gaps.iter().copied().filter(|gap| is_wide(*gap)).collect(),
            Enforcement::Whole | Enforcement::Off => gaps,
        };
        if !open.is_empty() {
            return Err(self.cannot_hold(&open));
        }
        let env = SandboxedEnvironment::with_means(local, sandbox, &means)?;
        let gaps = env.gaps().to_vec();
        let env: Arc<dyn ExecutionEnvironment> = Arc::new(env);
        let judge = Arc::new(self.judge(&*env));
        Ok(Held { env, judge, gaps, is_confined: true })
    }

    /// The environment for a command-line agent that does not keep to a mode by itself. It reaches whomever it
    /// likes, or it could not ask its model, and changes what `access` lets, what is in `writable`, and temporary
    /// files. Without a sandbox if the guard wants none.
    ///
    /// # Errors
    /// As [`Guard::hold`].
    pub fn cage(
        &self,
        local: LocalBuilder,
        access: Access,
        mut writable: Vec<PathBuf>,
    ) -> Result<Arc<dyn ExecutionEnvironment>, Error> {
        if self.enforcement == Enforcement::Off {
            return Ok(Arc::new(local.build()?));
        }
        writable.extend(self.sandbox.writable.iter().cloned());
        // Where it keeps its sessions it writes in any case.
        let access = if access == Access::ReadOnly { Access::Aside } else { access };
        let accept_weaker = self.enforcement == Enforcement::Auto;
        let sandbox =
            Sandbox { access, accept_weaker, network: Network::On, writable, ..self.sandbox.clone() };
        let means = self.means.clone().unwrap_or_else(|| Means::find(None));
        Ok(Arc::new(SandboxedEnvironment::with_means(local, sandbox, &means)?))
    }

    /// The environment for kernels, which need a folder for their sockets: in the same sandbox as commands, and with
    /// [`Enforcement::Whole`] also in the modes that have none. Absent: they run where commands do.
    ///
    /// # Errors
    /// As [`Guard::hold`].
    pub fn room(
        &self,
        local: LocalBuilder,
        run_dir: &Path,
    ) -> Result<Option<Arc<dyn ExecutionEnvironment>>, Error> {
        let insists = self.enforcement == Enforcement::Whole;
        let wanted = self.sandbox().or_else(|| insists.then(|| self.confined(Access::Workspace)));
        let Some(sandbox) = wanted else { return Ok(None) };
        let means = self.means.clone().unwrap_or_else(|| Means::find(None));
        let accepted = match self.enforcement {
            Enforcement::Auto => means.gaps(&sandbox),
            Enforcement::Whole | Enforcement::Off => Vec::new(),
        };
        let sandbox = sandbox_for_kernels(sandbox, run_dir);
        // What is not open for commands must not be for code: it was judged as if it were held like them.
        let open: Vec<Gap> = means.gaps(&sandbox).into_iter().filter(|gap| !accepted.contains(gap)).collect();
        if !open.is_empty() {
            return Err(self.cannot_hold(&open));
        }
        Ok(Some(Arc::new(SandboxedEnvironment::with_means(local, sandbox, &means)?)))
    }

    /// The judge of what is done in an environment.
    pub fn judge(&self, env: &dyn ExecutionEnvironment) -> Judge {
        let facts = env.facts();
        let enforces = facts.enforces;
        let Sandbox { writable, temporary, unread, .. } = &self.sandbox;
        let cwd = facts.cwd.as_path();
        let meant = |path: &PathBuf| match (path.strip_prefix("~"), &facts.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => cwd.join(path),
        };
        // Whoever works in such a place has chosen it.
        let private = with_real(unread.iter().map(meant)).into_iter().filter(|path| !cwd.starts_with(path));
        let usual = || TEMPORARY.iter().map(PathBuf::from).collect();
        let place = Place {
            workdir: cwd.to_owned(),
            temp: with_real(
                temporary.clone().unwrap_or_else(usual).into_iter().chain(writable.iter().cloned()),
            ),
            home: facts.home.clone(),
            private: private.collect(),
            confined: Confined { files: enforces.writes && enforces.secrets, network: enforces.network },
            links: Links::new(follow_links).listed(listed),
            finds: Finds::new(|path| path.symlink_metadata().is_ok()),
        };
        Judge::new(self.mode, place, self.rules.clone())
    }

    fn cannot_hold(&self, open: &[Gap]) -> Error {
        let list = |texts: Vec<String>| texts.join("; ");
        let can = list(open.iter().map(ToString::to_string).collect());
        let mut needs: Vec<&str> = open.iter().map(|gap| gap.needs()).collect();
        needs.dedup();
        let message = format!(
            "the mode {} needs commands to be held, and here they could {can}; that takes {}",
            self.mode,
            needs.join(", or ")
        );
        Error::new(ErrorKind::Unsupported, "sandbox", message)
    }
}

/// Directories, and where they lead: `/tmp` is a link on some systems.
fn with_real(directories: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    directories
        .flat_map(|dir| [follow_links(&dir).filter(|real| *real != dir), Some(dir)])
        .flatten()
        .collect()
}

/// What is in a directory, for patterns of the shell that may mean a link.
fn listed(directory: &Path) -> Vec<(OsString, Entry)> {
    let kind = |kind: FileType| match kind {
        kind if kind.is_symlink() => Entry::Link,
        kind if kind.is_dir() => Entry::Directory,
        _ => Entry::Other,
    };
    entries(directory).into_iter().map(|(name, of)| (name, kind(of))).collect()
}

/// A judge that does not ask about pages of the web, unless a rule says so.
struct WithWeb(Arc<Judge>);

impl Policy for WithWeb {
    fn decide(&self, actions: &[Action]) -> Verdict {
        Self::lenient(self.0.explain(actions), actions)
    }

    fn decide_call(&self, tool: &str, actions: &[Action]) -> Verdict {
        Self::lenient(self.0.explain_call(tool, actions), actions)
    }

    fn changes_nothing(&self, actions: &[Action]) -> bool {
        Policy::changes_nothing(&*self.0, actions)
    }

    fn learn(&self, rule: &Rule) -> Result<(), String> {
        Policy::learn(&*self.0, rule)
    }

    fn learn_all(&self, rules: &[Rule]) -> Result<(), String> {
        Policy::learn_all(&*self.0, rules)
    }

    fn yes(&self) -> Leash {
        Policy::yes(&*self.0)
    }
}

impl WithWeb {
    fn lenient(explained: Explanation, actions: &[Action]) -> Verdict {
        let Explanation { verdict, steps, .. } = explained;
        let only_pages = actions.iter().all(|action| matches!(action, Action::Net { .. }));
        let by_mode = steps.iter().all(|step| matches!(step.by, By::Mode(_)));
        match verdict {
            Verdict::Ask { .. } if only_pages && by_mode => Verdict::Allow(Leash::Kept),
            verdict => verdict,
        }
    }
}

/// Whether a gap is so wide that the rest holds nothing.
fn is_wide(gap: Gap) -> bool {
    matches!(gap, Gap::Files | Gap::SystemCalls | Gap::Limits)
}

#[cfg(test)]
mod tests {
    use junto_env::LocalEnvironment;

    use super::*;

    fn hold(guard: Guard, means: Means) -> Result<Held, Error> {
        let guard = Guard { means: Some(means), ..guard };
        guard.hold(LocalEnvironment::builder("/"))
    }

    #[test]
    fn what_cannot_be_held_is_an_error_and_no_surprise() {
        for mode in [Mode::ReadOnly, Mode::Workspace] {
            for enforcement in [Enforcement::Auto, Enforcement::Whole] {
                let guard = Guard { enforcement, ..Guard::new(mode) };
                let Err(error) = hold(guard, Means::default()) else { panic!("{mode} {enforcement:?}") };
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                let said = error.to_string();
                assert!(said.contains(mode.name()) && said.contains("bwrap"), "{said}");
            }
            let off = Guard { enforcement: Enforcement::Off, ..Guard::new(mode) };
            let held = hold(off, Means::default()).unwrap();
            assert!(!held.is_confined && held.env.unconfined().is_none());
            assert_eq!(held.judge.mode(), mode);
        }
    }

    #[test]
    fn modes_that_need_no_sandbox_have_none() {
        for mode in [Mode::Ask, Mode::Full] {
            let held = hold(Guard::new(mode), Means::default()).unwrap();
            assert!(!held.is_confined && held.gaps.is_empty(), "{mode}");
        }
    }
}
