//! Points in time, as people write and read them. All of them are in UTC.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::config;
use crate::failure::Failure;

/// Reads a day such as `2026-11-01`, a moment such as `2026-11-01T08:00:00Z`, or a time ago such as `24h`
/// or `7d`.
///
/// # Errors
/// If it is none of these.
pub(crate) fn since(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let day = || {
        let date: Date = text.parse().ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let moment = || text.parse::<Timestamp>().ok();
    let ago = || now.checked_sub(ago(text)?).ok();
    moment().or_else(day).or_else(ago).ok_or_else(|| {
        Failure::usage(
            format!("--since: \"{text}\" is no point in time"),
            "write a day as 2026-11-01, or a time ago as 24h or 7d",
        )
    })
}

/// A time that has passed; days are of 24 hours.
fn ago(text: &str) -> Option<SignedDuration> {
    let duration = match text.strip_suffix('d') {
        Some(days) => SignedDuration::from_hours(days.parse::<u16>().ok().map(i64::from)?.checked_mul(24)?),
        None => SignedDuration::try_from(config::duration(text)?).ok()?,
    };
    Some(duration)
}

/// A moment, to the minute.
pub(crate) fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_time_are_read() {
        let now: Timestamp = "2026-11-15T10:30:00Z".parse().unwrap();
        let check = |text: &str, expected: Option<&str>| {
            let read = since(text, now).ok().map(|at| at.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("2026-11-01", Some("2026-11-01T00:00:00Z"));
        check("2026-11-01T08:00:00Z", Some("2026-11-01T08:00:00Z"));
        check("24h", Some("2026-11-14T10:30:00Z"));
        check("1h30m", Some("2026-11-15T09:00:00Z"));
        check("7d", Some("2026-11-08T10:30:00Z"));
        for bad in ["", "yesterday", "7", "d", "2026-13-01", "-1d", "99999999d"] {
            check(bad, None);
        }
        assert_eq!(minute(now), "2026-11-15 10:30");
    }
}
