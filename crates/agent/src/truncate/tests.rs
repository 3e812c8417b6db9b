//! The notes word by word, and what holds of every output and every limit.

use std::sync::Arc;

use bytes::Bytes;
use junto_core::{
    Alone, BlobId, Caller, Durability, Event, Fut, Journal, JournalError, MemoryJournal, Payload, Seq, Spool,
};
use proptest::prelude::*;

use super::*;

const MIDDLE: &str = " characters were removed from the middle. The full output is available in the event \
    stream. If you need to see specific parts, re-run the tool with more targeted parameters.]\n\n";
const START: &str = "[WARNING: Tool output was truncated. ";

fn cut(text: &str, chars: usize, keep: Keep, lines: impl Into<Option<usize>>) -> String {
    truncate(&text.into(), OutputLimit { chars, keep, lines: lines.into() })
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|n| n.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn characters_are_removed_from_the_middle_or_the_beginning() {
    let middle = |head: &str, removed: u32, tail: &str| format!("{head}\n\n{START}{removed}{MIDDLE}{tail}");
    let check = |text: &str, chars, expected: String| {
        assert_eq!(cut(text, chars, Keep::HeadTail, None), expected);
    };
    check("", 0, String::new());
    check("0123456789", 10, "0123456789".into());
    check("éééééééééé", 10, "éééééééééé".into());
    check("0123456789", 4, middle("01", 6, "89"));
    check("0123456789", 5, middle("01", 5, "789"));
    check("éàüöä🦀ßñõç", 4, middle("éà", 6, "õç"));
    check("0123456789", 0, middle("", 10, ""));
    let beginning = |removed: u32, tail: &str| {
        format!(
            "{START}First {removed} characters were removed. The full output is available in the event \
             stream.]\n\n{tail}"
        )
    };
    let check = |chars, expected: String| assert_eq!(cut("012345678é", chars, Keep::Tail, None), expected);
    check(10, "012345678é".into());
    check(4, beginning(6, "678é"));
    check(0, beginning(10, ""));
}

#[test]
fn lines_are_removed_from_the_middle() {
    let check = |text: &str, lines, expected: &str| {
        assert_eq!(cut(text, 1000, Keep::HeadTail, lines), expected, "{text}");
    };
    check(&numbers(1..=4), 4, "1\n2\n3\n4");
    check(&numbers(1..=5), 4, "1\n2\n[... 1 lines omitted ...]\n4\n5");
    check(&numbers(1..=9), 3, "1\n[... 6 lines omitted ...]\n8\n9");
    // As in any text split at its newlines, what follows the last one is a line.
    check("1\n2\n3\n4\n", 4, "1\n2\n[... 1 lines omitted ...]\n4\n");
}

#[test]
fn the_first_note_survives_the_second_pass() {
    let text = "a\n".repeat(1000) + &"b\n".repeat(1000);
    let cut_both = |lines| cut(&text, 400, Keep::HeadTail, lines);
    // Where the lines around it are removed, it stands beside the other note.
    let note = format!("{START}3600{MIDDLE}");
    assert_eq!(cut_both(4), format!("a\na\n[... 198 lines omitted ...]\n{note}b\n"));
    // Where they are not, it stays where it is.
    let lopsided = "a".repeat(300) + &"b\n".repeat(300);
    let cut_lopsided = cut(&lopsided, 400, Keep::HeadTail, 11);
    let expected = format!(
        "{}\n\n{START}500{MIDDLE}{}[... 91 lines omitted ...]\n{}",
        "a".repeat(200),
        "b\n".repeat(4),
        "b\n".repeat(5)
    );
    assert_eq!(cut_lopsided, expected);
    let lopsided = "b\n".repeat(300) + &"a".repeat(300);
    let cut_lopsided = cut(&lopsided, 400, Keep::HeadTail, 11);
    assert!(cut_lopsided.starts_with("b\nb\nb\nb\nb\n[... 91 lines omitted ...]\n"), "{cut_lopsided}");
    assert!(cut_lopsided.ends_with(&format!("{MIDDLE}{}", "a".repeat(200))), "{cut_lopsided}");
    let tail = cut(&text, 400, Keep::Tail, 4);
    assert!(tail.starts_with(&format!("{START}First 3600 ")), "{tail}");
    assert!(tail.ends_with("]\n\nb\nb\n[... 197 lines omitted ...]\nb\n"), "{tail}");
}

/// What is left of an output without its notes, and whether there was a note of each pass.
fn without_notes(cut: &str) -> (String, bool, bool) {
    let (mut kept, mut chars, mut lines) = (cut.to_owned(), false, false);
    if let Some(at) = kept.find(START) {
        let end = at + kept[at..].find("]\n\n").unwrap() + 3;
        let start = if kept[..at].ends_with("\n\n") { at - 2 } else { at };
        kept.replace_range(start..end, "");
        chars = true;
    }
    if let Some(at) = kept.find("\n[... ") {
        let note = " lines omitted ...]\n";
        let end = at + kept[at..].find(note).unwrap() + note.len();
        kept.replace_range(at..end, "\n");
        lines = true;
    }
    (kept, chars, lines)
}

proptest! {
    #[test]
    fn what_is_kept_is_within_the_limits_and_notes_say_what_is_not(
        text in "[a-cé🦀\n]{0,300}", chars in 0_usize..200, tail: bool, lines in 2_usize..40,
    ) {
        let keep = if tail { Keep::Tail } else { Keep::HeadTail };
        let total = text.chars().count();

        let once = cut(&text, chars, keep, None);
        let (kept, noted, _) = without_notes(&once);
        prop_assert_eq!(noted, total > chars);
        prop_assert_eq!(kept.chars().count(), total.min(chars));
        let from_head = if tail { 0 } else { kept.chars().count() / 2 };
        let (head, end) = kept.split_at(kept.char_indices().nth(from_head).map_or(kept.len(), |(at, _)| at));
        prop_assert!(text.starts_with(head) && text.ends_with(end));
        let removed = format!("{} characters were removed", total.saturating_sub(chars));
        prop_assert_eq!(once.contains(&removed), noted);

        let twice = cut(&text, chars, keep, lines);
        let (kept_twice, still_noted, lines_noted) = without_notes(&twice);
        prop_assert_eq!(still_noted, noted);
        prop_assert!(kept_twice.chars().count() <= kept.chars().count() + 1);
        // The two parts around the first note are lines of their own.
        let seam = usize::from(noted && !tail);
        prop_assert!(kept_twice.split('\n').count() <= lines + seam);
        prop_assert_eq!(lines_noted, kept.split('\n').count() + seam > lines);
    }
}

async fn spooled(text: &str, journal: Arc<dyn Journal>) -> ToolOutput {
    let mut spool = Spool::new(journal);
    spool.push(text).await;
    spool.finish().await
}

#[tokio::test]
async fn a_spooled_output_is_cut_as_if_it_were_held() {
    let text = (0..200_000).map(|n| format!("{n} é🦀\n")).collect::<Vec<_>>().concat();
    assert!(text.len() > Payload::INLINE_LIMIT);
    let output = spooled(&text, Arc::new(MemoryJournal::default())).await;
    assert!(matches!(output, ToolOutput::Spooled(_)));
    for chars in [0, 1, 1000, 30_001, 50_000] {
        for keep in [Keep::HeadTail, Keep::Tail] {
            for lines in [None, Some(256)] {
                let limit = OutputLimit { chars, keep, lines };
                assert_eq!(truncate(&output, limit), truncate(&text.as_str().into(), limit), "{limit:?}");
            }
        }
    }
    // More than is held cannot be shown, and the note is honest about it.
    let vast = OutputLimit { chars: usize::MAX, keep: Keep::HeadTail, lines: None };
    let shown = truncate(&output, vast);
    let (kept, noted, _) = without_notes(&shown);
    assert!(noted && kept.len() > Payload::INLINE_LIMIT - 8, "{}", kept.len());
    let removed = text.chars().count() - kept.chars().count();
    assert!(shown.contains(&format!("{START}{removed} characters")));
}

/// A journal that has no room for payloads.
struct Full;

impl Journal for Full {
    fn append<'a>(&'a self, _: &'a [Event], _: Durability) -> Fut<'a, Result<(), JournalError>> {
        Box::pin(async { Ok(()) })
    }

    fn read(&self, _: Seq, _: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn extend_blob<'a>(&'a self, _: &'a BlobId, _: Bytes) -> Fut<'a, Result<(), JournalError>> {
        Box::pin(async { Err(JournalError("no space left".into())) })
    }

    fn read_blob<'a>(&'a self, _: &'a BlobId, _: u64, _: usize) -> Fut<'a, Result<Vec<u8>, JournalError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// The model is not sent to look for what is nowhere.
#[tokio::test]
async fn an_output_that_was_lost_says_so_at_its_end() {
    let output = spooled(&"0123456789".repeat(200_000), Arc::new(Full)).await;
    for keep in [Keep::HeadTail, Keep::Tail] {
        let shown = truncate(&output, OutputLimit { chars: 1000, keep, lines: None });
        let note = "\n[WARNING: what was left out is lost: the journal failed: no space left]";
        assert!(shown.ends_with(note), "{shown}");
    }
}

#[tokio::test]
async fn what_nobody_keeps_is_held_up_to_a_limit() {
    let mut spool = Alone.spool();
    for _ in 0..100 {
        spool.push(&"x".repeat(100_000)).await;
    }
    let output = spool.finish().await;
    assert_eq!(output.bytes(), 10_000_000);
    assert_eq!(output.text(u64::MAX).await.unwrap().len(), 10_000_000);
}
