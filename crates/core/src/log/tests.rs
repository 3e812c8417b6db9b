use super::*;
use crate::live::BEHIND;

fn log() -> EventLog {
    EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH))
}

fn progress(n: usize) -> Body {
    Body::Progress { text: n.to_string() }
}

async fn events(reader: &mut Subscription, count: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    while seen.len() < count {
        if let Item::Event(event) = reader.next().await.unwrap() {
            seen.push(event.seq.0);
        }
    }
    seen
}

#[tokio::test]
async fn readers_see_every_event_once_and_in_order() {
    let log = log();
    let mut early = log.subscribe(Seq::START);
    for n in 0..10 {
        log.emit(progress(n)).await.unwrap();
    }
    let mut late = log.subscribe(Seq(4));
    for n in 10..20 {
        log.emit(progress(n)).await.unwrap();
    }
    assert_eq!(events(&mut early, 20).await, (1..=20).collect::<Vec<_>>());
    assert_eq!(events(&mut late, 17).await, (4..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_agent_that_was_gone_writes_on_as_itself() {
    let parent = log();
    let child = parent.for_call(CallId("c".into())).child();
    child.begin_turn();
    child.emit(progress(1)).await.unwrap();
    let past = parent.subscribe(Seq::START).rest().await.unwrap();
    let again = parent.rejoin(&past[0]);
    again.begin_turn();
    again.emit(progress(2)).await.unwrap();
    let events = parent.subscribe(Seq::START).rest().await.unwrap();
    let who = |n: usize| (&events[n].agent, &events[n].parent, &events[n].parent_call);
    assert_eq!((who(0), events[0].turn), (who(1), 1));
    assert_eq!((events[1].turn, events[1].seq), (2, Seq(2)));
}

#[tokio::test]
async fn a_slow_reader_loses_deltas_and_no_event() {
    let log = log();
    let mut slow = log.subscribe(Seq::START);
    let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
    for n in 0..3 * BEHIND {
        log.delta(Delta::AssistantTextDelta { of, text: n.to_string() });
        log.emit(progress(n)).await.unwrap();
    }
    assert_eq!(events(&mut slow, 1 + 3 * BEHIND).await, (1..=1 + 3 * BEHIND as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_text_of_which_a_piece_was_missed_goes_no_further() {
    let log = log();
    let mut slow = log.subscribe(Seq::START);
    let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
    let mut whole = String::new();
    let mut say = |text: String| {
        whole.push_str(&text);
        log.delta(Delta::AssistantTextDelta { of, text });
    };
    say("first ".to_owned());
    let mut heard = String::new();
    let mut hear = async |slow: &mut Subscription, until: &str| {
        loop {
            match slow.next().await.unwrap() {
                Item::Delta(Delta::AssistantTextDelta { text, .. }) => heard.push_str(&text),
                Item::Event(event) if event.body.name() == until => return heard.clone(),
                _ => {}
            }
        }
    };
    hear(&mut slow, "assistant_text_start").await;
    for n in 0..3 * BEHIND {
        say(n.to_string());
    }
    log.emit(Body::AssistantTextEnd { of, text: whole.clone().into() }).await.unwrap();
    let heard_of_it = hear(&mut slow, "assistant_text_end").await;
    assert!(whole.starts_with(&heard_of_it), "{heard_of_it}");
    // The next one is heard again.
    let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
    log.delta(Delta::AssistantTextDelta { of, text: "next".into() });
    log.emit(Body::AssistantTextEnd { of, text: "next".into() }).await.unwrap();
    assert_eq!(hear(&mut slow, "assistant_text_end").await, format!("{heard_of_it}next"));
}

#[tokio::test]
async fn deltas_come_between_their_start_and_their_end() {
    let log = log();
    // Written before the reader came, so that it has to begin with the journal.
    log.emit(progress(0)).await.unwrap();
    let mut reader = log.subscribe(Seq::START);
    let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
    for text in ["a", "b", "c"] {
        log.delta(Delta::AssistantTextDelta { of, text: text.into() });
    }
    log.emit(Body::AssistantTextEnd { of, text: "abc".into() }).await.unwrap();
    let mut joined = String::new();
    loop {
        match reader.next().await.unwrap() {
            Item::Delta(Delta::AssistantTextDelta { text, .. }) => joined += &text,
            Item::Event(e) if e.body.name() == "assistant_text_end" => break,
            _ => {}
        }
    }
    assert_eq!(joined, "abc");
}

#[tokio::test]
async fn a_flood_of_output_does_not_pile_up_for_a_slow_reader() {
    let log = log();
    let mut reader = log.subscribe(Seq::START);
    let of = log.emit(progress(0)).await.unwrap();
    let piece = "x".repeat(64 * 1024);
    for _ in 0..1000 {
        log.output_delta(of, &piece);
    }
    log.emit(progress(1)).await.unwrap();
    let mut heard = 0;
    loop {
        match reader.next().await.unwrap() {
            Item::Delta(delta) => heard += delta.text().len(),
            Item::Event(event) if event.seq > of => break,
            Item::Event(_) => {}
        }
    }
    assert!((1..=8 * 1024 * 1024).contains(&heard), "{heard}");
    // Once it has caught up, it hears again.
    log.output_delta(of, "more");
    assert_eq!(
        reader.next().await.unwrap(),
        Item::Delta(Delta::ToolCallOutputDelta { of, text: "more".into() })
    );
}

#[tokio::test]
async fn many_writers_get_positions_without_gaps() {
    let log = log();
    let child = log.child();
    let writers = (0..8).map(|n| {
        let log = if n % 2 == 0 { log.clone() } else { child.clone() };
        tokio::spawn(async move {
            for i in 0..50 {
                log.emit(progress(i)).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let all = log.subscribe(Seq::START).rest().await.unwrap();
    assert_eq!(all.iter().map(|e| e.seq.0).collect::<Vec<_>>(), (1..=400).collect::<Vec<_>>());
    assert!(all.iter().any(|e| e.parent.as_ref() == Some(log.agent())));
}

#[tokio::test]
async fn large_payloads_spill_and_can_be_read_whole() {
    let log = log();
    let text = "é".repeat(Payload::INLINE_LIMIT);
    log.emit(Body::AssistantTextEnd { of: Seq(1), text: text.clone().into() }).await.unwrap();
    let event = log.subscribe(Seq::START).rest().await.unwrap().remove(0);
    let Body::AssistantTextEnd { text: payload, .. } = &event.body else { panic!("{event:?}") };
    assert!(matches!(payload, Payload::Spilled { bytes, .. } if *bytes == text.len() as u64));
    assert!(serde_json::to_string(&event).unwrap().len() < 100_000);
    assert_eq!(log.read(payload).await.unwrap(), text);
    let inline = Payload::from("0123456789");
    let spilled = payload.clone();
    let check = async |payload: &Payload, from, max, expected: &str| {
        assert_eq!(log.read_part(payload, from, max).await.unwrap(), expected.as_bytes());
    };
    check(&inline, 3, 4, "3456").await;
    check(&inline, 8, 4, "89").await;
    check(&inline, 11, 4, "").await;
    check(&spilled, text.len() as u64 - 4, 100, "\u{e9}\u{e9}").await;
    check(&spilled, u64::MAX, 1, "").await;
}
