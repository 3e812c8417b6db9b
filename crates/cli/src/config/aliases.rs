//! Other names for models, which may stand for one another.

use super::problem::Problem;
use super::settings::{KeyPath, Settings};
use super::value::Value;

/// What an alias stands for in the end; none if the name is no alias.
pub(super) fn resolve<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    follow(settings, name).last()
}

/// A problem for each alias that comes back to itself.
pub(crate) fn circles(settings: &Settings) -> Vec<Problem> {
    let circle = |path: &KeyPath| {
        let [section, name] = path.segments() else { return None };
        let setting = settings.get(path).filter(|_| section == "aliases")?;
        follow(settings, name).any(|target| target == name).then(|| {
            Problem::at(&setting.origin, format!("`{path}` stands for itself, by way of the other aliases"))
        })
    };
    settings.keys().filter_map(circle).collect()
}

/// What a name stands for, what that stands for, and so on; no further than there are settings.
fn follow<'a>(settings: &'a Settings, name: &str) -> impl Iterator<Item = &'a str> {
    let next = |name: &str| match &settings.get(&KeyPath::of(&["aliases", name]))?.value {
        Value::Text(target) => Some(target.as_str()),
        _ => None,
    };
    std::iter::successors(next(name), move |name| next(name)).take(settings.len())
}

#[cfg(test)]
mod tests {
    use junto::policy::Origin;

    use std::path::Path;

    use super::*;
    use crate::config::check::check;

    #[test]
    fn aliases_of_aliases_are_followed_and_circles_named() {
        let settings =
            |text: &str| check(Path::new("f"), &format!("[aliases]\n{text}"), Origin::User).settings;
        let good = settings("a = \"b\"\nb = \"c\"\nc = \"openai/gpt\"");
        assert_eq!(resolve(&good, "a"), Some("openai/gpt"));
        assert_eq!(resolve(&good, "c"), Some("openai/gpt"));
        assert_eq!(resolve(&good, "d"), None);
        assert_eq!(circles(&good), []);

        let said =
            |text: &str| -> Vec<String> { circles(&settings(text)).iter().map(Problem::to_string).collect() };
        let itself = |line: u32, name: &str| {
            format!("f:{line}: `aliases.{name}` stands for itself, by way of the other aliases")
        };
        assert_eq!(said("a = \"b\"\nb = \"a\""), [itself(2, "a"), itself(3, "b")]);
        assert_eq!(said("a = \"a\""), [itself(2, "a")]);
        // One that leads into a circle has not made it.
        assert_eq!(said("a = \"a\"\nb = \"a\""), [itself(2, "a")]);
        assert!(resolve(&settings("a = \"b\"\nb = \"a\""), "a").is_some(), "it ends");
    }
}
