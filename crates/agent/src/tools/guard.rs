//! What must hold of a file before a tool changes it, beside leave to do so.

use junto_core::{ToolCx, ToolError, Unread};
use junto_env::{RealPath, Stamp};

use super::outdated;

/// That a file which is like this now (`None`: not there) may be replaced or edited: it is what was shown to
/// whoever allowed the call, what the model saw last, and, where that is asked for, was seen at all.
///
/// The change itself must expect the same stamp, so that nothing comes in between.
///
/// # Errors
/// Why it is left alone, for the model.
pub(super) fn check(cx: &ToolCx, path: &RealPath, now: Option<Stamp>) -> Result<(), ToolError> {
    as_shown(cx, path, now)?;
    let Some(now) = now else { return Ok(()) };
    if cx.seen.is_outdated(path, now) {
        return Err(outdated(path));
    }
    if cx.unread == Unread::Refused && cx.seen.of(path).is_none() {
        return Err(ToolError(format!(
            "you have not read {path}, so it was left alone; read it first, and then decide what to change"
        )));
    }
    Ok(())
}

/// That a file is still what was shown to whoever allowed the call, if somebody did.
///
/// # Errors
/// As [`check`].
pub(super) fn as_shown(cx: &ToolCx, path: &RealPath, now: Option<Stamp>) -> Result<(), ToolError> {
    let same = match (cx.shown.get(path), now) {
        (None, _) | (Some(None), None) => true,
        (Some(Some(then)), Some(now)) => now.same_content(then),
        (Some(_), _) => false,
    };
    if same {
        return Ok(());
    }
    Err(ToolError(format!(
        "{path} was changed by somebody else while leave for this was waited for, so what was shown is not \
         what would happen, and it was left alone; read it and decide again"
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use junto_env::LocalEnvironment;

    use super::Unread::{Allowed, Refused};
    use super::*;

    fn stamp(size: u64) -> Stamp {
        Stamp { size, modified: None, digest: Some([u8::try_from(size).unwrap(); 32]) }
    }

    #[tokio::test]
    async fn a_file_is_changed_only_as_it_was_seen_and_shown() {
        let path = RealPath::resolved("/a");
        let check =
            |seen: Option<u64>, shown: Option<Option<u64>>, unread, now: Option<u64>, said: Option<&str>| {
                let mut cx = ToolCx::alone(Arc::new(LocalEnvironment::new("/").unwrap()));
                cx.unread = unread;
                if let Some(size) = seen {
                    cx.seen.note(&path, stamp(size));
                }
                cx.shown = Arc::new(
                    shown.map(|then| (path.clone(), then.map(stamp))).into_iter().collect::<HashMap<_, _>>(),
                );
                let found = super::check(&cx, &path, now.map(stamp)).err().map(|error| error.0);
                match (&found, said) {
                    (Some(found), Some(said)) => assert!(found.contains(said), "{found}"),
                    _ => assert_eq!(found.as_deref(), said, "{seen:?} {shown:?} {unread:?} {now:?}"),
                }
            };
        check(None, None, Allowed, Some(1), None);
        check(None, None, Refused, Some(1), Some("you have not read /a"));
        check(None, None, Refused, None, None);
        check(Some(1), None, Refused, Some(1), None);
        check(Some(1), None, Allowed, Some(2), Some("was changed since you last read"));
        check(Some(1), Some(Some(1)), Allowed, Some(1), None);
        check(Some(2), Some(Some(1)), Allowed, Some(2), Some("while leave for this was waited for"));
        check(None, Some(None), Allowed, Some(1), Some("while leave"));
        check(None, Some(Some(1)), Allowed, None, Some("while leave"));
        check(None, Some(None), Allowed, None, None);
    }
}
