//! When a provider says that it can be asked again.
//!
//! Written as seconds since 1970 (`limit reached|1763210000`, `"resetsAt":1763210000`), as a wait (`try again in
//! 2 days 3 hours`, `will reset after 3h25m10s`) or as a time of the day, with or without a date and a zone
//! (`resets 3pm (Europe/Paris)`, `try again at Nov 16th, 2026 3:05 PM`).

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

/// What stands before a wait.
const BEFORE_WAIT: &[&str] = &["try again in ", "reset after ", "resets in ", "retry after ", "retry in "];
/// What stands before a time.
const BEFORE_TIME: &[&str] = &["try again at ", "resets at ", "resets ", "reset at "];
/// What stands before seconds since 1970.
const BEFORE_SECONDS: &[&str] = &["|", "\"resetsat\":", "\"resets_at\":"];

const UNITS: &[(&str, f64)] = &[("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The longest wait that is believed.
const LONGEST: f64 = 31.0 * 86_400.0;

/// How long a message says to wait.
pub(super) fn wait(message: &str) -> Option<Duration> {
    let message = message.to_lowercase();
    BEFORE_WAIT.iter().find_map(|before| duration(message.split_once(before)?.1))
}

/// When a message says that it is over; `now` is in the zone of whoever reads it.
pub(super) fn time(message: &str, now: &Zoned) -> Option<Timestamp> {
    let lower = message.to_lowercase();
    let after = |before: &&str| lower.split_once(*before).map(|(_, rest)| rest.trim_start());
    let by_seconds = BEFORE_SECONDS.iter().filter_map(after).find_map(seconds);
    let told = by_seconds
        .or_else(|| now.timestamp().checked_add(wait(message)?).ok())
        .or_else(|| BEFORE_TIME.iter().filter_map(after).find_map(|rest| moment(rest, zone(message), now)));
    let latest = now.timestamp().checked_add(SignedDuration::from_secs_f64(LONGEST)).ok()?;
    told.filter(|time| *time > now.timestamp() && *time <= latest)
}

fn seconds(text: &str) -> Option<Timestamp> {
    let (digits, _) = leading(text, |c| c.is_ascii_digit());
    let number: i64 = digits.parse().ok()?;
    match digits.len() {
        10 => Timestamp::from_second(number).ok(),
        13 => Timestamp::from_millisecond(number).ok(),
        _ => None,
    }
}

/// A row of numbers and units: `2 days 3 hours`, `3h25m10s`, `1.5s`.
fn duration(mut text: &str) -> Option<Duration> {
    let mut sum = 0.0;
    let mut found = false;
    loop {
        text = text.trim_start_matches([' ', ',']);
        let (number, rest) = leading(text, |c| c.is_ascii_digit() || c == '.');
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else { break };
        let (word, rest) = leading(rest.trim_start(), |c| c.is_ascii_alphabetic());
        // A word is known by its first letter; `ms` is the only one of two.
        let unit = if word == "ms" { word } else { word.get(..1).unwrap_or_default() };
        let Some((_, length)) = UNITS.iter().find(|(known, _)| *known == unit) else { break };
        (sum, found, text) = (sum + number * length, true, rest);
    }
    (found && sum <= LONGEST).then(|| Duration::from_secs_f64(sum))
}

/// A time, with or without a date; without one it is the next such time.
fn moment(text: &str, zone: Option<TimeZone>, now: &Zoned) -> Option<Timestamp> {
    let zone = zone.unwrap_or_else(|| now.time_zone().clone());
    let here = now.with_time_zone(zone.clone());
    let (date, rest) = date(text, here.date());
    let time = clock(rest)?;
    let at = |date: Date| zone.to_timestamp(DateTime::from_parts(date, time)).ok();
    match date {
        Some(date) => at(date),
        None => match at(here.date())? {
            passed if passed <= now.timestamp() => at(here.date().checked_add(1.day()).ok()?),
            today => Some(today),
        },
    }
}

/// `nov 16th, 2026 …`, `nov 16, …`: a date and what follows it.
fn date(text: &str, today: Date) -> (Option<Date>, &str) {
    let dated = || {
        let (word, rest) = leading(text, |c| c.is_ascii_alphabetic());
        let month = MONTHS.iter().position(|month| word.starts_with(month))?;
        let month = i8::try_from(month + 1).ok()?;
        let (day, rest) = leading(rest.trim_start(), |c| c.is_ascii_digit());
        let (_, rest) = leading(rest, |c| c.is_ascii_alphabetic());
        let rest = rest.trim_start_matches([',', ' ']);
        let (year, after) = leading(rest, |c| c.is_ascii_digit());
        let (year, rest) = match year.parse() {
            Ok(year) if year > 1970 => (year, after),
            _ => (today.year(), rest),
        };
        let rest = rest.trim_start_matches([',', ' ']);
        Some((Date::new(year, month, day.parse().ok()?).ok()?, rest.strip_prefix("at ").unwrap_or(rest)))
    };
    dated().map_or((None, text), |(date, rest)| (Some(date), rest))
}

/// `3pm`, `3:05 pm`, `15:05`.
fn clock(text: &str) -> Option<Time> {
    let (hour, rest) = leading(text, |c| c.is_ascii_digit());
    let hour: i8 = hour.parse().ok()?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => {
            let (minute, rest) = leading(rest, |c| c.is_ascii_digit());
            (Some(minute.parse().ok()?), rest)
        }
        None => (None, rest),
    };
    let rest = rest.trim_start();
    let hour = if rest.starts_with("am") || rest.starts_with("pm") {
        let noon = if rest.starts_with("pm") { 12 } else { 0 };
        (1..=12).contains(&hour).then(|| hour % 12 + noon)?
    } else {
        // A lone number is no time.
        minute.map(|_| hour)?
    };
    Time::new(hour, minute.unwrap_or(0), 0, 0).ok()
}

/// The zone that is named in brackets.
fn zone(message: &str) -> Option<TimeZone> {
    let (name, _) = message.split_once('(')?.1.split_once(')')?;
    TimeZone::get(name.trim()).ok()
}

fn leading(text: &str, is: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c: char| !is(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_waits() {
        let now: Zoned = "2026-11-15T14:00:00Z[UTC]".parse().unwrap();
        for (message, expected) in [
            ("usage limit reached|1794758400", "2026-11-15T16:00:00Z"),
            (r#"{"status":"rejected","resetsAt":1794758400}"#, "2026-11-15T16:00:00Z"),
            ("try again in 3 hours 25 minutes.", "2026-11-15T17:25:00Z"),
            ("or try again in 2 days 1 hour.", "2026-11-17T15:00:00Z"),
            ("Your quota will reset after 3h25m10s.", "2026-11-15T17:25:10Z"),
            ("Please try again in 1.5s.", "2026-11-15T14:00:01.5Z"),
            ("Please try again in 20ms.", "2026-11-15T14:00:00.02Z"),
            ("limit reached ∙ resets 3pm", "2026-11-15T15:00:00Z"),
            ("limit reached ∙ resets 9:30am", "2026-11-16T09:30:00Z"),
            ("limit reached, resets 12am", "2026-11-16T00:00:00Z"),
            ("resets 3pm (UTC)", "2026-11-15T15:00:00Z"),
            ("or try again at 3:05 PM.", "2026-11-15T15:05:00Z"),
            ("or try again at Nov 16th, 2026 3:05 PM.", "2026-11-16T15:05:00Z"),
            ("weekly limit · resets Nov 18, 4pm (UTC)", "2026-11-18T16:00:00Z"),
        ] {
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(time(message, &now), Some(expected), "{message}");
        }
    }

    #[test]
    fn what_says_nothing_of_a_time() {
        let now: Zoned = "2026-11-15T14:00:00Z[UTC]".parse().unwrap();
        for message in [
            "",
            "resets soon",
            "try again in a moment",
            "try again in 400 days",
            "limit reached|17",
            "limit reached|1000000000",
            "resets 3",
            "resets 25:00",
            "resets 31pm",
            "try again at Nov 99th, 2026 3:05 PM",
        ] {
            assert_eq!(time(message, &now), None, "{message}");
        }
    }
}
