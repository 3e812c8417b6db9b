//! Payloads beside the journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use junto_core::{BlobId, Body, Durability, EventLog, Journal, Payload, Seq};
use junto_store::files::{Fault, Faulty};
use junto_store::{ErrorKind, Format};

use crate::support::{append, journal_path, line, naming, session, store};

fn blob(name: &str) -> BlobId {
    BlobId(name.to_owned())
}

fn blob_path(blob: &BlobId) -> PathBuf {
    journal_path().parent().map(|folder| folder.join("blobs").join(&blob.0)).unwrap()
}

async fn extend(journal: &dyn Journal, blob: &BlobId, pieces: &[&str]) {
    for piece in pieces {
        journal.extend_blob(blob, Bytes::copy_from_slice(piece.as_bytes())).await.unwrap();
    }
}

#[tokio::test]
async fn a_payload_is_read_in_parts_before_and_after_it_is_named() {
    let files = Faulty::default();
    let store = store(&files);
    let opened = store.create(&session()).unwrap();
    let (one, two) = (blob("one"), blob("two"));
    for n in 0..10 {
        extend(&*opened.journal, &one, &[&n.to_string().repeat(3)]).await;
        extend(&*opened.journal, &two, &["x"]).await;
    }
    let check = async |journal: &dyn Journal| {
        for (from, max, expected) in [
            (0, 100, "000111222333444555666777888999"),
            (2, 5, "01112"),
            (28, 5, "99"),
            (30, 5, ""),
            (99, 5, ""),
            (0, 0, ""),
        ] {
            let read = journal.read_blob(&one, from, max).await.unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), expected, "{from} {max}");
        }
        assert_eq!(journal.read_blob(&two, 0, 100).await.unwrap(), b"xxxxxxxxxx");
        assert!(journal.read_blob(&blob("three"), 0, 1).await.is_err());
    };
    check(&*opened.journal).await;
    append(&*opened.journal, [naming(1, &one, 30), naming(2, &two, 10)]).await;
    check(&*opened.journal).await;
    assert_eq!(store.read_blob(&session(), &one, 1, 3).unwrap(), b"001");
    drop(opened);
    check(&*store.open_session(&session()).unwrap().journal).await;
}

#[tokio::test]
async fn what_no_event_names_is_swept() {
    let files = Faulty::default();
    let store = store(&files);
    let opened = store.create(&session()).unwrap();
    let (named, quoted, lost) = (blob("named"), blob("quoted"), blob("lost"));
    for blob in [&named, &quoted, &lost] {
        extend(&*opened.journal, blob, &["text"]).await;
    }
    append(&*opened.journal, [naming(1, &named, 4)]).await;
    // An event within an event names it, too.
    let text = serde_json::to_string(&naming(1, &quoted, 4)).unwrap();
    append(&*opened.journal, [crate::support::event(2, junto_core::Body::Progress { text })]).await;
    drop(opened);
    let opened = store.open_session(&session()).unwrap();
    assert_eq!((opened.recovery.swept, opened.recovery.is_clean()), (1, true));
    assert_eq!(files.bytes(&blob_path(&lost)), None);
    for blob in [&named, &quoted] {
        assert_eq!(opened.journal.read_blob(blob, 0, 9).await.unwrap(), b"text");
    }
}

#[tokio::test]
async fn a_payload_that_was_lost_can_be_spoken_of() {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    files.set(Some(Fault::From(0, std::io::ErrorKind::StorageFull)));
    let lost = opened.journal.extend_blob(&blob("lost"), Bytes::from_static(b"text")).await.unwrap_err();
    files.set(None);
    let text = format!("the middle is gone: {lost}");
    assert!(text.contains("blobs/lost"), "{text}");
    append(&*opened.journal, [crate::support::event(1, junto_core::Body::Progress { text }), line(2)]).await;
    assert!(opened.journal.extend_blob(&blob("lost"), Bytes::from_static(b"text")).await.is_err());
}

#[tokio::test]
async fn nothing_is_swept_where_a_record_is_damaged() {
    let files = Faulty::default();
    let store = store(&files);
    let opened = store.create(&session()).unwrap();
    extend(&*opened.journal, &blob("one"), &["text"]).await;
    append(&*opened.journal, [naming(1, &blob("one"), 4), line(2)]).await;
    drop(opened);
    let text = String::from_utf8(files.bytes(&journal_path()).unwrap()).unwrap();
    files.put(&journal_path(), text.replace("\"blob\":\"one\"", "\"blob\":\"oXe\"").as_bytes());
    let opened = store.open_session(&session()).unwrap();
    assert_eq!((opened.recovery.swept, opened.recovery.damaged.len()), (0, 1));
    assert_eq!(opened.journal.read_blob(&blob("one"), 0, 9).await.unwrap(), b"text");
}

#[tokio::test]
async fn a_payload_is_synced_before_the_event_that_names_it_is_written() {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    opened.journal.append(&[line(1)], Durability::Synced).await.unwrap();
    extend(&*opened.journal, &blob("one"), &["te", "xt"]).await;
    opened.journal.append(&[naming(2, &blob("one"), 4)], Durability::Written).await.unwrap();
    let left = files.after_crash(junto_store::files::Loss::Unsynced);
    assert_eq!(left.bytes(&blob_path(&blob("one"))).unwrap(), b"text");
}

#[tokio::test]
async fn a_secret_in_a_payload_is_masked_wherever_it_is_split() {
    let key = "sk-ant-api03-abcdEFGH1234ijklMNOP5678";
    let text = format!("before {key} after");
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    for cut in 0..text.len() {
        let blob = blob(&format!("b{cut}"));
        extend(&*opened.journal, &blob, &[&text[..cut], &text[cut..]]).await;
        let unnamed = opened.journal.read_blob(&blob, 0, 1000).await.unwrap();
        let event = naming(cut as u64 + 1, &blob, text.len() as u64);
        append(&*opened.journal, [event]).await;
        let named = opened.journal.read_blob(&blob, 0, 1000).await.unwrap();
        assert_eq!(unnamed, named, "{cut}");
        let seen = String::from_utf8(named).unwrap();
        assert_eq!(seen, format!("before {:*<37} after", "[redacted]"), "{cut}");
    }
}

#[tokio::test]
async fn a_payload_that_failed_stays_failed() {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    let one = blob("one");
    let large = "x y ".repeat(10_000);
    extend(&*opened.journal, &one, &[&large]).await;
    files.set(Some(junto_store::files::Fault::Full(100)));
    let piece = || Bytes::copy_from_slice(large.as_bytes());
    assert!(opened.journal.extend_blob(&one, piece()).await.is_err());
    files.set(None);
    assert!(opened.journal.extend_blob(&one, piece()).await.is_err());
    assert!(opened.journal.read_blob(&one, 0, 1).await.is_err());
    assert_eq!(files.bytes(&blob_path(&one)), None);
    // The journal goes on.
    append(&*opened.journal, [line(1)]).await;
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let files = Faulty::default();
    files.put(Path::new("/state/secret"), b"secret");
    let store = store(&files);
    let opened = store.create(&session()).unwrap();
    for name in ["", ".", "..", "../../secret", "/state/secret", "a/b", "a\0b", &"x".repeat(200)] {
        let kind = store.read_blob(&session(), &blob(name), 0, 10).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::Invalid, "{name}");
        let piece = Bytes::from_static(b"x");
        assert!(opened.journal.extend_blob(&blob(name), piece).await.is_err(), "{name}");
    }
}

/// A text that goes through an event log has a checksum of what is on the disk, secrets masked, and what was changed there is
/// told by whoever reads it.
#[tokio::test]
async fn a_text_that_was_changed_on_the_disk_is_told() {
    let files = Faulty::default();
    let store = store(&files);
    let opened = store.create(&session()).unwrap();
    let clock = Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
    let log = EventLog::new(session(), Arc::clone(&opened.journal) as Arc<dyn Journal>, opened.last, clock);
    let text = format!("the key is sk-proj-4fJ29dkLw83hGvQx7TzB1cNm {}", "x".repeat(Payload::INLINE_LIMIT));
    log.emit(Body::AssistantTextEnd { of: Seq(1), text: text.clone().into() }).await.unwrap();
    drop((log, opened));

    let payload = match store.read(&session()).unwrap().events.remove(0).body {
        Body::AssistantTextEnd { text, .. } => text,
        other => panic!("{other:?}"),
    };
    let Payload::Spilled { blob, crc: Some(_), .. } = &payload else { panic!("{payload:?}") };
    let whole = store.read_payload(&session(), &payload).unwrap();
    assert_eq!(whole.len(), text.len());
    assert!(!String::from_utf8(whole.clone()).unwrap().contains("sk-proj-4fJ29"));
    let damages: [(&str, Vec<u8>); 2] = [
        ("its checksum is wrong", [&whole[..9], b"Y", &whole[10..]].concat()),
        ("bytes and not", whole[..whole.len() - 1].to_vec()),
    ];
    for (why, bytes) in damages {
        files.put(&blob_path(blob), &bytes);
        let error = store.read_payload(&session(), &payload).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
        assert!(error.to_string().contains(why), "{error}");
        let mut out = Vec::new();
        let recovery = store.export(&session(), Format::Json, &mut out).unwrap();
        assert!(!recovery.is_clean() && recovery.to_string().contains(why), "{recovery}");
        let told: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert!(told["damaged"][0].as_str().unwrap().contains("a long text of event 1 is lost"), "{why}");
    }
}
