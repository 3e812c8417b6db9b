//! Tools by names that a session does not have: a model that was trained with another agent's tools may
//! call those, and is served where the session has a tool for the same work.

use std::sync::Arc;

use junto_core::Tool;

use crate::ToolRegistry;
use crate::profile::native::{self, Made};
use crate::tools::{self, Timeouts};

/// Of our tools, those that can do another's work.
const COVERS: &[(&str, &[&str])] = &[
    ("apply_patch", &["edit_file", "write_file"]),
    ("edit_file", &["apply_patch"]),
    ("glob", &["list_dir"]),
    ("read_file", &["read_many_files"]),
];

/// Of tools that can be covered, those whose work is that of several: a patch also makes and deletes files.
const NEEDS: &[(&str, &[&str])] = &[("apply_patch", &["edit_file", "write_file"])];

/// What a session may do in the vendors' dialects, whether or not the vendor has a tool for it: it changes
/// nothing.
const FREE: &[&str] = &["update_plan"];

/// The tool of ours that a vendor's name stands for.
pub(crate) fn ours(name: &str) -> Option<&'static str> {
    native::named(name).find_map(|row| row.ours.first().copied())
}

/// The tool of ours that a tool is or does the work of.
fn stands_for(tool: &dyn Tool) -> &str {
    let name = tool.spec().name.as_str();
    if native::is_native(tool) { ours(name).unwrap_or(name) } else { name }
}

/// The tools that could be meant by a name that no tool of the session has, ours before the vendors'. A
/// name never gives a session more than it has: a vendor's tool is there if the session has the tool of
/// ours that it stands for, or another vendor's for the same; one of ours, if it has a vendor's for it.
pub(crate) fn meant(registry: &ToolRegistry, name: &str) -> Vec<Arc<dyn Tool>> {
    let from: Vec<Arc<dyn Tool>> = registry.behind().iter().chain(registry).cloned().collect();
    let made = Made { from: &from, timeouts: Timeouts::default() };
    let (mut by_ours, mut by_native) = (Vec::new(), Vec::new());
    for tool in registry {
        let name = tool.spec().name.as_str();
        if native::is_native(&**tool) {
            by_native.extend(native::named(name).flat_map(|row| row.ours).copied());
        } else {
            by_ours.push(name);
            by_ours.extend(COVERS.iter().filter(|(ours, _)| *ours == name).flat_map(|(_, covered)| *covered));
        }
    }
    let has = |wanted: &str| registry.iter().any(|tool| stands_for(&**tool) == wanted);
    for (covered, needed) in NEEDS {
        if !has(covered) && !needed.iter().all(|name| has(name)) {
            by_ours.retain(|name| name != covered);
            by_native.retain(|name| name != covered);
        }
    }
    if !by_native.is_empty() {
        by_native.extend(FREE);
    }
    let behind = registry.behind().iter().find(|tool| tool.spec().name == name).cloned();
    let own = behind.or_else(|| tools::named(name).filter(|_| by_native.contains(&name)));
    let is_there = |ours: &str| by_ours.contains(&ours) || by_native.contains(&ours);
    let theirs = native::named(name)
        .filter(|row| row.ours.first().is_some_and(|ours| is_there(ours)))
        .filter_map(|row| row.make(made));
    own.into_iter().chain(theirs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Dialect, Family, Profile};

    fn check(registry: &ToolRegistry, name: &str, served: usize) {
        let meant = meant(registry, name);
        assert_eq!(meant.len(), served, "{name} in {registry:?}");
        assert!(meant.iter().all(|tool| tool.spec().name == name));
    }

    /// Every name of either dialect of every family that stands for work a session can do.
    #[test]
    fn every_name_is_understood_in_every_profile() {
        let every = |dialect| Family::ALL.map(|family| Profile::of(family).with_dialect(dialect).tools);
        let registries = [every(Dialect::Spec), every(Dialect::Native)].concat();
        for registry in &registries {
            let is_native = registry.iter().any(|tool| native::is_native(&**tool));
            for name in registries.iter().flat_map(ToolRegistry::names) {
                // One of ours that a profile in our dialect leaves out is meant to be left out.
                if !is_native && tools::named(name).is_some() {
                    continue;
                }
                let is_there = registry.get(name).is_some() || !meant(registry, name).is_empty();
                assert!(is_there, "{name} in {registry:?}");
            }
        }
    }

    #[test]
    fn a_name_gives_a_session_no_more_than_it_has() {
        let registry = |names: &[&str]| -> ToolRegistry {
            names.iter().map(|name| tools::named(name).unwrap()).collect()
        };
        let readers = registry(&["read_file", "grep"]);
        check(&readers, "Read", 1);
        check(&readers, "grep_search", 1);
        for name in ["Bash", "exec_command", "Write", "Edit", "replace", "write_file", "glob", "Agent", "fly"]
        {
            check(&readers, name, 0);
        }
        check(&registry(&["apply_patch", "shell"]), "Edit", 1);
        check(&registry(&["apply_patch", "shell"]), "edit_file", 0);
        // A patch also makes and deletes files.
        check(&registry(&["edit_file"]), "apply_patch", 0);
        check(&registry(&["edit_file", "write_file"]), "apply_patch", 1);
        check(&ToolRegistry::default(), "Bash", 0);
        let claude = Profile::anthropic().with_dialect(Dialect::Native).tools;
        check(&claude, "read_file", 2);
        check(&claude, "shell", 2);
        check(&claude, "exec_command", 1);
        check(&claude, "apply_patch", 2);
        let editor: ToolRegistry = claude.iter().filter(|tool| tool.spec().name == "Edit").cloned().collect();
        check(&editor, "edit_file", 1);
        check(&editor, "apply_patch", 0);
    }
}
