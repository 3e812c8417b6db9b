//! Sessions are made, found, locked, and told from what is none.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use junto_core::{Durability, Journal, Seq};
use junto_llm::SessionId;
use junto_store::files::{Fault, Faulty, Files, How};
use junto_store::{ErrorKind, Store};

use crate::support::{
    ROOT, append, journal_of, journal_path, line, options, positions, session, store, with_journal,
};

#[test]
fn sessions_are_listed_by_id() {
    let files = Faulty::default();
    let store = store(&files);
    assert_eq!(store.sessions().unwrap(), []);
    for id in ["b", "a", "c"] {
        store.create(&SessionId(id.into())).unwrap();
    }
    files.put(&PathBuf::from(ROOT).join("sessions/README.txt"), b"x");
    files.make_folder(&PathBuf::from(ROOT).join("sessions/empty")).unwrap();
    assert_eq!(store.sessions().unwrap(), ["a", "b", "c"].map(|id| SessionId(id.into())));
}

#[test]
fn what_is_not_there_and_what_is_there_are_told() {
    let files = Faulty::default();
    let store = store(&files);
    let missing = SessionId("missing".into());
    assert_eq!(store.open_session(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.read(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!files.is_there(&PathBuf::from(ROOT).join("sessions/missing/lock")));
    drop(store.create(&session()).unwrap());
    assert_eq!(store.create(&session()).unwrap_err().kind(), ErrorKind::Exists);
    store.open_session(&session()).unwrap();
    for id in ["", "..", "../x", "a/b", "/etc", "a b"] {
        let kind = store.open_session(&SessionId(id.into())).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::Invalid, "{id}");
    }
}

#[tokio::test]
async fn two_cannot_write_one_session_and_anybody_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) =
        (Store::open(folder.path(), options()).unwrap(), Store::open(folder.path(), options()).unwrap());
    let opened = one.create(&session()).unwrap();
    append(&*opened.journal, [line(1)]).await;
    let error = two.open_session(&session()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(two.create(&session()).unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(positions(&two.read(&session()).unwrap().events), [1]);
    append(&*opened.journal, [line(2)]).await;
    drop(opened);
    let opened = two.open_session(&session()).unwrap();
    assert_eq!(opened.last, Seq(2));
}

#[tokio::test]
async fn files_on_the_disk_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("deep/state");
    let store = Store::open(&root, options()).unwrap();
    let opened = store.create(&session()).unwrap();
    let blob = junto_core::BlobId::fresh();
    opened.journal.extend_blob(&blob, bytes::Bytes::from_static(b"text")).await.unwrap();
    opened.journal.append(&[crate::support::naming(1, &blob, 4)], Durability::Synced).await.unwrap();
    let folder = store.folder(&session()).unwrap();
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in [root.clone(), root.join("sessions"), folder.clone(), folder.join("blobs")] {
        assert_eq!(mode(path.clone()), 0o700, "{}", path.display());
    }
    for path in ["journal.jsonl", "lock", &format!("blobs/{blob}")] {
        assert_eq!(mode(folder.join(path)), 0o600, "{path}");
    }
    drop(opened);
    assert_eq!(positions(&store.read(&session()).unwrap().events), [1]);
}

fn sealed(key: char, value: &str) -> String {
    format!("{{\"c\":\"{:08x}\",\"{key}\":{value}}}\n", crc32fast::hash(value.as_bytes()))
}

#[tokio::test]
async fn what_is_no_journal_of_this_version_and_session_is_refused_and_left_alone() {
    let good = String::from_utf8(journal_of([line(1)]).await).unwrap();
    let header = good.lines().next().unwrap().to_owned() + "\n";
    let newer_event = serde_json::to_string(&line(1)).unwrap().replacen("\"v\":1", "\"v\":2", 1);
    let other = serde_json::to_string(&line(1)).unwrap().replace(&session().0, "other");
    let named = |format: &str, v: u32, id: &str| {
        sealed(
            'h',
            &format!(r#"{{"format":"{format}","v":{v},"session":"{id}","created":"1970-01-01T00:00:00Z"}}"#),
        )
    };
    for (content, kind) in [
        (named("junto-journal", 2, &session().0), ErrorKind::Newer),
        (sealed('h', r#"{"format":"junto-journal","v":7}"#), ErrorKind::Newer),
        (header.clone() + &sealed('e', &newer_event), ErrorKind::Newer),
        (named("junto-journal", 1, "other"), ErrorKind::Foreign),
        (named("junto-journal", 0, &session().0), ErrorKind::Foreign),
        (named("something-else", 1, &session().0), ErrorKind::Foreign),
        // The header is damaged, and the events are another session's.
        (header.replace("created", "cReated") + &sealed('e', &other), ErrorKind::Foreign),
        ("# Notes\n\nThis is a text.\n".to_owned(), ErrorKind::Foreign),
        ("{\"type\":\"user\",\"text\":\"hello\"}\n".to_owned(), ErrorKind::Foreign),
        ("x".to_owned(), ErrorKind::Foreign),
    ] {
        let files = with_journal(content.as_bytes());
        let store = store(&files);
        assert_eq!(store.open_session(&session()).unwrap_err().kind(), kind, "{content}");
        let read = store.read(&session()).map(|_| ());
        assert_eq!(read.unwrap_err().kind(), kind, "{content}");
        assert_eq!(files.bytes(&journal_path()).unwrap(), content.as_bytes());
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_can_be_read() {
    let bytes = journal_of([line(1), line(2)]).await;
    for kind in [std::io::ErrorKind::PermissionDenied, std::io::ErrorKind::ReadOnlyFilesystem] {
        // Torn, too: a reader leaves that as it is.
        let files = with_journal(&bytes[..bytes.len() - 3]);
        let store = store(&files);
        files.set(Some(Fault::Changes(kind)));
        let error = store.open_session(&session()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.to_string().contains("lock") && error.hint().is_some(), "{error}");
        assert_eq!(store.create(&SessionId("new".into())).unwrap_err().kind(), ErrorKind::Denied);
        let recorded = store.read(&session()).unwrap();
        assert_eq!(positions(&recorded.events), [1]);
        assert!(recorded.recovery.cut.is_some());
        assert_eq!(files.bytes(&journal_path()).unwrap(), bytes[..bytes.len() - 3]);
    }
    let nowhere = Faulty::new(Fault::Changes(std::io::ErrorKind::PermissionDenied));
    let error = Store::on(std::sync::Arc::new(nowhere), ROOT, options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
}

#[test]
fn a_session_that_cannot_be_begun_leaves_nothing_behind() {
    for limit in 0..100 {
        let files = Faulty::default();
        let store = store(&files);
        files.set(Some(Fault::Full(limit)));
        let error = store.create(&session()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Full, "{limit}");
        files.set(None);
        assert_eq!(store.sessions().unwrap(), []);
        assert!(files.open(&journal_path(), How::Read).is_err());
        store.create(&session()).unwrap();
    }
}
