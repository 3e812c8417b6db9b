//! Journals that a crash tore, or in which a byte changed: at every byte.

use std::ops::Range;

use junto_core::{Body, Event, Journal, Seq};
use junto_store::Opened;
use junto_store::files::Faulty;

use crate::support::{
    append, event, journal_of, journal_path, line, positions, session, store, with_journal,
};

const EVENTS: u64 = 4;

async fn sample() -> Vec<u8> {
    journal_of((1..=EVENTS).map(line)).await
}

/// Where the lines of a journal are, with their ends. The first is the header.
fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'\n' {
            lines.push(start..at + 1);
            start = at + 1;
        }
    }
    lines
}

/// Opens the session, adds an event, opens it again; everything that was there must stay there.
async fn goes_on(files: &Faulty, opened: Opened, expected: &[u64], what: &str) {
    let next = opened.last.next().0;
    let read = opened.journal.read(Seq(1), 100).await.unwrap();
    assert_eq!(positions(&read), expected, "{what}");
    for event in read {
        assert_eq!(event, line(event.seq.0), "{what}");
    }
    append(&*opened.journal, [line(next)]).await;
    drop(opened);
    let again = store(files).open_session(&session()).unwrap();
    assert!(again.recovery.cut.is_none(), "{what}");
    assert_eq!(again.last, Seq(next), "{what}");
    let recorded = store(files).read(&session()).unwrap();
    assert_eq!(positions(&recorded.events), [expected, &[next]].concat(), "{what}");
    assert_eq!(recorded.recovery.damaged, again.recovery.damaged, "{what}");
}

#[tokio::test]
async fn cut_at_any_byte_nothing_that_was_whole_is_missing() {
    let bytes = sample().await;
    let lines = lines(&bytes);
    for cut in 0..=bytes.len() {
        let what = format!("cut at {cut}");
        let left = &bytes[..cut];
        let files = with_journal(left);
        // A record is whole without the end of its line.
        let whole = lines.iter().skip(1).filter(|line| line.end - 1 <= cut).count() as u64;
        let expected: Vec<_> = (1..=whole).collect();
        let recorded = store(&files).read(&session()).unwrap();
        assert_eq!(positions(&recorded.events), expected, "{what}");
        let opened = store(&files).open_session(&session()).unwrap();
        assert_eq!(opened.last, Seq(whole), "{what}");
        assert!(opened.recovery.damaged.is_empty(), "{what}");
        let last_end =
            lines.iter().rev().find(|line| line.end - 1 <= cut).map_or(0, |line| line.end.min(cut));
        match &opened.recovery.cut {
            None => assert_eq!(last_end, cut, "{what}"),
            Some(told) => {
                assert_eq!((told.at, told.bytes), (last_end as u64, (cut - last_end) as u64), "{what}");
                let kept = told.kept.as_ref().unwrap();
                assert_eq!(files.bytes(kept).unwrap(), left[last_end..], "{what}");
            }
        }
        goes_on(&files, opened, &expected, &what).await;
    }
}

#[tokio::test]
async fn a_changed_byte_costs_no_record_but_its_own() {
    let bytes = sample().await;
    let lines = lines(&bytes);
    for at in 0..bytes.len() {
        let hit = lines.iter().position(|line| line.contains(&at)).unwrap() as u64;
        let is_end = lines.iter().any(|line| line.end - 1 == at);
        for change in [bytes[at] ^ 1, bytes[at] ^ 0x80, !bytes[at], 0, b'\n', b'}'] {
            if change == bytes[at] {
                continue;
            }
            let what = format!("byte {at} of line {hit} is {change}");
            let mut changed = bytes.clone();
            changed[at] = change;
            let files = with_journal(&changed);
            let expected: Vec<_> = (1..=EVENTS).filter(|seq| *seq != hit || is_end).collect();
            let opened = store(&files).open_session(&session()).unwrap();
            let recovery = &opened.recovery;
            if at + 1 == bytes.len() {
                // What should be the last end of a line is torn off.
                assert_eq!(recovery.cut.as_ref().map(|cut| cut.bytes), Some(1), "{what}");
            } else {
                let [damage] = &recovery.damaged[..] else { panic!("{what}: {recovery:?}") };
                assert!((damage.at..damage.at + damage.bytes).contains(&(at as u64)), "{what}: {damage:?}");
                // Damage in the last record can be of more than one line, and then of more than one record.
                let lost = damage.lost.map(|(first, last)| (first.0, last.0));
                match hit {
                    _ if is_end => assert_eq!(lost, None, "{what}"),
                    0 => assert_eq!(lost, None, "{what}"),
                    EVENTS => assert_eq!(lost.map(|lost| lost.0), Some(hit), "{what}"),
                    _ => assert_eq!(lost, Some((hit, hit)), "{what}"),
                }
                assert!(!damage.why.is_empty() && recovery.to_string().contains("damaged"), "{what}");
            }
            assert!(opened.last >= Seq(EVENTS), "{what}: a position that was shown is given again");
            goes_on(&files, opened, &expected, &what).await;
        }
    }
}

#[tokio::test]
async fn records_between_many_damages_are_all_kept() {
    let bytes = journal_of((1..=60).map(line)).await;
    let lines = lines(&bytes);
    let mut changed = bytes.clone();
    for (n, line) in lines.iter().enumerate().skip(1).filter(|(n, _)| n % 3 == 0) {
        changed[line.start + 30 + n % 20] ^= 0x55;
    }
    let files = with_journal(&changed);
    let opened = store(&files).open_session(&session()).unwrap();
    let expected: Vec<_> = (1..=60).filter(|n| n % 3 != 0).collect();
    assert_eq!(positions(&opened.journal.read(Seq(1), 100).await.unwrap()), expected);
    let lost: Vec<_> = opened.recovery.damaged.iter().map(|damage| damage.lost.unwrap().0.0).collect();
    assert_eq!(lost, (1..=20).map(|n| n * 3).collect::<Vec<_>>());
    assert_eq!(opened.last, Seq(60));
    for from in [3, 4, 30, 58, 60] {
        let read = opened.journal.read(Seq(from), 2).await.unwrap();
        let wanted: Vec<_> = expected.iter().copied().filter(|seq| *seq >= from).take(2).collect();
        assert_eq!(positions(&read), wanted, "{from}");
    }
}

#[tokio::test]
async fn removed_and_doubled_lines_are_told() {
    let bytes = sample().await;
    let lines = lines(&bytes);
    let removed = [&bytes[..lines[2].start], &bytes[lines[3].start..]].concat();
    let recorded = store(&with_journal(&removed)).read(&session()).unwrap();
    assert_eq!(positions(&recorded.events), [1, 3, 4]);
    assert_eq!(recorded.recovery.damaged[0].lost, Some((Seq(2), Seq(2))));
    let doubled = [&bytes[..lines[3].start], &bytes[lines[2].start..]].concat();
    let recorded = store(&with_journal(&doubled)).read(&session()).unwrap();
    assert_eq!(positions(&recorded.events), [1, 2, 3, 4]);
    assert_eq!(recorded.recovery.damaged.len(), 1);
}

#[tokio::test]
async fn an_event_of_an_unknown_kind_is_told_and_the_others_are_read() {
    let unknown = serde_json::to_string(&line(2)).unwrap().replace("\"progress\"", "\"from_the_future\"");
    let mut bytes = journal_of([line(1)]).await;
    bytes.extend(
        format!("{{\"c\":\"{:08x}\",\"e\":{unknown}}}\n", crc32fast::hash(unknown.as_bytes())).bytes(),
    );
    let files = with_journal(&bytes);
    let opened = store(&files).open_session(&session()).unwrap();
    assert_eq!(opened.last, Seq(2));
    append(&*opened.journal, [line(3)]).await;
    assert_eq!(positions(&opened.journal.read(Seq(1), 10).await.unwrap()), [1, 3]);
    let recorded = store(&files).read(&session()).unwrap();
    assert_eq!(positions(&recorded.events), [1, 3]);
    assert_eq!(recorded.recovery.damaged[0].lost, Some((Seq(2), Seq(2))));
}

#[tokio::test]
async fn a_tail_of_zeros_or_noise_is_cut() {
    let bytes = sample().await;
    for tail in [vec![0; 5000], b"\0\0\n".to_vec(), b"noise".to_vec(), vec![b'x'; 70 << 20]] {
        let files = with_journal(&[&bytes[..], &tail].concat());
        let opened = store(&files).open_session(&session()).unwrap();
        assert!(!opened.recovery.is_clean());
        assert!(opened.last >= Seq(EVENTS));
        goes_on(&files, opened, &[1, 2, 3, 4], &format!("{} bytes", tail.len())).await;
    }
}

#[tokio::test]
async fn every_cut_is_kept() {
    let bytes = sample().await;
    let files = with_journal(&bytes[..bytes.len() - 2]);
    for round in 1..=3 {
        let opened = store(&files).open_session(&session()).unwrap();
        let kept = opened.recovery.cut.unwrap().kept.unwrap();
        assert!(kept.ends_with(format!("journal.jsonl.cut-{round}")), "{}", kept.display());
        drop(opened.journal);
        let left = files.bytes(&journal_path()).unwrap();
        files.put(&journal_path(), &[&left[..], b"{\"c\":"].concat());
    }
}

#[tokio::test]
async fn a_log_does_not_wait_for_positions_that_are_lost() {
    let mut bytes = sample().await;
    let at = bytes.len() - 10;
    bytes[at] ^= 1;
    let files = with_journal(&bytes);
    let opened = store(&files).open_session(&session()).unwrap();
    let clock: junto_core::Clock = std::sync::Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
    let log = junto_core::EventLog::new(session(), opened.journal, opened.last, clock);
    let mut reader = log.subscribe(Seq::START);
    assert_eq!(positions(&reader.rest().await.unwrap()), [1, 2, 3]);
    let mut waiting = log.subscribe(Seq(EVENTS));
    let reading = tokio::spawn(async move { waiting.next().await.unwrap() });
    // The reader waits for what is to come, and lets others work meanwhile.
    tokio::task::yield_now().await;
    log.emit(Body::Progress { text: "new".into() }).await.unwrap();
    let junto_core::Item::Event(seen) = reading.await.unwrap() else { panic!("no event") };
    assert_eq!(seen.seq, Seq(EVENTS + 1));
}

#[tokio::test]
async fn long_lines_in_the_middle_are_passed_over() {
    let (first, second) = (line(1), event(2, Body::Progress { text: "y".into() }));
    let bytes = journal_of([first.clone(), second.clone()]).await;
    let at = lines(&bytes)[2].start;
    let noise = [vec![b'x'; 65 << 20], b"\n".to_vec()].concat();
    let files = with_journal(&[&bytes[..at], &noise, &bytes[at..]].concat());
    let recorded = store(&files).read(&session()).unwrap();
    let events: Vec<Event> = recorded.events;
    assert_eq!(events, [first, second]);
    assert_eq!(recorded.recovery.damaged.len(), 1);
    assert_eq!(recorded.recovery.damaged[0].bytes, noise.len() as u64);
}
