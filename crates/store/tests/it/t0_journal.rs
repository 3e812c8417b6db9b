//! Events go in and come out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use junto_core::{Body, Durability, Event, EventLog, Journal, Payload, Seq};
use junto_llm::SessionId;
use junto_store::files::Faulty;
use junto_store::{Options, Redactor, Store, Sync, Watch};

use crate::support::{ROOT, append, event, journal_path, line, options, positions, session, store};

#[tokio::test]
async fn the_file_is_what_the_format_says() {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    append(&*opened.journal, [line(1)]).await;
    let text = String::from_utf8(files.bytes(&journal_path()).unwrap()).unwrap();
    let header = format!(
        r#"{{"format":"junto-journal","v":1,"session":"{}","created":"1970-01-01T00:00:00Z"}}"#,
        session()
    );
    let event = serde_json::to_string(&line(1)).unwrap();
    let sum = |text: &str| crc32fast::hash(text.as_bytes());
    assert_eq!(
        text,
        format!(
            "{{\"c\":\"{:08x}\",\"h\":{header}}}\n{{\"c\":\"{:08x}\",\"e\":{event}}}\n",
            sum(&header),
            sum(&event)
        )
    );
}

#[tokio::test]
async fn events_are_read_from_any_position_also_when_opened_again() {
    let files = Faulty::default();
    let store = store(&files);
    let opened = store.create(&session()).unwrap();
    // Of very different sizes, so that the places that are remembered are anywhere.
    let events: Vec<_> = (1..=300)
        .map(|n| event(n, Body::Progress { text: "x".repeat(usize::try_from(n * n % 7919).unwrap()) }))
        .collect();
    for some in events.chunks(7) {
        opened.journal.append(some, Durability::Written).await.unwrap();
    }
    let check = async |journal: &dyn Journal| {
        for from in [0, 1, 2, 50, 149, 299, 300] {
            for max in [0, 1, 10, 1000] {
                let read = journal.read(Seq(from), max).await.unwrap();
                let skipped = usize::try_from(from.saturating_sub(1)).unwrap();
                let expected: Vec<_> = events.iter().skip(skipped).take(max).cloned().collect();
                assert_eq!(read, expected, "{from} {max}");
            }
        }
        assert!(journal.read(Seq(301), 10).await.unwrap().is_empty());
    };
    check(&*opened.journal).await;
    drop(opened);
    let opened = store.open_session(&session()).unwrap();
    assert_eq!((opened.last, opened.recovery.is_clean()), (Seq(300), true));
    check(&*opened.journal).await;
    let recorded = store.read(&session()).unwrap();
    assert_eq!(recorded.events, events);
    assert_eq!(recorded.header.created, Some(Timestamp::UNIX_EPOCH));
    let late: Vec<_> = store.events(&session(), Seq(290)).unwrap().map(Result::unwrap).collect();
    assert_eq!(late, events[289..]);
}

#[tokio::test]
async fn an_answer_is_bounded_whatever_is_asked_for() {
    let options = Options { redact: Redactor::off(), ..options() };
    let store = Store::on(Arc::new(Faulty::default()), ROOT, options).unwrap();
    let opened = store.create(&session()).unwrap();
    for n in 1..=6 {
        append(&*opened.journal, [event(n, Body::Progress { text: "x".repeat(3 << 20) })]).await;
    }
    let mut seen = Vec::new();
    let mut answers = 0;
    while seen.len() < 6 {
        let read = opened.journal.read(Seq(seen.len() as u64 + 1), 1000).await.unwrap();
        assert!((1..=4).contains(&read.len()), "{}", read.len());
        seen.extend(positions(&read));
        answers += 1;
    }
    assert_eq!(seen, (1..=6).collect::<Vec<_>>());
    assert!(answers >= 2);
}

#[tokio::test]
async fn a_log_goes_on_where_the_journal_ended() {
    let files = Faulty::default();
    let store = store(&files);
    let clock: junto_core::Clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let long = "é".repeat(Payload::INLINE_LIMIT);
    for round in 0..3 {
        let opened = match round {
            0 => store.create(&session()).unwrap(),
            _ => store.open_session(&session()).unwrap(),
        };
        assert_eq!(opened.last, Seq(round * 3));
        let log = EventLog::new(session(), opened.journal, opened.last, Arc::clone(&clock));
        log.emit(Body::AssistantTextStart {}).await.unwrap();
        log.commit(Body::Progress { text: "x".into() }).await.unwrap();
        log.emit(Body::AssistantTextEnd { of: Seq(1), text: long.clone().into() }).await.unwrap();
        let events = log.subscribe(Seq::START).rest().await.unwrap();
        assert_eq!(positions(&events), (1..=round * 3 + 3).collect::<Vec<_>>());
        for event in events {
            if let Body::AssistantTextEnd { text, .. } = &event.body {
                assert_eq!(log.read(text).await.unwrap(), long);
            }
        }
    }
}

#[tokio::test]
async fn what_does_not_come_next_is_refused_and_changes_nothing() {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    append(&*opened.journal, [line(1), line(2)]).await;
    let before = files.bytes(&journal_path()).unwrap();
    let other = Event { session: SessionId::fresh(), ..line(3) };
    let too_large = event(3, Body::Progress { text: "x".repeat(65 << 20) });
    for wrong in [vec![line(2)], vec![line(3), line(3)], vec![other], vec![line(3), too_large]] {
        let result = opened.journal.append(&wrong, Durability::Written).await;
        assert!(result.is_err());
        assert_eq!(files.bytes(&journal_path()).unwrap(), before);
    }
    append(&*opened.journal, [line(3)]).await;
}

#[tokio::test(start_paused = true)]
async fn those_who_come_together_share_a_sync() {
    let files = Faulty::default();
    let options = Options { delay: Duration::from_millis(5), ..options() };
    let store = Store::on(Arc::new(files.clone()), ROOT, options).unwrap();
    let opened = store.create(&session()).unwrap();
    let before = files.syncs();
    let events: Vec<_> = (1..=8).map(line).collect();
    let appends = events.chunks(1).map(|event| opened.journal.append(event, Durability::Synced));
    for result in join_all(appends).await {
        result.unwrap();
    }
    assert_eq!(files.syncs() - before, 1);
    assert_eq!(opened.journal.read(Seq(1), 10).await.unwrap(), events);
}

/// Who writes to the log is not kept waiting by who waits for the disk.
#[tokio::test(start_paused = true)]
async fn commits_to_one_log_share_a_sync_and_hold_nobody_up() {
    let files = Faulty::default();
    let delay = Duration::from_secs(1);
    let store = Store::on(Arc::new(files.clone()), ROOT, Options { delay, ..options() }).unwrap();
    let opened = store.create(&session()).unwrap();
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let log = EventLog::new(session(), opened.journal, Seq(0), clock);
    let before = files.syncs();
    let say = |text: &str| Body::Progress { text: text.to_owned() };
    let commits = join_all((0..8).map(|_| log.commit(say("safe"))));
    let emit = async {
        tokio::time::sleep(delay / 2).await;
        tokio::time::timeout(delay / 4, log.emit(say("quick"))).await.unwrap().unwrap();
        assert_eq!(files.syncs(), before);
    };
    let (committed, ()) = tokio::join!(commits, emit);
    assert!(committed.into_iter().all(|committed| committed.is_ok()));
    assert_eq!(files.syncs() - before, 1);
    assert_eq!(log.last(), Seq(9));
}

#[tokio::test]
async fn syncs_are_made_when_they_are_asked_for() {
    for (sync, expected) in [(Sync::Always, [1, 1, 1]), (Sync::TurnEnds, [0, 1, 0]), (Sync::Never, [0, 0, 0])]
    {
        let files = Faulty::default();
        let store = Store::on(Arc::new(files.clone()), ROOT, Options { sync, ..options() }).unwrap();
        let opened = store.create(&session()).unwrap();
        let durabilities = [Durability::Written, Durability::Synced, Durability::Written];
        for ((seq, durability), syncs) in (1..).zip(durabilities).zip(expected) {
            let before = files.syncs();
            opened.journal.append(&[line(seq)], durability).await.unwrap();
            assert_eq!(files.syncs() - before, syncs, "{sync:?} {durability:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_that_is_given_up_did_not_happen() {
    let files = Faulty::default();
    let options = Options { delay: Duration::from_secs(1), ..options() };
    let store = Store::on(Arc::new(files.clone()), ROOT, options).unwrap();
    let opened = store.create(&session()).unwrap();
    append(&*opened.journal, [line(1)]).await;
    let events = [line(2)];
    let waiting = opened.journal.append(&events, Durability::Synced);
    tokio::time::timeout(Duration::from_millis(1), waiting).await.unwrap_err();
    // Nobody sees it, and its position is free.
    assert_eq!(positions(&opened.journal.read(Seq(1), 10).await.unwrap()), [1]);
    append(&*opened.journal, [event(2, Body::Progress { text: "another".into() })]).await;
    let recorded = store.read(&session()).unwrap();
    assert_eq!(positions(&recorded.events), [1, 2]);
    assert!(recorded.recovery.is_clean());
    assert_eq!(recorded.events[1].body, Body::Progress { text: "another".into() });
}

#[tokio::test(start_paused = true)]
async fn nobody_sees_what_is_not_synced_yet() {
    let files = Faulty::default();
    let options = Options { delay: Duration::from_secs(1), ..options() };
    let store = Store::on(Arc::new(files), ROOT, options).unwrap();
    let opened = store.create(&session()).unwrap();
    let events = [line(1)];
    let mut waiting = opened.journal.append(&events, Durability::Synced);
    let read = tokio::select! {
        biased;
        _ = &mut waiting => panic!("the time did not pass"),
        read = opened.journal.read(Seq(1), 10) => read.unwrap(),
    };
    assert_eq!(read, []);
    waiting.await.unwrap();
    assert_eq!(opened.journal.read(Seq(1), 10).await.unwrap(), events);
}

#[derive(Default)]
struct Heard(Mutex<Vec<u64>>);

impl Watch for Heard {
    fn written(&self, event: &Event) {
        self.0.lock().unwrap().push(event.seq.0);
    }
}

#[tokio::test]
async fn a_watch_hears_of_what_was_written_and_of_nothing_else() {
    let files = Faulty::default();
    let heard = Arc::new(Heard::default());
    let options = Options { watch: Some(Arc::clone(&heard) as Arc<dyn Watch>), ..options() };
    let store = Store::on(Arc::new(files.clone()), ROOT, options).unwrap();
    let opened = store.create(&session()).unwrap();
    append(&*opened.journal, [line(1), line(2)]).await;
    opened.journal.append(&[line(2)], Durability::Written).await.unwrap_err();
    opened.journal.append(&[line(3), line(4)], Durability::Synced).await.unwrap();
    assert_eq!(*heard.0.lock().unwrap(), [1, 2, 3, 4]);
}

#[tokio::test]
async fn secrets_do_not_reach_the_file() {
    let files = Faulty::default();
    let redact = Redactor::new(["correct horse battery".into()]);
    let options = Options { redact, ..options() };
    let store = Store::on(Arc::new(files.clone()), ROOT, options).unwrap();
    let opened = store.create(&session()).unwrap();
    let text = "the key\nsk-ant-api03-abcdEFGH1234ijklMNOP5678 and correct horse battery".to_owned();
    append(&*opened.journal, [event(1, Body::Progress { text })]).await;
    let written = String::from_utf8(files.bytes(&journal_path()).unwrap()).unwrap();
    assert!(!written.contains("api03") && !written.contains("horse"), "{written}");
    let expected = "the key\n[redacted]*************************** and [redacted]***********".to_owned();
    let read = opened.journal.read(Seq(1), 1).await.unwrap();
    assert_eq!(read[0].body, Body::Progress { text: expected });
    assert!(store.read(&session()).unwrap().recovery.is_clean());
}
