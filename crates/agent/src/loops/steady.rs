//! What stays of a tool's result when the same thing happens again.

use std::borrow::Cow;

/// Directories for things that have a new name each time.
const TEMPORARY: &[&str] =
    &["/private/var/folders/", "/var/folders/", "/private/tmp/", "/var/tmp/", "/dev/shm/", "/tmp/"];

/// Words before a number that only names something.
const LABELS: &[&str] = &["pid", "process", "job", "session", "id"];

/// Units of time. Those of one letter stand right behind the number.
const UNITS: &[&str] = &[
    "ns",
    "us",
    "µs",
    "ms",
    "s",
    "m",
    "h",
    "sec",
    "secs",
    "second",
    "seconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "hour",
    "hours",
    "millisecond",
    "milliseconds",
];

/// The text without what differs between two runs of the same thing: durations, times of day, the names of
/// temporary files, UUIDs, addresses in memory, and the numbers of processes, jobs and the like. Whatever
/// else differs, checksums and counts included, is a different result.
pub(super) fn steady(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((instead, length)) = passing(rest) {
            kept.push_str(&instead);
            rest = behind(rest, length);
            continue;
        }
        // A whole word, so that no number within one is taken for something else.
        let word = if is_word(first) { word_length(rest) } else { first.len_utf8() };
        let (word, after) = rest.split_at(word);
        kept.push_str(word);
        rest = after;
        if LABELS.iter().any(|label| word.eq_ignore_ascii_case(label)) {
            let number = after.trim_start_matches([' ', ':', '=', '#', '[', '(']);
            let digits = digits(number);
            let between = after.len() - number.len();
            if between > 0 && digits > 0 && ends(number, digits) && passing(number).is_none() {
                kept.push_str(" *");
                rest = behind(number, digits);
            }
        }
    }
    kept
}

/// What the text begins with, if it is new each time: what stands for it, and its length.
fn passing(text: &str) -> Option<(Cow<'static, str>, usize)> {
    let fixed = |mark: &'static str| move |length| (Cow::Borrowed(mark), length);
    temporary(text)
        .or_else(|| uuid(text).map(fixed("<uuid>")))
        .or_else(|| address(text).map(fixed("<address>")))
        .or_else(|| moment(text).map(fixed("<time>")))
        .or_else(|| duration(text).map(fixed("<duration>")))
}

/// A temporary directory, and the name in it.
fn temporary(text: &str) -> Option<(Cow<'static, str>, usize)> {
    let directory = TEMPORARY.iter().find(|directory| text.starts_with(**directory))?;
    let name = behind(text, directory.len());
    let length = name.find(|c: char| !(is_word(c) || ".-+~".contains(c))).unwrap_or(name.len());
    (length > 0).then(|| (Cow::Owned(format!("{directory}*")), directory.len() + length))
}

/// `123e4567-e89b-12d3-a456-426614174000`.
fn uuid(text: &str) -> Option<usize> {
    let mut at = 0;
    for (n, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        at += usize::from(n > 0 && behind(text, at).starts_with('-'));
        let part = text.get(at..at + length)?;
        if !part.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        at += length;
    }
    (at == 36 && ends(text, at)).then_some(at)
}

/// `0x7f3c12a4`.
fn address(text: &str) -> Option<usize> {
    let digits = text.strip_prefix("0x")?.bytes().take_while(u8::is_ascii_hexdigit).count();
    (digits >= 6 && ends(text, 2 + digits)).then_some(2 + digits)
}

/// A time of day, `07:11:26.5`, with a date before it and a zone behind it or not. A date alone is none.
fn moment(text: &str) -> Option<usize> {
    let date = shape(text, "dddd-dd-dd").filter(|at| behind(text, *at).starts_with(['T', ' ']));
    let start = date.map_or(0, |at| at + 1);
    let clock = behind(text, start);
    let mut at = start + shape(clock, "dd:dd:dd").or_else(|| shape(clock, "d:dd:dd"))?;
    if behind(text, at).starts_with(['.', ',']) {
        at += 1 + digits(behind(text, at + 1));
    }
    let zone = behind(text, at);
    at +=
        shape(zone, "+dd:dd").or_else(|| shape(zone, "-dd:dd")).unwrap_or(usize::from(zone.starts_with('Z')));
    ends(text, at).then_some(at)
}

/// `0.53s`, `12 ms`, `1m 3.5s`, `2 minutes`.
fn duration(text: &str) -> Option<usize> {
    let mut end = None;
    let mut at = 0;
    while let Some(length) = one_duration(behind(text, at)) {
        at += length;
        end = ends(text, at).then_some(at).or(end);
        at += usize::from(behind(text, at).starts_with(' '));
    }
    end
}

/// A number and a unit of time.
fn one_duration(text: &str) -> Option<usize> {
    let mut at = digits(text);
    if at == 0 {
        return None;
    }
    let fraction = behind(text, at).strip_prefix('.').map_or(0, digits);
    at += if fraction > 0 { 1 + fraction } else { 0 };
    let spaced = behind(text, at).starts_with(' ');
    at += usize::from(spaced);
    let word = behind(text, at);
    let word = word.find(|c: char| !c.is_alphabetic()).map_or(word, |end| word.split_at(end).0);
    let fits = UNITS.contains(&word) && !(spaced && word.len() == 1);
    fits.then_some(at + word.len())
}

/// The length of what has this shape, `d` for a digit, at the beginning of the text.
fn shape(text: &str, shape: &str) -> Option<usize> {
    let head = text.as_bytes().get(..shape.len())?;
    let fits = |(byte, shape): (&u8, u8)| if shape == b'd' { byte.is_ascii_digit() } else { *byte == shape };
    head.iter().zip(shape.bytes()).all(fits).then_some(shape.len())
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !is_word(c)).unwrap_or(text.len())
}

/// Whether no word goes on at this place.
fn ends(text: &str, at: usize) -> bool {
    !behind(text, at).starts_with(is_word)
}

fn behind(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_new_each_time_goes() {
        let same = |a: &str, b: &str| assert_eq!(steady(a), steady(b));
        same("ok\n[exit code 0, 0.53s]", "ok\n[exit code 0, 1.20s]");
        same("finished in 12 ms", "finished in 3450 ms");
        same("took 1m 3.5s.", "took 59m 0.1s.");
        same("took 3m12s", "took 12m3s");
        same("2 minutes ago", "9 minutes ago");
        same("at 07:11:26 it broke", "at 19:45:00 it broke");
        same("2026-11-15T07:11:26.123Z up", "2027-01-02T00:00:00Z up");
        same("2026-11-15 07:11:26,5+01:00 up", "2026-11-16 07:11:26,75-08:00 up");
        same("wrote /tmp/.tmpAbC12/log", "wrote /tmp/.tmpXyZ99/log");
        same("see '/var/folders/x1'", "see '/var/folders/y2'");
        same("id=123e4567-e89b-12d3-a456-426614174000;", "id=00000000-e89b-12d3-a456-42661417ffff;");
        same("<object at 0x7f3c12a4>", "<object at 0x55aa00ff12>");
        same("[job 1 runs in the background as process 812]", "[job 2 runs in the background as process 9]");
        same("PID: 17 ready", "PID: 4242 ready");
    }

    #[test]
    fn what_says_something_stays() {
        let differ = |a: &str, b: &str| assert_ne!(steady(a), steady(b));
        differ("3 tests failed", "2 tests failed");
        differ("line 10", "line 12");
        differ("v1.2.3", "v1.2.4");
        differ("d41d8cd98f00b204e9800998ecf8427e", "0cc175b9c0f1b6a831c399e269772661");
        differ("2026-11-15", "2026-11-16");
        differ("/tmp/.tmpA/one.rs", "/tmp/.tmpA/two.rs");
        differ("/home/me/one", "/home/me/two");
        differ("5 mice", "6 mice");
        differ("12 s", "13 s");
        differ("x86s", "x87s");
        differ("12345678-abcd", "12345679-abcd");
        differ("job done", "job failed");
        differ("process 12ab", "process 13ab");
        differ("", " ");
    }

    /// Exactly what is new goes, and nothing beside it.
    #[test]
    fn a_mark_stands_for_what_goes() {
        let check = |text: &str, expected: &str| assert_eq!(steady(text), expected, "{text}");
        check("pid 12, pid(12), ids 12", "pid *, pid *), ids 12");
        check("job (-) 1", "job (-) 1");
        check("session 12:34:56", "session <time>");
        check("0.53s, 12 ms; 1m 3.5s. 2h", "<duration>, <duration>; <duration>. <duration>");
        check("12 s 1.s 3sx 4 msx 5.0 x", "12 s 1.s 3sx 4 msx 5.0 x");
        check("1m 3x", "<duration> 3x");
        check("07:11:26 7:11:26;", "<time> <time>;");
        check("2026-11-15T07:11:26.123Z up", "<time> up");
        check("2026-11-15 07:11:26,75-08:00.", "<time>.");
        check("2026-11-15 07:11:26.5+01:00.", "<time>.");
        check("2026-11-15_07:11:26", "2026-11-15_07:11:26");
        check("07:11:26x 07:11:2 07:11:26.5x", "07:11:26x 07:11:2 07:11:26.5x");
        check("/tmp/a.b/c /tmp/ /tmp/-x y", "/tmp/*/c /tmp/ /tmp/* y");
        check("123e4567-e89b-12d3-a456-426614174000.", "<uuid>.");
        check("123e4567-e89b-12d3-a456-4266141740001", "123e4567-e89b-12d3-a456-4266141740001");
        check("123e4567e89b12d3a456426614174000", "123e4567e89b12d3a456426614174000");
        check("123e4567:e89b:12d3:a456:426614174000", "123e4567:e89b:12d3:a456:426614174000");
        check("-123e4567e89b-12d3-a456-426614174000", "-123e4567e89b-12d3-a456-426614174000");
        check("0x7f3c12. 0x7f3c1 0x7f3c12g", "<address>. 0x7f3c1 0x7f3c12g");
    }

    #[test]
    fn any_text_is_taken() {
        for text in ["/tmp/", "0x", "é12ms", "1.", "1.s", "12:34:5", "00000000-", "pid", "pid:", "µ", "3 µs"]
        {
            steady(text);
        }
        assert_eq!(steady("3 µs"), "<duration>");
    }

    proptest! {
        #[test]
        fn never_fails_and_takes_a_word_for_what_it_is(text in "\\PC{0,60}", word in "[a-z]{3,8} [a-z]{3,8}") {
            steady(&text);
            prop_assume!(!LABELS.iter().any(|label| word.contains(label)));
            prop_assert_eq!(steady(&word), word);
        }

        #[test]
        fn durations_do_not_matter(a in 0u32..100_000, b in 0u32..100_000, unit in 0..UNITS.len()) {
            let say = |n: u32| format!("done [{n}{}]", UNITS[unit]);
            prop_assert_eq!(steady(&say(a)), steady(&say(b)));
        }

        #[test]
        fn counts_do(a in 0u32..100_000, b in 0u32..100_000) {
            let say = |n: u32| format!("{n} warnings");
            prop_assert_eq!(steady(&say(a)) == steady(&say(b)), a == b);
        }
    }
}
