//! What tools code can import: categories, tools, signatures, search, and the modules themselves.

mod catalog;
mod meaning;
mod search;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use junto_core::{Listed, ToolHost};
use serde::{Deserialize, Serialize};

use crate::gentools::{GenTool, Gentools};
use crate::tools::NOT_FROM_CODE;
use catalog::{Catalog, Searched};
use meaning::fused;
pub use meaning::{Embedder, Meaning};
use search::Index;

/// How many tools a search finds at most.
const MOST_FOUND: usize = 50;

/// What tools code can import. Always as the host has them now.
pub struct Discovery {
    host: Arc<dyn ToolHost>,
    gentools: Option<Gentools>,
    meaning: Option<Meaning>,
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
        Self { host, gentools, meaning: None, made: Mutex::new(None) }
    }

    /// The same, searched by what tools mean as well as by words.
    #[must_use]
    pub fn by_meaning(self, meaning: Option<Meaning>) -> Self {
        Self { meaning, ..self }
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

    /// The tools that fit some words best, at most so many; by what they mean, too, if there is a model for that.
    ///
    /// # Errors
    /// If the index cannot be made.
    pub async fn search(&self, query: &str, limit: usize) -> Result<Vec<FoundTool>, String> {
        let limit = limit.clamp(1, MOST_FOUND);
        let (catalog, by_words) = self
            .renewed(|made| {
                let index = match made.index.take() {
                    Some(index) => Ok(index),
                    None => Index::of(&made.catalog),
                };
                let index = made.index.insert(index?);
                Ok((Arc::clone(&made.catalog), index.find(query, limit)?))
            })
            .map_err(|error: rusqlite::Error| format!("the tools cannot be searched: {error}"))?;
        let places = match &self.meaning {
            Some(meaning) => {
                let texts: Vec<String> = catalog.searched().map(Searched::text).collect();
                let by_meaning = meaning.rank(query, &texts, limit).await;
                fused(&[by_words, by_meaning], limit)
            }
            None => by_words,
        };
        Ok(places.into_iter().filter_map(|place| catalog.found(place)).collect())
    }

    /// Why the model for meanings did not answer, once.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.meaning.as_ref().and_then(Meaning::take_failure)
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
