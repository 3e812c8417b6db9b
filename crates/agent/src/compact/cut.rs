//! What of a conversation stays, and what goes. Pure: sizes are in characters.

use std::ops::Range;

use junto_llm::{Content, Message, Part, ResultOutput, Role, ToolResult};

use super::measure::{size, sum};
use crate::history::Pins;
use crate::truncate::{first, last};

/// The least that is left of an output that is cut; one that would be shorter is taken out.
const LEAST: u64 = 200;

/// A conversation that is too long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversation<'a> {
    messages: &'a [Message],
    pins: &'a Pins,
    /// How many messages the system prompt has.
    prefix: usize,
    /// Where that begins which the model has not answered yet, of the latest input and what was said since.
    unanswered: usize,
}

/// How much of it may stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// What it shall come down to.
    pub(super) goal: u64,
    /// What it must come down to.
    pub(super) most: u64,
}

/// A conversation that was made shorter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shorter {
    pub(super) messages: Vec<Message>,
    pub(super) pins: Pins,
    /// How many messages a hand-over stands in for.
    pub(super) dropped: usize,
    /// How many outputs of tools were taken out or cut.
    pub(super) outputs: usize,
}

/// The latest part of a conversation, as it stays.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tail {
    /// Where it begins.
    pub(super) start: usize,
    messages: Vec<Message>,
    outputs: usize,
    /// How large a pinned message before it may be. Without a limit, unless there is no other way.
    most_pin: u64,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(messages: &'a [Message], pins: &'a Pins) -> Self {
        let instructs = |m: &&Message| matches!(m.role, Role::System | Role::Developer);
        let prefix = messages.iter().take_while(instructs).count();
        let spoken = |m: &Message| matches!(m.role, Role::Assistant | Role::Tool);
        let answered = messages.iter().rposition(spoken).map_or(prefix, |last| last + 1);
        let unanswered = answered.max(pins.input.unwrap_or_default());
        Self { messages, pins, prefix, unanswered }
    }

    /// Everything up to what the model has not answered yet; none if it has not spoken at all.
    pub(super) fn answered(self) -> Option<&'a [Message]> {
        (self.unanswered > self.prefix).then(|| self.get(0..self.unanswered))
    }

    /// Its size.
    pub(super) fn size(self) -> u64 {
        sum(self.messages)
    }

    fn get(self, range: Range<usize>) -> &'a [Message] {
        self.messages.get(range).unwrap_or_default()
    }

    /// Whether a message goes only with the whole conversation.
    fn stays(self, place: usize) -> bool {
        place < self.prefix || place >= self.unanswered || self.pins.holds(place)
    }

    /// Whether a message is pinned, but neither the input under way nor unanswered.
    fn is_old_pin(self, place: usize) -> bool {
        place < self.unanswered && self.pins.input != Some(place) && self.pins.pinned.contains(&place)
    }

    /// The size of what cannot be taken out, and how large each old pin may be so that it has no more than
    /// `most`.
    fn fixed(self, most: u64) -> (u64, u64) {
        let staying = self.messages.iter().enumerate().filter(|(place, _)| self.stays(*place));
        let (pins, others): (Vec<_>, Vec<_>) = staying.partition(|(place, _)| self.is_old_pin(*place));
        let mut pins: Vec<u64> = pins.into_iter().map(|(_, message)| size(message)).collect();
        let others: u64 = others.into_iter().map(|(_, message)| size(message)).sum();
        let whole = others + pins.iter().sum::<u64>();
        if whole <= most {
            return (whole, u64::MAX);
        }
        let share = share(&mut pins, most.saturating_sub(others)).max(LEAST);
        (others + pins.iter().map(|pin| *pin.min(&share)).sum::<u64>(), share)
    }

    /// What has to stay together, from the first message after the system prompt on: a message of
    /// somebody else's, or all that the model says until somebody else speaks, with the results of its calls.
    fn units(self) -> Vec<Range<usize>> {
        let mut units: Vec<Range<usize>> = Vec::new();
        let mut before = None;
        for (place, message) in self.messages.iter().enumerate().skip(self.prefix) {
            let goes_on = match message.role {
                Role::Tool => matches!(before, Some(Role::Assistant | Role::Tool)),
                Role::Assistant => before == Some(Role::Assistant),
                Role::System | Role::Developer | Role::User => false,
            };
            match units.last_mut() {
                Some(unit) if goes_on => unit.end = place + 1,
                _ => units.push(place..place + 1),
            }
            before = Some(message.role);
        }
        units
    }

    fn is_turn(self, unit: &Range<usize>) -> bool {
        self.messages.get(unit.start).is_some_and(|m| m.role == Role::Assistant)
    }

    /// The conversation without as many of its oldest outputs as it takes, but for those of the latest
    /// turns; none if that is not enough.
    pub(super) fn without_outputs(self, keep_turns: usize, goal: u64) -> Option<Shorter> {
        let turns: Vec<Range<usize>> = self.units().into_iter().filter(|unit| self.is_turn(unit)).collect();
        let old = turns.len().saturating_sub(keep_turns.max(1));
        let mut messages = self.messages.to_vec();
        let (mut outputs, mut left) = (0, sum(&messages));
        for place in turns.into_iter().take(old).flatten() {
            let Some(message) = messages.get_mut(place).filter(|_| left > goal) else { break };
            let before = size(message);
            outputs += shorten(message, 0);
            left = left - before + size(message);
        }
        let enough = outputs > 0 && left <= goal;
        enough.then(|| Shorter { messages, pins: self.pins.clone(), dropped: 0, outputs })
    }

    /// The latest turns, as many as there is room for beside what cannot be taken out and a hand-over of this
    /// size; their outputs are cut where that helps. The very latest may have more room.
    pub(super) fn tail(self, keep_turns: usize, room: Room, hand_over: u64) -> Tail {
        let (fixed, most_pin) = self.fixed(room.most.saturating_sub(hand_over));
        let fixed = fixed + hand_over;
        let mut left = room.goal.saturating_sub(fixed);
        let start = self.unanswered;
        let messages = self.get(start..self.messages.len()).to_vec();
        let mut tail = Tail { start, messages, outputs: 0, most_pin };
        let (mut turns, mut used) = (0, 0);
        for unit in self.units().into_iter().rev().filter(|unit| unit.end <= start) {
            let is_turn = self.is_turn(&unit);
            let is_cut = self.is_old_pin(unit.start) && sum(self.get(unit.clone())) > most_pin;
            if is_cut || is_turn && turns == keep_turns.max(1) {
                break;
            }
            let places = unit.clone().zip(self.get(unit.clone()));
            let cost = places.filter(|(place, _)| !self.stays(*place)).map(|(_, m)| size(m)).sum::<u64>();
            let mut messages = self.get(unit.clone()).to_vec();
            if cost > left {
                // Without its last results the model would not know what it is at.
                let at_most = if turns == 0 { room.most.saturating_sub(fixed + used) } else { 0 };
                let fits = is_turn
                    && [left, at_most].into_iter().any(|room| fit(&mut messages, room, &mut tail.outputs));
                if !fits {
                    break;
                }
            }
            let taken = sum(&messages).min(cost);
            (left, used) = (left.saturating_sub(taken), used + taken);
            turns += usize::from(is_turn);
            messages.append(&mut tail.messages);
            (tail.start, tail.messages) = (unit.start, messages);
        }
        tail
    }

    /// What a hand-over has to speak of, if this is the tail.
    pub(super) fn older(self, tail: &Tail) -> &'a [Message] {
        self.get(self.prefix..tail.start)
    }

    /// How much of it can be taken out.
    pub(super) fn droppable(self, tail: &Tail) -> u64 {
        let places = (self.prefix..).zip(self.older(tail));
        let droppable = |(place, message)| {
            let kept = if self.is_old_pin(place) { tail.most_pin } else { 0 };
            let stays = self.pins.input == Some(place);
            if stays { 0 } else { size(message).saturating_sub(kept) }
        };
        places.map(droppable).sum()
    }

    /// The conversation with nothing taken out but outputs of the tail.
    pub(super) fn with_tail(self, tail: Tail) -> Shorter {
        let messages = [self.get(0..tail.start), &tail.messages].concat();
        Shorter { messages, pins: self.pins.clone(), dropped: 0, outputs: tail.outputs }
    }

    /// Whether the latest input is no part of the tail, and so comes behind the hand-over.
    pub(super) fn input_is_older(self, tail: &Tail) -> bool {
        self.pins.input.is_some_and(|input| input < tail.start && !self.pins.pinned.contains(&input))
    }

    /// The conversation with a hand-over in the place of its older part: the system prompt, what is pinned,
    /// the hand-over, the input under way, the tail.
    pub(super) fn with_hand_over(self, tail: Tail, hand_over: String) -> Shorter {
        let mut shorter = Shorter {
            messages: self.get(0..self.prefix).to_vec(),
            pins: Pins::default(),
            dropped: 0,
            outputs: tail.outputs,
        };
        for (place, message) in self.messages.iter().enumerate().take(tail.start).skip(self.prefix) {
            if self.pins.pinned.contains(&place) {
                let most = if self.is_old_pin(place) { tail.most_pin } else { u64::MAX };
                shorter.keep(self, place, cut_message(message, most));
            } else if self.pins.input != Some(place) {
                shorter.dropped += 1;
            }
        }
        shorter.messages.push(Message::user(hand_over));
        if self.input_is_older(&tail)
            && let Some((place, input)) = self.pins.input.and_then(|at| Some((at, self.messages.get(at)?)))
        {
            shorter.keep(self, place, input.clone());
        }
        for (place, message) in (tail.start..).zip(tail.messages) {
            shorter.keep(self, place, message);
        }
        shorter
    }
}

impl Shorter {
    /// Adds the message that had this place, and what was pinned there.
    fn keep(&mut self, from: Conversation<'_>, place: usize, message: Message) {
        let now = self.messages.len();
        if from.pins.pinned.contains(&place) {
            self.pins.pinned.push(now);
        }
        if from.pins.input == Some(place) {
            self.pins.input = Some(now);
        }
        self.messages.push(message);
    }
}

/// Cuts outputs of tools until the messages have no more than this size. Says whether they do; if not, they
/// are as they were.
fn fit(messages: &mut Vec<Message>, most: u64, outputs: &mut usize) -> bool {
    let mut lengths: Vec<u64> = messages.iter().flat_map(Message::results).map(length).collect();
    let rest = sum(&*messages).saturating_sub(lengths.iter().sum());
    let share = share(&mut lengths, most.saturating_sub(rest));
    let mut cut = messages.clone();
    let count: usize = cut.iter_mut().map(|message| shorten(message, share)).sum();
    let fits = sum(&cut) <= most;
    if fits {
        *messages = cut;
        *outputs += count;
    }
    fits
}

/// How long each of these may be, if all together have no more than `most`: the longest get what the shorter
/// ones leave them.
fn share(lengths: &mut [u64], most: u64) -> u64 {
    lengths.sort_unstable();
    let (mut share, mut left) = (0, most);
    for (n, length) in lengths.iter().enumerate() {
        share = left / (lengths.len() - n) as u64;
        if *length > share {
            break;
        }
        left -= length;
    }
    share
}

/// A message that somebody said, with no more than this size: its text is cut, and it loses its pictures.
fn cut_message(message: &Message, most: u64) -> Message {
    if size(message) <= most {
        return message.clone();
    }
    let frame = size(&Message::user(""));
    Message::new(message.role, vec![Part::text(cut_middle(&message.text(), most.saturating_sub(frame)))])
}

fn length(result: &ToolResult) -> u64 {
    match &result.output {
        ResultOutput::Text(text) => text.chars().count() as u64,
        json @ ResultOutput::Json(_) => json.to_text().chars().count() as u64,
    }
}

/// Cuts each output of this message that has more than so many characters, and leaves out its pictures. Says
/// how many were cut.
fn shorten(message: &mut Message, most: u64) -> usize {
    let mut count = 0;
    for part in &mut message.content {
        let Content::ToolResult(result) = part.content() else { continue };
        let Some(text) = shorter_output(result, most) else { continue };
        let ToolResult { call_id, is_error, .. } = result.clone();
        let result = ToolResult { call_id, output: ResultOutput::Text(text), is_error, images: Vec::new() };
        *part = Part::new(Content::ToolResult(result));
        count += 1;
    }
    count
}

/// An output with no more than so many characters, or as few as it takes to say that there was one; none if
/// it is no longer than that anyway.
fn shorter_output(result: &ToolResult, most: u64) -> Option<String> {
    let length = length(result);
    if length <= most && result.images.is_empty() {
        return None;
    }
    let pictures = match result.images.len() {
        0 => String::new(),
        1 => " and a picture".to_owned(),
        several => format!(" and {several} pictures"),
    };
    let gone = format!("[{length} characters of output{pictures} were taken out to make room]");
    let text = if most >= LEAST { cut_middle(&result.output.to_text(), most) } else { gone };
    (!result.images.is_empty() || (text.chars().count() as u64) < length).then_some(text)
}

/// A text with its middle left out, so that it has no more than so many characters.
pub(super) fn cut_middle(text: &str, most: u64) -> String {
    let length = text.chars().count() as u64;
    if length <= most {
        return text.to_owned();
    }
    // The number has no more digits than the length.
    let note = |left_out: u64| format!("\n[… {left_out} characters left out …]\n");
    let kept = most.saturating_sub(note(length).chars().count() as u64);
    let head = usize::try_from(kept.div_ceil(2)).unwrap_or(usize::MAX);
    let tail = usize::try_from(kept / 2).unwrap_or(usize::MAX);
    if kept == 0 {
        return first(text, usize::try_from(most).unwrap_or(usize::MAX)).to_owned();
    }
    [first(text, head), &note(length - kept), last(text, tail)].concat()
}
