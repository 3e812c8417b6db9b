//! Outputs of every size, over journals that work and journals that do not.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::*;
use crate::{Durability, Event, Fut, MemoryJournal, Seq};

async fn spooled(pieces: impl IntoIterator<Item = &str>, journal: Arc<dyn Journal>) -> ToolOutput {
    let mut spool = Spool::new(journal);
    for piece in pieces {
        spool.push(piece).await;
    }
    spool.finish().await
}

fn memory() -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::default())
}

#[tokio::test]
async fn what_is_small_is_held() {
    assert_eq!(spooled([], memory()).await, ToolOutput::Text(String::new()));
    assert_eq!(spooled(["a", "", "\u{e9}b"], memory()).await, ToolOutput::Text("a\u{e9}b".into()));
    let full = "x".repeat(Payload::INLINE_LIMIT);
    assert_eq!(spooled([full.as_str()], memory()).await, ToolOutput::Text(full));
}

#[tokio::test]
async fn what_is_large_is_kept_whole_and_held_at_its_ends() {
    // Characters of several bytes, so that pieces and ends fall between the bytes of one.
    let pieces: Vec<String> =
        (0..60_000).map(|n| format!("{n} \u{1f980}\u{e9} ").repeat(1 + n % 7)).collect();
    let text = pieces.concat();
    assert!(text.len() > 2 * Payload::INLINE_LIMIT);
    let one_by_one = spooled(pieces.iter().map(String::as_str), memory()).await;
    let at_once = spooled([text.as_str()], memory()).await;
    for output in [one_by_one, at_once] {
        let ToolOutput::Spooled(spooled) = &output else { panic!("{output:?}") };
        assert_eq!((spooled.bytes(), spooled.chars()), (text.len() as u64, text.chars().count() as u64));
        assert!(text.starts_with(spooled.head()) && text.ends_with(spooled.tail()));
        for end in [spooled.head(), spooled.tail()] {
            assert!((Spooled::END - 4..=Spooled::END).contains(&end.len()), "{}", end.len());
        }
        assert_eq!(output.fault(), None);
        assert_eq!(output.text(text.len() as u64).await.unwrap(), text);
        assert_eq!(output.text(text.len() as u64 - 1).await.unwrap(), output.preview());
    }
}

#[tokio::test]
async fn nothing_is_lost_if_a_push_is_dropped() {
    let mut spool = Spool::new(memory());
    let piece = "x".repeat(PIECE);
    for _ in 0..40 {
        tokio::select! {
            biased;
            () = spool.push(&piece) => {}
            () = std::future::ready(()) => {}
        }
    }
    let output = spool.finish().await;
    assert_eq!(output.text(u64::MAX).await.unwrap().len(), 40 * PIECE);
}

/// A journal that takes so many pieces of payloads and no more.
struct Full {
    inner: MemoryJournal,
    room: AtomicUsize,
}

impl Journal for Full {
    fn append<'a>(&'a self, events: &'a [Event], d: Durability) -> Fut<'a, Result<(), JournalError>> {
        self.inner.append(events, d)
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        self.inner.read(from, max)
    }

    fn extend_blob<'a>(&'a self, blob: &'a BlobId, piece: Bytes) -> Fut<'a, Result<(), JournalError>> {
        let taken = self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1));
        match taken {
            Ok(_) => self.inner.extend_blob(blob, piece),
            Err(_) => Box::pin(async { Err(JournalError("no space left".into())) }),
        }
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, Result<Vec<u8>, JournalError>> {
        self.inner.read_blob(blob, from, max)
    }
}

#[tokio::test]
async fn a_full_disk_costs_the_middle_and_the_output_says_so() {
    let text = "head ".to_owned() + &"x".repeat(5_000_000) + " tail";
    for room in [0, 1, 7] {
        let journal = Arc::new(Full { inner: MemoryJournal::default(), room: AtomicUsize::new(room) });
        let output = spooled([text.as_str()], journal).await;
        assert_eq!(output.fault(), Some(&JournalError("no space left".into())));
        assert_eq!(output.bytes(), text.len() as u64);
        for shown in [output.preview().into_owned(), output.text(u64::MAX).await.unwrap()] {
            assert!(shown.starts_with("head x") && shown.contains(" tail\n[WARNING"), "{room}");
            assert!(shown.ends_with("is lost: the journal failed: no space left]"), "{room}");
        }
        let Payload::Inline(inline) = Payload::from(&output) else { panic!("there is nothing to name") };
        assert!(inline.len() < Payload::INLINE_LIMIT && inline.contains("no space left"));
    }
}

/// An event whose text cannot be kept whole happens all the same, after a warning.
#[tokio::test]
async fn an_event_with_a_large_text_survives_a_full_disk() {
    let journal = Arc::new(Full { inner: MemoryJournal::default(), room: AtomicUsize::new(0) });
    let clock = Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
    let log = crate::EventLog::new(junto_llm::SessionId::fresh(), journal, Seq(0), clock);
    let text = "x".repeat(3_000_000);
    log.emit(crate::Body::AssistantTextEnd { of: Seq(1), text: text.into() }).await.unwrap();
    let events = log.subscribe(Seq::START).rest().await.unwrap();
    assert_eq!(events.iter().map(|e| e.body.name()).collect::<Vec<_>>(), ["warning", "assistant_text_end"]);
    let crate::Body::AssistantTextEnd { text, .. } = &events[1].body else { panic!("{events:?}") };
    assert!(log.read(text).await.unwrap().contains("is lost: the journal failed: no space left"));
}
