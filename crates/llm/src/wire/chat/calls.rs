//! Puts streamed tool calls together from their fragments.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::response::{Names, WireCall};
use crate::{Error, SegmentId, StreamEvent, ToolCallKind};

/// The most bytes the calls of one answer may have.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The most calls one answer may have.
const MAX_CALLS: usize = 1024;

/// A piece of a call.
#[derive(Debug)]
pub(super) struct Fragment<'a> {
    /// The call's place. Some servers leave it out; some give all calls the same.
    pub(super) index: Option<u64>,
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Cow<'a, str>,
    pub(super) kind: ToolCallKind,
    /// What the server wants back with the call.
    pub(super) extra: Option<&'a RawValue>,
}

impl Fragment<'_> {
    /// The bytes of it that are kept.
    fn len(&self) -> usize {
        self.arguments.len() + self.extra.map_or(0, |extra| extra.get().len())
    }
}

/// The calls of one answer, which all stay open until the answer ends, as their fragments may
/// alternate.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Call>,
    bytes: usize,
}

#[derive(Debug)]
struct Call {
    index: Option<u64>,
    item: WireCall,
    /// The segment and the id under which it was announced; absent until its name is known.
    started: Option<(SegmentId, String)>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes in a fragment and appends the events it gives.
    pub(super) fn push(
        &mut self,
        fragment: Fragment<'_>,
        names: &mut Names,
        next: &mut u32,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(fragment.len());
        if self.bytes > MAX_BYTES {
            return Err(Error::stream(format!("the tool calls have more than {MAX_BYTES} bytes")));
        }
        let place = match self.find(&fragment) {
            Some(place) => place,
            None if self.list.len() == MAX_CALLS => {
                return Err(Error::stream(format!("the answer has more than {MAX_CALLS} tool calls")));
            }
            None => {
                self.bytes = self.bytes.saturating_add(fragment.id.len() + fragment.name.len());
                self.list.push(Call::new(&fragment));
                self.list.len() - 1
            }
        };
        let Some(call) = self.list.get_mut(place) else { return Ok(()) };
        call.take(fragment, names, next, out);
        Ok(())
    }

    /// The call that a fragment continues, if it does not begin one.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let place = match fragment.index {
            Some(index) => self.list.iter().rposition(|call| call.index == Some(index))?,
            None if fragment.id.is_empty() => self.list.len().checked_sub(1)?,
            None => return self.list.iter().rposition(|call| call.item.id == fragment.id),
        };
        (!self.list.get(place)?.ends_before(fragment)).then_some(place)
    }

    /// Ends all calls.
    pub(super) fn finish(&mut self, names: &mut Names, next: &mut u32, out: &mut Vec<StreamEvent>) {
        for mut call in std::mem::take(&mut self.list) {
            let unsaid = call.started.is_none() || call.is_held_back(names);
            let (segment, id) = call.start(names, next, out);
            let (whole, raw) = names.finished(id, &call.item);
            if unsaid && !whole.raw_arguments.is_empty() {
                out.push(StreamEvent::ToolCallDelta { id: segment, arguments: whole.raw_arguments.clone() });
            }
            out.push(StreamEvent::ToolCallEnd { id: segment, call: whole, raw });
        }
    }
}

impl Call {
    fn new(fragment: &Fragment<'_>) -> Self {
        let item = WireCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
            kind: fragment.kind,
            extra: None,
        };
        Self { index: fragment.index, item, started: None }
    }

    /// Whether a fragment in this call's place begins another one. Fragments after the first have no
    /// name, or repeat it; some servers give each of them a fresh id.
    fn ends_before(&self, fragment: &Fragment<'_>) -> bool {
        if fragment.name.is_empty() || self.item.name.is_empty() {
            return false;
        }
        if fragment.name != self.item.name {
            return true;
        }
        if fragment.id.is_empty() {
            fragment.index.is_none() && !self.item.arguments.is_empty()
        } else {
            !self.item.id.is_empty() && fragment.id != self.item.id
        }
    }

    fn take(
        &mut self,
        fragment: Fragment<'_>,
        names: &mut Names,
        next: &mut u32,
        out: &mut Vec<StreamEvent>,
    ) {
        if self.item.id.is_empty() {
            self.item.id = fragment.id.into_owned();
        }
        if self.item.name.is_empty() {
            self.item.name = fragment.name.into_owned();
        }
        if let Some(extra) = fragment.extra {
            self.item.extra = serde_json::from_str(extra.get()).ok();
        }
        self.item.arguments.push_str(&fragment.arguments);
        if self.item.name.is_empty() {
            return;
        }
        let announced = self.started.is_some();
        let (segment, _) = self.start(names, next, out);
        if self.is_held_back(names) {
            return;
        }
        let news = if announced { fragment.arguments } else { Cow::Owned(self.item.arguments.clone()) };
        if !news.is_empty() {
            out.push(StreamEvent::ToolCallDelta { id: segment, arguments: news.into_owned() });
        }
    }

    /// Announces the call, unless that was done.
    fn start(
        &mut self,
        names: &mut Names,
        next: &mut u32,
        out: &mut Vec<StreamEvent>,
    ) -> (SegmentId, String) {
        if let Some(started) = &self.started {
            return started.clone();
        }
        let segment = SegmentId(*next);
        *next = next.wrapping_add(1);
        let call_id = names.id(&self.item.id, &self.item.name);
        let (name, kind) = names.tool(&self.item.name, self.item.kind);
        out.push(StreamEvent::ToolCallStart {
            id: segment,
            call_id: call_id.clone(),
            name: name.to_owned(),
            kind,
        });
        self.started.insert((segment, call_id)).clone()
    }

    /// Whether the text of a custom tool's input can only be told from the whole arguments.
    fn is_held_back(&self, names: &Names) -> bool {
        names.tool(&self.item.name, self.item.kind).1 != self.item.kind
    }
}
