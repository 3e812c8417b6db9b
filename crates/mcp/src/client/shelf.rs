//! The tools of all servers, as they are now.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::connection::Line;
use super::keeper::Server;
use super::tool::{ServerTool, What};
use crate::names::names;

/// All tools. A server that is down keeps its place: calling one of its tools starts it again.
#[derive(Default)]
pub(super) struct Shelf {
    /// Another number whenever something may look different.
    version: AtomicU64,
    stock: Mutex<Stock>,
}

#[derive(Default)]
struct Stock {
    /// What each server has, by its place in the configuration.
    of_servers: BTreeMap<usize, (Arc<Server>, Vec<What>)>,
    tools: Arc<[Arc<ServerTool>]>,
}

impl Shelf {
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Says that something may look different.
    pub(super) fn stir(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// All tools, in the order of the servers.
    pub(super) fn tools(&self) -> Arc<[Arc<ServerTool>]> {
        Arc::clone(&self.stock.lock().unwrap_or_else(PoisonError::into_inner).tools)
    }

    /// Takes what a server has now.
    pub(super) fn put(&self, server: &Arc<Server>, tools: &[rmcp::model::Tool], line: &Line) {
        let config = &server.config;
        let mut has: Vec<What> = tools
            .iter()
            .filter(|tool| config.tools.takes(&tool.name))
            .cloned()
            .map(|tool| What::Tool(Box::new(tool)))
            .collect();
        has.extend(Some(What::Resources).filter(|_| line.has_resources()));
        has.extend(Some(What::Prompts).filter(|_| line.has_prompts()));
        has.retain(|what| matches!(what, What::Tool(_)) || config.tools.takes(what.name()));
        {
            let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
            let known = stock.of_servers.get(&server.place).is_some_and(|(_, known)| *known == has);
            if known {
                return;
            }
            stock.of_servers.insert(server.place, (Arc::clone(server), has));
            stock.name();
        }
        self.stir();
    }
}

impl Stock {
    /// Makes the tools anew: which name one has depends on the others.
    fn name(&mut self) {
        let all: Vec<(&Arc<Server>, &What)> = self
            .of_servers
            .values()
            .flat_map(|(server, has)| has.iter().map(move |what| (server, what)))
            .collect();
        let named = names(all.iter().map(|(server, what)| (server.config.name.as_str(), what.name())));
        let tools = all.iter().zip(named);
        let tools: Vec<_> =
            tools.map(|((server, what), name)| Arc::new(ServerTool::new(name, server, what))).collect();
        self.tools = tools.into();
    }
}
