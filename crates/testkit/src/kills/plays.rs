//! What is worked on: tasks for the agent, and what the model does.

use junto_llm::Wire;
use junto_llm::catalog::Catalog;
use junto_twin::{Call, Play, Step, UsageOverride, When};
use serde_json::json;

/// What is said while the agent works, where it is told something.
pub(super) const STEERING: &str = "And mind the gap.";
/// The file to which each command adds a line when it runs.
pub(super) const RAN: &str = "ran.txt";

/// What the agent is told, one after the other. The first is in every request of its own, and in none of a child's.
pub(super) const TASKS: [&str; 2] = ["Work on the first part.", "Now the second part."];

/// Milliseconds between two pieces of an answer, so that there is a time in which the model speaks.
const PACE: u64 = 1;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scenario {
    /// Rounds of tools, some of them side by side, a plan, a long answer.
    Rounds,
    /// Everything is asked about, and somebody says something meanwhile.
    Approvals,
    /// The conversation gets too long, and is summed up by the model.
    Compaction,
    /// Output that is too large for the journal.
    Blobs,
    /// A child does the work.
    Children,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Rounds, Self::Approvals, Self::Compaction, Self::Blobs, Self::Children];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Approvals => "approvals",
            Self::Compaction => "compaction",
            Self::Blobs => "blobs",
            Self::Children => "children",
        }
    }

    /// The flags of the command.
    pub(super) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Approvals => &["--ask"],
            _ => &[],
        }
    }

    /// Whether somebody says something before the first approval is given.
    pub(super) fn steers(self) -> bool {
        self == Self::Approvals
    }

    /// What the model does.
    pub(super) fn play(self, wire: Wire) -> Play {
        let steps = match self {
            Self::Rounds => vec![
                Step {
                    text: Some("First I look around.".into()),
                    ..Step::calls([shell("a", "sleep 0.01; echo seen")])
                },
                Step::calls([shell("b", "sleep 0.03; echo slow"), shell("c", "echo quick; sleep 0.01")]),
                plan("in_progress"),
                Step::calls([shell("d", "echo one; sleep 0.01; echo two >&2; exit 3"), write("written")]),
                Step { repeat: Some(12), ..Step::text("This is how far I have come, word for word. ") },
                plan("completed"),
                Step::calls([shell("f", "cat e.txt")]),
                // What it wrote itself it may write again, whichever process wrote it.
                Step::calls([write("written again")]),
                Step::text("All is done."),
            ],
            Self::Approvals => vec![
                Step::calls([shell("a", "sleep 0.01; echo seen")]),
                Step::calls([shell("b", "echo slow; sleep 0.02"), shell("c", "echo quick")]),
                Step::text("The first part is done."),
                Step::calls([shell("d", "echo more")]),
                Step::text("All is done."),
            ],
            Self::Compaction => compaction(wire),
            Self::Blobs => vec![
                Step::calls([shell("a", "seq 1 220000"), shell("b", "echo small")]),
                Step::text("It is long."),
                Step::calls([shell("c", "seq 1 200000; sleep 0.01; echo end")]),
                Step::text("All is done."),
            ],
            Self::Children => vec![
                child_step(Step::calls([shell("x", "sleep 0.02; echo found")])),
                child_step(Step::calls([shell("y", "echo found more")])),
                child_step(Step::text("The child found two things.")),
                Step::calls([Call::new("spawn_agent", json!({"task": CHILD, "wait": true}))]),
                Step::calls([shell("a", "echo checked")]),
                Step::text("The first part is done."),
                Step::calls([shell("b", "echo more")]),
                Step::text("All is done."),
            ],
        };
        Play::of(steps.into_iter().map(paced).collect::<Vec<_>>())
    }
}

/// What a child is told.
const CHILD: &str = "Find two things.";

/// A command that adds a line to a file when it runs, and then does something.
fn shell(label: &str, then: &str) -> Call {
    Call::new("shell", json!({"command": format!("echo {label} >> {RAN}; {then}")}))
}

fn write(text: &str) -> Call {
    Call::new("write_file", json!({"file_path": "e.txt", "content": format!("{text}\n")}))
}

fn plan(status: &str) -> Step {
    Step::call("update_plan", json!({"steps": [{"step": "look at it", "status": status}]}))
}

fn child_step(step: Step) -> Step {
    let when = When { contains: Some(CHILD.into()), ..When::default() };
    Step { times: Some(1), ..step.when(when) }
}

fn paced(step: Step) -> Step {
    Step { delay_ms: 2, chunk_delay_ms: PACE, ..step }
}

/// So many rounds that there is something to sum up; in the last the provider says that the window is nearly
/// full.
fn compaction(wire: Wire) -> Vec<Step> {
    const ROUNDS: u32 = 9;
    let hand_over = Step { repeat: Some(6), ..Step::text("The numbers were counted, and all were there. ") };
    let hand_over = hand_over.when(When { contains: Some("<hand-over".into()), ..When::default() });
    let mut steps = vec![hand_over];
    for round in 0..ROUNDS {
        let mut step = Step::calls([shell(&format!("r{round}"), "seq -s ' ' 1 900")]);
        if round + 1 == ROUNDS {
            step.usage = UsageOverride { input: Some(nearly_full(wire)), ..UsageOverride::default() };
        }
        steps.push(step);
    }
    steps.push(Step::text("The first part is done."));
    steps.push(Step::calls([shell("z", "echo more")]));
    steps.push(Step::text("All is done."));
    steps
}

/// A provider and a model of it, on each wire.
pub(super) fn model(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::Anthropic => ("anthropic", "claude-opus-5-5"),
        Wire::Responses => ("openai", "gpt-6.1-sol"),
        Wire::Gemini => ("gemini", "gemini-2.5-pro"),
        Wire::Chat => ("local", "mistral"),
    }
}

/// The window of the model that is nobody's, and the most it may write.
pub(super) const LOCAL: (u64, u64) = (60_000, 4_000);

/// So many tokens that a conversation is made shorter: nine tenths of the room in the window.
fn nearly_full(wire: Wire) -> u64 {
    let (provider, model) = model(wire);
    let catalog = Catalog::builtin();
    let known = catalog.of(provider, model).map(|info| (info.context_window, info.max_output));
    let (window, answer) = known.unwrap_or(LOCAL);
    (window - answer.min(window / 3)) / 10 * 9
}
