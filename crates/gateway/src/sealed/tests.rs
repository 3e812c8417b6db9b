use std::sync::Arc;

use base64::Engine as _;
use junto_llm::{
    Content, Message, Origin, Part, Response, Role, SegmentId, StreamEvent, Thinking, ToolCall, Wire,
};
use serde_json::{Value, json};

use super::*;

fn origin(wire: Wire, provider: &str) -> Arc<Origin> {
    Arc::new(Origin { wire, provider: provider.into(), model: "m".into() })
}

fn thinking(text: &str, signature: Option<&str>) -> Content {
    Content::Thinking(Thinking { text: text.into(), signature: signature.map(str::to_owned) })
}

fn call(id: &str) -> Content {
    Content::ToolCall(ToolCall::function(id, "f", "{}"))
}

/// What a client on this wire gets of these parts.
fn sealed(expected: &Arc<Origin>, parts: &[Part]) -> Vec<Part> {
    let mut response = Response::empty("p", "m");
    response.message.content = parts.to_vec();
    Sealer::new(Arc::clone(expected)).seal_all(&mut response);
    response.message.content
}

/// What becomes of parts that a client sends.
fn opened(wire: Wire, parts: Vec<Part>) -> Vec<Part> {
    let mut messages = vec![Message::new(Role::Assistant, parts)];
    open_all(wire, &mut messages);
    messages.pop().map(|message| message.content).unwrap_or_default()
}

/// Seals an answer of one part, and opens it as the client sends it back.
fn round_trip(expected: &Arc<Origin>, part: &Part) -> (Part, Option<Part>) {
    let kept = sealed(expected, std::slice::from_ref(part)).remove(0);
    // The client knows text and signature only.
    let raw = Some(json!({"type": "its own"}));
    let back = Part::received(kept.content().clone(), Arc::clone(expected), raw);
    (kept, opened(expected.wire, vec![back]).pop())
}

#[test]
fn reasoning_of_others_comes_back_as_it_was() {
    for surface in [Wire::Anthropic, Wire::Responses] {
        let expected = origin(surface, "route");
        for maker in [origin(Wire::Gemini, "route"), origin(surface, "member")] {
            for part in [
                Part::received(thinking("hm", Some("sig")), Arc::clone(&maker), None),
                Part::received(thinking("", Some("sig")), Arc::clone(&maker), Some(json!({"id": "rs_1"}))),
                Part::received(thinking("hm", None), Arc::clone(&maker), Some(json!({"id": "rs_1"}))),
                Part::received(Content::RedactedThinking("xx".into()), Arc::clone(&maker), None),
            ] {
                let (kept, back) = round_trip(&expected, &part);
                assert!(kept != part && kept.origin().is_none(), "{kept:?}");
                assert_eq!(back, Some(part));
            }
        }
    }
}

#[test]
fn what_needs_no_seal_gets_none() {
    let expected = origin(Wire::Anthropic, "route");
    let foreign = origin(Wire::Gemini, "route");
    for part in [
        Part::received(thinking("hm", Some("sig")), Arc::clone(&expected), None),
        Part::received(thinking("hm", None), Arc::clone(&foreign), None),
        Part::received(Content::Text("hi".into()), Arc::clone(&foreign), Some(json!(1))),
        Part::received(call("1"), foreign, Some(json!({"functionCall": {}}))),
        Part::new(thinking("hm", Some("sig"))),
    ] {
        assert_eq!(sealed(&expected, std::slice::from_ref(&part)), [part]);
    }
}

/// Gemini signs calls: to clients of other wires the signature goes ahead of the call.
#[test]
fn signed_calls_come_back_as_they_were() {
    let maker = origin(Wire::Gemini, "route");
    let raw = json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "sig"});
    let part = Part::received(call("1"), maker, Some(raw));
    for surface in [Wire::Anthropic, Wire::Responses] {
        let expected = origin(surface, "route");
        let kept = sealed(&expected, std::slice::from_ref(&part));
        let [Content::RedactedThinking(data), Content::ToolCall(_)] = [kept[0].content(), kept[1].content()]
        else {
            panic!("{kept:?}")
        };
        let slot = match surface {
            Wire::Responses => thinking("", Some(data)),
            _ => kept[0].content().clone(),
        };
        let back = [slot, call("0"), call("1")].map(|c| Part::received(c, Arc::clone(&expected), None));
        let opened = opened(surface, back.to_vec());
        assert_eq!(opened[..], [back[1].clone(), part.clone()]);
    }
}

/// Of calls side by side Gemini signs the first, and numbers all.
#[test]
fn calls_beside_a_signed_one_keep_their_ids() {
    let maker = origin(Wire::Gemini, "route");
    let raw = json!({"functionCall": {"id": "g1", "name": "f", "args": {}}, "thoughtSignature": "sig"});
    let made = |id: &str, raw| Part::received(call(id), Arc::clone(&maker), raw);
    let parts = [made("g1", Some(raw)), made("g2", None)];
    for surface in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let expected = origin(surface, "route");
        let kept = sealed(&expected, &parts);
        let back = kept.into_iter().map(|part| {
            let raw = part.origin().and_then(|origin| part.raw_for(origin)).cloned();
            Part::received(part.into_content(), Arc::clone(&expected), raw)
        });
        assert_eq!(opened(surface, back.collect()), parts, "{surface:?}");
    }
    // Where it signs none, nothing is missing.
    let unsigned = [made("g1", None), made("g2", None)];
    assert_eq!(sealed(&origin(Wire::Anthropic, "route"), &unsigned), unsigned);
}

/// What makers say of a text goes ahead of the next call.
#[test]
fn texts_before_a_call_come_back_as_they_were() {
    let signed = json!({"text": "let me see", "thoughtSignature": "sig"});
    let bare = json!({"thoughtSignature": "sig"});
    let item = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "phase": "commentary",
        "content": [{"type": "output_text", "text": "let me see", "annotations": []}],
    });
    for (wire, raw, text) in [
        (Wire::Gemini, signed, "let me see"),
        (Wire::Gemini, bare, ""),
        (Wire::Responses, item, "let me see"),
    ] {
        let maker = origin(wire, "member");
        let mut wanted = raw.clone();
        wanted.as_object_mut().unwrap().remove("id");
        let made = |raw| Part::received(Content::Text(text.into()), Arc::clone(&maker), Some(raw));
        for surface in Wire::ALL {
            let expected = origin(surface, "route");
            let mut kept =
                sealed(&expected, &[made(raw.clone()), Part::received(call("1"), Arc::clone(&maker), None)]);
            if surface == Wire::Gemini {
                // Its encoder moves a signature to the part that follows.
                let slot = kept.remove(1);
                let Content::Thinking(Thinking { signature: Some(slot), .. }) = slot.content() else {
                    panic!("{slot:?}")
                };
                let call = kept.pop().unwrap();
                kept.push(gemini(&expected, call.into_content(), Some(slot)));
            }
            let back = kept.into_iter().map(|part| {
                let raw = part.origin().and_then(|origin| part.raw_for(origin)).cloned();
                Part::received(part.into_content(), Arc::clone(&expected), raw)
            });
            // Clients leave out what says nothing.
            let back = back.filter(|part| part.as_text() != Some(""));
            let opened = opened(surface, back.collect());
            assert_eq!(opened[0], made(wanted.clone()), "{wire:?} {surface:?}");
            assert!(matches!(
                opened[1..].iter().map(Part::content).collect::<Vec<_>>()[..],
                [Content::ToolCall(_)]
            ));
        }
    }
}

/// A part of Gemini's wire as a client sends it back.
fn gemini(expected: &Arc<Origin>, content: Content, slot: Option<&str>) -> Part {
    let raw = slot.map(|slot| json!({"thoughtSignature": slot}));
    Part::received(content, Arc::clone(expected), raw)
}

#[test]
fn on_geminis_wire_the_next_call_keeps_everything_before_it() {
    let expected = origin(Wire::Gemini, "route");
    let maker = origin(Wire::Anthropic, "route");
    let made = |content| Part::received(content, Arc::clone(&maker), None);
    let early = made(thinking("hm", Some("s1")));
    let redacted = made(Content::RedactedThinking("xx".into()));
    let late = made(thinking("ha", Some("s2")));
    let said = Content::Text("let me see".into());
    let kept = sealed(
        &expected,
        &[early.clone(), redacted.clone(), made(said.clone()), late.clone(), made(call("1"))],
    );
    let slots: Vec<&str> = kept
        .iter()
        .filter_map(|part| match part.content() {
            Content::Thinking(thinking) => thinking.signature.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(slots.len(), 3);
    let text = gemini(&expected, said, None);
    let bare = gemini(&expected, call("1"), None);
    let second = gemini(&expected, call("2"), None);
    let slot = Some(slots[2]);
    let expected_parts = [early, redacted, text.clone(), late, bare.clone(), second.clone()];
    // One client drops thoughts, another sends them too, a third keeps each chunk as a message.
    let thought = |text| gemini(&expected, thinking(text, None), None);
    let signed = gemini(&expected, call("1"), slot);
    let without = vec![text.clone(), signed.clone(), second.clone()];
    let with = vec![thought("hm"), text, thought("ha"), signed, second];
    let mut messages: Vec<Message> =
        with.iter().map(|part| Message::new(Role::Assistant, vec![part.clone()])).collect();
    open_all(Wire::Gemini, &mut messages);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].content, expected_parts);
    assert_eq!(opened(Wire::Gemini, with), expected_parts);
    assert_eq!(opened(Wire::Gemini, without), expected_parts);
}

/// Clients of Chat Completions keep what stands beside a call.
#[test]
fn on_chats_wire_the_next_call_keeps_everything_before_it() {
    let expected = origin(Wire::Chat, "route");
    let (anthropic, gemini) = (origin(Wire::Anthropic, "route"), origin(Wire::Gemini, "route"));
    let thought = Part::received(thinking("hm", Some("s")), anthropic, None);
    let raw = json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "sig"});
    let signed = Part::received(call("1"), gemini, Some(raw));
    let kept = sealed(&expected, &[thought.clone(), signed.clone()]);
    let extra = kept[1].raw_for(kept[1].origin().unwrap()).unwrap()[EXTRA].clone();
    let raw = json!({"id": "1", "type": "function", EXTRA: extra});
    let back = Part::received(call("1"), Arc::clone(&expected), Some(raw));
    let shown = Part::received(thinking("hm", None), expected, None);
    assert_eq!(opened(Wire::Chat, vec![back.clone()]), [thought.clone(), signed.clone()]);
    assert_eq!(opened(Wire::Chat, vec![shown, back]), [thought, signed]);
}

#[test]
fn on_geminis_wire_an_empty_text_can_be_the_slot() {
    let expected = origin(Wire::Gemini, "route");
    let part = Part::received(thinking("hm", Some("s")), origin(Wire::Responses, "p"), None);
    let kept = sealed(&expected, std::slice::from_ref(&part));
    let Content::Thinking(Thinking { signature: Some(slot), .. }) = kept[0].content() else {
        panic!("{kept:?}")
    };
    let text = |text: &str, slot: Option<&str>| gemini(&expected, Content::Text(text.into()), slot);
    let back = vec![text("hi", None), text("", Some(slot))];
    assert_eq!(opened(Wire::Gemini, back), [part, text("hi", None)]);
    assert_eq!(opened(Wire::Gemini, vec![text("hi", Some(&format!("{PREFIX}e30=")))]), [text("hi", None)]);
}

/// Streams give the same as whole answers, and hold back what has to come later.
#[test]
fn streams_are_sealed_alike() {
    let id = SegmentId(0);
    let start = |origin: Option<&Arc<Origin>>| StreamEvent::StreamStart {
        id: "r".into(),
        model: "m".into(),
        provider: "p".into(),
        origin: origin.cloned(),
        usage: None,
        warnings: Vec::new(),
        rate_limit: None,
    };
    let run = |surface, maker: &Arc<Origin>, events: Vec<StreamEvent>| -> Vec<StreamEvent> {
        let sealed = |begins: Vec<StreamEvent>| {
            let mut sealer = Sealer::new(origin(surface, "route"));
            let (mut out, begun) = (Vec::new(), begins.len());
            for event in [begins, events.clone()].concat() {
                sealer.seal(event, |event| out.push(event));
            }
            out.split_off(begun)
        };
        let out = sealed(vec![start(Some(maker))]);
        // A council's stream says only later whose parts follow.
        let late = StreamEvent::Origin { origin: Some(Arc::clone(maker)) };
        assert_eq!(sealed(vec![start(None), late]), out);
        out
    };
    let end = |signature: Option<&str>, raw: Option<Value>| StreamEvent::ReasoningEnd {
        id,
        signature: signature.map(str::to_owned),
        raw,
    };
    let maker = origin(Wire::Responses, "route");
    let raw = Some(json!({"id": "rs_1"}));
    for surface in [Wire::Anthropic, Wire::Responses, Wire::Gemini] {
        let delta = StreamEvent::ReasoningDelta { id, text: "hm".into() };
        let out = run(surface, &maker, vec![delta, end(Some("s"), raw.clone())]);
        let StreamEvent::ReasoningEnd { signature: Some(signature), raw: None, .. } = &out[1] else {
            panic!("{out:?}")
        };
        let part = Sealed::read(signature).remove(0).restore("hm");
        assert_eq!(part, Part::received(thinking("hm", Some("s")), Arc::clone(&maker), raw.clone()));
        assert_eq!(run(surface, &maker, vec![end(None, None)]), [end(None, None)]);
    }
    let whole = ToolCall::function("1", "f", "{}");
    let called = StreamEvent::ToolCallEnd { id, call: whole, raw: Some(json!({"type": "function_call"})) };
    let out = run(Wire::Chat, &maker, vec![end(Some("s"), raw.clone()), called]);
    assert_eq!(out[0], end(None, None));
    let StreamEvent::ToolCallEnd { raw: Some(kept), .. } = &out[1] else { panic!("{out:?}") };
    let slot = kept[EXTRA][EXTRA_FIELD].as_str().unwrap();
    let part = Sealed::read(slot).remove(0).restore("hm");
    assert_eq!(part, Part::received(thinking("hm", Some("s")), Arc::clone(&maker), raw));

    let whole = ToolCall::function("1", "f", "{}");
    let begun = StreamEvent::ToolCallStart { id, call_id: "1".into(), name: "f".into(), kind: whole.kind };
    let signed = |raw| StreamEvent::ToolCallEnd { id, call: whole.clone(), raw };
    let maker = origin(Wire::Gemini, "route");
    let out =
        run(Wire::Anthropic, &maker, vec![begun.clone(), signed(Some(json!({"thoughtSignature": "s"})))]);
    assert!(
        matches!(&out[0], StreamEvent::Part { part } if matches!(part.content(), Content::RedactedThinking(_)))
    );
    assert_eq!(out[1], begun);
    let plain = vec![begun.clone(), signed(None)];
    assert_eq!(run(Wire::Anthropic, &maker, plain.clone()), plain);

    // What is kept of a text is there when the call begins, and nothing is where no call comes.
    let maker = origin(Wire::Responses, "route");
    let said = StreamEvent::TextEnd { id, raw: Some(json!({"phase": "commentary", "content": []})) };
    let out = run(Wire::Anthropic, &maker, vec![said.clone(), begun.clone()]);
    assert!(
        matches!(&out[1], StreamEvent::Part { part } if matches!(part.content(), Content::RedactedThinking(_)))
    );
    assert_eq!([&out[0], &out[2]], [&said, &begun]);
    assert_eq!(run(Wire::Anthropic, &maker, vec![said.clone()]), [said]);
}

#[test]
fn progress_and_what_is_damaged_is_taken_out() {
    let damaged = format!("{PREFIX}e30=");
    let part = |signature: Option<&str>| Part::new(thinking("hm", signature));
    let mut messages = vec![
        Message::user("q"),
        Message::new(Role::Assistant, vec![part(Some(PROGRESS)), part(Some("s")), Part::text("a")]),
        Message::new(Role::Assistant, vec![part(Some(PROGRESS)), part(Some(&damaged))]),
        Message::new(Role::System, vec![]),
        Message::new(Role::Assistant, vec![part(None), Part::text("a")]),
    ];
    let mut check = |wire, expected: &[usize]| {
        open_all(wire, &mut messages);
        assert_eq!(messages.iter().map(|m| m.content.len()).collect::<Vec<_>>(), expected);
    };
    check(Wire::Responses, &[1, 2, 0, 2]);
    check(Wire::Anthropic, &[1, 2, 0, 1]);
}

#[test]
fn bodies_with_something_of_ours_are_known() {
    let holds = |body: &[u8]| may_be_in(Wire::Anthropic, body);
    assert!(holds(format!("{{\"signature\":\"{PROGRESS}\"}}").as_bytes()));
    assert!(PROGRESS.starts_with(PREFIX) && STANDARD.decode(PREFIX).unwrap() == DECODED_PREFIX);
    let sealed = Sealed::new(&origin(Wire::Chat, "p"));
    assert!(sealed.write().unwrap().starts_with(PREFIX));
    assert!(write(&[sealed][..]).unwrap().starts_with(PREFIX));
    assert!(!holds(b"{}") && !holds(b"\xff"));
}
