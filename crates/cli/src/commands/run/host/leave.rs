//! What a person answers who is asked for leave.

use junto::core::{ApprovalRequest, Decision, Rule};
use junto::policy::{Origin, PolicyRule};

use crate::output::paint::visible;

/// What stands before the answer to a question for leave.
pub(super) const ALLOW: &str = "Allow? [y/s/a/n] ";

/// What the letters mean.
pub(super) const HELP: &str =
    "y: this once · s: for this session · a: always · n: no · n WHY: no, and tell the agent why";

/// How far a person is with the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Whether it may happen is asked.
    #[default]
    Leave,
    /// Which rule is to be kept is asked.
    Rule(Keep),
}

/// For how long a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Session,
    Always,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The answer.
    Decision(Decision),
    /// A yes, with rules to keep.
    Kept(Keep, Vec<String>),
    /// Something else is to be asked now.
    Next(Stage),
    /// Nothing that makes sense: what to tell.
    Nonsense(String),
}

/// What a line says at this stage.
pub(super) fn read(stage: Stage, request: &ApprovalRequest, line: &str) -> Said {
    match stage {
        Stage::Leave => leave(line),
        Stage::Rule(keep) => rule(keep, request, line),
    }
}

fn leave(line: &str) -> Said {
    let line = line.trim();
    let (word, rest) = line.split_once([' ', ',', ':']).unwrap_or((line, ""));
    let rest = rest.trim();
    match (word.to_ascii_lowercase().as_str(), rest) {
        ("y" | "yes", "") => Said::Decision(Decision::Allow { remember: None }),
        ("s" | "session", "") => Said::Next(Stage::Rule(Keep::Session)),
        ("a" | "always", "") => Said::Next(Stage::Rule(Keep::Always)),
        ("n" | "no", why) => {
            Said::Decision(Decision::Reject { reason: Some(why.to_owned()).filter(|why| !why.is_empty()) })
        }
        _ => Said::Nonsense(format!("Please answer y, s, a or n. {HELP}")),
    }
}

fn rule(keep: Keep, request: &ApprovalRequest, line: &str) -> Said {
    let line = line.trim();
    let proposed: Vec<String> = request.proposed.iter().map(|Rule(rule)| rule.clone()).collect();
    if line == "-" {
        return Said::Next(Stage::Leave);
    }
    if line.is_empty() && !proposed.is_empty() {
        return Said::Kept(keep, proposed);
    }
    let numbered = line.parse::<usize>().ok().and_then(|number| proposed.get(number.checked_sub(1)?));
    if let Some(rule) = numbered {
        return Said::Kept(keep, vec![rule.clone()]);
    }
    match PolicyRule::read(line, Origin::Session) {
        Ok(rule) => Said::Kept(keep, vec![rule.to_string()]),
        Err(error) => Said::Nonsense(error.to_string()),
    }
}

/// Which rule is to be kept, as it is asked, and what stands before the answer.
pub(super) fn which_rule(keep: Keep, request: &ApprovalRequest) -> (String, String) {
    let long = match keep {
        Keep::Session => "for this session",
        Keep::Always => "always, in your configuration",
    };
    let set_in = |rule: &str| visible(rule).replace('\n', "\n        ");
    let rules = (1..).zip(&request.proposed).map(|(n, Rule(rule))| format!("\n    {n}. {}", set_in(rule)));
    let text = format!("The rule that holds {long}:{}", rules.collect::<String>());
    let how = match request.proposed.len() {
        0 => "write one, as in allow command \"cargo test *\"",
        1 => "Enter takes it, or write another",
        _ => "Enter takes all, a number one, or write another",
    };
    (text, format!("Rule ({how}; - goes back): "))
}

#[cfg(test)]
mod tests {
    use junto::core::{AskId, Via};
    use junto::llm::ToolCall;

    use super::*;

    fn request(proposed: &[&str]) -> ApprovalRequest {
        ApprovalRequest {
            ask: AskId("one".to_owned()),
            via: Via::Loop,
            call: ToolCall::function("c", "shell", "{}"),
            actions: Vec::new(),
            proposed: proposed.iter().map(|&rule| Rule(rule.to_owned())).collect(),
            reason: String::new(),
            expires: None,
        }
    }

    #[test]
    fn answers_are_a_letter_or_a_word() {
        let check = |line: &str, expected: Said| {
            assert_eq!(read(Stage::Leave, &request(&[]), line), expected, "{line:?}");
        };
        let no = |why: Option<&str>| Said::Decision(Decision::Reject { reason: why.map(str::to_owned) });
        for yes in ["y\n", " YES \n"] {
            check(yes, Said::Decision(Decision::Allow { remember: None }));
        }
        check("n\n", no(None));
        check("no\n", no(None));
        check("n use cargo instead\n", no(Some("use cargo instead")));
        check("No, not today", no(Some("not today")));
        check("s\n", Said::Next(Stage::Rule(Keep::Session)));
        check("always\n", Said::Next(Stage::Rule(Keep::Always)));
        for nonsense in ["", "perhaps\n", "yes please\n", "nothing\n"] {
            let said = read(Stage::Leave, &request(&[]), nonsense);
            assert!(matches!(said, Said::Nonsense(_)), "{nonsense:?}: {said:?}");
        }
    }

    #[test]
    fn a_rule_is_taken_as_proposed_or_as_written() {
        const TEST: &str = "allow command \"cargo test *\"";
        const BUILD: &str = "allow command \"cargo build *\"";
        let check = |proposed: &[&str], line: &str, expected: &[&str]| {
            let expected = expected.iter().map(|&rule| rule.to_owned()).collect();
            let said = read(Stage::Rule(Keep::Always), &request(proposed), line);
            assert_eq!(said, Said::Kept(Keep::Always, expected), "{line:?}");
        };
        check(&[TEST], "\n", &[TEST]);
        check(&[TEST, BUILD], "\n", &[TEST, BUILD]);
        check(&[TEST, BUILD], "2\n", &[BUILD]);
        check(&[TEST], "allow  command  \"cargo *\"\n", &["allow command \"cargo *\""]);
        let wrong = |proposed: &[&str], line: &str| {
            let said = read(Stage::Rule(Keep::Session), &request(proposed), line);
            assert!(matches!(said, Said::Nonsense(_)), "{line:?}: {said:?}");
        };
        wrong(&[], "\n");
        wrong(&[TEST], "2\n");
        wrong(&[TEST], "alow command \"x\"\n");
        let back = read(Stage::Rule(Keep::Session), &request(&[TEST]), "-\n");
        assert_eq!(back, Said::Next(Stage::Leave));
    }
}
