//! Patterns of paths, hosts and names.

mod component;
mod rooted;

use std::path::Path;

pub(crate) use self::component::{component_fits, is_pattern, overlap};
pub(crate) use self::rooted::{Extent, RootedGlob};

/// A pattern with `*`, `?` and `[…]`. In a path they stay within one component, and `**` stands for any
/// number of components; the pattern matches what it names and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    text: String,
}

impl Glob {
    /// A pattern of paths: absolute, from `~`, or from the working directory.
    ///
    /// # Errors
    /// If it is empty or too long, or a `[` does not end.
    pub(crate) fn path(text: &str) -> Result<Self, String> {
        let glob = Self::word(text)?;
        if text.split('/').any(|part| part != "**" && part.contains("**")) {
            return Err("`**` stands alone between slashes".to_owned());
        }
        if text.split('/').count() > rooted::MOST {
            return Err(format!("more than {} components", rooted::MOST));
        }
        Ok(glob)
    }

    /// A pattern of names.
    ///
    /// # Errors
    /// If it is empty or a `[` does not end.
    pub(crate) fn word(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an empty pattern".to_owned());
        }
        if text.split('/').any(|part| !component::is_sound(part)) {
            return Err("a `[` that does not end".to_owned());
        }
        Ok(Self { text: text.to_owned() })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches a name.
    pub(crate) fn fits(&self, name: &str) -> bool {
        component_fits(&self.text, name)
    }

    /// The pattern of absolute paths that this one means here.
    pub(crate) fn rooted(&self, workdir: &Path, home: Option<&Path>) -> Option<RootedGlob> {
        let from = |start: &Path, rest: &str| {
            let start = start.to_string_lossy();
            RootedGlob::new(&format!("{start}/{rest}"))
        };
        match self.text.strip_prefix('~') {
            Some("") => home.map(|home| from(home, "")),
            Some(rest) if rest.starts_with('/') => home.map(|home| from(home, rest)),
            _ if self.text.starts_with('/') => Some(RootedGlob::new(&self.text)),
            _ => Some(from(workdir, &self.text)),
        }
    }
}
