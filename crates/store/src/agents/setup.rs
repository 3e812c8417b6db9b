//! What an agent is, as its user set it up.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use jiff::civil::Time;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use junto_core::Mode;
use serde::{Deserialize, Serialize};

/// The longest name.
const LONGEST: usize = 64;

/// An agent, as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAgent {
    /// Its name, as it was first written. Case makes no difference.
    pub name: String,
    /// How it is set up.
    pub setup: AgentSetup,
    /// When it was added.
    pub created: Timestamp,
}

/// How an agent is set up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSetup {
    /// Whose program does the work: `claude`, `codex`.
    pub provider: String,
    /// The model; absent: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it thinks; absent: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Where it works.
    pub workspace: PathBuf,
    /// What it is told whatever the input is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Folders beside its workspace that it may work in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<PathBuf>,
    /// What it may do; absent: as the configuration says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Providers that take over, in this order, when its own cannot work; absent: those of the
    /// configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Vec<String>>,
    /// When it begins a new conversation.
    #[serde(skip_serializing_if = "Refresh::is_never")]
    pub refresh: Refresh,
}

/// When an agent begins a new conversation instead of going on with its last. What is absent never makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refresh {
    /// When the last model call of a run was longer than this, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_context: Option<u64>,
    /// Each day at this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_at: Option<DailyTime>,
    /// When nothing was done for longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<SignedDuration>,
}

impl Refresh {
    /// Whether nothing makes it.
    pub fn is_never(&self) -> bool {
        *self == Self::default()
    }
}

/// A time of day, in UTC or as far from it as is said: `04:00`, `04:00+02:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DailyTime {
    /// The time.
    pub at: Time,
    /// How far from UTC.
    pub offset: Offset,
}

impl fmt::Display for DailyTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.at.hour(), self.at.minute())?;
        let minutes = self.offset.seconds() / 60;
        if minutes == 0 {
            return Ok(());
        }
        let sign = if minutes < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
    }
}

impl From<DailyTime> for String {
    fn from(time: DailyTime) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for DailyTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for DailyTime {
    type Err = String;

    /// Reads `H:MM` or `HH:MM`, and what may follow: `Z`, `+HH:MM`, `-HH:MM`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no time of day; write it as 04:00 (in UTC) or 04:00+02:00");
        let trimmed = text.trim();
        let plain = trimmed.strip_suffix(['Z', 'z']).unwrap_or(trimmed);
        let (time, sign, offset) = match plain.find(['+', '-']) {
            Some(at) => {
                let (time, rest) = plain.split_at(at);
                (time, if rest.starts_with('-') { -1 } else { 1 }, rest.get(1..).unwrap_or_default())
            }
            None => (plain, 1, "00:00"),
        };
        let (hour, minute) = clock(time).ok_or_else(wrong)?;
        let (hours, minutes) = clock(offset).ok_or_else(wrong)?;
        let at = Time::new(hour, minute, 0, 0).map_err(|_| wrong())?;
        let seconds = sign * (i32::from(hours) * 60 + i32::from(minutes)) * 60;
        let offset = Offset::from_seconds(seconds).map_err(|_| wrong())?;
        Ok(Self { at, offset })
    }
}

/// Hours and minutes, as `4:05` or `04:05`.
fn clock(text: &str) -> Option<(i8, i8)> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !(1..=2).contains(&hours.len()) || minutes.len() != 2 || !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some((hours, minutes))
}

/// Whether this can be an agent's name: words of letters and digits with dashes between them.
pub fn is_agent_name(text: &str) -> bool {
    text.len() <= LONGEST
        && text.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_with_dashes() {
        for good in ["nex", "Nex-2", "a-b-c", "7", &"x".repeat(64)] {
            assert!(is_agent_name(good), "{good}");
        }
        for bad in ["", "-", "a-", "-a", "a--b", "a b", "a/b", "..", "ä", "a_b", &"x".repeat(65)] {
            assert!(!is_agent_name(bad), "{bad}");
        }
    }

    #[test]
    fn times_of_day_are_read_and_written() {
        let check = |text: &str, expected: Option<&str>| {
            let read = text.parse::<DailyTime>().ok().map(|time| time.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("4:00", Some("04:00"));
        check("04:30Z", Some("04:30"));
        check("23:59+02:00", Some("23:59+02:00"));
        check("00:00-09:30", Some("00:00-09:30"));
        check(" 4:05 ", Some("04:05"));
        for bad in ["", "4", "24:00", "4:60", "4:5", "004:00", "4:00+2", "4:00+99:00", "four", "4:00+-1:00"] {
            check(bad, None);
        }
    }

    #[test]
    fn a_setup_of_another_version_is_read_as_far_as_it_is_known() {
        let json =
            r#"{"provider": "claude", "workspace": "/w", "mood": "good", "refresh": {"daily_at": "04:00"}}"#;
        let setup: AgentSetup = serde_json::from_str(json).unwrap();
        assert_eq!((setup.provider.as_str(), setup.fallback.as_ref()), ("claude", None));
        assert_eq!(setup.refresh.daily_at.map(|time| time.to_string()).as_deref(), Some("04:00"));
        let again: AgentSetup = serde_json::from_str(&serde_json::to_string(&setup).unwrap()).unwrap();
        assert_eq!(again, setup);
    }
}
