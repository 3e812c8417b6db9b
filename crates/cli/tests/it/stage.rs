//! A twin, and a machine that is configured to ask it.

use std::fmt::Write as _;

use junto::llm::Wire;
use junto::twin::{Options, Play, Received, Twin};
use tokio::runtime::Runtime;

use crate::Machine;

/// The key that the twin wants. Tests look for it where it must not be.
pub(crate) const KEY: &str = "twin-key-5d1f0c";

/// How a provider is set up on each wire: the three vendors by their variables, the fourth by
/// configuration.
pub(crate) struct Setup {
    pub(crate) wire: Wire,
    pub(crate) provider: &'static str,
    pub(crate) model: &'static str,
}

pub(crate) const SETUPS: [Setup; 4] = [
    Setup { wire: Wire::Anthropic, provider: "anthropic", model: "claude-opus-5-5" },
    Setup { wire: Wire::Responses, provider: "openai", model: "gpt-6.1-sol" },
    Setup { wire: Wire::Gemini, provider: "gemini", model: "gemini-2.5-pro" },
    Setup { wire: Wire::Chat, provider: "local", model: "mistral" },
];

impl Setup {
    /// The variables for the address and the key.
    pub(crate) fn variables(&self) -> (&'static str, &'static str) {
        match self.wire {
            Wire::Anthropic => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
            Wire::Responses => ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
            Wire::Gemini => ("GEMINI_BASE_URL", "GEMINI_API_KEY"),
            Wire::Chat => ("UNUSED_BASE_URL", "LOCAL_KEY"),
        }
    }
}

pub(crate) struct Stage {
    pub(crate) machine: Machine,
    twin: Twin,
    /// Serves the twin; must outlive it.
    _runtime: Runtime,
}

impl Stage {
    pub(crate) fn new(setup: &Setup, play: Play) -> Self {
        Self::with_options(setup, play, Options::default())
    }

    pub(crate) fn with_options(setup: &Setup, play: Play, options: Options) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let inside = runtime.enter();
        let twin = Twin::start(play, Options { key: KEY.to_owned(), ..options }).unwrap();
        drop(inside);
        let url = twin.base_url(setup.wire);
        let local = if setup.wire == Wire::Chat {
            format!("[providers.local]\nwire = \"chat\"\nbase_url = \"{url}\"\nkey_env = \"LOCAL_KEY\"\n")
        } else {
            String::new()
        };
        let machine = Machine::configured(&format!(
            "model = \"{}/{}\"\nretry.base = \"0s\"\n{local}",
            setup.provider, setup.model
        ));
        let (base, key) = setup.variables();
        Self { machine: machine.with(base, &url).with(key, KEY), twin, _runtime: runtime }
    }

    /// A stage on one wire, for what does not depend on it.
    pub(crate) fn on_any_wire(play: Play) -> Self {
        Self::new(&SETUPS[0], play)
    }

    /// Where the twin is, for clients of a wire.
    pub(crate) fn base_url(&self, wire: Wire) -> String {
        self.twin.base_url(wire)
    }

    /// Gives the provider `local` these models, at a dollar for each token.
    pub(crate) fn price(&self, models: &[&str]) {
        let config = self.machine.path(".config/junto/config.toml");
        let mut text = std::fs::read_to_string(&config).unwrap();
        for model in models {
            let _ = write!(
                text,
                "[[models]]\nid = \"{model}\"\nprovider = \"local\"\nname = \"{model}\"\ncontext_window = 9_000\n\
                 max_output = 900\nreleased = \"2026-01-01\"\nprice = {{ input = 1e6, output = 1e6 }}\n"
            );
        }
        std::fs::write(&config, text).unwrap();
    }

    /// How many tokens the twin counted.
    pub(crate) fn tokens(&self) -> u64 {
        self.twin.usage_total().total
    }

    /// What the twin received.
    pub(crate) fn requests(&self) -> Vec<Received> {
        self.twin.requests()
    }
}

/// A check on every wire, each with a play of its own.
pub(crate) fn on_every_wire(play: impl Fn() -> Play, check: impl Fn(&Setup, &Stage)) {
    for setup in &SETUPS {
        check(setup, &Stage::new(setup, play()));
    }
}
