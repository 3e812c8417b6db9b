//! Whatever a conversation looks like, what is left of it is one that every provider takes.

use junto_llm::{Content, Media, Message, Part, Role, ToolCall, ToolResult};
use proptest::prelude::*;

use super::cut::{Conversation, Room, Shorter, cut_middle};
use super::measure::{size, sum};
use crate::history::Pins;

/// What may happen in a conversation.
#[derive(Clone, Debug)]
enum Happening {
    /// An input of so many characters, pinned or not.
    Input(usize, bool),
    /// Something said in between, pinned or not.
    Steered(usize, bool),
    /// An answer that was broken off, or that ends an input.
    Text(usize),
    /// An answer that pauses, and the one that goes on.
    Paused(usize),
    /// An answer with calls, each with the size of its arguments, its output and whether it has a picture.
    Calls(Vec<(usize, usize, bool)>),
}

fn happening() -> impl Strategy<Value = Happening> {
    let call = (0..400_usize, 0..6000_usize, prop::bool::weighted(0.1));
    prop_oneof![
        2 => (prop_oneof![1..600_usize, 1..9000_usize], prop::bool::weighted(0.2)).prop_map(|(n, pinned)| Happening::Input(n, pinned)),
        1 => (1..300_usize, prop::bool::weighted(0.2)).prop_map(|(n, pinned)| Happening::Steered(n, pinned)),
        1 => (1..800_usize).prop_map(Happening::Text),
        1 => (1..300_usize).prop_map(Happening::Paused),
        5 => prop::collection::vec(call, 1..4).prop_map(Happening::Calls),
    ]
}

/// The conversation in which all of this happened, as a session would have noted it.
fn conversation(happenings: &[Happening]) -> (Vec<Message>, Pins) {
    let mut messages = vec![Message::system("You are a test. ".repeat(8))];
    let mut pins = Pins::default();
    let say = |n: &usize| "word ".repeat(n / 5 + 1);
    for (number, happening) in [Happening::Input(50, false)].iter().chain(happenings).enumerate() {
        let place = messages.len();
        match happening {
            Happening::Input(n, pinned) => {
                if *pinned || pins.input.is_none() {
                    pins.pinned.push(place);
                }
                pins.input = Some(place);
                messages.push(Message::user(format!("input {number}: {}", say(n))));
            }
            Happening::Steered(n, pinned) => {
                if *pinned {
                    pins.pinned.push(place);
                }
                messages.push(Message::user(format!("steered {number}: {}", say(n))));
            }
            Happening::Text(n) => messages.push(Message::assistant(say(n))),
            Happening::Paused(n) => messages.extend([Message::assistant(say(n)), Message::assistant("On.")]),
            Happening::Calls(calls) => {
                let (mut parts, mut results) = (vec![Part::text("So.")], Vec::new());
                for (n, (arguments, output, picture)) in calls.iter().enumerate() {
                    let id = format!("call_{number}_{n}");
                    let arguments = serde_json::json!({"a": "x".repeat(*arguments)}).to_string();
                    parts.push(Part::new(Content::ToolCall(ToolCall::function(&id, "f", arguments))));
                    let images = if *picture { vec![Media::url("https://x/y.png")] } else { vec![] };
                    results.push(ToolResult { images, ..ToolResult::text(&id, "out ".repeat(output / 4)) });
                }
                messages.push(Message::new(Role::Assistant, parts));
                messages.push(Message::tool_results(results));
            }
        }
    }
    // A model is asked after somebody else has spoken.
    if messages.last().is_some_and(|last| last.role == Role::Assistant) {
        messages.push(Message::user("Go on."));
    }
    (messages, pins)
}

/// What every provider wants: the system first, then a user, each call answered by the message behind it.
fn check_valid(messages: &[Message]) {
    assert_eq!(messages[0].role, Role::System);
    assert_eq!(messages[1].role, Role::User, "somebody asks first");
    assert_ne!(messages[messages.len() - 1].role, Role::Assistant, "and somebody asks last");
    let mut open: Vec<String> = Vec::new();
    for message in &messages[1..] {
        assert_ne!(message.role, Role::System);
        if message.role == Role::Tool {
            let answered: Vec<String> = message.results().map(|result| result.call_id.clone()).collect();
            assert_eq!(answered, open, "each call is answered, in order, and nothing else is");
        } else {
            assert_eq!(open, Vec::<String>::new(), "a call without its result");
        }
        assert!(!message.content.is_empty());
        open = message.tool_calls().map(|call| call.id.clone()).collect();
    }
    assert_eq!(open, Vec::<String>::new(), "a call without its result");
}

/// What is pinned is there, word for word where there is room and at the place where it is said to be.
fn check_pins(before: (&[Message], &Pins), after: &Shorter, has_room: bool) {
    let pinned = |messages: &[Message], pins: &Pins| -> Vec<Message> {
        pins.pinned.iter().map(|place| messages[*place].clone()).collect()
    };
    let (now, then) = (pinned(&after.messages, &after.pins), pinned(before.0, before.1));
    assert_eq!(now.len(), then.len());
    for (now, then) in now.iter().zip(&then) {
        let begins_alike = now.text().chars().zip(then.text().chars()).take(40).all(|(a, b)| a == b);
        assert!(now == then || !has_room && begins_alike && size(now) < size(then), "{now:?} of {then:?}");
    }
    let (now, then) = (after.pins.input.unwrap(), before.1.input.unwrap());
    assert_eq!(after.messages[now], before.0[then]);
    assert_eq!(after.messages[0], before.0[0], "the system prompt");
}

/// The sizes of what cannot be taken out, a hand-over of this size included: with all that is pinned, and
/// with little of it.
fn least(messages: &[Message], pins: &Pins, hand_over: &str) -> (u64, u64) {
    let spoken = |m: &Message| matches!(m.role, Role::Assistant | Role::Tool);
    let unanswered = messages.iter().rposition(spoken).map_or(1, |last| last + 1).max(pins.input.unwrap());
    let stays = |place: usize| place == 0 || place >= unanswered || pins.input == Some(place);
    let of = |filter: &dyn Fn(usize) -> bool, most: u64| -> u64 {
        messages.iter().enumerate().filter(|(n, _)| filter(*n)).map(|(_, m)| size(m).min(most)).sum()
    };
    let fixed = of(&stays, u64::MAX) + size(&Message::user(hand_over));
    let pinned = |place: usize| !stays(place) && pins.holds(place);
    (fixed + of(&pinned, u64::MAX), fixed + of(&pinned, 200))
}

/// Makes a conversation shorter, once or twice, and checks what is left.
fn check(happenings: &[Happening], goal: u64, keep_turns: usize, twice: bool) {
    let (mut messages, mut pins) = conversation(happenings);
    check_valid(&messages);
    for _ in 0..=usize::from(twice) {
        let talk = Conversation::new(&messages, &pins);
        let room = Room { goal, most: goal * 2 };
        let hand_over = "h".repeat(400);
        if let Some(shorter) = talk.without_outputs(keep_turns, goal) {
            check_valid(&shorter.messages);
            check_pins((&messages, &pins), &shorter, true);
            assert!(sum(&shorter.messages) <= goal);
            assert_eq!(shorter.messages.len(), messages.len());
            assert!(shorter.outputs > 0);
        }
        let tail = talk.tail(keep_turns, room, size(&Message::user(hand_over.as_str())));
        let older = talk.older(&tail).len();
        let shorter = talk.with_hand_over(tail.clone(), hand_over.clone());
        check_valid(&shorter.messages);
        let (least, bare) = least(&messages, &pins, &hand_over);
        check_pins((&messages, &pins), &shorter, least <= room.most);
        let kept = (1..=older).filter(|place| pins.holds(*place)).count();
        assert_eq!(shorter.dropped + kept, older);
        assert!(talk.droppable(&tail) > 0 || shorter.dropped == 0);
        // It fits wherever anything could.
        assert!(sum(&shorter.messages) <= bare.max(room.most), "{} of {goal}", sum(&shorter.messages));
        check_valid(&talk.with_tail(tail).messages);
        (messages, pins) = (shorter.messages, shorter.pins);
    }
}

/// What was said after the last round, and is no part of it, takes room from it.
#[test]
fn inputs_that_nobody_answered_take_room() {
    let calls = Happening::Calls(vec![(121, 3072, false), (390, 500, false), (188, 3272, false)]);
    let happenings =
        [Happening::Input(4255, true), calls, Happening::Input(245, false), Happening::Input(315, false)];
    check(&happenings, 5641, 0, false);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_is_left_is_valid_and_fits(
        happenings in prop::collection::vec(happening(), 1..40),
        goal in 500..40_000_u64,
        keep_turns in 0..8_usize,
        twice in any::<bool>(),
    ) {
        check(&happenings, goal, keep_turns, twice);
    }

    #[test]
    fn texts_are_cut_to_size(text in ".{0,300}", most in 0..320_u64) {
        let cut = cut_middle(&text, most);
        prop_assert!(cut.chars().count() as u64 <= most);
        prop_assert!(cut == text || text.chars().count() as u64 > most);
    }
}

fn round(number: usize, output: usize) -> [Message; 2] {
    let id = format!("call_{number}");
    let call = ToolCall::function(&id, "f", "{}");
    [
        Message::new(Role::Assistant, vec![Part::new(Content::ToolCall(call))]),
        Message::tool_results([ToolResult::text(&id, "o".repeat(output))]),
    ]
}

fn task(rounds: usize, output: usize) -> (Vec<Message>, Pins) {
    let mut messages = vec![Message::system("s"), Message::user("Do it.")];
    messages.extend((0..rounds).flat_map(|number| round(number, output)));
    (messages, Pins { pinned: vec![1], input: Some(1) })
}

/// The oldest outputs go first, and no more of them than it takes.
#[test]
fn outputs_go_from_the_oldest_on() {
    let (messages, pins) = task(6, 1000);
    let talk = Conversation::new(&messages, &pins);
    let outputs = |shorter: &Shorter| -> Vec<usize> {
        let results = shorter.messages.iter().flat_map(Message::results);
        results.map(|result| result.output.to_text().len()).collect()
    };
    let gone = "[1000 characters of output were taken out to make room]".len();
    let shorter = talk.without_outputs(2, 5000).unwrap();
    assert_eq!(outputs(&shorter), [gone, gone, 1000, 1000, 1000, 1000]);
    assert_eq!((shorter.outputs, shorter.dropped), (2, 0));
    assert_eq!(talk.without_outputs(2, 2000), None, "not enough: the last two are kept");
    assert_eq!(talk.without_outputs(2, 50_000), None, "nothing to do");
}

/// The latest turns stay whole; one that has no room loses output; the very latest is cut last.
#[test]
fn the_latest_turns_stay() {
    let (messages, pins) = task(6, 1000);
    let talk = Conversation::new(&messages, &pins);
    let check = |goal: u64, keep_turns, start, outputs: &[usize]| {
        let tail = talk.tail(keep_turns, Room { goal, most: goal * 2 }, 0);
        let shorter = talk.with_hand_over(tail.clone(), "h".into());
        let results = shorter.messages.iter().flat_map(Message::results);
        let lengths: Vec<usize> = results.map(|result| result.output.to_text().chars().count()).collect();
        assert_eq!((tail.start, lengths.as_slice()), (start, outputs), "{goal} {keep_turns}");
    };
    check(9000, 2, 10, &[1000, 1000]);
    check(9000, 0, 12, &[1000]);
    check(9000, 9, 1, &[1000; 6]);
    check(2500, 9, 8, &[227, 1000, 1000]);
    check(600, 9, 12, &[461]);
    check(400, 9, 12, &[261]);
    check(130, 9, 12, &[55]);
    check(10, 9, 14, &[]);
}
