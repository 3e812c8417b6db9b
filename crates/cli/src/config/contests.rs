//! Councils of agents, as they are configured.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Config;
use super::settings::KeyPath;
use super::value::Value;
use crate::args::ContestArgs;

impl Config {
    /// The names of the councils of agents.
    pub(crate) fn contest_names(&self) -> Vec<String> {
        let paths = self.settings.keys().map(KeyPath::segments);
        let names = paths.filter(|path| path.first().is_some_and(|section| section == "contests"));
        names.filter_map(|path| path.get(1)).cloned().collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// A council of agents; none of this name if there is none. What was given counts more than what is
    /// configured.
    pub(crate) fn contest(&self, name: &str, given: ContestArgs) -> Option<ContestArgs> {
        if !self.contest_names().iter().any(|known| known == name) {
            return None;
        }
        let value =
            |key: &str| self.settings.get(&KeyPath::of(&["contests", name, key])).map(|set| &set.value);
        let text = |key: &str| match value(key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let texts = |key: &str| match value(key) {
            Some(Value::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        };
        let duration = |key: &str| match value(key) {
            Some(Value::Duration(duration)) => Some(*duration),
            _ => None,
        };
        let candidates = match value("candidates") {
            Some(Value::Count(count)) => Some(usize::try_from(*count).unwrap_or(usize::MAX)),
            _ => None,
        };
        let bring = || texts("bring").into_iter().map(PathBuf::from).collect();
        Some(ContestArgs {
            name: Some(name.to_owned()),
            agents: if given.agents.is_empty() { texts("agents") } else { given.agents },
            candidates: given.candidates.or(candidates),
            oracle: given.oracle.or_else(|| text("oracle")),
            synthesis: given.synthesis.or_else(|| text("synthesis")),
            with_changes: given.with_changes || value("with_changes") == Some(&Value::Flag(true)),
            bring: if given.bring.is_empty() { bring() } else { given.bring },
            agent_timeout: given.agent_timeout.or_else(|| duration("agent_timeout")),
            oracle_timeout: given.oracle_timeout.or_else(|| duration("oracle_timeout")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::environment::Environment;

    #[test]
    fn what_was_given_counts_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        let text = "[contests.fast]\nagents = [\"claude\", \"native\"]\ncandidates = 3\noracle = \"make check\"\n\
                    bring = [\"node_modules\"]\noracle_timeout = \"5m\"\n";
        std::fs::write(&path, text).unwrap();
        let environment = Environment::of(Path::new("/"), &[("JUNTO_CONFIG", path.to_str().unwrap())]);
        let config = Config::load(&environment, &[]).unwrap();
        assert_eq!(config.contest_names(), ["fast"]);
        let given = ContestArgs { candidates: Some(2), ..ContestArgs::default() };
        let found = config.contest("fast", given).unwrap();
        assert_eq!((found.candidates, found.oracle.as_deref()), (Some(2), Some("make check")));
        assert_eq!((found.agents.len(), found.oracle_timeout), (2, Some(Duration::from_mins(5))));
        assert!(config.contest("slow", ContestArgs::default()).is_none());
    }
}
