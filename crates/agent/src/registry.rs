//! Tools by name.

use std::sync::Arc;

use junto_core::Tool;
use junto_llm::ToolSpec;

/// Tools by name, in the order in which they were first registered.
///
/// ```
/// # use std::sync::Arc;
/// # use junto_agent::{ToolRegistry, tools::{self, Shell, Timeouts}};
/// let mut registry: ToolRegistry = tools::standard().into();
/// registry.register(Arc::new(Shell::new(Timeouts::default()))); // instead of the other `shell`
/// registry.unregister("write_file");
/// assert!(registry.names().any(|name| name == "shell") && registry.get("write_file").is_none());
/// ```
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    /// Tools that no model is told of, and that work behind others which it is told of instead.
    behind: Vec<Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// Adds a tool. Of two with one name the later wins, and takes the place of the earlier, which is
    /// returned.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        let place = self.tools.iter_mut().find(|earlier| earlier.spec().name == tool.spec().name);
        if let Some(earlier) = place {
            return Some(std::mem::replace(earlier, tool));
        }
        self.tools.push(tool);
        None
    }

    /// Removes a tool, and returns it if there was one.
    pub fn unregister(&mut self, name: &str) -> Option<Arc<dyn Tool>> {
        let place = self.tools.iter().position(|tool| tool.spec().name == name)?;
        Some(self.tools.remove(place))
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.iter().find(|tool| tool.spec().name == name)
    }

    /// What a model is told of the tools.
    pub fn definitions(&self) -> Vec<ToolSpec> {
        self.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|tool| tool.spec().name.as_str())
    }

    /// The tools.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<dyn Tool>> {
        self.tools.iter()
    }
}

impl ToolRegistry {
    /// Adds a tool that no model is told of, but that is there if it is called, by code for instance.
    pub fn put_behind(&mut self, tool: Arc<dyn Tool>) {
        self.behind.push(tool);
    }

    /// Removes a tool, whether models are told of it or not.
    pub(crate) fn forget(&mut self, name: &str) {
        self.tools.retain(|tool| tool.spec().name != name);
        self.behind.retain(|tool| tool.spec().name != name);
    }

    /// The tools that no model is told of.
    pub(crate) fn behind(&self) -> &[Arc<dyn Tool>] {
        &self.behind
    }
}

impl Extend<Arc<dyn Tool>> for ToolRegistry {
    fn extend<I: IntoIterator<Item = Arc<dyn Tool>>>(&mut self, tools: I) {
        for tool in tools {
            self.register(tool);
        }
    }
}

impl FromIterator<Arc<dyn Tool>> for ToolRegistry {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Tool>>>(tools: I) -> Self {
        let mut registry = Self::default();
        registry.extend(tools);
        registry
    }
}

impl From<Vec<Arc<dyn Tool>>> for ToolRegistry {
    fn from(tools: Vec<Arc<dyn Tool>>) -> Self {
        tools.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a ToolRegistry {
    type Item = &'a Arc<dyn Tool>;
    type IntoIter = std::slice::Iter<'a, Arc<dyn Tool>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use junto_core::ToolCx;
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::tool;

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    fn named(name: &str, description: &str) -> Arc<dyn Tool> {
        Arc::new(tool(name, description, |_: Nothing, _: ToolCx| async { "" }))
    }

    #[test]
    fn the_latest_of_a_name_wins_and_keeps_the_place() {
        let mut registry: ToolRegistry =
            vec![named("a", "1"), named("b", "2"), named("a", "3"), named("c", "4")].into();
        assert_eq!(registry.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(registry.get("a").unwrap().spec().description, "3");
        assert_eq!(registry.register(named("b", "5")).unwrap().spec().description, "2");
        assert!(registry.register(named("d", "6")).is_none());
        assert_eq!(registry.unregister("a").unwrap().spec().description, "3");
        assert!(registry.unregister("a").is_none() && registry.get("a").is_none());
        let told = registry.definitions().into_iter().map(|spec| spec.name + &spec.description);
        assert_eq!(told.collect::<Vec<_>>(), ["b5", "c4", "d6"]);
    }
}
