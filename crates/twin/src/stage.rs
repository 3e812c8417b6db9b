//! Chooses the step for a request and plays it.

use std::sync::{Mutex, PoisonError};

use junto_llm::Response;

use crate::answer;
use crate::fault::{Fault, due};
use crate::play::{Play, PlayError, Step, When};
use crate::strict::Seen;

/// A play, and how far it has got.
#[derive(Debug)]
pub(crate) struct Stage {
    play: Play,
    /// One per step.
    uses: Mutex<Vec<Uses>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    /// How often the step was played.
    played: u32,
    /// How often its fault has hit.
    faulted: u32,
}

/// What one request is answered with.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// The step, from 0.
    pub(crate) step: usize,
    /// The answer; unsigned as it comes from the play. Absent: the fault answers instead.
    pub(crate) response: Option<Response>,
    /// What goes wrong.
    pub(crate) fault: Option<Fault>,
}

impl Stage {
    pub(crate) fn new(play: Play) -> Self {
        let uses = Mutex::new(vec![Uses::default(); play.steps.len()]);
        Self { play, uses }
    }

    /// The step at this place.
    pub(crate) fn step(&self, index: usize) -> Option<&Step> {
        self.play.steps.get(index)
    }

    /// Plays the first step that fits the request and is not used up. `number` tells this answer
    /// from the others; `outside` is a fault from outside the play, which takes the place of the
    /// step's own.
    ///
    /// # Errors
    /// If no step fits, or the step asks for a tool that the request does not declare. The play
    /// stays where it was, so that trying again does not skip the mistake.
    pub(crate) fn play(&self, seen: &Seen, number: u64, outside: Option<Fault>) -> Result<Scene, PlayError> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.play.steps.len().saturating_sub(1);
        let mut fitting = self.play.steps.iter().zip(uses.iter_mut()).enumerate();
        let found =
            fitting.find(|(i, (step, uses))| fits(step, seen) && has_uses_left(step, **uses, *i == last));
        let Some((index, (step, uses))) = found else {
            return Err(PlayError::new(format!(
                "no step of the play fits this request (wire {}, model `{}`, turn {}, round {})",
                seen.wire.name(),
                seen.model,
                seen.turn,
                seen.round,
            )));
        };
        let mut after = *uses;
        let fault = outside.or_else(|| {
            let own = step.fault.as_ref().filter(|fault| due(fault.times, &mut after.faulted)).cloned();
            if own.as_ref().is_none_or(|fault| fault.times.is_none()) {
                after.played = after.played.saturating_add(1);
            }
            own
        });
        let response = match &fault {
            Some(fault) if fault.status.is_some() => None,
            _ => Some(
                answer::build(step, seen, number)
                    .map_err(|e| PlayError::new(format!("step {} of the play {e}", index + 1)))?,
            ),
        };
        *uses = after;
        Ok(Scene { step: index, response, fault })
    }
}

fn has_uses_left(step: &Step, uses: Uses, is_last: bool) -> bool {
    let conditional = step.when.is_some() || step.loop_rounds.is_some();
    let by_times = match step.times {
        Some(times) => uses.played < times,
        None => conditional || is_last || uses.played == 0,
    };
    // A step that is nothing but a counted fault is over when the fault is, unless nothing follows.
    let counted = step.fault.as_ref().and_then(|fault| fault.times).filter(|_| step.is_silent() && !is_last);
    by_times && counted.is_none_or(|times| uses.faulted < times)
}

fn fits(step: &Step, seen: &Seen) -> bool {
    let always = When::default();
    let when = step.when.as_ref().unwrap_or(&always);
    let round = match (when.round, step.loop_rounds) {
        (first, Some(rounds)) => {
            let first = first.unwrap_or(0);
            (first..first.saturating_add(rounds)).contains(&seen.round)
        }
        (Some(round), None) => round == seen.round,
        (None, None) => true,
    };
    round
        && when.turn.is_none_or(|turn| turn == seen.turn)
        && when.wire.is_none_or(|wire| wire == seen.wire)
        && when.model.as_ref().is_none_or(|pattern| glob(pattern, &seen.model))
        && when.contains.as_ref().is_none_or(|part| seen.last_user.contains(part))
        && when.after.as_ref().is_none_or(|part| seen.last_results.iter().any(|r| r.contains(part)))
}

/// Whether a text matches a pattern in which `*` stands for anything.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{seen, tool};
    use junto_llm::Wire;
    use serde_json::json;

    /// Plays these requests, one after the other, and notes what each is answered with.
    fn run(play: &str, requests: &[Seen]) -> Vec<String> {
        let stage = Stage::new(Play::from_toml(play).unwrap());
        let answer = |(n, seen)| match stage.play(seen, n, None) {
            Err(error) => format!("error: {error}"),
            Ok(Scene { response: None, fault, .. }) => format!("{}", fault.unwrap().status.unwrap()),
            Ok(Scene { response: Some(response), fault, .. }) => {
                let calls = response.tool_calls().map(|c| format!("{}{}", c.name, c.raw_arguments));
                let said = response.text() + &calls.collect::<Vec<_>>().join(" ");
                if fault.is_some() { format!("{said} with a fault") } else { said }
            }
        };
        (1..).zip(requests).map(answer).collect()
    }

    #[test]
    fn steps_without_a_condition_play_in_order_and_the_last_repeats() {
        let play = "[[steps]]\ntext='a'\n[[steps]]\ntext='b'\ntimes=2\n[[steps]]\ntext='c'";
        assert_eq!(run(play, &vec![seen("x"); 5]), ["a", "b", "b", "c", "c"]);
    }

    #[test]
    fn conditions_choose() {
        let play = r#"
            [[steps]]
            when = { contains = "weather", round = 0 }
            text = "asked"
            [[steps]]
            when = { after = "sunny" }
            text = "sunny then"
            [[steps]]
            when = { model = "claude-*-4*" }
            text = "claude"
            [[steps]]
            when = { wire = "gemini" }
            text = "gemini"
            [[steps]]
            when = { turn = 3 }
            text = "third"
            [[steps]]
            text = "else"
        "#;
        let weather = seen("how is the weather?");
        let requests = [
            weather.clone(),
            Seen { round: 1, last_results: vec!["sunny day".into()], ..weather.clone() },
            Seen { round: 1, ..weather },
            Seen { model: "claude-opus-4-8".into(), ..seen("x") },
            Seen { model: "claude-4".into(), ..seen("x") },
            Seen { wire: Wire::Gemini, ..seen("x") },
            Seen { turn: 3, ..seen("x") },
            seen("x"),
        ];
        assert_eq!(
            run(play, &requests),
            ["asked", "sunny then", "else", "claude", "else", "gemini", "third", "else"]
        );
    }

    #[test]
    fn a_loop_runs_its_rounds_in_every_turn() {
        let play = "[[steps]]\nloop = 2\ncalls = [{tool='f', args={}}]\n[[steps]]\ntext = 'done'";
        let at = |turn, round| Seen { turn, round, tools: vec![tool("f", json!({}))], ..seen("x") };
        let requests = [at(1, 0), at(1, 1), at(1, 2), at(2, 0), at(2, 1), at(2, 2)];
        assert_eq!(run(play, &requests), ["f{}", "f{}", "done", "f{}", "f{}", "done"]);
    }

    #[test]
    fn a_fault_uses_up_a_step_only_if_it_is_not_counted() {
        let tries = vec![seen("x"); 4];
        let counted = "[[steps]]\ntext='a'\nfault={status=503,times=2}\n[[steps]]\ntext='b'";
        assert_eq!(run(counted, &tries), ["503", "503", "a", "b"]);
        let silent = "[[steps]]\nfault={status=503,times=2}\n[[steps]]\ntext='b'";
        assert_eq!(run(silent, &tries), ["503", "503", "b", "b"]);
        let alone = "[[steps]]\nfault={status=503,times=2}";
        assert_eq!(run(alone, &tries), ["503", "503", "x", "x"]);
        let plain = "[[steps]]\nfault={status=503}\n[[steps]]\ntext='b'";
        assert_eq!(run(plain, &tries), ["503", "b", "b", "b"]);
        let late = "[[steps]]\ntext='a'\nfault={stall=1}\n[[steps]]\ntext='b'";
        assert_eq!(run(late, &tries), ["a with a fault", "b", "b", "b"]);
    }

    #[test]
    fn a_fault_from_outside_leaves_the_play_where_it_was() {
        let stage = Stage::new(Play::of([Step::text("a"), Step::text("b")]));
        let hit = stage.play(&seen("x"), 1, Some(Fault::status(500))).unwrap();
        assert!(hit.response.is_none());
        let next = stage.play(&seen("x"), 2, None).unwrap();
        assert_eq!(next.response.unwrap().text(), "a");
    }

    #[test]
    fn mistakes_are_told_and_do_not_move_the_play() {
        let play = "[[steps]]\ncalls = [{tool='g'}]\n[[steps]]\ntext = 'never'";
        let request = Seen { tools: vec![tool("f", json!({}))], ..seen("x") };
        for answer in run(play, &[request.clone(), request]) {
            assert!(
                answer.contains("step 1") && answer.contains("`g`") && answer.contains("`f`"),
                "{answer}"
            );
        }
        let none = run("[[steps]]\nwhen = {turn = 9}\ntext = 'a'", &[seen("x")]);
        assert!(none[0].contains("no step") && none[0].contains("turn 1"), "{none:?}");
    }

    #[test]
    fn globs() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
