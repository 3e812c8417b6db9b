//! Which provider does the work.

use std::fmt;

use junto_store::Suppression;

/// A provider that cannot do the work now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// The provider.
    pub provider: String,
    /// Why.
    pub why: Why,
}

/// Why a provider cannot do the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its program is not there.
    NotInstalled,
    /// It could not answer a while ago.
    Suppressed(Suppression),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::NotInstalled => write!(f, "{} is not installed", self.provider),
            Why::Suppressed(Suppression { class, until, .. }) => {
                write!(
                    f,
                    "{} is left alone until {} ({class})",
                    self.provider,
                    until.strftime("%Y-%m-%d %H:%M:%S UTC")
                )
            }
        }
    }
}

/// The first of these that can do the work, and those before it that cannot; all of them if none can.
///
/// # Errors
/// If none can.
pub fn choose<'a>(
    wanted: &[&'a str],
    suppressed: &[Suppression],
    is_installed: &dyn Fn(&str) -> bool,
) -> Result<(&'a str, Vec<Unavailable>), Vec<Unavailable>> {
    let mut passed = Vec::new();
    for provider in wanted {
        let aside = suppressed.iter().find(|suppression| suppression.provider == *provider);
        let why = match aside {
            Some(suppression) => Why::Suppressed(suppression.clone()),
            None if !is_installed(provider) => Why::NotInstalled,
            None => return Ok((provider, passed)),
        };
        let provider = (*provider).to_owned();
        if passed.iter().all(|other: &Unavailable| other.provider != provider) {
            passed.push(Unavailable { provider, why });
        }
    }
    Err(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aside(provider: &str) -> Suppression {
        let (since, until) =
            ("2026-11-15T10:00:00Z".parse().unwrap(), "2026-11-15T15:00:00Z".parse().unwrap());
        let (provider, class) = (provider.to_owned(), "usage-limit".to_owned());
        Suppression { provider, class, since, until, message: String::new() }
    }

    #[test]
    fn the_first_that_can_does_it() {
        let check =
            |wanted: &[&str], set_aside: &[&str], missing: &[&str], expected: Result<&str, &[&str]>| {
                let suppressed: Vec<_> = set_aside.iter().map(|provider| aside(provider)).collect();
                let found = choose(wanted, &suppressed, &|provider| !missing.contains(&provider));
                let words =
                    |passed: &[Unavailable]| passed.iter().map(ToString::to_string).collect::<Vec<_>>();
                match (found, expected) {
                    (Ok((found, _)), Ok(expected)) => assert_eq!(found, expected),
                    (Err(passed), Err(expected)) => assert_eq!(words(&passed), expected),
                    (found, expected) => panic!("{found:?}, not {expected:?}"),
                }
            };
        check(&["claude", "codex"], &[], &[], Ok("claude"));
        check(&["claude", "codex"], &["claude"], &[], Ok("codex"));
        check(&["claude", "codex"], &[], &["claude"], Ok("codex"));
        check(&["claude", "codex", "gemini"], &["claude"], &["codex"], Ok("gemini"));
        check(&["claude"], &["codex"], &[], Ok("claude"));
        check(&["claude", "claude"], &[], &["claude"], Err(&["claude is not installed"]));
        check(&[], &[], &[], Err(&[]));
        check(
            &["claude", "codex"],
            &["claude"],
            &["codex"],
            Err(&[
                "claude is left alone until 2026-11-15 15:00:00 UTC (usage-limit)",
                "codex is not installed",
            ]),
        );
    }

    #[test]
    fn who_was_passed_over_is_told() {
        let (_, passed) = choose(&["claude", "codex"], &[aside("claude")], &|_| true).unwrap();
        assert_eq!(
            passed,
            [Unavailable { provider: "claude".into(), why: Why::Suppressed(aside("claude")) }]
        );
    }
}
