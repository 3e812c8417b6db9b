//! Which files a search is about, by their names.

use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

use super::Filter;
use crate::{Error, ErrorKind, Result};

/// A filter's globs and types, compiled.
pub(crate) struct Globs {
    pub(crate) overrides: Override,
    pub(crate) types: Types,
}

impl Globs {
    /// Globs are relative to `root`.
    pub(crate) fn compile(filter: &Filter, root: &Path) -> Result<Self> {
        let mut overrides = OverrideBuilder::new(root);
        if filter.globs_ignore_case {
            // It can fail only when globs were added before.
            overrides.case_insensitive(true).map_err(|e| invalid("*", &e))?;
        }
        for glob in &filter.globs {
            if glob.trim_start_matches('!').is_empty() {
                return Err(Error::new(ErrorKind::Invalid, format!("glob `{glob}`"), "it is empty"));
            }
            overrides.add(glob).map_err(|e| invalid(glob, &e))?;
        }
        let overrides = overrides.build().map_err(|e| invalid(&filter.globs.join(" "), &e))?;
        Ok(Self { overrides, types: types(&filter.types)? })
    }
}

fn types(names: &[String]) -> Result<Types> {
    if names.is_empty() {
        return Ok(Types::empty());
    }
    let mut types = TypesBuilder::new();
    types.add_defaults();
    for name in names {
        types.select(name);
    }
    types.build().map_err(|e| match e {
        ignore::Error::UnrecognizedFileType(name) => Error::new(
            ErrorKind::Invalid,
            format!("file type `{name}`"),
            "there is no such type\nhint: name it by a glob instead, such as `*.rs`",
        ),
        other => Error::new(ErrorKind::Invalid, "file types", other.to_string()),
    })
}

fn invalid(glob: &str, error: &ignore::Error) -> Error {
    let what = match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    };
    let hint = "\nhint: a `\\` before one of `*?[]{}!` takes it as it is";
    Error::new(ErrorKind::Invalid, format!("glob `{glob}`"), what + hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(globs: &[&str], types: &[&str]) -> Filter {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Filter { globs: own(globs), types: own(types), ..Filter::default() }
    }

    #[test]
    fn globs_choose_files() {
        let check = |globs: &[&str], path: &str, expected: bool| {
            let globs = Globs::compile(&filter(globs, &[]), Path::new("/r")).unwrap();
            let found = !globs.overrides.matched(Path::new("/r").join(path), false).is_ignore();
            assert_eq!(found, expected, "{path}");
        };
        check(&[], "a/b.rs", true);
        check(&["*.rs"], "a/b.rs", true);
        check(&["*.rs"], "a/b.ts", false);
        check(&["a/*.rs"], "a/b.rs", true);
        check(&["b/*.rs"], "a/b/c.rs", false);
        check(&["**/*.{ts,tsx}"], "a/b/c.tsx", true);
        check(&["!*.rs"], "a/b.rs", false);
        check(&["!*.rs"], "a/b.ts", true);
        check(&["*.rs", "!a/**"], "a/b.rs", false);
        check(&["!a/**", "*.rs"], "a/b.rs", true);
    }

    #[test]
    fn case_is_told_apart_unless_asked() {
        for (globs_ignore_case, expected) in [(false, false), (true, true)] {
            let filter = Filter { globs_ignore_case, ..filter(&["*.RS"], &[]) };
            let globs = Globs::compile(&filter, Path::new("/r")).unwrap();
            assert_eq!(globs.overrides.matched("/r/a.rs", false).is_whitelist(), expected);
        }
    }

    #[test]
    fn bad_globs_are_explained() {
        for (glob, says) in
            [("{a", "unclosed alternate"), ("[a", "unclosed character class"), ("", "empty"), ("!", "empty")]
        {
            let error = Globs::compile(&filter(&[glob], &[]), Path::new("/")).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{glob}");
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.to_string().contains(&format!("`{glob}`")), "{error}");
        }
    }

    #[test]
    fn types_have_names() {
        let globs = Globs::compile(&filter(&[], &["rust"]), Path::new("/")).unwrap();
        assert!(globs.types.matched("a.rs", false).is_whitelist());
        assert!(globs.types.matched("a.py", false).is_ignore());
        let error = Globs::compile(&filter(&[], &["rost"]), Path::new("/")).err().unwrap();
        assert!(error.to_string().contains("`rost`"), "{error}");
    }
}
