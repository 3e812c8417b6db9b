//! What the modes say of what no rule is about.

use junto_core::{AgentSpec, Mode as ChildMode};

use super::ruled::Asked;
use super::{About, Bench, Hold, Judged};
use crate::Mode;
use crate::deed::{Deed, Target};
use crate::explanation::{By, Step};
use crate::glob::Extent;
use crate::paths::{
    guarded, holds_guarded, holds_private, holds_secrets, is_harmless, is_inside, is_private, is_secret,
};
use crate::rule::Answer;

/// What has been allowed already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing.
    None,
    /// The command whose deed it is, by a rule.
    Command,
}

/// Whose deed it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground<'a> {
    /// A tool's own.
    Tool,
    /// Code in a kernel.
    Code,
    /// A command's, which is shown so.
    Command(&'a str),
}

impl Bench<'_> {
    /// Judges a deed; nothing, if it is none.
    pub(super) fn deed(&self, deed: &Deed, due: Due, ground: Ground) -> Option<Judged> {
        let (what, asked, about) = match deed {
            Deed::Read(target) | Deed::ReadAll(target) => {
                let extent = if matches!(deed, Deed::ReadAll(_)) { Extent::Whole } else { Extent::Itself };
                let asked = Asked::Read(target, extent);
                (format!("read {}", shown(target)), Some(asked), About::Read(target.clone()))
            }
            Deed::Write(target) => {
                let asked = Asked::Write(target, Extent::Itself);
                (format!("write {}", shown(target)), Some(asked), About::Write(target.clone()))
            }
            Deed::Remove(target) => {
                let asked = Asked::Write(target, Extent::Whole);
                (format!("remove {}", shown(target)), Some(asked), About::Write(target.clone()))
            }
            Deed::Net(host) => {
                let what = host.as_ref().map_or("reach out".to_owned(), |host| format!("reach {host}"));
                (what, Some(Asked::Net(host.as_deref())), About::Net(host.clone()))
            }
            Deed::Opaque(_) | Deed::Hidden(_) | Deed::Beyond(_) | Deed::Unclear(_) => {
                (String::new(), None, About::Other)
            }
        };
        let what = match ground {
            Ground::Tool => what,
            Ground::Code => "run code".to_owned(),
            Ground::Command(command) if what.is_empty() => command.to_owned(),
            Ground::Command(command) => format!("{what} ({command})"),
        };
        match deed {
            Deed::Read(Target::OneOf(paths)) | Deed::Write(Target::OneOf(paths))
                if paths.iter().all(|path| is_harmless(path)) =>
            {
                return None;
            }
            // Pipes have nothing below them.
            Deed::ReadAll(Target::OneOf(paths)) if paths.is_empty() => return None,
            _ => {}
        }
        let judged = |answer: Answer, by: By, why: String| {
            let hold = if matches!(by, By::Rule(_)) { Hold::Ruled } else { Hold::Held };
            Judged { step: Step { what, answer, by, why }, about, hold }
        };
        match asked.and_then(|asked| self.ruled(asked)) {
            // What writes is written in `read-only`, whatever a rule says.
            Some((Answer::Allow, ..)) if self.mode == Mode::ReadOnly && writes(deed) => {}
            Some((answer, by, why)) => return Some(judged(answer, by, why)),
            None => {}
        }
        // A rule that allows the command allows what it does, but not what cannot be seen of it, and not keys.
        if due == Due::Command
            && !matches!(
                deed,
                Deed::Unclear(_) | Deed::Read(Target::OneOf(_)) | Deed::ReadAll(Target::OneOf(_))
            )
        {
            return None;
        }
        let (answer, why) = self.by_mode(deed, ground);
        Some(judged(answer, By::Mode(self.mode), why))
    }

    fn by_mode(&self, deed: &Deed, ground: Ground) -> (Answer, String) {
        if self.mode == Mode::Full {
            return match deed {
                Deed::Unclear(why) | Deed::Hidden(why) if self.some_forbid() => {
                    (Answer::Ask, format!("{why}; it may be what a rule is about"))
                }
                _ => (Answer::Allow, "nothing is asked about".to_owned()),
            };
        }
        match deed {
            Deed::Read(target) => self.reading(target, is_secret),
            Deed::ReadAll(target) => self.reading(target, holds_secrets),
            Deed::Write(target) => self.writing(target, false),
            Deed::Remove(target) => self.writing(target, true),
            Deed::Net(_) => match (self.mode, ground) {
                (Mode::ReadOnly, Ground::Command(_)) => {
                    (Answer::Deny, "the mode does not let commands reach out".to_owned())
                }
                _ => (Answer::Ask, "it reaches out".to_owned()),
            },
            // The sandbox holds it, but not to the rules. What code runs is seen by nobody, here or elsewhere.
            Deed::Hidden(why)
                if self.confined.whole() && ground != Ground::Code && self.some_forbid_commands() =>
            {
                (Answer::Ask, format!("{why}; it may be what a rule is about"))
            }
            Deed::Opaque(why) | Deed::Hidden(why) => match self.mode {
                Mode::ReadOnly | Mode::Workspace if self.confined.whole() => {
                    (Answer::Allow, format!("the sandbox holds it, although {why}"))
                }
                Mode::ReadOnly => (Answer::Deny, format!("{why}, and no sandbox would hold it")),
                _ => (Answer::Ask, why.clone()),
            },
            Deed::Beyond(why) | Deed::Unclear(why) => match self.mode {
                Mode::ReadOnly => (Answer::Deny, why.clone()),
                _ => (Answer::Ask, why.clone()),
            },
        }
    }

    fn reading(
        &self,
        target: &Target,
        is_secret: fn(&std::path::Path, &crate::Place) -> bool,
    ) -> (Answer, String) {
        match target {
            Target::OneOf(paths) => match paths.iter().find(|path| is_secret(path, self.place)) {
                Some(path) => {
                    (Answer::Ask, format!("{} is where keys or passwords are kept", path.display()))
                }
                None => (Answer::Allow, "it only reads".to_owned()),
            },
            Target::Unknown(_) if self.confined.files => {
                (Answer::Allow, "the sandbox hides keys and passwords".to_owned())
            }
            Target::Unknown(_) => (Answer::Ask, "what it reads is known only when it runs".to_owned()),
        }
    }

    fn writing(&self, target: &Target, removes: bool) -> (Answer, String) {
        match (self.mode, target) {
            (Mode::ReadOnly, _) => (Answer::Deny, "the mode lets nothing be written".to_owned()),
            (Mode::Ask, _) => (Answer::Ask, "it writes".to_owned()),
            (_, Target::Unknown(_)) if self.confined.files => {
                (Answer::Allow, "the sandbox keeps it inside".to_owned())
            }
            (_, Target::Unknown(_)) => (Answer::Ask, "what it writes is known only when it runs".to_owned()),
            (_, Target::OneOf(paths)) => {
                for path in paths {
                    if removes && holds_guarded(path, self.place) {
                        return (Answer::Ask, "the working directory itself would be gone".to_owned());
                    }
                    if !is_inside(path, self.place) {
                        return (
                            Answer::Ask,
                            format!("{} is outside of the working directory", path.display()),
                        );
                    }
                    if is_private(path, self.place) || removes && holds_private(path, self.place) {
                        return (Answer::Ask, format!("{} is the user's own", path.display()));
                    }
                    if let Some(name) = guarded(path, self.place) {
                        return (
                            Answer::Ask,
                            format!("`{name}` is about how the repository or an agent is set up"),
                        );
                    }
                }
                (Answer::Allow, "it stays in the working directory or among temporary files".to_owned())
            }
        }
    }

    /// A tool whose doings are not known.
    pub(super) fn tool(&self, name: &str) -> Judged {
        let (answer, by, why) = self.ruled(Asked::Tool(name)).unwrap_or_else(|| {
            let (answer, why) = match self.mode {
                Mode::Full => (Answer::Allow, "nothing is asked about"),
                _ => (Answer::Ask, "what the tool does is not known"),
            };
            (answer, By::Mode(self.mode), why.to_owned())
        });
        by_name(name, answer, by, why)
    }

    /// What rules say of a tool by its name: one that denies or asks stands beside whatever its doings are, and one
    /// that allows takes away the questions that no rule asks. In `read-only` it makes nothing be written or run.
    pub(super) fn by_tool(&self, tool: &str, steps: &mut Vec<Judged>) {
        // Those that are judged by their names have been.
        if steps.iter().any(|judged| matches!(&judged.about, About::Tool(_))) {
            return;
        }
        let Some((answer, by, why)) = self.ruled(Asked::Tool(tool)) else { return };
        if answer == Answer::Allow {
            for judged in steps.iter_mut().filter(|judged| {
                // Where keys are kept, only a rule about that helps.
                judged.step.answer == Answer::Ask
                    && matches!(judged.step.by, By::Mode(_))
                    && !matches!(judged.about, About::Read(Target::OneOf(_)))
            }) {
                judged.step.answer = Answer::Allow;
                judged.step.by = by.clone();
                judged.step.why.clone_from(&why);
            }
            return;
        }
        steps.push(by_name(tool, answer, by, why));
    }

    /// Another agent. One of ours is judged call by call; of others nothing is seen.
    pub(super) fn spawn(&self, spec: &AgentSpec) -> Judged {
        let ours = spec.kind == "native";
        let (answer, by, why) = self.ruled(Asked::Tool("spawn_agent")).unwrap_or_else(|| {
            let (answer, why) = match (self.mode, spec.mode) {
                (Mode::Full, _) => (Answer::Allow, "nothing is asked about"),
                (Mode::ReadOnly, ChildMode::Full) => (Answer::Deny, "it may do more than this session"),
                (_, ChildMode::Full) => (Answer::Ask, "it may do more than this session"),
                _ if ours => (Answer::Allow, "what it does is judged call by call"),
                (Mode::ReadOnly, ChildMode::WorkspaceWrite) => {
                    (Answer::Deny, "it may do more than this session")
                }
                _ => (Answer::Ask, "what it does is not judged here"),
            };
            (answer, By::Mode(self.mode), why.to_owned())
        });
        let what = format!("start an agent ({})", spec.kind);
        let mut judged = by_name("spawn_agent", answer, by, why);
        judged.step.what = what;
        judged
    }
}

fn by_name(name: &str, answer: Answer, by: By, why: String) -> Judged {
    let hold = if matches!(by, By::Rule(_)) { Hold::Ruled } else { Hold::Held };
    let step = Step { what: format!("use the tool {name}"), answer, by, why };
    Judged { step, about: About::Tool(name.to_owned()), hold }
}

fn writes(deed: &Deed) -> bool {
    matches!(deed, Deed::Write(_) | Deed::Remove(_))
}

fn shown(target: &Target) -> String {
    match target {
        Target::Unknown(source) => source.clone(),
        Target::OneOf(paths) => {
            let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            shown.join(" or ")
        }
    }
}
