//! Tools that come and go while the session runs.

use std::sync::{Arc, Mutex, PoisonError};

use junto_core::{Offer, Tool, ToolSource};
use junto_llm::schema;

use crate::ToolRegistry;

/// Where they come from, and which of them the session has.
pub(crate) struct Late {
    source: Arc<dyn ToolSource>,
    has: Mutex<Has>,
}

/// What was taken from the source last.
#[derive(Default)]
struct Has {
    version: Option<u64>,
    names: Vec<String>,
}

impl Late {
    pub(crate) fn new(source: Arc<dyn ToolSource>) -> Self {
        Self { source, has: Mutex::default() }
    }

    /// Waits until no more of them are on their way.
    pub(crate) async fn settled(&self) {
        self.source.settled().await;
    }

    /// What the tools are to become; `None` if they are as they were. Says of each tool that is left out why: one that
    /// is described wrongly would have the model's provider refuse every request.
    pub(crate) fn renew(&self, tools: &ToolRegistry) -> Option<(ToolRegistry, Vec<String>)> {
        let mut has = self.has.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.source.version();
        if has.version.replace(version) == Some(version) {
            return None;
        }
        let Offer { declared, behind } = self.source.offer();
        let (mut tools, mut left_out) = (tools.clone(), Vec::new());
        for name in has.names.drain(..) {
            tools.forget(&name);
        }
        let own: Vec<String> = tools.names().map(str::to_owned).collect();
        let is_free = |tool: &Arc<dyn Tool>| !own.contains(&tool.spec().name);
        for tool in declared.into_iter().filter(is_free) {
            let name = tool.spec().name.clone();
            let parameters = tool.spec().parameters();
            match parameters.map_or(Ok(()), |parameters| schema::check_object_root(&name, parameters)) {
                Ok(()) => {
                    tools.register(tool);
                    has.names.push(name);
                }
                Err(error) => left_out.push(format!("the tool {name} is left out: {error}")),
            }
        }
        for tool in behind.into_iter().filter(is_free) {
            has.names.push(tool.spec().name.clone());
            tools.put_behind(tool);
        }
        Some((tools, left_out))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use junto_core::{Action, Fut, Permit, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec};
    use serde_json::{Value, json};

    use super::*;

    struct Named(ToolSpec);

    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn actions<'a>(&'a self, _: &'a ToolCall, _: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn run<'a>(&'a self, _: Permit, _: &'a ToolCx) -> Fut<'a, ToolOutcome> {
            Box::pin(async { ToolOutcome::ok("") })
        }
    }

    fn tool(name: &str, schema: Value) -> Arc<dyn Tool> {
        Arc::new(Named(ToolSpec::foreign(name, "", schema)))
    }

    #[derive(Default)]
    struct Source(AtomicU64, Mutex<Offer>);

    impl Source {
        fn now(&self, declared: Vec<Arc<dyn Tool>>, behind: Vec<Arc<dyn Tool>>) {
            *self.1.lock().unwrap() = Offer { declared, behind };
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl ToolSource for Source {
        fn version(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn offer(&self) -> Offer {
            self.1.lock().unwrap().clone()
        }
    }

    #[test]
    fn tools_come_and_go_and_the_sessions_own_stay() {
        let object = || json!({"type": "object"});
        let source = Arc::new(Source::default());
        let late = Late::new(Arc::clone(&source) as _);
        let own: ToolRegistry = vec![tool("shell", object())].into();
        let (tools, _) = late.renew(&own).unwrap();
        assert!(late.renew(&tools).is_none(), "nothing has changed");
        source.now(vec![tool("s__a", object()), tool("shell", object())], vec![tool("s__b", object())]);
        let (tools, left_out) = late.renew(&tools).unwrap();
        assert_eq!((tools.names().collect::<Vec<_>>(), tools.behind().len()), (vec!["shell", "s__a"], 1));
        assert!(left_out.is_empty());
        source.now(
            vec![tool("s__b", object()), tool("s__c", json!({"type": "object", "required": 7}))],
            vec![],
        );
        let (tools, left_out) = late.renew(&tools).unwrap();
        assert_eq!((tools.names().collect::<Vec<_>>(), tools.behind().len()), (vec!["shell", "s__b"], 0));
        assert!(matches!(&left_out[..], [one] if one.contains("s__c")), "{left_out:?}");
    }
}
