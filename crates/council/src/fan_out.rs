//! Whether a request is worth several minds: what can be said of it without asking anybody.

mod scaffolding;
mod shape;
mod triage;

use junto_llm::{CallCx, Request, Traffic};

use crate::{Decision, FanOut, Options, Scope, Why};

pub(crate) use scaffolding::last_user_text;
pub(crate) use triage::{question as triage_question, verdict as triage_verdict};

/// More characters than this are worth thought under `necessary`.
const LONG: usize = 400;
/// More than this are worth a second look under `auto`.
const NOT_SHORT: usize = 120;
/// Words and turns of phrase that ask for thought, one in a line.
const SIGNALS: &str = include_str!("fan_out/signals.txt");

/// What can be said of a request at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// That is decided.
    Decided(Decision),
    /// It looks hard, for this reason; whoever triages has the last word.
    Hard(Why),
}

/// What can be said of a request that reached a council with these options and so many members.
pub(crate) fn look(request: &Request, cx: &CallCx, options: &Options, members: usize) -> Look {
    let single = |why| Look::Decided(Decision::Single(why));
    let traffic = shape::traffic(request, cx, &options.name);
    if matches!(traffic, Traffic::Background(_)) {
        return single(Why::Background);
    }
    if members.min(options.ask) < 2 {
        return single(Why::OneMember);
    }
    if options.fan_out == FanOut::Never {
        return single(Why::Policy);
    }
    if traffic == Traffic::Continuation && options.scope == Scope::FirstTurn {
        return single(Why::Continuation);
    }
    let text = || last_user_text(request);
    match options.fan_out {
        FanOut::Never => single(Why::Policy),
        FanOut::Always => Look::Decided(Decision::FanOut(Why::Policy)),
        FanOut::Necessary => match needs_thought(&text()) {
            Some(why) => Look::Decided(Decision::FanOut(why)),
            None => single(Why::Plain),
        },
        FanOut::Auto => is_not_plain(&text()).map_or_else(|| single(Why::Plain), Look::Hard),
    }
}

fn needs_thought(text: &str) -> Option<Why> {
    if is_longer(text, LONG) {
        return Some(Why::Long);
    }
    has_signal(text).then_some(Why::Signal)
}

fn is_not_plain(text: &str) -> Option<Why> {
    let text = text.trim();
    if is_longer(text, NOT_SHORT) {
        return Some(Why::Long);
    }
    if text.contains('\n') {
        return Some(Why::Lines);
    }
    has_signal(text).then_some(Why::Signal)
}

fn is_longer(text: &str, most: usize) -> bool {
    text.trim().chars().nth(most).is_some()
}

/// Whether one of the signals is in a text as whole words.
fn has_signal(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut line = String::from(" ");
    for word in words {
        line.push_str(&word.to_lowercase());
        line.push(' ');
    }
    SIGNALS.lines().any(|signal| line.contains(&format!(" {signal} ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::results;

    fn options(fan_out: FanOut, scope: Scope) -> Options {
        Options { fan_out, scope, ..Options::default() }
    }

    fn single(why: Why) -> Look {
        Look::Decided(Decision::Single(why))
    }

    fn several(why: Why) -> Look {
        Look::Decided(Decision::FanOut(why))
    }

    fn check(text: &str, fan_out: FanOut, expected: Look) {
        let options = options(fan_out, Scope::FirstTurn);
        assert_eq!(look(&Request::prompt(text), &CallCx::new(), &options, 3), expected, "{text}");
    }

    #[test]
    fn the_policy_decides() {
        check("Why?", FanOut::Never, single(Why::Policy));
        check("Hi", FanOut::Always, several(Why::Policy));
        check("Hi", FanOut::Necessary, single(Why::Plain));
        check(&"x".repeat(400), FanOut::Necessary, single(Why::Plain));
        check(&"ä".repeat(401), FanOut::Necessary, several(Why::Long));
        check("two\nlines", FanOut::Necessary, single(Why::Plain));
        check("Hi", FanOut::Auto, single(Why::Plain));
        check(&"x".repeat(120), FanOut::Auto, single(Why::Plain));
        check(&"x".repeat(121), FanOut::Auto, Look::Hard(Why::Long));
        check("two\nlines", FanOut::Auto, Look::Hard(Why::Lines));
        check("  one line\n", FanOut::Auto, single(Why::Plain));
    }

    #[test]
    fn signals_are_whole_words() {
        for hard in [
            "Why is it red?",
            "DEBUG it",
            "what are the trade-offs",
            "a tradeoff",
            "the root\tcause, please",
            "pros and cons?",
            "How come?",
            "(explain)",
        ] {
            check(hard, FanOut::Necessary, several(Why::Signal));
        }
        for plain in ["redesigned", "the architecture", "whyever", "best  ways", "prosandcons", ""] {
            check(plain, FanOut::Necessary, single(Why::Plain));
        }
    }

    #[test]
    fn rounds_of_a_tool_loop_are_out_of_scope_unless_every_turn_is_in_it() {
        let request = results("Why?");
        let look = |scope, fan_out| look(&request, &CallCx::new(), &options(fan_out, scope), 3);
        assert_eq!(look(Scope::FirstTurn, FanOut::Always), single(Why::Continuation));
        assert_eq!(look(Scope::PerTurn, FanOut::Always), several(Why::Policy));
        assert_eq!(look(Scope::PerTurn, FanOut::Necessary), several(Why::Signal));
    }

    #[test]
    fn one_member_is_asked_alone() {
        let always = options(FanOut::Always, Scope::PerTurn);
        let request = Request::prompt("Why?");
        assert_eq!(look(&request, &CallCx::new(), &always, 1), single(Why::OneMember));
        let one = Options { ask: 1, ..always };
        assert_eq!(look(&request, &CallCx::new(), &one, 5), single(Why::OneMember));
    }

    #[test]
    fn chores_never_fan_out() {
        let always = options(FanOut::Always, Scope::PerTurn);
        let request = Request::prompt("Why?").model("claude-haiku-4-5");
        assert_eq!(look(&request, &CallCx::new(), &always, 3), single(Why::Background));
    }
}
