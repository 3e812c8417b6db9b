//! How much is decided without asking.

use std::fmt;
use std::str::FromStr;

use junto_core::nearest;

/// How much a session may do without being asked. Rules come on top of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Look: what writes is refused, and so is what is not known to only read, unless the sandbox holds it.
    ReadOnly,
    /// Look freely; whatever writes, runs or reaches out is asked about.
    Ask,
    /// Work freely inside the working directory; what reaches beyond it is asked about.
    Workspace,
    /// Everything. Rules that deny or ask still hold.
    #[default]
    Full,
}

impl Mode {
    /// All of them, from the strictest on.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::Workspace, Self::Full];

    /// Its name in configuration files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Workspace => "workspace",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no such mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no mode `{name}`{}; the modes are read-only, ask, workspace and full", suggestion(*.near))]
pub struct UnknownMode {
    /// What was given.
    pub name: String,
    /// What was probably meant.
    pub near: Option<&'static str>,
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default()
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| UnknownMode {
            name: name.to_owned(),
            near: nearest(name, Self::ALL.map(Self::name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
    }

    #[test]
    fn an_unknown_mode_names_the_nearest() {
        let error = "workspac".parse::<Mode>().unwrap_err();
        assert_eq!(error.near, Some("workspace"));
        assert!(error.to_string().contains("did you mean `workspace`?"), "{error}");
        assert!("yolo".parse::<Mode>().unwrap_err().near.is_none());
    }
}
