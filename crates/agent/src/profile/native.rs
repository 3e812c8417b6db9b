//! The vendors' own tools: the names, parameters, arguments and results that their agents use.
//!
//! Each tool is a row of a table ([`codex`], [`claude`], [`gemini`]): a name, a schema, the tool of ours
//! that it stands for, and at most two small functions, one from the vendor's arguments to ours and one
//! from what came of it to what the vendor's agent says. What is done is done by our tools and by the
//! environment; descriptions are our own.

mod adapter;
mod agents;
mod arguments;
mod claude;
mod codex;
mod command;
mod gemini;
mod heard;
mod job;
mod numbered;
mod questions;
mod search;

use std::sync::Arc;

use junto_core::Tool;
use junto_env::{Background, JobId};
use junto_llm::{ToolKind, ToolSpec};

use self::adapter::Adapter;
use self::command::Command;
use self::job::{Job, JobList};
use self::questions::Questions;
use self::search::Grep;
use super::{Family, builtin};
use crate::ToolRegistry;
use crate::tools::{self, Timeouts};

/// A tool of a vendor's agent.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The tools of ours whose work it does; the first is the one it stands for.
    pub(crate) ours: &'static [&'static str],
    used: Used,
    /// What the model is told of it.
    told: fn() -> (&'static str, ToolKind),
    way: Way,
}

/// When a tool is declared to the model. It is understood always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Used {
    /// Always.
    Always,
    /// When the host, or the session, adds the tool of ours that it stands for.
    WhenAdded,
    /// Never: a name from another version of the agent.
    Never,
}

/// How a tool works.
enum Way {
    /// Through tools of ours: these.
    Through(&'static [&'static str], adapter::Ask, adapter::Answer),
    /// By running a command.
    Command(command::Ask, command::Tell),
    /// By talking with a command that runs on.
    Job(job::Ask, job::Tell),
    /// By naming those.
    Jobs(fn(&[(JobId, Arc<Background>)]) -> String),
    /// By searching in files, at the place that the parameter of this name says.
    Search(&'static str, search::Ask, search::Tell, fn(&str) -> String),
    /// By asking the user.
    Questions(questions::Tell),
}

/// What tools are made from: those of a session where it has them, else ours as they are.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub(crate) from: &'a [Arc<dyn Tool>],
    pub(crate) timeouts: Timeouts,
}

impl Made<'_> {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let own = self.from.iter().find(|tool| tool.spec().name == name && !is_native(&***tool));
        own.cloned().or_else(|| builtin::named(name, self.timeouts))
    }
}

impl Row {
    fn spec(&self) -> ToolSpec {
        let (description, kind) = (self.told)();
        ToolSpec { name: self.name.to_owned(), description: description.to_owned(), kind }
    }

    /// The tool; none if it needs one of ours that is not there.
    pub(crate) fn make(&self, made: Made<'_>) -> Option<Arc<dyn Tool>> {
        let spec = self.spec();
        Some(match self.way {
            Way::Through(names, ask, answer) => {
                let ours = names.iter().map(|name| made.tool(name)).collect::<Option<_>>()?;
                Arc::new(Adapter { spec, ours, ask, answer })
            }
            Way::Command(ask, tell) => Arc::new(Command { spec, timeouts: made.timeouts, ask, tell }),
            Way::Job(ask, tell) => Arc::new(Job { spec, ask, tell }),
            Way::Jobs(tell) => Arc::new(JobList { spec, tell }),
            Way::Search(place, ask, tell, fault) => Arc::new(Grep { spec, place, ask, tell, fault }),
            Way::Questions(tell) => Arc::new(Questions { spec, tell }),
        })
    }
}

fn rows(family: Family) -> &'static [Row] {
    match family {
        Family::OpenAi => codex::TOOLS,
        Family::Anthropic => claude::TOOLS,
        Family::Gemini => gemini::TOOLS,
        Family::Compatible => &[],
    }
}

/// All tools of all vendors with this name.
pub(crate) fn named(name: &str) -> impl Iterator<Item = &'static Row> {
    Family::ALL.into_iter().flat_map(rows).filter(move |row| row.name == name)
}

/// Whether a tool is one of the vendors', and not one of ours, or somebody's, with the same name.
pub(crate) fn is_native(tool: &dyn Tool) -> bool {
    named(&tool.spec().name).any(|row| row.spec() == *tool.spec())
}

/// The tools of a family under the vendor's names, with the vendor's schemas, arguments and results. A
/// family without an agent of its own has ours.
pub(super) fn tools(family: Family, timeouts: Timeouts) -> Vec<Arc<dyn Tool>> {
    if rows(family).is_empty() {
        return builtin::tools(family, timeouts);
    }
    let made = Made { from: &[], timeouts };
    rows(family).iter().filter(|row| row.used == Used::Always).filter_map(|row| row.make(made)).collect()
}

/// The tool of a family that has this name at its vendor's, also one that is not always declared.
pub(super) fn tool(family: Family, name: &str, timeouts: Timeouts) -> Option<Arc<dyn Tool>> {
    rows(family).iter().find(|row| row.name == name)?.make(Made { from: &[], timeouts })
}

/// The tools as the vendor's agent has them, of those that a host or a session adds to a profile: asking
/// the user, the web, other agents. Any other stays as it is.
pub(crate) fn added(family: Family, timeouts: Timeouts, tools: &ToolRegistry) -> ToolRegistry {
    let from: Vec<Arc<dyn Tool>> = tools.iter().cloned().collect();
    let made = Made { from: &from, timeouts };
    let mut added = ToolRegistry::default();
    for tool in tools {
        let name = tool.spec().name.as_str();
        let stands_for = |row: &&Row| row.used == Used::WhenAdded && row.ours.first() == Some(&name);
        let row = rows(family).iter().find(stands_for);
        // A tool that does not go through ours would put itself in the place of somebody else's.
        let row = row.filter(|row| matches!(row.way, Way::Through(..)) || is_ours(&**tool));
        match row.and_then(|row| row.make(made)) {
            Some(theirs) => {
                added.put_behind(Arc::clone(tool));
                added.register(theirs);
            }
            None => drop(added.register(Arc::clone(tool))),
        }
    }
    added
}

/// Whether a tool is ours as it is, and not another with its name.
fn is_ours(tool: &dyn Tool) -> bool {
    tools::named(&tool.spec().name).is_some_and(|ours| ours.spec() == tool.spec())
}

/// A function that takes an object like this.
fn function(parameters: serde_json::Value) -> ToolKind {
    ToolKind::Function { parameters: parameters.into(), strict: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also of those that are never declared: what they take is checked.
    #[test]
    fn every_schema_is_one_and_every_name_is_there_once() {
        let made = Made { from: &[], timeouts: Timeouts::default() };
        for family in Family::ALL {
            let mut names: Vec<&str> = rows(family).iter().map(|row| row.name).collect();
            names.sort_unstable();
            assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
            for row in rows(family) {
                let spec = row.spec();
                if let Some(parameters) = spec.parameters() {
                    assert!(ToolSpec::new(&spec.name, &spec.description, parameters.clone()).is_ok());
                    let root = parameters.get("additionalProperties");
                    assert_eq!(root, Some(&serde_json::json!(false)), "{}", row.name);
                }
                let ours = row.ours.first().expect("a tool of ours");
                let agents = ["spawn_agent", "send_input", "wait", "close_agent"];
                assert!(tools::named(ours).is_some() || agents.contains(ours), "{ours}");
                let tool = row.make(made);
                assert_eq!(tool.is_none(), agents.contains(ours), "{}", row.name);
                assert!(tool.is_none_or(|tool| is_native(&*tool)));
            }
        }
        assert!(tools::all().iter().all(|tool| !is_native(&**tool)));
    }

    #[test]
    fn what_is_added_takes_the_vendors_form() {
        let check = |family: Family, expected: &[&str]| {
            let ours = ["ask_user", "web_fetch", "grep"].map(|name| tools::named(name).unwrap());
            let added = added(family, Timeouts::default(), &Vec::from(ours).into());
            assert_eq!(added.names().collect::<Vec<_>>(), expected);
        };
        check(Family::OpenAi, &["request_user_input", "web_fetch", "grep"]);
        check(Family::Anthropic, &["AskUserQuestion", "WebFetch", "grep"]);
        check(Family::Gemini, &["ask_user", "web_fetch", "grep"]);
        check(Family::Compatible, &["ask_user", "web_fetch", "grep"]);
    }
}
