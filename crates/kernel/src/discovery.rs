//! What tools code can import: categories, tools, signatures, search, and the modules themselves.

mod catalog;
mod search;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use junto_core::{Listed, ToolHost};
use serde::{Deserialize, Serialize};

use crate::gentools::{GenTool, Gentools};
use catalog::Catalog;
use search::Index;

/// The tools that code cannot call, because they are what runs it.
pub(crate) const NOT_FROM_CODE: &[&str] = &["execute_code", "reset_kernel"];
/// How many tools a search finds at most.
const MOST_FOUND: usize = 50;

/// What tools code can import. Always as the host has them now.
pub struct Discovery {
    host: Arc<dyn ToolHost>,
    gentools: Option<Gentools>,
    /// What was made of the tools the last time.
    made: Mutex<Option<Made>>,
}

/// What was made of which tools.
struct Made {
    listed: Vec<Listed>,
    written: Vec<GenTool>,
    catalog: Arc<Catalog>,
    /// Made by the first search.
    index: Option<Index>,
}

/// A module with tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// What is imported, for instance `mcptools.github`.
    pub module: String,
    /// How many tools are in it.
    pub tools: usize,
}

/// A tool in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundTool {
    /// Module and name, for instance `mcptools.github.create_issue`.
    pub name: String,
    /// What it does, in a line.
    pub summary: String,
}

/// The source of a Python module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleSource {
    /// The text.
    pub text: String,
    /// Where it is kept, if it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Whether there may be modules below it.
    pub is_package: bool,
}

impl Discovery {
    /// The tools of a host, and those that were written in Python.
    pub fn new(host: Arc<dyn ToolHost>, gentools: Option<Gentools>) -> Self {
        Self { host, gentools, made: Mutex::new(None) }
    }

    pub(crate) fn host(&self) -> &Arc<dyn ToolHost> {
        &self.host
    }

    /// The modules with tools: our own, those of servers, those written in Python.
    pub fn categories(&self) -> Vec<Category> {
        self.catalog().categories()
    }

    /// The tools of a module.
    ///
    /// # Errors
    /// If there is no such module; the message names those there are.
    pub fn tools(&self, module: &str) -> Result<Vec<FoundTool>, String> {
        self.catalog().tools(module)
    }

    /// How a tool is imported and called, what it gives, and what is said of it, as Python.
    ///
    /// # Errors
    /// If there is no such tool; the message names the nearest.
    pub fn signature(&self, name: &str) -> Result<String, String> {
        self.catalog().signature(name)
    }

    /// The tools that fit some words best, at most so many.
    ///
    /// # Errors
    /// If the index cannot be made.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<FoundTool>, String> {
        self.renewed(|made| {
            let index = match made.index.take() {
                Some(index) => Ok(index),
                None => Index::of(&made.catalog),
            };
            let index = made.index.insert(index?);
            let places = index.find(query, limit.clamp(1, MOST_FOUND))?;
            Ok(places.into_iter().filter_map(|place| made.catalog.found(place)).collect())
        })
        .map_err(|error: rusqlite::Error| format!("the tools cannot be searched: {error}"))
    }

    /// The source of a module: `mcptools`, `mcptools.github`, the types in `mcptools.github.create_issue`, or one of
    /// those written in Python.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn module(&self, name: &str) -> Result<ModuleSource, String> {
        let mut parts = name.split('.');
        if parts.next() == Some("gentools") {
            let names: Vec<&str> = parts.collect();
            let read = self.gentools.as_ref().and_then(|gentools| gentools.read(&names));
            return read.ok_or_else(|| format!("there is no module `{name}`"));
        }
        self.catalog().module(name)
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.renewed(|made| Arc::clone(&made.catalog))
    }

    /// Looks whether the tools are others now.
    fn renewed<T>(&self, with: impl FnOnce(&mut Made) -> T) -> T {
        let mut listed = self.host.catalog();
        listed.retain(|tool| !NOT_FROM_CODE.contains(&tool.spec.name.as_str()));
        let written = self.gentools.as_ref().map(Gentools::list).unwrap_or_default();
        let mut held = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match held.take() {
            Some(made) if made.listed == listed && made.written == written => made,
            _ => {
                let catalog = Arc::new(Catalog::of(&listed, &written));
                Made { listed, written, catalog, index: None }
            }
        };
        with(held.insert(made))
    }
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").field("gentools", &self.gentools).finish_non_exhaustive()
    }
}
