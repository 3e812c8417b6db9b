//! Versions of programs, and which of them are known.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// A version: three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Version(pub u64, pub u64, pub u64);

/// Versions from one to another, both included: `2.1.197..=2.1.325`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct VersionRange {
    /// The first.
    pub first: Version,
    /// The last.
    pub last: Version,
}

/// Which versions of a program are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Versions {
    /// Those it was tried with; absent: nobody knows.
    pub tested: Option<VersionRange>,
    /// The oldest that is run: those before it are known to take other options, or to print something else.
    pub oldest: Option<Version>,
    /// The argument with which the program says its version.
    pub ask: Vec<String>,
}

/// What is thought of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was tried.
    Tested,
    /// It is older than those that were tried, or newer; it may well work.
    Untested,
    /// It would be misunderstood, and is not run.
    TooOld,
}

impl Versions {
    /// What is thought of a version.
    pub fn standing(&self, version: Version) -> Standing {
        if self.oldest.is_some_and(|oldest| version < oldest) {
            return Standing::TooOld;
        }
        match self.tested {
            Some(VersionRange { first, last }) if version < first || version > last => Standing::Untested,
            _ => Standing::Tested,
        }
    }
}

impl Version {
    /// The first version in a text such as `codex-cli 0.166.0`, or none.
    pub fn find(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| word.parse().ok())
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no version such as 1.2.3");
        let numbers: Option<Vec<u64>> = text.split('.').map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some([major, minor, patch]) => Ok(Self(*major, *minor, *patch)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl TryFrom<String> for VersionRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (first, last) = text
            .split_once("..=")
            .ok_or_else(|| format!("`{text}` is no range of versions such as 1.2.3..=1.2.9"))?;
        Ok(Self { first: first.parse()?, last: last.parse()? })
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{} to {}", self.first, self.last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (text, expected) in [
            ("2.1.325 (Claude Code)\n", Some(Version(2, 1, 325))),
            ("codex-cli 0.166.0\n", Some(Version(0, 166, 0))),
            ("0.61.0", Some(Version(0, 61, 0))),
            ("v1.2.3-nightly.20260101", Some(Version(1, 2, 3))),
            ("node: command 7 not found", None),
            ("1.2", None),
            ("99999999999999999999.0.0", None),
            ("", None),
        ] {
            assert_eq!(Version::find(text), expected, "{text}");
        }
    }

    #[test]
    fn a_version_is_tested_untested_or_too_old() {
        let tested = VersionRange::try_from("2.1.197..=2.1.325".to_owned()).unwrap();
        let versions = Versions { tested: Some(tested), oldest: Some(Version(2, 1, 0)), ask: Vec::new() };
        for (version, expected) in [
            (Version(2, 0, 99), Standing::TooOld),
            (Version(2, 1, 0), Standing::Untested),
            (Version(2, 1, 197), Standing::Tested),
            (Version(2, 1, 325), Standing::Tested),
            (Version(2, 1, 326), Standing::Untested),
            (Version(3, 0, 0), Standing::Untested),
        ] {
            assert_eq!(versions.standing(version), expected, "{version}");
        }
        assert_eq!(Versions::default().standing(Version(0, 0, 1)), Standing::Tested);
    }

    #[test]
    fn ranges_read_as_they_are_written() {
        let range = |text: &str| VersionRange::try_from(text.to_owned());
        assert_eq!(range("1.0.0..=1.0.0").unwrap().to_string(), "1.0.0");
        assert_eq!(range("1.0.0..=1.2.0").unwrap().to_string(), "1.0.0 to 1.2.0");
        for wrong in ["1.0.0", "1.0..=2.0", "..=1.0.0", ""] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
