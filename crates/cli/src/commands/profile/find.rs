//! Profiles by name: ours, those in the user's folder, and files.

use std::fs;
use std::path::{Path, PathBuf};

use junto::agent::profile::{Family, Profile};
use junto::llm::names::nearest;

use crate::config::Files;
use crate::environment::Environment;
use crate::failure::Failure;

/// How the name of a profile's file ends.
const EXTENSION: &str = "toml";

/// The user's folder of profiles, which need not exist; none without a home.
pub(crate) fn folder(environment: &Environment) -> Option<PathBuf> {
    // It stands beside what `JUNTO_CONFIG` does not move.
    Files::find(environment).trust.map(|trust| trust.with_file_name("profiles"))
}

/// The files in the user's folder, by the names of their profiles.
pub(super) fn own(environment: &Environment) -> Vec<(String, PathBuf)> {
    let entries = folder(environment).and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let named = paths.filter(|path| path.extension().is_some_and(|end| end == EXTENSION));
    let mut own: Vec<_> =
        named.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path))).collect();
    own.sort();
    own
}

/// The profile that is meant: one of ours by its family, a file by its path, or one in the user's folder
/// by its name.
///
/// # Errors
/// If there is none, or its file is no profile.
pub(crate) fn find(name: &str, environment: &Environment) -> Result<Profile, Failure> {
    if let Some(family) = Family::named(name) {
        return Ok(Profile::of(family));
    }
    let path = environment.directory().join(name);
    if name.contains('/') || path.extension().is_some_and(|end| end == EXTENSION) || path.is_file() {
        return read(&path);
    }
    let own = own(environment);
    if let Some((_, path)) = own.iter().find(|(known, _)| known == name) {
        return read(path);
    }
    let known: Vec<&str> = Family::ALL
        .map(Family::name)
        .into_iter()
        .chain(own.iter().map(|(known, _)| known.as_str()))
        .collect();
    let near = nearest(name, known.iter().copied());
    let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    Err(Failure::usage(
        format!("there is no profile \"{name}\"{near}"),
        format!(
            "there are {}; `junto profile capture` makes more, and a file can be named",
            known.join(", ")
        ),
    ))
}

/// The user's file that has the name of a profile of ours, which is taken instead.
pub(crate) fn shadowed(name: &str, environment: &Environment) -> Option<PathBuf> {
    Family::named(name)?;
    own(environment).into_iter().find(|(known, _)| known == name).map(|(_, path)| path)
}

/// What the user is told of such a file.
pub(crate) fn in_the_shadow(path: &Path) -> String {
    let path = path.display();
    format!("{path} is not used, because a built-in profile has its name: rename it, or name it by its path")
}

/// The profile in a file.
pub(super) fn read(path: &Path) -> Result<Profile, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read the profile {}: {error}", path.display());
        Failure::usage(message, "`junto profile list` tells which there are")
    })?;
    Profile::from_toml(&text).map_err(|error| {
        let hint = error.hint().unwrap_or("docs/guide/profiles.md shows what a profile's file has");
        Failure::usage(format!("{}: {error}", path.display()), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_ours_a_file_or_the_users() {
        let home = tempfile::tempdir().unwrap();
        let text = |id: &str| format!("[profile]\nid = \"{id}\"\nextends = \"gemini\"\n");
        let own = home.path().join("junto/profiles");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("mine.toml"), text("of-mine")).unwrap();
        fs::write(own.join("notes.txt"), "").unwrap();
        fs::write(home.path().join("here.toml"), text("of-here")).unwrap();
        fs::write(home.path().join("plain"), text("of-plain")).unwrap();
        let config = home.path().to_str().unwrap();
        let environment = Environment::of(home.path(), &[("XDG_CONFIG_HOME", config)]);
        let found = |name: &str| find(name, &environment).map(|profile| profile.id);
        for (name, id) in [
            ("openai", "openai"),
            ("compatible", "compatible"),
            ("mine", "of-mine"),
            ("here.toml", "of-here"),
            ("./plain", "of-plain"),
            ("plain", "of-plain"),
        ] {
            assert_eq!(found(name), Ok(id.to_owned()), "{name}");
        }
        for (name, said) in [
            ("gemni", "did you mean \"gemini\"?"),
            ("mien", "did you mean \"mine\"?"),
            ("away.toml", "cannot read the profile"),
        ] {
            let failure = found(name).unwrap_err();
            assert!(failure.errors[0].contains(said), "{failure:?}");
        }
        assert_eq!(super::own(&environment).len(), 1);
        assert_eq!(shadowed("openai", &environment), None);
        fs::write(own.join("openai.toml"), text("of-openai")).unwrap();
        assert_eq!(shadowed("openai", &environment), Some(own.join("openai.toml")));
        assert_eq!(shadowed("mine", &environment), None);
        assert_eq!(found("openai"), Ok("openai".to_owned()));
    }
}
